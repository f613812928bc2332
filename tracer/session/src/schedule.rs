//! The phases of a comparison: the probes are attached and detached alternately.

use std::time::Duration;
use wirelap_events::Nanos;

/// A period in which the probes were attached, or in which they were detached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracingPhase {
    /// When it began.
    pub from: Nanos,
    /// When it ended.
    pub to: Nanos,
    /// Whether the probes were attached.
    pub traced: bool,
}

/// The alternation between attached and detached probes.
#[derive(Debug)]
pub struct Alternation {
    phase: Duration,
    from: Nanos,
    traced: bool,
    pub past: Vec<TracingPhase>,
}

impl Alternation {
    pub fn new(phase: Duration, now: Nanos) -> Alternation {
        Alternation { phase, from: now, traced: true, past: Vec::new() }
    }

    /// Ends the phase if its time is over. Returns whether the probes are attached in the next phase.
    pub fn end(&mut self, now: Nanos) -> Option<bool> {
        let over = u128::from((now - self.from).0) >= self.phase.as_nanos();
        over.then(|| {
            self.past.push(TracingPhase { from: self.from, to: now, traced: self.traced });
            !self.traced
        })
    }

    pub fn begin(&mut self, now: Nanos, traced: bool) {
        (self.from, self.traced) = (now, traced);
    }
}
