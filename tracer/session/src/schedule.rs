//! The phases of a comparison: all probes, some of them, and none are attached in turn.

use std::time::Duration;
use wirelap_events::{Nanos, TraceDetail};

/// Probes that are attached from phase to phase, again and again: each part between two phases without probes.
const TURNS: [Option<TraceDetail>; 6] =
    [Some(TraceDetail::Full), None, Some(TraceDetail::Path), None, Some(TraceDetail::Ends), None];

/// A period in which the same probes were attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracingPhase {
    /// Beginning of the phase.
    pub from: Nanos,
    /// End of the phase.
    pub to: Nanos,
    /// The probes that were attached; `None` for none.
    pub attached: Option<TraceDetail>,
}

/// The alternation between attached and detached probes.
#[derive(Debug)]
pub struct Alternation {
    phase: Duration,
    /// Number of phases.
    phases: usize,
    from: Nanos,
    turn: usize,
    pub past: Vec<TracingPhase>,
}

impl Alternation {
    /// All probes are attached at `now`.
    pub fn new(phase: Duration, phases: usize, now: Nanos) -> Alternation {
        Alternation { phase, phases, from: now, turn: 0, past: Vec::new() }
    }

    /// True if all phases are over.
    pub fn is_over(&self) -> bool {
        self.past.len() >= self.phases
    }

    /// Ends the phase if its time is over, which it returns.
    pub fn end(&mut self, now: Nanos) -> bool {
        let is_over = u128::from((now - self.from).0) >= self.phase.as_nanos();
        if is_over {
            let attached = self.attached();
            self.past.push(TracingPhase { from: self.from, to: now, attached });
            self.turn = if self.turn.saturating_add(1) < TURNS.len() {
                self.turn.saturating_add(1)
            } else {
                0
            };
        }
        is_over
    }

    /// Probes that are attached in this phase; `None` for none.
    pub fn attached(&self) -> Option<TraceDetail> {
        TURNS.get(self.turn).copied().flatten()
    }

    /// The next phase begins.
    pub fn begin(&mut self, now: Nanos) {
        self.from = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_between_two_phases_without_probes() {
        let mut turns = Alternation::new(Duration::from_nanos(10), 18, Nanos(0));
        for at in 1..=18 {
            assert!(!turns.is_over());
            assert!(!turns.end(Nanos(at * 10 - 1)));
            assert!(turns.end(Nanos(at * 10)));
            turns.begin(Nanos(at * 10));
        }
        assert!(turns.is_over());
        for [one, next] in turns.past.array_windows() {
            assert_ne!(one.attached.is_some(), next.attached.is_some());
        }
        let count = |part| turns.past.iter().filter(|phase| phase.attached == part).count();
        assert_eq!(TraceDetail::ALL.map(|detail| count(Some(detail))), [3; 3]);
        assert_eq!(count(None), 9);
    }
}
