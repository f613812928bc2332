//! When the probes see, and when they do not: windows of sampling, and turns of a comparison.

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

/// Every so often, for a while.
#[derive(Debug)]
pub struct Windows {
    pub open: Duration,
    pub every: Duration,
    pub began: Nanos,
    pub is_open: bool,
}

impl Windows {
    /// The state to change to, if it is time.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_closes_and_opens_again() {
        let second = Duration::from_secs(1);
        let mut windows =
            Windows { open: second, every: 2 * second, began: Nanos(5_000_000_000), is_open: true };
        let changes: Vec<_> = [5200, 5900, 6100, 6900, 7100, 7200, 8500]
            .map(|at| windows.change(Nanos::from_millis(at)))
            .into();
        let expected = [None, None, Some(false), None, Some(true), None, Some(false)];
        assert_eq!(changes, expected);
    }
}
