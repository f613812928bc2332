//! The figures of a window, put into a snapshot.

use crate::slice::{RowSlice, SegmentSlice};
use wirelap_correlate::{Counts, Group, Rate, RateSums, SegmentStat};
use wirelap_events::{Nanos, Saturate, Segment, Total};

/// The counts of a row up to a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowCounts {
    /// The messages.
    pub messages: Counts,
    /// Packets that were retransmitted.
    pub retransmissions: u64,
    /// For how long it was muted.
    pub muted: Nanos,
    /// The sums of the rates in sampling windows.
    pub rates: RateSums,
}

impl RowCounts {
    /// The counts of a row of a snapshot.
    pub fn of(group: &Group) -> RowCounts {
        RowCounts {
            messages: group.messages,
            retransmissions: group.overhead.detail.retransmissions,
            muted: group.muted.map_or(Nanos(0), |muted| muted.time),
            rates: group.rate_sums,
        }
    }

    /// Adds another row's.
    pub fn add(&mut self, other: &RowCounts) {
        self.messages += other.messages;
        self.retransmissions.grow(other.retransmissions);
        self.muted = self.muted.max(other.muted);
        self.rates.join(&other.rates);
    }

    /// The counts since an earlier time.
    pub fn since(&self, earlier: &RowCounts) -> Counts {
        let (now, then) = (&self.messages, &earlier.messages);
        wirelap_events::fieldwise!(now - then => Counts {
            sent, delivered, matched, uncovered, never_read, cut, unfinished, duplicates, retained, warmup
        })
    }
}

/// Puts the figures of a window into a row: latencies, segments, rates, counts and coverage. All else stays as it is since the beginning.
/// `time` is what was traced of the window; `is_sampled` says whether something was not.
pub fn put(
    group: &mut Group,
    window: &RowSlice,
    earlier: &RowCounts,
    (time, is_sampled): (Nanos, bool),
) {
    // Where a part was traced, the rate is that of the sampling windows, which stand for more than their own time.
    let sampled = is_sampled.then(|| group.rate_sums.since(&earlier.rates).rate());
    group.messages = RowCounts::of(group).since(earlier);
    group.one_way = window.one_way.summary();
    group.sched_gap = window.sched_gap.summary();
    group.segments = segments(&window.segments, &group.segments);
    group.coverage = group.messages.coverage(0);
    let rate = match sampled {
        Some(sampled) if sampled.is_known() => Some(sampled),
        // In so short a time, too few were seen: the row's latest rate stays.
        Some(_) => Some(group.rate_now),
        None => rate(group.messages.delivered, window, time),
    };
    if let Some(rate) = rate {
        (group.rate_now, group.rate) = (rate, rate);
    }
}

/// Deliveries over time. The payload bits of deliveries that were not matched are those of the mean matched one.
fn rate(delivered: u64, window: &RowSlice, time: Nanos) -> Option<Rate> {
    let seconds = time.as_secs_f64();
    if seconds <= 0.0 {
        return None;
    }
    let msg_per_s = delivered as f64 / seconds;
    let mean = window.payload_bytes as f64 / window.matched().max(1) as f64;
    Some(Rate { msg_per_s, payload_bit_per_s: msg_per_s * mean * 8.0, error: 0.0 })
}

/// The segments of a window. Their errors are those of the `whole` time.
fn segments(all: &[SegmentSlice], whole: &[SegmentStat]) -> Vec<SegmentStat> {
    let error = |leg, segment| {
        let mut same = whole.iter().filter(|of| (of.leg, of.segment) == (leg, segment));
        same.next().map_or(Nanos(0), |of| of.error)
    };
    let total: u64 = all.iter().map(|segment| segment.sum).total();
    let seen = all.iter().filter(|segment| segment.count > 0);
    let mut stats: Vec<SegmentStat> = seen
        .map(|one| (u8::try_from(wirelap_events::human::ordinal(one.leg)).unwrap_or(u8::MAX), one))
        .map(|(leg, one)| SegmentStat {
            leg,
            segment: one.segment,
            p50: one.times.quantile(0.5),
            p99: one.times.quantile(0.99),
            share: if total == 0 { 0.0 } else { one.sum as f64 / total as f64 },
            count: one.count,
            error: error(leg, one.segment),
        })
        .collect();
    // The dwell lies before the leg that it counts to.
    stats.sort_by_key(|s| (s.leg, s.segment != Segment::BrokerDwell, s.segment));
    stats
}
