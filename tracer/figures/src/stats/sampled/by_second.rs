//! The rate in each of the last seconds.

use crate::stats::figures::HISTORY_SECONDS;
use crate::stats::seconds::SECOND;
use std::collections::VecDeque;
use wirelap_events::{Nanos, Saturate};

/// One more than are shown: the present one is not over.
const KEPT: u64 = HISTORY_SECONDS as u64 + 1;

/// The messages that are known of a second, and how much of it was observed.
#[derive(Clone, Copy, Debug, Default)]
struct KnownSecond {
    messages: f64,
    seconds: f64,
}

/// Deliveries of the last seconds, by the rates of the times of which they consist.
#[derive(Clone, Debug, Default)]
pub struct RatesBySecond {
    /// The last one, in seconds of the clock.
    last: u64,
    /// The last one is at the end.
    seconds: VecDeque<KnownSecond>,
}

impl RatesBySecond {
    /// Adds a time with so many messages a second. No two times overlap.
    pub fn add(&mut self, from: Nanos, to: Nanos, rate: f64) {
        if to <= from {
            return;
        }
        self.go_on_to(to.0 / SECOND);
        for (second, known) in (0..=self.last).rev().zip(self.seconds.iter_mut().rev()) {
            let start = Nanos(second.saturating_mul(SECOND));
            let part = (to.min(start + Nanos(SECOND)) - from.max(start)).as_secs_f64();
            if part > 0.0 {
                known.messages += rate * part;
                known.seconds += part;
            }
            if start <= from {
                break;
            }
        }
    }

    fn go_on_to(&mut self, second: u64) {
        if self.seconds.is_empty() {
            self.seconds.extend((0..KEPT).map(|_| KnownSecond::default()));
            self.last = second;
        }
        let passed = second.saturating_sub(self.last);
        self.last.grow(passed);
        for _ in 0..passed.min(KEPT) {
            self.seconds.pop_front();
            self.seconds.push_back(KnownSecond::default());
        }
    }

    /// Deliveries of a second. `None` if nothing is known of it.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounded; not negative"
    )]
    pub fn of(&self, second: u64) -> Option<u64> {
        let ago = usize::try_from(self.last.checked_sub(second)?).ok()?;
        let known = self.seconds.iter().rev().nth(ago)?;
        (known.seconds > 0.0).then(|| (known.messages / known.seconds).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(time: u64) -> Nanos {
        Nanos::from_millis(time)
    }

    #[test]
    fn a_second_is_made_of_the_times_that_touch_it() {
        let mut rates = RatesBySecond::default();
        rates.add(ms(7_000), ms(7_100), 900.0);
        rates.add(ms(7_100), ms(8_100), 1_000.0);
        rates.add(ms(8_100), ms(10_500), 800.0);
        // Nothing is known of half of the last one.
        let found = [6, 7, 8, 9, 10, 11].map(|second| rates.of(second));
        assert_eq!(found, [None, Some(990), Some(820), Some(800), Some(800), None]);
    }

    #[test]
    fn what_is_long_ago_is_forgotten_and_no_time_is_too_long() {
        let mut rates = RatesBySecond::default();
        rates.add(ms(1_500), ms(1_600), 10.0);
        rates.add(ms(1_600), ms(1_000_000), 20.0);
        let found = [1, 879, 880, 999, 1_000].map(|second| rates.of(second));
        assert_eq!(found, [None, None, Some(20), Some(20), None]);
        rates.add(Nanos(u64::MAX - 5), Nanos(u64::MAX), 30.0);
        assert_eq!(rates.of(999), None);
        assert_eq!(rates.of(u64::MAX / SECOND), Some(30));
        rates.add(ms(5), ms(5), 1.0);
        // It came too late.
        rates.add(ms(5), ms(8), 1.0);
        assert_eq!(rates.of(0), None);
    }
}
