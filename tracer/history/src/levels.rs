//! Slices of many hours: the older, the fewer and longer.
//!
//! ```text
//!  young   as they came, a quarter of a second   the last 10 s
//!  second  about 1 s                             the 10 minutes before
//!  ten     about 10 s                            the 2 hours before
//!  minute  about 1 min                           the 24 hours before
//! ```

use crate::slice::Slice;
use std::collections::VecDeque;
use wirelap_events::{Nanos, Total};

const SECOND: u64 = 1_000_000_000;

/// How long the slices of each level are, and how far back the level reaches from its newest.
const LEVELS: [(u64, u64); 4] = [
    (0, 10 * SECOND),
    (SECOND, 600 * SECOND),
    (10 * SECOND, 7_200 * SECOND),
    (60 * SECOND, 86_400 * SECOND),
];

/// The level whose slices still have the distributions of segments, and for how long.
const SEGMENT_TIMES: u64 = 60 * SECOND;

/// Slices of many hours.
#[derive(Clone, Debug)]
pub struct Levels {
    by_age: [VecDeque<Slice>; LEVELS.len()],
    bytes: usize,
    budget: usize,
}

impl Levels {
    /// Keeps at most about `budget` bytes.
    pub fn new(budget: usize) -> Levels {
        Levels { by_age: std::array::from_fn(|_| VecDeque::new()), bytes: 0, budget }
    }

    /// Adds the newest slice.
    pub fn add(&mut self, slice: Slice) {
        let now = slice.to;
        self.bytes = self.bytes.saturating_add(slice.bytes());
        self.by_age[0].push_back(slice);
        for level in 0..LEVELS.len() {
            self.age(level, now);
        }
        while self.bytes > self.budget && self.drop_oldest() {}
    }

    /// Moves what has become too old for a level into the next one.
    fn age(&mut self, level: usize, now: Nanos) {
        let reach: u64 =
            LEVELS.iter().take(level.saturating_add(1)).map(|(_, reach)| *reach).total();
        while let Some(first) = self.by_age[level].front() {
            if now.0.saturating_sub(first.to.0) < reach {
                return;
            }
            let Some(mut old) = self.by_age[level].pop_front() else { return };
            self.bytes = self.bytes.saturating_sub(old.bytes());
            if now.0.saturating_sub(old.to.0) >= SEGMENT_TIMES {
                old.rows.iter_mut().for_each(crate::RowSlice::forget_segment_times);
            }
            let Some((length, _)) = LEVELS.get(level.saturating_add(1)) else { continue };
            self.put(level.saturating_add(1), old, *length);
        }
    }

    /// Adds a slice to a level: to its newest one, if both are of the same second (or ten, or minute).
    fn put(&mut self, level: usize, slice: Slice, length: u64) {
        // Slices end at multiples of their length, so that a chart's columns of a second have a second each.
        let number = |slice: &Slice| slice.from.0.checked_div(length);
        let newest = self.by_age[level].back_mut();
        let same =
            newest.filter(|newest| number(newest) == number(&slice) && newest.to == slice.from);
        if let Some(newest) = same {
            let before = newest.bytes();
            newest.merge(&slice);
            self.bytes = self.bytes.saturating_add(newest.bytes()).saturating_sub(before);
        } else {
            self.bytes = self.bytes.saturating_add(slice.bytes());
            self.by_age[level].push_back(slice);
        }
    }

    /// Drops the oldest slice; the newest one stays.
    fn drop_oldest(&mut self) -> bool {
        if self.len() <= 1 {
            return false;
        }
        let oldest = self.by_age.iter_mut().rev().find_map(VecDeque::pop_front);
        let bytes = oldest.as_ref().map_or(0, Slice::bytes);
        self.bytes = self.bytes.saturating_sub(bytes);
        oldest.is_some()
    }

    fn len(&self) -> usize {
        self.by_age.iter().map(VecDeque::len).total()
    }

    /// All slices, the oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Slice> + '_ {
        self.by_age.iter().rev().flatten()
    }

    /// The slices that begin at this time or later, the newest first.
    pub fn since(&self, from: Nanos) -> impl Iterator<Item = &Slice> + '_ {
        self.iter().rev().take_while(move |slice| slice.from >= from)
    }

    /// The memory that the slices take, in bytes.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slice::RowSlice;
    use wirelap_events::GroupId;

    const QUARTER: u64 = SECOND / 4;

    fn slice(at: u64) -> Slice {
        let mut row = RowSlice::new(GroupId(1));
        row.one_way.add(1_000 + at % 100);
        Slice {
            from: Nanos(at * QUARTER),
            to: Nanos((at + 1) * QUARTER),
            rows: vec![row],
            ..Slice::default()
        }
    }

    fn filled(slices: u64, budget: usize) -> Levels {
        let mut levels = Levels::new(budget);
        (0..slices).for_each(|at| levels.add(slice(at)));
        levels
    }

    fn count(levels: &Levels) -> u64 {
        levels.iter().filter_map(|slice| slice.row(GroupId(1))).map(RowSlice::matched).sum()
    }

    #[test]
    fn a_day_is_kept_in_few_slices_without_a_gap() {
        let day = 86_400 * 4;
        let levels = filled(day, usize::MAX);
        assert_eq!(count(&levels), day);
        assert!(levels.len() < 3_000, "{}", levels.len());
        let all: Vec<_> = levels.iter().collect();
        assert!(all.windows(2).all(|pair| pair[0].to == pair[1].from));
        let bytes: usize = all.iter().map(|slice| slice.bytes()).sum();
        assert_eq!(levels.bytes(), bytes);
    }

    #[test]
    fn what_is_older_than_all_levels_goes() {
        let levels = filled(3 * 86_400 * 4, usize::MAX);
        let first = levels.iter().next().unwrap();
        assert!(first.from > Nanos(86_400 * SECOND));
    }

    #[test]
    fn the_budget_costs_the_oldest() {
        let levels = filled(40_000, 100_000);
        assert!(levels.bytes() <= 100_000);
        assert_eq!(levels.iter().next_back().unwrap().to, Nanos(40_000 * QUARTER));
        assert!(levels.len() > 10);
    }
}
