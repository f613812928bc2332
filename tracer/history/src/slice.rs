//! The deliveries of a short time.

use crate::bins::Bins;
use crate::messages::KeptMessage;
use std::sync::Arc;
use wirelap_correlate::Snapshot;
use wirelap_events::{GroupId, Nanos, Saturate, Segment, Size, TopicId};

/// A snapshot, and what was delivered since the one before.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// The snapshot.
    pub snapshot: Arc<Snapshot>,
    /// The deliveries since the snapshot before.
    pub slice: Slice,
}

/// The deliveries of a short time: between two snapshots, a quarter of a second apart.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    /// The time of the snapshot before.
    pub from: Nanos,
    /// The time of the snapshot.
    pub to: Nanos,
    /// The rows that had deliveries.
    pub rows: Vec<RowSlice>,
    /// Some of the messages, whole.
    pub messages: Vec<KeptMessage>,
    /// Names of topics that were not named before.
    pub topics: Vec<(TopicId, Box<str>)>,
}

/// The deliveries of a row in a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowSlice {
    /// The row.
    pub group: GroupId,
    /// The payload bytes of its matched deliveries.
    pub payload_bytes: u64,
    /// The one-way latencies of its matched deliveries.
    pub one_way: Bins,
    /// Their scheduling gaps, where one was seen.
    pub sched_gap: Bins,
    /// Their dwells in the broker, all legs together, where they passed one.
    pub dwell: Bins,
    /// Their segments, by leg and then in the order of [`Segment::ALL`].
    pub segments: Vec<SegmentSlice>,
}

/// A segment of a row's deliveries in a time.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentSlice {
    /// The leg, 0 for the first. The broker's dwell counts to the leg after it.
    pub leg: usize,
    /// The segment.
    pub segment: Segment,
    /// The sum of the times, in nanoseconds.
    pub sum: u64,
    /// Number of deliveries that had the segment.
    pub count: u64,
    /// The times; empty in slices that are older than ten minutes.
    pub times: Bins,
}

impl SegmentSlice {
    fn place(&self) -> (usize, usize) {
        (self.leg, self.segment as usize)
    }
}

impl RowSlice {
    /// An empty one of a row.
    pub fn new(group: GroupId) -> RowSlice {
        RowSlice { group, ..RowSlice::default() }
    }

    /// Matched deliveries.
    pub fn matched(&self) -> u64 {
        self.one_way.count()
    }

    /// The entry of a leg's segment.
    fn slot(&mut self, leg: usize, segment: Segment) -> &mut SegmentSlice {
        let found =
            self.segments.binary_search_by_key(&(leg, segment as usize), SegmentSlice::place);
        let at = found.unwrap_or_else(|at| {
            let new = SegmentSlice { leg, segment, sum: 0, count: 0, times: Bins::default() };
            self.segments.insert(at, new);
            at
        });
        &mut self.segments[at]
    }

    /// Adds another's deliveries.
    pub fn merge(&mut self, other: &RowSlice) {
        self.payload_bytes.grow(other.payload_bytes);
        self.one_way.merge(&other.one_way);
        self.sched_gap.merge(&other.sched_gap);
        self.dwell.merge(&other.dwell);
        for theirs in &other.segments {
            let mine = self.slot(theirs.leg, theirs.segment);
            mine.sum.grow(theirs.sum);
            mine.count.grow(theirs.count);
            mine.times.merge(&theirs.times);
        }
    }

    /// Removes deliveries that were added before by [`RowSlice::merge`].
    pub fn subtract(&mut self, other: &RowSlice) {
        self.payload_bytes.shrink(other.payload_bytes);
        self.one_way.subtract(&other.one_way);
        self.sched_gap.subtract(&other.sched_gap);
        self.dwell.subtract(&other.dwell);
        for theirs in &other.segments {
            let mine = self.slot(theirs.leg, theirs.segment);
            mine.sum.shrink(theirs.sum);
            mine.count.shrink(theirs.count);
            mine.times.subtract(&theirs.times);
        }
    }

    /// One-way latency, scheduling gap and dwell.
    pub(crate) fn bins(&self) -> [&Bins; 3] {
        [&self.one_way, &self.sched_gap, &self.dwell]
    }

    /// The same, in the same order.
    pub(crate) fn bins_mut(&mut self) -> [&mut Bins; 3] {
        [&mut self.one_way, &mut self.sched_gap, &mut self.dwell]
    }

    /// Forgets the distributions of the segments and keeps their sums.
    pub fn forget_segment_times(&mut self) {
        self.segments.iter_mut().for_each(|segment| segment.times = Bins::default());
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        let own = self.bins().into_iter().map(Bins::bytes);
        let times = self.segments.iter().map(|segment| segment.times.bytes());
        let segments = Size::of::<SegmentSlice>(self.segments.len()) + Size::sum(times);
        (Size::of::<RowSlice>(1) + Size::sum(own) + segments).0
    }
}

impl Slice {
    /// Adds a later slice, without its messages and names.
    pub fn merge(&mut self, later: &Slice) {
        self.to = self.to.max(later.to);
        for row in &later.rows {
            match self.rows.iter_mut().find(|mine| mine.group == row.group) {
                Some(mine) => mine.merge(row),
                None => self.rows.push(row.clone()),
            }
        }
    }

    /// The memory that its rows take, in bytes.
    pub fn bytes(&self) -> usize {
        (Size::of::<Slice>(1) + Size::sum(self.rows.iter().map(RowSlice::bytes))).0
    }
}
