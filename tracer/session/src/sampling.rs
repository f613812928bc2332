//! The choice between tracing all the time and tracing in windows.

use crate::budget::Budget;
use std::time::Duration;

/// Times at which the probes report events.
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

/// Share of the time that is traced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TracedTime {
    /// All the time or windows, as chosen before.
    Fixed(Sampling),
    /// All the time, or in windows as far as that is necessary to spend no more than this. Between windows, the probes are detached.
    Within(Budget),
    /// As much as comes over the connection to each of several hosts in so many bits a second.
    HostBandwidth(u64),
}

impl From<Sampling> for TracedTime {
    fn from(sampling: Sampling) -> TracedTime {
        TracedTime::Fixed(sampling)
    }
}
