//! What was delivered in a short time.

use crate::bins::Bins;
use crate::messages::Message;
use std::sync::Arc;
use wirelap_correlate::Snapshot;
use wirelap_events::{Delivery, GroupId, Nanos, Saturate, Segment, TopicId};

/// A snapshot, and what was delivered since the one before.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// The snapshot.
    pub snapshot: Arc<Snapshot>,
    /// What was delivered.
    pub slice: Slice,
}

/// What was delivered in a short time: between two snapshots, a quarter of a second apart.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    /// The time of the snapshot before.
    pub from: Nanos,
    /// The time of the snapshot.
    pub to: Nanos,
    /// The rows that had deliveries.
    pub rows: Vec<RowSlice>,
    /// Some of the messages, whole.
    pub messages: Vec<Message>,
    /// Names of topics that were not named before.
    pub topics: Vec<(TopicId, Box<str>)>,
}

/// What a row delivered in a time.
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
    /// How many deliveries had it.
    pub count: u64,
    /// The times; empty in slices that are older than a minute.
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

    /// Adds a matched delivery.
    pub fn add(&mut self, delivery: &Delivery, one_way: Nanos) {
        self.payload_bytes.grow(delivery.payload_len);
        self.one_way.add(one_way.0);
        let (mut gap, mut dwell): (Option<Nanos>, Option<Nanos>) = (None, None);
        for (leg, segments) in delivery.segments() {
            for (segment, time) in segments.iter() {
                self.segment(leg, segment, time);
                if segment == Segment::BrokerDwell {
                    dwell = Some(dwell.unwrap_or_default() + time);
                }
            }
            if let Some(of_leg) = segments.sched_gap() {
                gap = Some(gap.unwrap_or_default() + of_leg);
            }
        }
        if let Some(gap) = gap {
            self.sched_gap.add(gap.0);
        }
        if let Some(dwell) = dwell {
            self.dwell.add(dwell.0);
        }
    }

    fn segment(&mut self, leg: usize, segment: Segment, time: Nanos) {
        let slot = self.slot(leg, segment);
        slot.sum.grow(time.0);
        slot.count.grow(1);
        slot.times.add(time.0);
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

    /// Forgets the distributions of the segments and keeps their sums.
    pub fn forget_segment_times(&mut self) {
        self.segments.iter_mut().for_each(|segment| segment.times = Bins::default());
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        let segments = self.segments.iter().map(|segment| segment.times.bytes().saturating_add(32));
        [self.one_way.bytes(), self.sched_gap.bytes(), self.dwell.bytes()]
            .into_iter()
            .chain(segments)
            .fold(size_of::<RowSlice>(), usize::saturating_add)
    }
}

impl Slice {
    /// Adds a later slice.
    pub fn merge(&mut self, later: &Slice) {
        self.to = self.to.max(later.to);
        for row in &later.rows {
            match self.rows.iter_mut().find(|mine| mine.group == row.group) {
                Some(mine) => mine.merge(row),
                None => self.rows.push(row.clone()),
            }
        }
    }

    /// The deliveries of a row, if it had any.
    pub fn row(&self, group: GroupId) -> Option<&RowSlice> {
        self.rows.iter().find(|row| row.group == group)
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.rows.iter().map(RowSlice::bytes).fold(size_of::<Slice>(), usize::saturating_add)
    }
}
