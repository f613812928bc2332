//! When events are taken.

use std::time::Duration;

/// When events are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Always.
    Off,
    /// For `open` out of every `every`; longer, and more rarely, where messages take longer than a window.
    Windows {
        /// The shortest length of a window.
        open: Duration,
        /// From the start of one to the start of the next, if it is that short.
        every: Duration,
    },
}
