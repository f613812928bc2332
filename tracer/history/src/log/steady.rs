//! States that count once they have lasted, so that one that comes and goes does not fill the log.

use wirelap_events::{Nanos, Saturate};

/// The waits after changes double up to so many times.
const DOUBLINGS: u32 = 6;

/// The times that a state has to last before it counts.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    /// Before it counts as begun.
    pub on: Nanos,
    /// Before it counts as ended, the first time; twice as long each time after that, up to 64 times as long.
    pub off: Nanos,
}

/// A state that is on or off.
#[derive(Clone, Copy, Debug, Default)]
pub struct Steady {
    is_on: bool,
    /// From when on the state has been otherwise than it counts.
    otherwise: Option<Nanos>,
    ended: u32,
}

impl Steady {
    /// Takes in what is so at a time. Returns what is so if it counts from now on.
    pub fn update(&mut self, now: Nanos, is_on: bool, hold: Hold) -> Option<bool> {
        if is_on == self.is_on {
            self.otherwise = None;
            return None;
        }
        let since = *self.otherwise.get_or_insert(now);
        let doubled = 1u64 << self.ended.min(DOUBLINGS);
        if now - since < if is_on { hold.on } else { hold.off * doubled } {
            return None;
        }
        self.ended.grow(u32::from(!is_on));
        (self.is_on, self.otherwise) = (is_on, None);
        Some(is_on)
    }
}

/// A value that counts once it has lasted: the oftener it has changed, the longer.
#[derive(Clone, Copy, Debug)]
pub struct SteadyValue<T> {
    counts: T,
    other: Option<(T, Nanos)>,
    changed: u32,
}

impl<T: Copy + PartialEq> SteadyValue<T> {
    /// A value that counts.
    pub fn new(value: T) -> SteadyValue<T> {
        SteadyValue { counts: value, other: None, changed: 0 }
    }

    /// Takes in the value at a time. Returns whether it counts from now on and did not before.
    pub fn update(&mut self, now: Nanos, value: T, hold: Nanos) -> bool {
        if value == self.counts {
            self.other = None;
            return false;
        }
        let since = self.other.filter(|(other, _)| *other == value).map_or(now, |(_, since)| since);
        self.other = Some((value, since));
        if now - since < hold * (1 << self.changed.min(DOUBLINGS)) {
            return false;
        }
        self.changed.grow(1);
        (self.counts, self.other) = (value, None);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD: Hold = Hold { on: Nanos(10), off: Nanos(100) };

    fn changes(states: impl Iterator<Item = (u64, bool)>) -> Vec<(u64, bool)> {
        let mut steady = Steady::default();
        let change = |(at, is_on)| Some((at, steady.update(Nanos(at), is_on, HOLD)?));
        states.filter_map(change).collect()
    }

    #[test]
    fn a_state_counts_once_it_has_lasted() {
        let states = (0..400).map(|at| (at, (50..200).contains(&at)));
        assert_eq!(changes(states), [(60, true), (300, false)]);
        assert_eq!(changes((0..400).map(|at| (at, (50..59).contains(&at)))), []);
    }

    #[test]
    fn a_state_that_comes_and_goes_counts_ever_more_rarely() {
        let flaps = |period: u64| changes((0..100_000).map(|at| (at, at / period % 2 == 1))).len();
        assert_eq!(flaps(5), 0);
        assert_eq!(flaps(50), 1, "it never ends for long enough");
        assert_eq!(flaps(150), 3, "the second end would have to last 200");
        assert!(flaps(1_000) < 11, "{}", flaps(1_000));
    }

    #[test]
    fn a_value_counts_once_it_has_lasted() {
        let mut value = SteadyValue::new(0);
        let values = [(0, 0), (1, 1), (9, 1), (10, 2), (15, 2), (20, 2), (21, 0), (39, 0), (41, 0)];
        let counts = values.iter().filter(|(at, new)| value.update(Nanos(*at), *new, Nanos(10)));
        let counts: Vec<_> = counts.copied().collect();
        assert_eq!(counts, [(20, 2), (41, 0)], "twice as long the second time");
    }
}
