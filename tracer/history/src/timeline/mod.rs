//! The past as blocks that follow each other: the older, the longer.
//!
//! ```text
//!  level   length of its blocks   reaches back
//!      0   a slice: 250 ms        1 min
//!      1   1 s                    10 min
//!      2   10 s                   2 h
//!      3   1 min                  24 h
//! ```
//!
//! From level 2 on, the distributions of segments are forgotten; their sums stay. If all blocks together take more bytes than they may, the
//! level that takes most gives its oldest block to the next one earlier than it otherwise would, and the last level drops its oldest.

mod block;
mod packed;

pub use block::TimelineBlock;

use crate::slice::RowSlice;
use crate::united::United;
use std::collections::{BTreeMap, VecDeque};
use wirelap_events::{GroupId, Nanos, Size};

/// A level: how long its blocks are, and how far it reaches back.
#[derive(Clone, Copy, Debug)]
struct Level {
    length: Nanos,
    age: Nanos,
}

const SECOND: Nanos = Nanos::from_millis(1_000);
const MINUTE: Nanos = Nanos::from_millis(60_000);
const HOUR: Nanos = Nanos::from_millis(3_600_000);

/// The levels, the youngest first. The length of the first is that of the slices.
const LEVELS: [Level; 4] = [
    Level { length: Nanos(0), age: MINUTE },
    Level { length: SECOND, age: Nanos::from_millis(600_000) },
    Level { length: Nanos::from_millis(10_000), age: Nanos::from_millis(7_200_000) },
    Level { length: MINUTE, age: Nanos::from_millis(HOUR.0 / 1_000_000 * 24) },
];

/// From this level on, the distributions of segments are forgotten. Windows need them.
const COARSE: usize = 2;

/// The past as blocks that follow each other.
#[derive(Clone, Debug, Default)]
pub struct BlockTimeline {
    /// The blocks of each level of [`LEVELS`], the oldest first.
    levels: [VecDeque<TimelineBlock>; LEVELS.len()],
    /// The bytes of each level.
    memory: [Size; LEVELS.len()],
}

impl BlockTimeline {
    /// Adds the newest block.
    pub fn push(&mut self, block: TimelineBlock) {
        self.push_to(0, block);
    }

    /// Gives blocks to older levels at the time `at`, until all together take at most `bytes`.
    ///
    /// Windows begin with the blocks that begin at `starts`. These stay the beginning of a block, so that each window is made of whole blocks;
    /// and the blocks of the longest window keep their details, whatever they take.
    pub fn age(&mut self, at: Nanos, starts: &[Nanos], bytes: usize, united: &United) {
        for level in 0..LEVELS.len() {
            while self.is_too_old(level, at) && self.can_age(level, starts) {
                self.age_oldest(level, starts, united);
            }
        }
        while self.memory() > bytes {
            let can_age = (0..LEVELS.len()).filter(|&level| self.can_age(level, starts));
            let Some(level) = can_age.max_by_key(|&level| self.memory.get(level)) else { break };
            self.age_oldest(level, starts, united);
        }
    }

    fn is_too_old(&self, level: usize, at: Nanos) -> bool {
        let oldest = self.levels.get(level).and_then(VecDeque::front);
        let age = LEVELS.get(level).map_or(Nanos(0), |level| level.age);
        oldest.is_some_and(|block| block.to + age <= at)
    }

    fn can_age(&self, level: usize, starts: &[Nanos]) -> bool {
        let Some(blocks) = self.levels.get(level) else { return false };
        let windows = || starts.iter().min().copied().unwrap_or(Nanos(u64::MAX));
        match blocks.front() {
            None => false,
            Some(oldest) if level.saturating_add(1) == COARSE => oldest.to <= windows(),
            Some(_) => level > 0 || blocks.len() > 1,
        }
    }

    /// Gives the oldest block of a level to the next one, or drops it.
    fn age_oldest(&mut self, level: usize, starts: &[Nanos], united: &United) {
        let Some(block) = self.pop(level, VecDeque::pop_front) else { return };
        let older = level.saturating_add(1);
        let Some(Level { length, .. }) = LEVELS.get(older) else { return };
        // Blocks end at multiples of their length, so that columns of a second have a second each.
        let part_of = |at: Nanos| at.0.checked_div(length.0);
        let is_same = |last: &TimelineBlock| {
            part_of(last.from) == part_of(block.from)
                && last.to == block.from
                && !starts.contains(&block.from)
        };
        let last = self.levels.get(older).and_then(VecDeque::back);
        let last =
            if last.is_some_and(is_same) { self.pop(older, VecDeque::pop_back) } else { None };
        let blocks: Vec<TimelineBlock> = last.into_iter().chain([block]).collect();
        self.push_to(older, together(&blocks, older >= COARSE, united));
    }

