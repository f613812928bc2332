//! Counters over everything, and when events were reported.

use crate::flow::Hidden;
use wirelap_events::{Nanos, Saturate};

/// Counters over everything.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub events: u64,
    /// Times that had to be left out because they contradicted others.
    pub anomalies: u64,
    pub evicted: u64,
    /// Of all conversations, as of when they last were settled.
    pub uncaptured: u64,
    pub undecoded: u64,
    pub mark_evictions: u64,
    /// Events of sockets that never came into view.
    pub unknown_sockets: u64,
    /// Reads of datagrams of which it is not known which they took.
    pub unknown_reads: u64,
}

/// Sampling: when events were reported.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    /// Messages found before were interrupted.
    pub cut: Nanos,
    pub closed_since: Option<Nanos>,
    pub closed_for: Nanos,
    /// Nothing is known to have been missed since then: it was opened, or events were lost.
    pub certain: Nanos,
}

impl Totals {
    /// Adds what of a conversation could not be seen.
    pub fn hide(&mut self, hidden: Hidden) {
        self.mark_evictions.grow(hidden.mark_evictions);
        self.uncaptured.grow(hidden.uncaptured);
        self.undecoded.grow(hidden.undecoded);
    }
}
