//! Schedule of the messages that are sent.

use std::time::Duration;
use wirelap_contract::{Spec, Stamp};
use wirelap_events::Nanos;
use wirelap_harness::clock;
use wirelap_harness::control::Control;

/// Longest sleep, so that a slow publisher still hears that it should stop.
const NAP: Nanos = Nanos::from_millis(100);

/// A message that was meant to leave in time may leave so much later, when the thread woke late.
const LATE: Nanos = Nanos::from_millis(100);

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

    /// Begins again: what is behind the schedule so far is forgotten, what is in time goes on in step.
    fn restart(&mut self, now: Nanos) {
        if let Some(interval_ns) = self.interval_ns {
            self.start = intended(self.start, interval_ns, self.sent).max(now);
            self.sent = 0;
        }
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

/// Messages of a publisher or ping in time: warm-up first, then the messages that count, each until there were enough of them or
/// their time is over. A time is one by the clock: at a rate that is not reached, it ends the messages that are due as well. What
/// is sent after that ([`Schedule::go_on`]) does not count, and has no end.
pub struct Schedule {
    stream: u8,
    warmup: u64,
    /// The warm-up is over at this time, however many there were.
    warm: Option<Nanos>,
    messages: u64,
    seconds: Option<Nanos>,
    until: Option<Nanos>,
    pace: Pace,
    nth: u64,
    /// All messages that count were sent: so many, with the warm-up.
    goes_on: Option<u64>,
}

/// A message whose time has come.
pub struct Due {
    /// Stamp of the message.
    pub stamp: Stamp,
    /// Time at which the message was meant to leave; `None` without a rate.
    pub intended: Option<Nanos>,
}

impl Schedule {
    /// Starts now. `--seconds` begin with the first message that counts.
    pub fn start(spec: &Spec) -> Schedule {
        let pace = Pace::start(spec.rate);
        Schedule {
            stream: spec.stream,
            warmup: spec.warmup,
            warm: spec.warmup_seconds.map(|seconds| pace.start + nanos(seconds)),
            // The sequence in a stamp has 32 bits, so nobody sends more than that.
            messages: spec.messages.unwrap_or(1 << 32),
            seconds: spec.seconds.map(nanos),
            until: None,
            pace,
            nth: 0,
            goes_on: None,
        }
    }

    /// From now on there are further messages, stamped as the warm-up is, with numbers that none of it had.
    pub fn go_on(&mut self) {
        self.goes_on.get_or_insert(self.nth);
        self.pace.restart(clock::now());
    }

    /// Waits for the next message's time. `None` when there is no more, or when told to stop.
    pub fn next(&mut self, control: &Control) -> Option<Due> {
        let mut stamp = self.stamp(clock::now())?;
        let mut intended = self.pace.wait(control);
        if stamp.warmup && self.goes_on.is_none() && self.is_warm(clock::now()) {
            // It was over while this one was waited for.
            stamp = self.stamp(clock::now())?;
            intended = self.pace.wait(control);
        }
        if control.interrupted() {
            return None;
        }
        let now = clock::now();
        if !stamp.warmup && self.is_over(intended.unwrap_or(now), now) {
            return None;
        }
        self.nth += 1;
        Some(Due { stamp, intended })
    }

    fn is_warm(&self, now: Nanos) -> bool {
        self.nth >= self.warmup || self.warm.is_some_and(|warm| now >= warm)
    }

    /// True if the time of the messages that count is over for one that is due then; it begins with the first of them.
    fn is_over(&mut self, due: Nanos, now: Nanos) -> bool {
        let Some(seconds) = self.seconds else { return false };
        let until = *self.until.get_or_insert(due + seconds);
        due >= until || now >= until + LATE
    }

    fn stamp(&mut self, now: Nanos) -> Option<Stamp> {
        if let Some(before) = self.goes_on {
            let seq = u32::try_from(self.warmup + (self.nth - before)).ok()?;
            return Some(Stamp { stream: self.stream, seq, reply: false, warmup: true });
        }
        if self.nth < self.warmup && self.is_warm(now) {
            self.warmup = self.nth;
        }
        if self.nth == self.warmup {
            self.pace.restart(now);
        }
        let warmup = self.nth < self.warmup;
        let seq = if warmup { self.nth } else { self.nth - self.warmup };
        let wanted = warmup || seq < self.messages;
        let seq = u32::try_from(seq).ok().filter(|_| wanted)?;
        Some(Stamp { stream: self.stream, seq, reply: false, warmup })
    }
}

fn nanos(seconds: f64) -> Nanos {
    Nanos(u64::try_from(Duration::from_secs_f64(seconds).as_nanos()).unwrap_or(u64::MAX))
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
            let stamp = schedule.stamp(Nanos(0))?;
            schedule.nth += 1;
            Some((stamp.warmup, stamp.seq))
        });
        assert_eq!(stamps.collect::<Vec<_>>(), [(true, 0), (true, 1), (false, 0), (false, 1)]);
    }

    #[test]
    fn what_comes_after_all_that_counts_does_not_count_and_has_new_numbers() {
        let spec = Spec { warmup: 1, messages: Some(2), ..Spec::new(Role::Pub, "tcp") };
        let mut schedule = Schedule::start(&spec);
        let mut stamps = Vec::new();
        for _ in 0..2 {
            while let Some(stamp) = schedule.stamp(Nanos(0)).filter(|_| stamps.len() < 6) {
                schedule.nth += 1;
                stamps.push((stamp.warmup, stamp.seq));
            }
            schedule.go_on();
        }
        let expected = [(true, 0), (false, 0), (false, 1), (true, 1), (true, 2), (true, 3)];
        assert_eq!(stamps, expected);
    }

    #[test]
    fn an_endless_run_ends_with_its_sequence() {
        let spec = Spec::new(Role::Pub, "tcp");
        let mut schedule = Schedule::start(&spec);
        schedule.nth = u64::from(u32::MAX);
        assert!(schedule.stamp(Nanos(0)).is_some());
        schedule.nth += 1;
        assert!(schedule.stamp(Nanos(0)).is_none());
    }

    #[test]
    fn time_ends_a_rate_that_is_not_reached() {
        let second = Nanos::from_millis(1000);
        let spec = Spec { seconds: Some(1.0), rate: Some(1e6), ..Spec::new(Role::Pub, "tcp") };
        let mut schedule = Schedule::start(&spec);
        let start = Nanos(5);
        assert!(!schedule.is_over(start, start));
        // In time, and woken a little late for the last ones that are due.
        assert!(!schedule.is_over(start + second - Nanos(1), start + second + Nanos(1)));
        assert!(schedule.is_over(start + second, start + second));
        // A thousandth of what is due was sent when the second was over.
        assert!(schedule.is_over(start + Nanos::from_millis(1), start + second + LATE));
    }

    #[test]
    fn a_warm_up_ends_with_its_time_and_what_it_is_behind_is_forgotten() {
        let (warmup, warmup_seconds) = (1000, Some(5.0));
        let spec = Spec { warmup, warmup_seconds, rate: Some(10.0), ..Spec::new(Role::Pub, "tcp") };
        let mut schedule = Schedule::start(&spec);
        let start = schedule.pace.start;
        for nth in 0..50 {
            assert!(schedule.stamp(start + Nanos::from_millis(100 * nth)).unwrap().warmup);
            (schedule.nth, schedule.pace.sent) = (nth + 1, nth + 1);
        }
        let late = start + Nanos::from_millis(7000);
        let first = schedule.stamp(late).unwrap();
        assert_eq!((first.warmup, first.seq), (false, 0));
        assert_eq!((schedule.pace.start, schedule.pace.sent), (late, 0));
    }
}
