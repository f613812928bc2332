//! The traced part of each second.

use super::figures::HISTORY_SECONDS;
use wirelap_events::Nanos;

/// A second in nanoseconds.
pub(super) const SECOND: u64 = 1_000_000_000;

/// The traced part of each of the last [`HISTORY_SECONDS`] whole seconds, which is the same for all rows.
#[derive(Debug)]
pub struct TracedSeconds {
    /// The first of them, in seconds of the clock.
    first: u64,
    traced: Vec<Nanos>,
}

impl TracedSeconds {
    /// The seconds before `now`, of which all but `pauses` was traced. The pauses do not overlap.
    pub fn new(now: Nanos, pauses: impl Iterator<Item = (Nanos, Nanos)>) -> TracedSeconds {
        let end = now.0 / SECOND;
        let first = end.saturating_sub(HISTORY_SECONDS as u64);
        let mut traced: Vec<_> = (first..end).map(|_| Nanos(SECOND)).collect();
        for (since, until) in pauses {
            let touched =
                (first..end).zip(&mut traced).skip_while(|(second, _)| *second < since.0 / SECOND);
            for (second, traced) in touched.take_while(|(second, _)| *second <= until.0 / SECOND) {
                let from = Nanos(second.saturating_mul(SECOND));
                *traced -= until.min(from + Nanos(SECOND)) - since.max(from);
            }
        }
        TracedSeconds { first, traced }
    }

    /// Traced time of a second; all of the second where that is not known.
    pub fn of(&self, second: u64) -> Nanos {
        let index = second.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.traced.get(index)).copied().unwrap_or(Nanos(SECOND))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_taken_from_the_seconds_that_they_touch() {
        let ms = Nanos::from_millis;
        let pauses = [
            (ms(500), ms(700)),
            (ms(900), ms(3_100)),
            (ms(3_900), ms(4_000)),
            (ms(4_200), ms(9_000)),
        ];
        let traced = TracedSeconds::new(ms(5_500), pauses.into_iter());
        let all: Vec<Nanos> = (0..6).map(|second| traced.of(second)).collect();
        assert_eq!(all, [ms(700), ms(0), ms(0), ms(800), ms(200), ms(1_000)]);
    }

    #[test]
    fn what_is_long_ago_or_has_no_end_is_no_trouble() {
        let pauses = [(Nanos(0), Nanos(SECOND)), (Nanos(2 * SECOND), Nanos(u64::MAX))];
        let traced = TracedSeconds::new(Nanos(1_000 * SECOND), pauses.into_iter());
        assert_eq!(
            [0, 879, 880, 999, 1_000].map(|second| traced.of(second).0),
            [SECOND, SECOND, 0, 0, SECOND]
        );
    }
}
