//! Marks over byte ranges, searchable by byte.

use std::collections::VecDeque;
use wirelap_events::{ByteRange, Offset, Saturate};

/// Something that happened to a range of a flow's bytes.
pub trait Spanned {
    /// The bytes.
    fn range(&self) -> ByteRange;
}

/// Copies of a byte that are told apart: an original, a second device or a retransmission, and one
/// for what is rarer.
const LAYERS: usize = 3;

/// Marks in order of their bytes. Almost all go to the first layer; a mark over bytes that have one
/// already (a retransmission, a second device) goes to the next.
#[derive(Debug)]
pub struct Layers<M> {
    first: VecDeque<M>,
    /// The next layers; most flows need none.
    more: Option<Box<[VecDeque<M>; LAYERS - 1]>>,
    /// True if there ever was a mark.
    is_used: bool,
    /// The most marks in one layer.
    limit: usize,
    /// Nobody asks about bytes before this one any more.
    floor: Offset,
    /// Marks thrown away while their bytes were still of interest.
    evicted: u64,
}

impl<M: Spanned> Layers<M> {
    /// No marks yet; a layer has `limit` at most.
    pub fn new(limit: usize) -> Layers<M> {
        Layers {
            first: VecDeque::new(),
            more: None,
            is_used: false,
            limit,
            floor: Offset(0),
            evicted: 0,
        }
    }

    /// True if there never was a mark.
    pub fn is_unused(&self) -> bool {
        !self.is_used
    }

    /// The most marks in one layer.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Nobody asks about bytes before this one any more.
    pub fn floor(&self) -> Offset {
        self.floor
    }

    /// Adds a mark; one over no bytes is ignored.
    pub fn push(&mut self, mark: M) {
        let range = mark.range();
        if range.is_empty() {
            return;
        }
        self.is_used = true;
        let (limit, floor) = (self.limit, self.floor);
        let layer = self.layer_for(range.start);
        // Only the last layer can still have marks in the way: the newest copy is the one that counts.
        while layer.back().is_some_and(|last| last.range().end > range.start) {
            layer.pop_back();
        }
        let oldest = if layer.len() >= limit { layer.pop_front() } else { None };
        layer.push_back(mark);
        self.evicted.grow(u64::from(oldest.is_some_and(|mark| mark.range().end > floor)));
    }

    /// The first layer that has no mark behind `start`, or else the last one.
    fn layer_for(&mut self, start: Offset) -> &mut VecDeque<M> {
        let fits = |layer: &VecDeque<M>| layer.back().is_none_or(|last| last.range().end <= start);
        if fits(&self.first) {
            return &mut self.first;
        }
        let more = self.more.get_or_insert_default();
        let index = more.iter().position(fits).unwrap_or(LAYERS - 2);
        &mut more[index]
    }

    /// Does something to each layer.
    #[inline]
    fn for_each_layer(&mut self, mut act: impl FnMut(&mut VecDeque<M>)) {
        act(&mut self.first);
        if let Some(more) = &mut self.more {
            more.iter_mut().for_each(act);
        }
    }

    /// The newest mark of the first layer.
    pub fn last_mut(&mut self) -> Option<&mut M> {
        self.first.back_mut()
    }

    /// The newest mark of the first layer.
    pub fn last(&self) -> Option<&M> {
        self.first.back()
    }

    /// Removes the newest mark of the first layer.
    pub fn pop_last(&mut self) {
        self.first.pop_back();
    }

    /// Every mark over the byte at `at`.
    #[inline]
    pub fn covering(&self, at: Offset) -> impl Iterator<Item = &M> {
        let more = self.more.as_deref().map_or(&[][..], |more| more);
        first_beyond(&self.first, at)
            .into_iter()
            .chain(more.iter().filter_map(move |layer| first_beyond(layer, at)))
            .filter(move |mark| mark.range().contains(at))
    }

