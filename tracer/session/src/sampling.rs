//! The choice between tracing all the time and tracing in windows.

use std::time::Duration;

/// When the probes report events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// All the time.
    Off,
    /// In windows: for the time `open` out of every period `every`; longer and more rarely if messages take longer than a window.
    Windows {
        /// The shortest length of a window.
        open: Duration,
        /// The time from the start of one shortest window to the start of the next.
        every: Duration,
    },
}
