//! The statistics of one row.

use super::distribution::Distribution;
use super::figures::{Rate, SegmentStat, Summary};
use super::history::History;
use super::period::TracedPeriod;
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
    /// When the last pause ended, and how much longer than its traced part the period until then was.
    before: (Nanos, f64),
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
            before: (Nanos(0), 1.0),
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
        if other.before.0 > self.before.0 {
            self.before = other.before;
        }
    }

    /// A message was read at `read`, and known to be complete at `now`.
    pub fn delivered(&mut self, now: Nanos, read: Nanos, payload: u64, one_way: Option<Nanos>) {
        self.first = Some(self.first.map_or(read, |first| first.min(read)));
        self.last = self.last.max(read);
        self.delivered.grow(1);
        self.payload_bytes.grow(payload);
        self.payload.add(payload);
        if read < self.before.0 {
            // It belongs to the period before, and was completed in this one.
            self.estimated += self.before.1;
            self.estimated_of.grow(1);
        }
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

    /// A pause has ended at the end of a period. Each of the periods between the ends of two pauses counts with its own share: where
    /// much happens, perhaps less is traced.
    pub fn resume(&mut self, period: &TracedPeriod) {
        (self.estimated, self.estimated_of) = (self.estimate(period), self.delivered);
        self.before = (period.end, self.of_this_row(period).times_traced());
    }

    /// The part of a period in which there were deliveries: what was before the first one is no time of theirs.
    fn of_this_row(&self, period: &TracedPeriod) -> TracedPeriod {
        period.since(self.first.unwrap_or_default())
    }

    /// Deliveries with those that there would have been in pauses, up to the end of the present period.
    fn estimate(&self, period: &TracedPeriod) -> f64 {
        let new = self.delivered.saturating_sub(self.estimated_of) as f64;
        let times = self.of_this_row(period).times_traced();
        let is_first = self.estimated_of == 0 && self.first > Some(period.start);
        // The first delivery opens its period, which the others fill.
        let opens = f64::from(u8::from(is_first && new > 0.0));
        self.estimated + opens + (new - opens) * times
    }

    /// Over so much time, pauses included, with `delivered` in all: also what could not be joined.
    pub fn rate_over(&self, delivered: u64, time: Nanos, period: &TracedPeriod) -> Rate {
        if time == Nanos(0) {
            return Rate::default();
        }
        let scale =
            if self.delivered == 0 { 1.0 } else { self.estimate(period) / self.delivered as f64 };
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
        let msg_per_s =
            (self.estimate(&TracedPeriod::default()) - 1.0).max(0.0) / span.as_secs_f64();
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
