//! Intended send times.

use crate::clock;
use crate::control::Control;
use std::time::Duration;
use wirelap_events::Nanos;

/// Longest sleep, so that a slow publisher still hears that it should stop.
const NAP: Nanos = Nanos::from_millis(100);

/// A fixed schedule, or none at all.
///
/// Message n of a paced run is meant to leave at start + n / rate. A publisher that falls behind
/// sends at once until it has caught up: it neither skips messages nor moves the schedule, so a
/// stall is seen in the latency of every message that it delayed (no coordinated omission).
///
/// It sleeps and does not spin: a spinning publisher would take a core away from the middleware that
/// it measures. How late it woke is in the truth file, as publish time minus intended time.
pub struct Pace {
    interval_ns: Option<f64>,
    start: Nanos,
    sent: u64,
}

impl Pace {
    /// Starts the schedule now. `rate` is in messages a second.
    pub fn start(rate: Option<f64>) -> Pace {
        Pace { interval_ns: rate.map(|rate| 1e9 / rate), start: clock::now(), sent: 0 }
    }

    /// Waits for the next intended time and gives it; `None` without a rate, or when told to stop.
    pub fn wait(&mut self, control: &Control) -> Option<Nanos> {
        let intended = intended(self.start, self.interval_ns?, self.sent);
        self.sent += 1;
        loop {
            let now = clock::now();
            if now >= intended || control.interrupted() {
                return Some(intended);
            }
            clock::sleep_until(intended.min(now + NAP));
        }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn intended(start: Nanos, interval_ns: f64, nth: u64) -> Nanos {
    // Exact to the nanosecond for the first 2^53 ns, about 104 days.
    start + Nanos((nth as f64 * interval_ns).round() as u64)
}

/// When sending ends: after so many messages or so much time, whichever comes first.
pub struct Limit {
    messages: u64,
    until: Option<Nanos>,
}

impl Limit {
    /// The sequence in a stamp has 32 bits, so nobody sends more than that.
    pub fn new(messages: Option<u64>, seconds: Option<f64>) -> Limit {
        let until = seconds.map(|seconds| {
            let length = Duration::from_secs_f64(seconds).as_nanos();
            clock::now() + Nanos(u64::try_from(length).unwrap_or(u64::MAX))
        });
        Limit { messages: messages.unwrap_or(1 << 32), until }
    }

    /// Whether message `seq` may be sent.
    pub fn allows(&self, seq: u64) -> bool {
        seq < self.messages && self.until.is_none_or(|until| clock::now() < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedule_does_not_drift() {
        let start = Nanos(1_000);
        let third = 1e9 / 3.0;
        assert_eq!(intended(start, third, 0), start);
        assert_eq!(intended(start, third, 1), Nanos(333_334_333));
        assert_eq!(intended(start, third, 3_000_000), Nanos(1_000_000_000_000_000 + 1_000));
    }

    #[test]
    fn a_limit_without_anything_is_the_sequence() {
        let limit = Limit::new(None, None);
        assert!(limit.allows(u64::from(u32::MAX)));
        assert!(!limit.allows(1 << 32));
        assert!(!Limit::new(Some(2), None).allows(2));
        assert!(!Limit::new(None, Some(0.0)).allows(0));
    }
}