    /// Nobody asks about bytes before `floor` any more; marks before `below` are forgotten at once.
    pub fn prune(&mut self, below: Offset, floor: Offset) {
        self.floor = floor;
        self.for_each_layer(|layer| {
            while layer.front().is_some_and(|mark| mark.range().end <= below) {
                layer.pop_front();
            }
        });
    }

    /// Forgets marks below the floor that `is_old`, the oldest first.
    pub fn forget(&mut self, is_old: impl Fn(&M) -> bool) {
        let floor = self.floor;
        self.for_each_layer(|layer| {
            while layer.front().is_some_and(|m| m.range().end <= floor && is_old(m)) {
                layer.pop_front();
            }
        });
    }

    /// Drops the oldest of the marks below the floor until there are at most `count` marks in a
    /// layer.
    pub fn trim(&mut self, count: usize) {
        let floor = self.floor;
        self.for_each_layer(|layer| {
            while layer.len() > count && layer.front().is_some_and(|m| m.range().end <= floor) {
                layer.pop_front();
            }
        });
    }

    /// Frees memory that no mark uses.
    pub fn shrink(&mut self) {
        self.for_each_layer(VecDeque::shrink_to_fit);
    }

    /// Takes the number of marks that were thrown away while their bytes were still of interest.
    pub fn take_evicted(&mut self) -> u64 {
        std::mem::take(&mut self.evicted)
    }
}

/// The first mark that ends behind `at`. It is looked for from the front in growing steps: what is asked for is mostly
/// among the oldest that are kept.
fn first_beyond<M: Spanned>(layer: &VecDeque<M>, at: Offset) -> Option<&M> {
    let is_before = |mark: &M| mark.range().end <= at;
    let (mut low, mut high) = (0, 0);
    while layer.get(high).is_some_and(is_before) {
        low = high.saturating_add(1);
        high = high.saturating_mul(2).saturating_add(1);
    }
    let mut high = high.min(layer.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if layer.get(middle).is_some_and(is_before) {
            low = middle.saturating_add(1);
        } else {
            high = middle;
        }
    }
    layer.get(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Clone, Copy)]
    struct Mark(u64, u64, &'static str);

    impl Spanned for Mark {
        fn range(&self) -> ByteRange {
            ByteRange::new(Offset(self.0), self.1)
        }
    }

    fn names(layers: &Layers<Mark>, at: u64) -> Vec<&'static str> {
        layers.covering(Offset(at)).map(|mark| mark.2).collect()
    }

    #[test]
    fn every_copy_of_a_byte_is_found() {
        let mut layers = Layers::new(8);
        for mark in [Mark(0, 10, "a"), Mark(10, 10, "b"), Mark(0, 5, "a'"), Mark(20, 5, "c")] {
            layers.push(mark);
        }
        layers.push(Mark(0, 2, "a''"));
        layers.push(Mark(0, 3, "a'''"));
        assert_eq!(names(&layers, 2), ["a", "a'", "a'''"]);
        assert_eq!(names(&layers, 7), ["a"]);
        assert_eq!(names(&layers, 24), ["c"]);
        assert!(names(&layers, 25).is_empty());
    }

    #[test]
    fn pruning_and_the_limit_forget_the_oldest() {
        let mut layers = Layers::new(2);
        for start in 0..3 {
            layers.push(Mark(start * 10, 10, "m"));
        }
        assert_eq!(layers.take_evicted(), 1);
        assert!(names(&layers, 5).is_empty());
        layers.prune(Offset(20), Offset(20));
        assert!(names(&layers, 15).is_empty());
        assert_eq!(names(&layers, 25), ["m"]);
        assert_eq!(layers.take_evicted(), 0);
    }

    #[test]
    fn trimming_takes_only_what_lies_below_the_floor() {
        let mut layers = Layers::new(100);
        (0..10).for_each(|start| layers.push(Mark(start * 10, 10, "m")));
        layers.prune(Offset(0), Offset(50));
        layers.trim(2);
        assert!(names(&layers, 49).is_empty());
        assert_eq!(names(&layers, 50), ["m"]);
        assert_eq!(layers.take_evicted(), 0);
    }
}
