//! The statistics of one row.

use super::distribution::Distribution;
use super::figures::{Rate, SegmentStat, Summary};
use super::history::History;
use wirelap_events::{Delivery, MAX_LEGS, Nanos, Saturate, Segment, Stage, Total};

/// Everything that is computed from a row's deliveries.
#[derive(Debug)]
pub struct RowStats {
    pub one_way: Distribution,
    pub sched_gap: Distribution,
    pub payload: Distribution,
    /// By leg and segment; made when first used.
    segments: [[Option<Box<Distribution>>; Segment::ALL.len()]; MAX_LEGS],
    pub history: History,
    first: Option<Nanos>,
    last: Nanos,
    delivered: u64,
    payload_bytes: u64,
    /// Deliveries until the last pause ended, with those that there would have been in the pauses.
    estimated: f64,
    /// How many deliveries those are without the pauses.
    estimated_of: u64,
}

impl RowStats {
    pub fn new() -> RowStats {
        RowStats {
            one_way: Distribution::new(3),
            sched_gap: Distribution::new(3),
            payload: Distribution::new(3),
            segments: std::array::from_fn(|_| std::array::from_fn(|_| None)),
            history: History::new(),
            first: None,
            last: Nanos(0),
            delivered: 0,
            payload_bytes: 0,
            estimated: 0.0,
            estimated_of: 0,
        }
    }

    /// Adds what another row has, which has turned out to be the same. The last seconds are those of the one that has more.
    pub fn merge(&mut self, other: RowStats) {
        self.one_way.merge(&other.one_way);
        self.sched_gap.merge(&other.sched_gap);
        self.payload.merge(&other.payload);
        let slots = self.segments.iter_mut().flatten();
        for (mine, theirs) in slots.zip(other.segments.into_iter().flatten()) {
            match (mine, theirs) {
                (Some(mine), Some(theirs)) => mine.merge(&theirs),
                (mine, Some(theirs)) => *mine = Some(theirs),
                (_, None) => {}
            }
        }
        if other.delivered > self.delivered {
            self.history = other.history;
        }
        self.first = self.first.into_iter().chain(other.first).min();
        self.last = self.last.max(other.last);
        self.delivered.grow(other.delivered);
        self.payload_bytes.grow(other.payload_bytes);
        self.estimated += other.estimated;
        self.estimated_of.grow(other.estimated_of);
    }

    /// A message was read at `read`, and known to be complete at `now`.
    pub fn delivered(&mut self, now: Nanos, read: Nanos, payload: u64, one_way: Option<Nanos>) {
        self.first = Some(self.first.map_or(read, |first| first.min(read)));
        self.last = self.last.max(read);
        self.delivered.grow(1);
        self.payload_bytes.grow(payload);
        self.payload.add(payload);
        self.history.add(now, payload, one_way);
    }

    /// A message was matched from first send to last read.
    pub fn matched(&mut self, delivery: &Delivery, one_way: Nanos) {
        self.one_way.add(one_way.0);
        let mut gap: Option<Nanos> = None;
        for (leg, segments) in delivery.segments() {
            for (segment, time) in segments.iter() {
                let slot = &mut self.segments[leg.min(MAX_LEGS - 1)][segment as usize];
                slot.get_or_insert_with(|| Box::new(Distribution::new(2))).add(time.0);
            }
            gap = match (gap, segments.sched_gap()) {
                (Some(a), Some(b)) => Some(a + b),
                (a, b) => a.or(b),
            };
        }
        if let Some(gap) = gap {
            self.sched_gap.add(gap.0);
        }
    }

    /// A pause has ended. From the end of the one before, so many times the traced time have passed. Each of the times between
    /// two pauses counts with its own share: where much happens, perhaps less is traced.
    pub fn resume(&mut self, times: f64) {
        (self.estimated, self.estimated_of) = (self.estimate(times), self.delivered);
    }

    /// Deliveries with those that there would have been in pauses; since the last pause ended, so many times the traced time have passed.
    fn estimate(&self, times: f64) -> f64 {
        self.estimated + self.delivered.saturating_sub(self.estimated_of) as f64 * times
    }

    /// Over so much time, pauses included, with `delivered` in all: also what could not be joined. Since the last pause ended, so
    /// many times the traced time have passed.
    pub fn rate_over(&self, delivered: u64, time: Nanos, times: f64) -> Rate {
        if time == Nanos(0) {
            return Rate::default();
        }
        let scale =
            if self.delivered == 0 { 1.0 } else { self.estimate(times) / self.delivered as f64 };
        let each_second = |count: u64| count as f64 * scale / time.as_secs_f64();
        Rate {
            msg_per_s: each_second(delivered),
            payload_bit_per_s: each_second(self.payload_bytes) * 8.0,
        }
    }

    /// Between the first and the last delivery.
    pub fn rate(&self) -> Rate {
        let Some(span) = self.first.and_then(|first| self.last.since(first)) else {
            return Rate::default();
        };
        if span == Nanos(0) {
            return Rate::default();
        }
        // The first delivery opens the span, the others fill it. It ends in traced time.
        let msg_per_s = (self.estimate(1.0) - 1.0).max(0.0) / span.as_secs_f64();
        let mean = self.payload_bytes as f64 / self.delivered as f64;
        Rate { msg_per_s, payload_bit_per_s: msg_per_s * mean * 8.0 }
    }

    pub fn segments(&self) -> Vec<SegmentStat> {
        let all = || {
            self.segments.iter().enumerate().flat_map(|(leg, row)| {
                Segment::ALL.into_iter().filter_map(move |segment| {
                    Some((leg, segment, row[segment as usize].as_deref()?))
                })
            })
        };
        let total: u128 = all().map(|(_, _, distribution)| distribution.sum()).total();
        let share = |sum: u128| if total == 0 { 0.0 } else { sum as f64 / total as f64 };
        let mut stats: Vec<_> = all()
            .map(|(leg, segment, distribution)| SegmentStat {
                leg: u8::try_from(leg.saturating_add(1)).unwrap_or(u8::MAX),
                segment,
                p50: Nanos(distribution.quantile(0.5)),
                p99: Nanos(distribution.quantile(0.99)),
                share: share(distribution.sum()),
                count: distribution.count(),
            })
            .collect();
        // The dwell lies before the leg that it counts to.
        stats.sort_by_key(|s| (s.leg, s.segment != Segment::BrokerDwell, s.segment));
        stats
    }

    pub fn one_way(&self) -> Summary {
        self.one_way.summary()
    }
}

/// When a delivery was read, or else passed the last stage that was seen.
pub fn ended_at(delivery: &Delivery) -> Nanos {
    let last = delivery.legs.last().and_then(|leg| leg.times.seen().next_back());
    read_at(delivery).or(last.map(|(_, at)| at)).unwrap_or_default()
}

/// When a delivery was read.
pub fn read_at(delivery: &Delivery) -> Option<Nanos> {
    delivery.legs.last()?.times.get(Stage::Read)
}
