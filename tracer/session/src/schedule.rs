//! The schedule of a session: windows in which events are reported, and phases in which the probes are attached or detached.

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

/// Windows of sampling: events are reported for the time `open` out of every period `every`.
#[derive(Debug)]
pub struct SamplingWindows {
    pub open: Duration,
    pub every: Duration,
    pub began: Nanos,
    pub is_open: bool,
}

impl SamplingWindows {
    /// Whether to open or close the window now; `None` if nothing changes.
    pub fn change(&mut self, now: Nanos) -> Option<bool> {
        let phase =
            u128::from((now - self.began).0).checked_rem(self.every.as_nanos().max(1)).unwrap_or(0);
        let open = phase < self.open.as_nanos();
        (open != self.is_open).then(|| {
            self.is_open = open;
            open
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_closes_and_opens_again() {
        let second = Duration::from_secs(1);
        let mut windows = SamplingWindows {
            open: second,
            every: 2 * second,
            began: Nanos(5_000_000_000),
            is_open: true,
        };
        let changes: Vec<_> = [5200, 5900, 6100, 6900, 7100, 7200, 8500]
            .map(|at| windows.change(Nanos::from_millis(at)))
            .into();
        let expected = [None, None, Some(false), None, Some(true), None, Some(false)];
        assert_eq!(changes, expected);
    }
}
