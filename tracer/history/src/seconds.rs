//! The deliveries of a row second by second, for the comparison of two times or two rows.

use crate::bins::Bins;
use crate::history::SessionHistory;
use crate::slice::RowSlice;
use crate::timeline::TimelineBlock;
use wirelap_events::{Count, GroupId, Nanos, Saturate, Segment};

const SECOND: u64 = 1_000_000_000;

/// The deliveries of a row in about a second; long ago, in about ten.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Second {
    /// The second's beginning.
    pub from: Nanos,
    /// The second's end.
    pub to: Nanos,
    /// The one-way latencies of its matched deliveries.
    pub one_way: Bins,
    /// Their scheduling gaps, where one was seen.
    pub sched_gap: Bins,
    /// Their dwells in the broker, all legs together, where they passed one.
    pub dwell: Bins,
    /// The time of each leg and segment, all deliveries together, in nanoseconds, in the order of a message's life. The first leg is 0.
    pub segments: Vec<(usize, Segment, u64)>,
}

impl Second {
    fn begin(block: &TimelineBlock) -> Second {
        Second { from: block.from, to: block.to, ..Second::default() }
    }

    fn add(&mut self, row: &RowSlice) {
        self.one_way.merge(&row.one_way);
        self.sched_gap.merge(&row.sched_gap);
        self.dwell.merge(&row.dwell);
        for theirs in row.segments.iter().filter(|segment| segment.count > 0) {
            let key = (theirs.leg, theirs.segment);
            match self.segments.iter_mut().find(|(leg, segment, _)| (*leg, *segment) == key) {
                Some((.., sum)) => sum.grow(theirs.sum),
                None => self.segments.push((theirs.leg, theirs.segment, theirs.sum)),
            }
        }
    }

    /// The time of a leg's segment, all deliveries together, in nanoseconds; 0 if none had it.
    pub fn segment(&self, leg: usize, segment: Segment) -> u64 {
        let all = self.segments.iter().filter(|(l, s, _)| (*l, *s) == (leg, segment));
        Count::sum(all.map(|(.., more)| *more)).0
    }
}

impl SessionHistory {
    /// The deliveries of a row in each second between two times, the oldest first; seconds without deliveries are included.
    pub fn seconds(&self, group: GroupId, (from, to): (Nanos, Nanos)) -> Vec<Second> {
        let inside = self.blocks_from(from).filter(|block| block.to <= to);
        let mut seconds: Vec<Second> = Vec::new();
        for block in inside {
            let is_same = |one: &Second| one.from.0 / SECOND == block.from.0 / SECOND;
            if !seconds.last().is_some_and(is_same) {
                seconds.push(Second::begin(block));
            }
            if let Some(second) = seconds.last_mut() {
                second.to = second.to.max(block.to);
                self.of_row(block, group).for_each(|row| second.add(&row));
            }
        }
        seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slice::{SegmentSlice, Slice, Update};
    use std::sync::Arc;
    use wirelap_correlate::Snapshot;

    const QUARTER: u64 = SECOND / 4;

    fn update(number: u64, latencies: &[u64]) -> Update {
        let (from, to) = (Nanos(number * QUARTER), Nanos((number + 1) * QUARTER));
        let mut row = RowSlice::new(GroupId(1));
        for latency in latencies {
            row.one_way.add(*latency);
        }
        if !latencies.is_empty() {
            let (sum, count) = (latencies.iter().sum(), latencies.len() as u64);
            let times = latencies.iter().copied().collect();
            row.segments = vec![SegmentSlice { leg: 1, segment: Segment::Wire, sum, count, times }];
        }
        let rows = if latencies.is_empty() { Vec::new() } else { vec![row] };
        let snapshot = Snapshot { at: to, ..Snapshot::default() };
        Update { snapshot: Arc::new(snapshot), slice: Slice { from, to, rows, ..Slice::default() } }
    }

    #[test]
    fn every_second_is_there_once_young_or_old() {
        let mut history = SessionHistory::default();
        for number in 0..4 * 100 {
            let latencies: &[u64] = if number % 40 < 4 { &[] } else { &[1_000, 3_000] };
            history.add(update(number, latencies));
        }
        let seconds = history.seconds(GroupId(1), (Nanos(0), Nanos(100 * SECOND)));
        assert_eq!(seconds.len(), 100);
        assert!(seconds.windows(2).all(|two| two[0].to == two[1].from));
        assert_eq!((seconds[0].one_way.count(), seconds[1].one_way.count()), (0, 8));
        assert_eq!(seconds[99].segment(1, Segment::Wire), 16_000);
        assert_eq!(seconds[99].segment(0, Segment::Wire), 0);
        let some = history.seconds(GroupId(1), (Nanos(20 * SECOND), Nanos(30 * SECOND)));
        assert_eq!((some.len(), some[0].from), (10, Nanos(20 * SECOND)));
        assert!(history.seconds(GroupId(2), (Nanos(0), Nanos(SECOND)))[0].segments.is_empty());
    }
}
