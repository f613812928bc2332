//! When events are taken.

use std::time::Duration;

/// When events are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Always.
    Off,
    /// For `open` out of every `every`.
    Windows {
        /// Length of a window.
        open: Duration,
        /// From the start of one to the start of the next.
        every: Duration,
    },
}
