//! The deliveries of a row since the last snapshot.

use super::kept::KeptMessages;
use crate::bins::DenseBins;
use crate::slice::{RowSlice, SegmentSlice};
use wirelap_events::{Delivery, GroupId, MAX_LEGS, Nanos, Saturate, Segment};

/// The segments of a leg; made when first used.
type LegSegments = [Option<Box<DenseBins>>; Segment::ALL.len()];

/// The deliveries of a row since the last snapshot. The memory is reused for those until the next one.
#[derive(Debug, Default)]
pub struct RowCollector {
    payload_bytes: u64,
    one_way: DenseBins,
    sched_gap: DenseBins,
    dwell: DenseBins,
    segments: [LegSegments; MAX_LEGS],
    /// The messages that are kept whole.
    pub kept: KeptMessages,
}

impl RowCollector {
    /// Adds a matched delivery.
    pub fn add(&mut self, delivery: &Delivery, one_way: Nanos) {
        self.payload_bytes.grow(delivery.payload_len);
        self.one_way.add(one_way.0);
        let (mut gap, mut dwell) = (None, None);
        for (leg, segments) in delivery.segments() {
            let Some(bins) = self.segments.get_mut(leg) else { continue };
            for (segment, time) in segments.iter() {
                bins[segment as usize].get_or_insert_default().add(time.0);
            }
            gap = sum(gap, segments.sched_gap());
            dwell = sum(dwell, segments.get(Segment::BrokerDwell));
        }
        if let Some(Nanos(gap)) = gap {
            self.sched_gap.add(gap);
        }
        if let Some(Nanos(dwell)) = dwell {
            self.dwell.add(dwell);
        }
    }

    /// Takes out what was delivered; `None` if nothing was.
    pub fn take(&mut self, group: GroupId) -> Option<RowSlice> {
        let one_way = self.one_way.take();
        if one_way.count() == 0 {
            return None;
        }
        let mut segments = Vec::new();
        for (leg, bins) in self.segments.iter_mut().enumerate() {
            for (segment, bins) in Segment::ALL.into_iter().zip(bins) {
                let times = bins.as_mut().map(|bins| bins.take()).unwrap_or_default();
                let (sum, count) = (times.sum(), times.count());
                if count > 0 {
                    segments.push(SegmentSlice { leg, segment, sum, count, times });
                }
            }
        }
        Some(RowSlice {
            group,
            payload_bytes: std::mem::take(&mut self.payload_bytes),
            one_way,
            sched_gap: self.sched_gap.take(),
            dwell: self.dwell.take(),
            segments,
        })
    }
}

fn sum(a: Option<Nanos>, b: Option<Nanos>) -> Option<Nanos> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}
