//! The sum of the slices of a window, kept up to date instead of added anew.

use crate::levels::Levels;
use crate::slice::{RowSlice, Slice};
use rustc_hash::FxHashMap;
use wirelap_events::{GroupId, Nanos};

/// The sum of the slices of a window.
#[derive(Clone, Debug, Default)]
pub struct Running {
    rows: FxHashMap<GroupId, RowSlice>,
    /// The length; `None` if slices never leave.
    length: Option<Nanos>,
    /// The beginning of the oldest slice in it.
    from: Option<Nanos>,
}

impl Running {
    /// An empty window.
    pub fn new(length: Option<Nanos>) -> Running {
        Running { length, ..Running::default() }
    }

    /// The window begins at a time, whenever its first slice does.
    pub fn begin(&mut self, at: Nanos) {
        self.from = Some(at);
    }

    /// When the window begins; `None` before its first slice.
    pub fn from(&self) -> Option<Nanos> {
        self.from
    }

    /// Adds the newest slice.
    pub fn add(&mut self, slice: &Slice) {
        self.from.get_or_insert(slice.from);
        for row in &slice.rows {
            self.rows.entry(row.group).or_insert_with(|| RowSlice::new(row.group)).merge(row);
        }
    }

    /// Removes the slices that do not belong to a window that ends at `to`. It must be called before the slice that ends there is added
    /// to the levels, because older slices are merged then.
    pub fn leave(&mut self, levels: &Levels, to: Nanos) {
        let (Some(length), Some(from)) = (self.length, self.from) else { return };
        let limit = to - length;
        for slice in levels.since(from).filter(|slice| slice.from < limit) {
            for row in &slice.rows {
                if let Some(mine) = self.rows.get_mut(&row.group) {
                    mine.subtract(row);
                }
            }
        }
        self.rows.retain(|_, row| row.matched() > 0);
        let oldest = levels.since(from).filter(|slice| slice.from >= limit).last();
        self.from = oldest.map(|slice| slice.from);
    }

    /// Adds everything anew if slices that belong to it had to go to save memory.
    pub fn check(&mut self, levels: &Levels) {
        let oldest = levels.iter().next().map(|slice| slice.from);
        if oldest <= self.from {
            return;
        }
        self.rows.clear();
        self.from = None;
        levels.iter().for_each(|slice| self.add(slice));
    }

    /// What a row delivered in the window.
    pub fn row(&self, group: GroupId) -> Option<&RowSlice> {
        self.rows.get(&group)
    }
}
