//! Which messages are sent, and when.

use crate::clock;
use crate::control::Control;
use std::time::Duration;
use wirelap_contract::{Spec, Stamp};
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
struct Pace {
    interval_ns: Option<f64>,
    start: Nanos,
    sent: u64,
}

impl Pace {
    /// Starts the schedule now. `rate` is in messages a second.
    fn start(rate: Option<f64>) -> Pace {
        Pace { interval_ns: rate.map(|rate| 1e9 / rate), start: clock::now(), sent: 0 }
    }

    /// Waits for the next intended time and gives it; `None` without a rate, or when told to stop.
    fn wait(&mut self, control: &Control) -> Option<Nanos> {
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

/// What a publisher or ping sends, and when: warm-up first, then the messages that count, until there
/// were enough of them or their time is over.
pub struct Schedule {
    stream: u8,
    warmup: u64,
    messages: u64,
    seconds: Option<Nanos>,
    until: Option<Nanos>,
    pace: Pace,
    nth: u64,
}

/// A message whose time has come.
pub struct Due {
    /// Its stamp.
    pub stamp: Stamp,
    /// When it was meant to leave; `None` without a rate.
    pub intended: Option<Nanos>,
}

impl Schedule {
    /// Starts now. `--seconds` begin with the first message that counts.
    pub fn start(spec: &Spec) -> Schedule {
        let seconds = spec.seconds.map(|seconds| {
            Nanos(u64::try_from(Duration::from_secs_f64(seconds).as_nanos()).unwrap_or(u64::MAX))
        });
        Schedule {
            stream: spec.stream,
            warmup: spec.warmup,
            // The sequence in a stamp has 32 bits, so nobody sends more than that.
            messages: spec.messages.unwrap_or(1 << 32),
            seconds,
            until: None,
            pace: Pace::start(spec.rate),
            nth: 0,
        }
    }

    /// Waits for the next message's time. `None` when there is no more, or when told to stop.
    pub fn next(&mut self, control: &Control) -> Option<Due> {
        let stamp = self.stamp()?;
        let intended = self.pace.wait(control);
        if control.interrupted() {
            return None;
        }
        if let Some(seconds) = self.seconds.filter(|_| !stamp.warmup) {
            let due = intended.unwrap_or_else(clock::now);
            if due >= *self.until.get_or_insert(due + seconds) {
                return None;
            }
        }
        self.nth += 1;
        Some(Due { stamp, intended })
    }

    fn stamp(&self) -> Option<Stamp> {
        let warmup = self.nth < self.warmup;
        let seq = if warmup { self.nth } else { self.nth - self.warmup };
        let wanted = warmup || seq < self.messages;
        let seq = u32::try_from(seq).ok().filter(|_| wanted)?;
        Some(Stamp { stream: self.stream, seq, reply: false, warmup })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_contract::Role;

    #[test]
    fn the_schedule_does_not_drift() {
        let start = Nanos(1_000);
        let third = 1e9 / 3.0;
        assert_eq!(intended(start, third, 0), start);
        assert_eq!(intended(start, third, 1), Nanos(333_334_333));
        assert_eq!(intended(start, third, 3_000_000), Nanos(1_000_000_000_000_000 + 1_000));
    }

    #[test]
    fn warm_up_comes_first_and_has_a_sequence_of_its_own() {
        let spec = Spec { warmup: 2, messages: Some(2), ..Spec::new(Role::Pub, "tcp") };
        let mut schedule = Schedule::start(&spec);
        let stamps = std::iter::from_fn(|| {
            let stamp = schedule.stamp()?;
            schedule.nth += 1;
            Some((stamp.warmup, stamp.seq))
        });
        assert_eq!(stamps.collect::<Vec<_>>(), [(true, 0), (true, 1), (false, 0), (false, 1)]);
    }

    #[test]
    fn an_endless_run_ends_with_its_sequence() {
        let spec = Spec::new(Role::Pub, "tcp");
        let mut schedule = Schedule::start(&spec);
        schedule.nth = u64::from(u32::MAX);
        assert!(schedule.stamp().is_some());
        schedule.nth += 1;
        assert!(schedule.stamp().is_none());
    }
}
