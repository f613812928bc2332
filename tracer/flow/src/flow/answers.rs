//! For how long a consumer awaited the answers to its requests for messages.

use wirelap_events::Nanos;

/// Moments that are remembered, of both the beginning and the end of a wait.
const MOMENTS: usize = 512;

/// Moments that are closer together than this part of the time since then are the first to be forgotten.
const CLOSENESS: u64 = 32;

/// Times for which the requests of one consumer, each of which it made when it had the answer to the one before, were without an answer.
/// The longer ago, the less precisely they are known.
#[derive(Debug, Default)]
pub struct Answers {
    /// A moment, and for how long answers had been awaited until then.
    moments: Vec<(Nanos, Nanos)>,
}

impl Answers {
    /// A request was made at `made`, not before the last answer came, and its answer came at `came`.
    pub fn came(&mut self, made: Nanos, came: Nanos) {
        let (last, sum) = self.moments.last().copied().unwrap_or_default();
        let made = made.max(last);
        if came <= made {
            return;
        }
        if self.moments.len() >= MOMENTS {
            self.forget();
        }
        self.moments.extend([(made, sum), (came, sum + (came - made))]);
    }

    /// Between two moments; what was before the first request is not known, and does not count.
    pub fn between(&self, from: Nanos, to: Nanos) -> Nanos {
        let until = self.until(to);
        until - self.until(from).min(until)
    }

    /// For how long answers had been awaited until this moment.
    fn until(&self, at: Nanos) -> Nanos {
        let next = self.moments.partition_point(|&(moment, _)| moment <= at);
        let Some(&(last, sum)) = next.checked_sub(1).and_then(|last| self.moments.get(last)) else {
            return Nanos(0);
        };
        let Some(&(next, sum_then)) = self.moments.get(next) else { return sum };
        sum + (sum_then - sum).share(at - last, next - last)
    }

    /// Forgets moments that have neighbours close by, for how long ago they are.
    fn forget(&mut self) {
        let newest = self.moments.last().map_or(Nanos(0), |&(newest, _)| newest);
        let mut closeness = CLOSENESS;
        while self.moments.len() > MOMENTS / 4 * 3 && closeness > 0 {
            let mut kept = 0_usize;
            for place in 0..self.moments.len() {
                let before = kept.checked_sub(1).map(|before| self.moments[before].0);
                let next = self.moments.get(place.saturating_add(1)).map(|next| next.0);
                let is_close = before.zip(next).is_some_and(|(before, next)| {
                    (next - before).0.saturating_mul(closeness) < (newest - next).0
                });
                if !is_close {
                    self.moments[kept] = self.moments[place];
                    kept = kept.saturating_add(1);
                }
            }
            self.moments.truncate(kept);
            closeness /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests every 10 µs, each answered after 7 µs; a pause of 1 s after the first thousand.
    fn answers(requests: u64) -> Answers {
        let mut answers = Answers::default();
        for n in 0..requests {
            let made = n * 10_000 + if n < 1_000 { 0 } else { 1_000_000_000 };
            answers.came(Nanos(made), Nanos(made + 7_000));
        }
        answers
    }

    #[test]
    fn what_was_lately_is_known_to_the_nanosecond() {
        let answers = answers(20);
        let between = |from, to| answers.between(Nanos(from), Nanos(to)).0;
        assert_eq!(between(0, 200_000), 140_000);
        assert_eq!(between(103_000, 112_000), 4_000 + 2_000);
        assert_eq!(between(107_000, 110_000), 0);
        assert_eq!(between(190_000, 900_000), 7_000);
        assert_eq!(between(900_000, 1_000_000), 0);
    }

    #[test]
    fn of_long_ago_the_sum_is_known_in_bounded_memory() {
        let answers = answers(5_000);
        assert!(answers.moments.len() <= MOMENTS + 2);
        let between = |from, to| answers.between(Nanos(from), Nanos(to)).0;
        assert_eq!(between(0, 1_049_997_000), 5_000 * 7_000);
        // Over the pause and some requests at both sides.
        let all = between(5_000_000, 1_030_000_000);
        assert!(all.abs_diff(2_500 * 7_000) < 300_000, "{all}");
        let lately = between(1_048_000_000, 1_049_000_000);
        assert!(lately.abs_diff(100 * 7_000) < 10_000, "{lately}");
    }

    #[test]
    fn what_overlaps_counts_once() {
        let mut answers = Answers::default();
        answers.came(Nanos(10), Nanos(50));
        answers.came(Nanos(20), Nanos(40));
        answers.came(Nanos(30), Nanos(70));
        assert_eq!(answers.between(Nanos(0), Nanos(100)), Nanos(60));
        assert_eq!(answers.between(Nanos(60), Nanos(100)), Nanos(10));
        assert_eq!(Answers::default().between(Nanos(0), Nanos(9)), Nanos(0));
    }
}
