//! Traced time and the pause after it.

use wirelap_events::Nanos;

/// The time from the end of one pause to the end of the next, or until now: traced at first, and then paused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TracedPeriod {
    pub start: Nanos,
    /// When the pause began; the end, if none has.
    pub paused: Nanos,
    pub end: Nanos,
}

impl TracedPeriod {
    /// The part of it since a time.
    pub fn since(&self, time: Nanos) -> TracedPeriod {
        TracedPeriod { start: self.start.max(time), ..*self }
    }

    /// How many times the traced part it has lasted; 1 if nothing of it was traced.
    pub fn times_traced(&self) -> f64 {
        let traced = self.paused - self.start;
        if traced == Nanos(0) {
            return 1.0;
        }
        (self.end - self.start).as_secs_f64() / traced.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_has_lasted_longer_than_its_traced_part() {
        let period = TracedPeriod { start: Nanos(100), paused: Nanos(200), end: Nanos(600) };
        let are = |period: TracedPeriod, times: f64| (period.times_traced() - times).abs() < 1e-9;
        assert!(are(period, 5.0));
        assert_eq!(period.since(Nanos(50)), period);
        assert!(are(period.since(Nanos(150)), 9.0));
        for time in [200, 300, 700] {
            assert!(are(period.since(Nanos(time)), 1.0));
        }
        assert!(are(TracedPeriod { paused: Nanos(600), ..period }, 1.0));
        assert!(are(TracedPeriod::default(), 1.0));
    }
}
