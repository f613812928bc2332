//! The time to wait after a request that may be tried again.

use std::time::{Duration, Instant};

/// The longest wait that an answer may ask for.
const LONGEST_ASKED: Duration = Duration::from_mins(5);

/// The wait after failures: each is twice as long as the one before, up to a longest one, and differs by chance, so that many that were refused
/// together do not come again together.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
    until: Option<Instant>,
}

impl Backoff {
    /// No failure yet.
    pub fn new(first: Duration, longest: Duration) -> Backoff {
        Backoff { first, longest, failures: 0, until: None }
    }

    /// Notes a failure, and the wait that the answer asked for, if it did; `chance` is between 0 and 1.
    pub fn failed(&mut self, now: Instant, asked: Option<Duration>, chance: f64) {
        let doubled = self.first.saturating_mul(2_u32.saturating_pow(self.failures));
        let own = doubled.min(self.longest).mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0);
        self.failures = self.failures.saturating_add(1);
        let wait = asked.map_or(own, |asked| asked.max(self.first).min(LONGEST_ASKED));
        self.until = now.checked_add(wait);
    }

    /// Notes an answer that ends the waiting.
    pub fn succeeded(&mut self) {
        (self.failures, self.until) = (0, None);
    }

    /// The time that is still to be waited; `None` if there is none.
    pub fn remaining(&self, now: Instant) -> Option<Duration> {
        self.until?.checked_duration_since(now).filter(|time| !time.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_end_with_success() {
        let now = Instant::now();
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(1));
        let mut waits = Vec::new();
        for _ in 0..9 {
            backoff.failed(now, None, 1.0);
            waits.push(backoff.remaining(now).unwrap().as_secs());
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        for _ in 0..100 {
            backoff.failed(now, None, 0.0);
        }
        assert_eq!(backoff.remaining(now), Some(Duration::from_secs(30)));
        assert_eq!(backoff.remaining(now + Duration::from_secs(30)), None);
        backoff.succeeded();
        assert_eq!(backoff.remaining(now), None);
    }

    #[test]
    fn an_answer_may_ask_for_a_longer_wait_but_not_for_ever_or_for_none() {
        let now = Instant::now();
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_mins(1));
        backoff.failed(now, Some(Duration::from_secs(90)), 0.0);
        assert_eq!(backoff.remaining(now), Some(Duration::from_secs(90)));
        backoff.failed(now, Some(Duration::MAX), 0.0);
        assert_eq!(backoff.remaining(now), Some(LONGEST_ASKED));
        backoff.failed(now, Some(Duration::ZERO), 1.0);
        assert_eq!(backoff.remaining(now), Some(Duration::from_secs(1)));
    }
}
