//! For how long sampling windows wait for their messages.

use std::collections::VecDeque;
use wirelap_events::{Nanos, Saturate};

/// So many windows that waited are remembered.
const REMEMBERED: usize = 8;

/// Before so many have waited, nothing is known.
const FEW: usize = 4;

/// One in so many waits as long as it may, because messages may have become slower.
const TRY: u32 = 32;

/// A window waits for so much longer than what was of use, and twice that.
const MORE: Nanos = Nanos::from_millis(20);

/// Time that windows have waited for their messages, as far as that was of use.
///
/// Of some messages the end is never seen: a datagram was lost, or a packet was recorded in part. Where these are many, each window
/// would wait as long as it may, and little would be observed for what that costs. So it is noted when the last message arrived that
/// a window waited for, and the next windows wait twice as long.
#[derive(Debug, Default)]
pub struct Waits {
    /// Times from the end of a window's first part to the arrival of its last message, of the latest windows that waited.
    useful: VecDeque<Nanos>,
    /// The present window: how many messages it waits for, and when the last one arrived.
    present: Option<(u64, Nanos)>,
    /// Windows since one waited as long as it may.
    since_try: u32,
}

impl Waits {
    /// True if the present window goes on after it has waited for a time: `waiting` messages have not arrived yet.
    pub fn goes_on(&mut self, waited: Nanos, waiting: u64) -> bool {
        if waiting == 0 && self.present.is_none() {
            return false;
        }
        let (fewest, last) = self.present.get_or_insert((waiting, waited));
        if waiting < *fewest {
            (*fewest, *last) = (waiting, waited);
        }
        waiting > 0 && waited < self.longest()
    }

    /// The present window has ended.
    pub fn end(&mut self) {
        let Some((_, last)) = self.present.take() else { return };
        if self.tries() {
            self.since_try = 0;
        } else {
            self.since_try.grow(1);
        }
        self.useful.push_back(last);
        if self.useful.len() > REMEMBERED {
            self.useful.pop_front();
        }
    }

    /// True if the present window waits as long as it may.
    fn tries(&self) -> bool {
        self.useful.len() < FEW || self.since_try >= TRY
    }

    fn longest(&self) -> Nanos {
        if self.tries() {
            return Nanos(u64::MAX);
        }
        let useful = self.useful.iter().copied().max().unwrap_or_default();
        useful + useful + MORE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(time: u64) -> Nanos {
        Nanos::from_millis(time)
    }

    /// Returns how long windows wait that may do so for a second, with messages that arrive after these times, and one that never does.
    fn waited(waits: &mut Waits, arrivals: &[u64], windows: usize) -> Vec<u64> {
        let mut one = || {
            let waiting = |at| arrivals.iter().filter(|arrival| **arrival > at).count() as u64 + 1;
            let mut checks = (0..1_000).step_by(10);
            let end = checks.find(|&at| !waits.goes_on(ms(at), waiting(at)));
            waits.end();
            end.unwrap_or(1_000)
        };
        (0..windows).map(|_| one()).collect()
    }

    #[test]
    fn what_never_arrives_is_not_waited_for_each_time() {
        let mut waits = Waits::default();
        let times = waited(&mut waits, &[], 70);
        assert_eq!(times[..6], [1_000, 1_000, 1_000, 1_000, 20, 20]);
        assert_eq!(times.iter().filter(|time| **time == 1_000).count(), 4 + 2);
        // Slower ones are found when a window waits as long as it may, and waited for from then on.
        let times = waited(&mut waits, &[5, 300], 50);
        let found = times.iter().position(|time| *time == 1_000).unwrap();
        assert!(times[..found].iter().all(|time| *time < 100), "{times:?}");
        assert!(times[found..].iter().all(|time| *time >= 620), "{times:?}");
    }

    #[test]
    fn what_arrives_is_waited_for() {
        let mut waits = Waits::default();
        let mut one = |arrival: u64| {
            let mut checks = (0..1_000).step_by(10);
            let end = checks.find(|&at| !waits.goes_on(ms(at), u64::from(at < arrival)));
            waits.end();
            end
        };
        let all = [400, 0, 500, 700, 300, 10, 0, 900].map(&mut one);
        assert_eq!(all, [400, 0, 500, 700, 300, 10, 0, 900].map(Some));
    }
}
