//! The sum of the blocks of a window, kept up to date instead of added anew.

use crate::slice::RowSlice;
use crate::timeline::{BlockTimeline, TimelineBlock};
use crate::united::United;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use wirelap_events::{GroupId, Nanos, Size};

/// The smallest and the largest one-way latency, scheduling gap and dwell of a slice.
#[derive(Clone, Copy, Debug)]
struct SliceLimits {
    /// The beginning of the slice.
    from: Nanos,
    /// `None` where there is no value.
    limits: [Option<(u64, u64)>; 3],
}

/// The sum of a row.
#[derive(Clone, Debug, Default)]
struct Sum {
    row: RowSlice,
    /// The limits of the slices in the window in which the row delivered anything, the oldest first. Empty if slices never leave.
    limits: VecDeque<SliceLimits>,
}

/// The sum of the blocks of a window.
#[derive(Clone, Debug, Default)]
pub struct RunningSum {
    rows: FxHashMap<GroupId, Sum>,
    /// The length; `None` if slices never leave.
    length: Option<Nanos>,
    /// The beginning of the oldest slice in it.
    from: Option<Nanos>,
}

impl RunningSum {
    /// An empty window.
    pub fn new(length: Option<Nanos>) -> RunningSum {
        RunningSum { length, ..RunningSum::default() }
    }

    /// The window begins at a time, whenever its first slice does.
    pub fn begin(&mut self, at: Nanos) {
        self.from = Some(at);
    }

    /// The beginning of the window; `None` before its first slice.
    pub fn from(&self) -> Option<Nanos> {
        self.from
    }

    /// Adds what a row delivered in the newest slice, which begins at `from`.
    pub fn add(&mut self, from: Nanos, group: GroupId, row: &RowSlice) {
        let sum = self.rows.entry(group).or_default();
        sum.row.group = group;
        sum.row.merge(row);
        if self.length.is_some() {
            let limits =
                row.bins().map(|bins| (bins.count() > 0).then(|| (bins.min().0, bins.max().0)));
            sum.limits.push_back(SliceLimits { from, limits });
        }
    }

    /// Removes the blocks that do not belong to a window that ends at `to`, which is the end of the newest block. That one stays in any case.
    pub fn leave(&mut self, timeline: &BlockTimeline, to: Nanos, united: &United) {
        let Some(length) = self.length else { return };
        let mut from = self.from;
        let mut blocks = timeline.blocks_from(from.unwrap_or_default()).peekable();
        while let Some(oldest) = blocks.next() {
            from = Some(oldest.from);
            if oldest.from + length >= to || blocks.peek().is_none() {
                break;
            }
            self.remove(oldest, united);
        }
        self.from = from;
    }

    fn remove(&mut self, block: &TimelineBlock, united: &United) {
        for row in block.rows() {
            let group = united.root(row.group);
            let Some(sum) = self.rows.get_mut(&group) else { continue };
            sum.remove(&row, block.to);
            if sum.row.matched() == 0 {
                self.rows.remove(&group);
            }
        }
    }

    /// A row has turned out to be a part of another one.
    pub fn unite(&mut self, part: GroupId, whole: GroupId) {
        let Some(part) = self.rows.remove(&part) else { return };
        let sum = self.rows.entry(whole).or_default();
        sum.row.group = whole;
        sum.row.merge(&part.row);
        sum.limits.extend(part.limits);
        sum.limits.make_contiguous().sort_by_key(|limits| limits.from);
    }

    /// The deliveries of a row in the window; `None` if there are none.
    pub fn row(&self, group: GroupId) -> Option<&RowSlice> {
        self.rows.get(&group).map(|sum| &sum.row)
    }

    /// The memory that it takes, in bytes.
    pub fn memory(&self) -> usize {
        let limits = |sum: &Sum| Size::of::<SliceLimits>(sum.limits.capacity());
        let rows = self.rows.values().map(|sum| limits(sum) + sum.row.bytes());
        (Size::of::<RunningSum>(1) + Size::sum(rows)).0
    }
}

impl Sum {
    /// Removes what was delivered in a block that ends at `to`.
    fn remove(&mut self, gone: &RowSlice, to: Nanos) {
        self.row.subtract(gone);
        while self.limits.front().is_some_and(|limits| limits.from < to) {
            self.limits.pop_front();
        }
        let slices = &self.limits;
        for (index, (bins, gone)) in self.row.bins_mut().into_iter().zip(gone.bins()).enumerate() {
            if gone.min() > bins.min() && gone.max() < bins.max() {
                continue;
            }
            let limits = slices.iter().filter_map(|slice| slice.limits.get(index).copied()?);
            let limits = limits.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
            if let Some(limits) = limits {
                bins.set_limits(limits);
            }
        }
    }
}
