//! The turns of a comparison: the probes are attached and detached alternately.

use std::time::Duration;
use wirelap_events::Nanos;

/// Time in which the probes were attached, or were not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// It began.
    pub from: Nanos,
    /// It ended.
    pub to: Nanos,
    /// The probes were attached.
    pub traced: bool,
}

/// Attached and detached by turns.
#[derive(Debug)]
pub struct Turns {
    each: Duration,
    from: Nanos,
    traced: bool,
    pub past: Vec<Turn>,
}

impl Turns {
    pub fn new(each: Duration, now: Nanos) -> Turns {
        Turns { each, from: now, traced: true, past: Vec::new() }
    }

    /// Ends the turn if it is time; whether the next one is traced.
    pub fn end(&mut self, now: Nanos) -> Option<bool> {
        let over = u128::from((now - self.from).0) >= self.each.as_nanos();
        over.then(|| {
            self.past.push(Turn { from: self.from, to: now, traced: self.traced });
            !self.traced
        })
    }

    pub fn begin(&mut self, now: Nanos, traced: bool) {
        (self.from, self.traced) = (now, traced);
    }
}
