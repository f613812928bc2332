//! Times in which a server did not read a client, by its own word.

use std::collections::VecDeque;
use wirelap_events::Nanos;
use wirelap_protocols::Throttle;

/// The most intervals that are kept; the oldest go first.
const MOST: usize = 256;

/// The intervals in which a server did not read what a client sent, the oldest first. They do not overlap.
#[derive(Debug, Default)]
pub struct Throttles(VecDeque<(Nanos, Nanos)>);

impl Throttles {
    /// The server said this at `at`.
    pub fn tell(&mut self, at: Nanos, throttle: Throttle) {
        let until = match throttle {
            Throttle::For(time) => at + time,
            Throttle::Begins => Nanos(u64::MAX),
            Throttle::Ends => {
                if let Some((from, until)) = self.0.back_mut() {
                    *until = (*until).min(at.max(*from));
                }
                return;
            }
        };
        match self.0.back_mut() {
            Some((_, last)) if *last >= at => *last = (*last).max(until),
            _ => {
                if self.0.len() == MOST {
                    self.0.pop_front();
                }
                self.0.push_back((at, until));
            }
        }
    }

    /// The last of them between two moments, as far as it lies there.
    pub fn last_within(&self, from: Nanos, to: Nanos) -> Option<(Nanos, Nanos)> {
        let (begin, end) = *self.0.iter().rev().find(|(begin, _)| *begin < to)?;
        let (begin, end) = (begin.max(from), end.min(to));
        (begin < end).then_some((begin, end))
    }

    /// Length of the throttled times between two moments.
    pub fn within(&self, from: Nanos, to: Nanos) -> Nanos {
        let overlap =
            |&(begin, end): &(Nanos, Nanos)| end.min(to) - begin.max(from).min(end.min(to));
        self.0.iter().map(overlap).fold(Nanos(0), |sum, time| sum + time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(all: &[(u64, Throttle)]) -> Throttles {
        let mut throttles = Throttles::default();
        for &(at, throttle) in all {
            throttles.tell(Nanos(at), throttle);
        }
        throttles
    }

    #[test]
    fn the_intervals_of_quotas_are_added_up() {
        let all = told(&[(100, Throttle::For(Nanos(50))), (200, Throttle::For(Nanos(10)))]);
        let within = |from, to| all.within(Nanos(from), Nanos(to)).0;
        assert_eq!((within(0, 1_000), within(120, 205), within(150, 200)), (60, 35, 0));
        assert_eq!((within(0, 100), within(130, 140)), (0, 10));
        assert_eq!(all.last_within(Nanos(0), Nanos(205)), Some((Nanos(200), Nanos(205))));
        assert_eq!(all.last_within(Nanos(120), Nanos(180)), Some((Nanos(120), Nanos(150))));
        assert_eq!(all.last_within(Nanos(300), Nanos(400)), None);
        let overlapping = told(&[(100, Throttle::For(Nanos(50))), (120, Throttle::For(Nanos(50)))]);
        assert_eq!(overlapping.within(Nanos(0), Nanos(1_000)), Nanos(70));
    }

    #[test]
    fn an_alarm_lasts_until_it_is_over() {
        let mut all = told(&[(100, Throttle::Begins)]);
        assert_eq!(all.within(Nanos(0), Nanos(500)), Nanos(400));
        all.tell(Nanos(300), Throttle::Ends);
        assert_eq!(all.within(Nanos(0), Nanos(500)), Nanos(200));
        // It began before it was looked at.
        assert_eq!(told(&[(300, Throttle::Ends)]).within(Nanos(0), Nanos(500)), Nanos(0));
    }

    #[test]
    fn their_number_is_bounded() {
        let mut all = Throttles::default();
        for at in 0..1_000 {
            all.tell(Nanos(at * 10), Throttle::For(Nanos(1)));
        }
        assert_eq!(all.within(Nanos(0), Nanos(u64::MAX)), Nanos(256));
    }
}
