//! Counters over everything.

use wirelap_events::{Body, Probe, Saturate};
use wirelap_flow::Hidden;

/// Counters over everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    pub events: u64,
    /// Number of events of each probe.
    pub by_probe: [u64; Probe::ALL.len()],
    /// Times that had to be left out because they contradicted others.
    pub anomalies: u64,
    pub evicted: u64,
    /// Payload bytes of all conversations that were not captured, as of when they last were
    /// settled.
    pub uncaptured: u64,
    pub undecoded: u64,
    pub mark_evictions: u64,
    /// Events of sockets that never came into view.
    pub unknown_sockets: u64,
    /// Reads of datagrams of which it is not known which they took.
    pub unknown_reads: u64,
}

impl Totals {
    /// Counts an event.
    pub fn event(&mut self, body: &Body<'_>) {
        self.events.grow(1);
        if let Some(probe) = body.probe() {
            self.by_probe[probe as usize].grow(1);
        }
    }

    /// Adds what of a conversation could not be seen.
    pub fn hide(&mut self, hidden: Hidden) {
        self.mark_evictions.grow(hidden.mark_evictions);
        self.uncaptured.grow(hidden.uncaptured);
        self.undecoded.grow(hidden.undecoded);
    }
}
