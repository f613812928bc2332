//! Events that were read, and those whose loss was told.

use super::skipped::SkippedRuns;
use aya::Ebpf;
use std::time::Instant;
use wirelap_events::Probe;

/// Events that were read, and those whose loss was told.
pub struct EventCounts {
    /// Events that were given to the caller, by probe.
    pub emitted: [u64; Probe::ALL.len()],
    /// Losses that `Body::Lost` has told so far.
    pub lost: [[u64; 2]; Probe::ALL.len()],
    pub skipped: SkippedRuns,
    pub next_loss_check: Instant,
}

impl EventCounts {
    /// Counts from now on.
    pub fn since_now(ebpf: &Ebpf) -> EventCounts {
        EventCounts {
            emitted: [0; Probe::ALL.len()],
            lost: [[0; 2]; Probe::ALL.len()],
            skipped: SkippedRuns::since_now(ebpf),
            next_loss_check: Instant::now(),
        }
    }
}