    fn pop(
        &mut self,
        level: usize,
        pop: fn(&mut VecDeque<TimelineBlock>) -> Option<TimelineBlock>,
    ) -> Option<TimelineBlock> {
        let block = pop(self.levels.get_mut(level)?)?;
        let memory = self.memory.get_mut(level)?;
        *memory -= block.memory();
        Some(block)
    }

    fn push_to(&mut self, level: usize, block: TimelineBlock) {
        let (levels, memory) = (self.levels.get_mut(level), self.memory.get_mut(level));
        if let (Some(blocks), Some(memory)) = (levels, memory) {
            *memory += block.memory();
            blocks.push_back(block);
        }
    }

    /// All blocks, the oldest first.
    pub fn blocks(&self) -> impl Iterator<Item = &TimelineBlock> {
        self.blocks_from(Nanos(0))
    }

    /// The blocks that begin at a time or later, the oldest first.
    pub fn blocks_from(&self, from: Nanos) -> impl Iterator<Item = &TimelineBlock> {
        self.levels.iter().rev().flat_map(move |blocks| {
            blocks.range(blocks.partition_point(|block| block.from < from)..)
        })
    }

    /// The memory that all blocks take, in bytes.
    pub fn memory(&self) -> usize {
        Size::sum(self.memory).0
    }
}

/// Several blocks as one.
fn together(blocks: &[TimelineBlock], is_coarse: bool, united: &United) -> TimelineBlock {
    let mut rows: BTreeMap<GroupId, RowSlice> = BTreeMap::new();
    for mut row in blocks.iter().flat_map(TimelineBlock::rows) {
        if is_coarse {
            row.forget_segment_times();
        }
        rows.entry(united.root(row.group)).or_default().merge(&row);
    }
    let from = blocks.first().map_or(Nanos(0), |block| block.from);
    let to = blocks.last().map_or(from, |block| block.to);
    TimelineBlock::pack(from, to, rows.iter().map(|(group, row)| (*group, row)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUARTER: Nanos = Nanos::from_millis(250);

    fn filled(slices: u64, bytes: usize) -> BlockTimeline {
        let mut timeline = BlockTimeline::default();
        for number in 0..slices {
            let mut row = RowSlice::default();
            row.one_way.add(1_000 + number % 100);
            let (from, to) = (QUARTER * number, QUARTER * (number + 1));
            timeline.push(TimelineBlock::pack(from, to, [(GroupId(1), &row)]));
            timeline.age(to, &[to - MINUTE], bytes, &United::default());
        }
        timeline
    }

    fn count(timeline: &BlockTimeline) -> u64 {
        timeline.blocks().filter_map(|block| block.row(GroupId(1))).map(|row| row.matched()).sum()
    }

    #[test]
    fn a_day_is_kept_in_few_blocks_without_a_gap() {
        let day = 86_400 * 4;
        let timeline = filled(day, usize::MAX);
        assert_eq!(count(&timeline), day);
        let all: Vec<_> = timeline.blocks().collect();
        assert!(all.len() < 3_100, "{}", all.len());
        assert!(all.windows(2).all(|pair| pair[0].to == pair[1].from));
        let memory: usize = all.iter().map(|block| block.memory()).sum();
        assert_eq!(timeline.memory(), memory);
    }

    #[test]
    fn what_is_older_than_all_levels_goes() {
        let timeline = filled(2 * 86_400 * 4, usize::MAX);
        let oldest = timeline.blocks().next().unwrap().from;
        let day = HOUR * 24;
        assert!(oldest >= day - MINUTE && oldest <= day, "{oldest}");
    }

    #[test]
    fn the_budget_costs_the_oldest_and_not_the_last_minute() {
        let timeline = filled(40_000, 40_000);
        assert!(timeline.memory() <= 40_000);
        assert_eq!(timeline.blocks().last().unwrap().to, QUARTER * 40_000);
        let minute = timeline.blocks_from(QUARTER * 40_000 - MINUTE);
        assert_eq!(
            minute.filter_map(|block| block.row(GroupId(1))).map(|row| row.matched()).sum::<u64>(),
            240
        );
        let reach = QUARTER * 40_000 - timeline.blocks().next().unwrap().from;
        assert!(reach > Nanos::from_millis(600_000), "{reach}");
        let none = filled(400, 0);
        assert_eq!(count(&none), 240, "without any room, the last minute");
    }
}
