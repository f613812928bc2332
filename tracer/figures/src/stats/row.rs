//! The statistics of one row.

use super::crossings::{Crossings, SEGMENT_DIGITS, SegmentTimes};
use super::distribution::Distribution;
use super::figures::{HistoryPoint, Rate, SegmentStat, Summary};
use super::history::DeliveryRates;
use super::pauses::Pauses;
use super::sampled::{RateSums, SampledRate};
use super::seconds::TracedSeconds;
use super::time_range::{TimeRange, merge_ranges};
use wirelap_events::{Delivery, Leg, MAX_LEGS, Nanos, Saturate, Segment, Stage, Total};

/// Everything that is computed from a row's deliveries.
#[derive(Debug)]
pub struct RowStats {
    /// One-way delays, in nanoseconds.
    pub one_way: Distribution,
    /// Times from when a reader could run to when it ran, in nanoseconds.
    pub sched_gap: Distribution,
    /// Bytes of payload.
    pub payload: Distribution,
    /// The limits of `one_way`, if some messages were sent on one host and read on another.
    one_way_range: Option<Box<TimeRange>>,
    segments: SegmentTimes,
    /// The limits of the segments in which legs go from one host to another.
    crossings: Crossings,
    /// The last whole seconds.
    pub history: DeliveryRates,
    first: Option<Nanos>,
    /// The first read, also of what could not be followed.
    first_read: Option<Nanos>,
    last: Nanos,
    delivered: u64,
    payload_bytes: u64,
    sampled: SampledRate,
}

impl Default for RowStats {
    fn default() -> RowStats {
        RowStats {
            one_way: Distribution::new(3),
            sched_gap: Distribution::new(3),
            payload: Distribution::new(3),
            one_way_range: None,
            segments: std::array::from_fn(|_| std::array::from_fn(|_| None)),
            crossings: Crossings::default(),
            history: DeliveryRates::default(),
            first: None,
            first_read: None,
            last: Nanos(0),
            delivered: 0,
            payload_bytes: 0,
            sampled: SampledRate::default(),
        }
    }
}

impl RowStats {
    /// Adds what another row has, which has turned out to be the same. The last seconds are those of the one that has more.
    pub fn merge(&mut self, mut other: RowStats) {
        let theirs = other.one_way_range.take();
        merge_ranges(&mut self.one_way_range, &self.one_way, theirs, &other.one_way);
        self.crossings.merge(&self.segments, &other.crossings, &other.segments);
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
        self.first_read = self.first_read.into_iter().chain(other.first_read).min();
        self.last = self.last.max(other.last);
        self.delivered.grow(other.delivered);
        self.payload_bytes.grow(other.payload_bytes);
        self.sampled.merge(other.sampled);
    }

    /// A message was read at `read`, in the window with this start if in any, and known to be complete at `now`.
    pub fn delivered(
        &mut self,
        now: Nanos,
        (read, window): (Nanos, Option<Nanos>),
        payload: u64,
        one_way: Option<Nanos>,
    ) {
        self.first = Some(self.first.map_or(read, |first| first.min(read)));
        self.note_read(read);
        self.last = self.last.max(read);
        self.delivered.grow(1);
        self.payload_bytes.grow(payload);
        self.payload.add(payload);
        if let Some(window) = window {
            self.sampled.add(window, read, payload);
        }
        self.history.add(now, payload, one_way);
    }

    /// A message was matched from first send to last read.
    pub fn matched(&mut self, delivery: &Delivery, one_way: Nanos) {
        self.note_limits(delivery, one_way);
        self.one_way.add(one_way.0);
        let mut gap: Option<Nanos> = None;
        for (leg, segments) in delivery.segments() {
            let crossing = delivery.legs.get(leg).and_then(crossing);
            if crossing.is_some() || !self.crossings.is_empty() {
                self.crossings.note(leg.min(MAX_LEGS - 1), &segments, crossing, &self.segments);
            }
            for (segment, time) in segments.iter() {
                let slot = &mut self.segments[leg.min(MAX_LEGS - 1)][segment as usize];
                slot.get_or_insert_with(|| Box::new(Distribution::new(SEGMENT_DIGITS))).add(time.0);
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

    /// Notes the limits of a message's latency, which is not added yet.
    fn note_limits(&mut self, delivery: &Delivery, one_way: Nanos) {
        let crosses = delivery.clock_error > Nanos(0);
        if !crosses && self.one_way_range.is_none() {
            return;
        }
        let range =
            self.one_way_range.get_or_insert_with(|| Box::new(TimeRange::of(&self.one_way)));
        match delivery.one_way_range().filter(|_| crosses) {
            Some(limits) => range.add_crossing(limits, delivery.clock_error),
            None => range.add(one_way),
        }
    }

    /// The largest error of each figure of the one-way latency; all 0 on one host.
    pub fn one_way_error(&self) -> Summary {
        let range = self.one_way_range.as_ref();
        range.map_or_else(Summary::default, |range| range.errors(&self.one_way.summary()))
    }

    /// Messages that were read in the window with this start, as is known when they are given up.
    pub fn delivered_late(
        &mut self,
        window: Option<Nanos>,
        read: Nanos,
        messages: u64,
        payload: u64,
    ) {
        if let Some(window) = window.filter(|_| messages > 0) {
            self.note_read(read);
            self.sampled.add_late(window, read, messages, payload);
        }
    }

    fn note_read(&mut self, read: Nanos) {
        self.first_read = Some(self.first_read.map_or(read, |first| first.min(read)));
    }

    /// A window has begun at `now`. `missing`: messages that were sent in windows, and not seen to be delivered.
    pub fn resume(&mut self, pauses: &Pauses, now: Nanos, missing: u64) {
        self.sampled.fold(pauses, now, self.first_read, missing);
    }

    /// Over the time from `since` until now, pauses included, with `delivered` in all: also what could not be joined.
    pub fn rate_over(&self, delivered: u64, since: Nanos, now: Nanos, pauses: &Pauses) -> Rate {
        let time = (now - since).as_secs_f64();
        if time <= 0.0 {
            return Rate::default();
        }
        if pauses.has_paused() {
            let Some(first) = self.first_read else { return Rate::UNKNOWN };
            let [all, _] = self.sampled.sums(pauses, now, first);
            let mut rate = all.with_first((first - since).as_secs_f64()).rate();
            // The time since the last window is taken for like the others, and may have been empty.
            let unseen = now - self.sampled.counted_until(pauses, now, first);
            rate.error += unseen.as_secs_f64() / time;
            return rate;
        }
        Rate {
            msg_per_s: delivered as f64 / time,
            payload_bit_per_s: self.payload_bytes as f64 / time * 8.0,
            error: 0.0,
        }
    }

    /// Between the first and the last delivery.
    pub fn rate(&self, now: Nanos, pauses: &Pauses) -> Rate {
        if pauses.has_paused() {
            let Some(first) = self.first_read else { return Rate::UNKNOWN };
            let [_, active] = self.sampled.sums(pauses, now, first);
            return active.rate();
        }
        let span = self.first.and_then(|first| self.last.since(first)).unwrap_or_default();
        if span == Nanos(0) {
            return Rate::default();
        }
        // The first delivery opens the span, the others fill it.
        let msg_per_s = self.delivered.saturating_sub(1) as f64 / span.as_secs_f64();
        let mean = self.payload_bytes as f64 / self.delivered as f64;
        Rate { msg_per_s, payload_bit_per_s: msg_per_s * mean * 8.0, error: 0.0 }
    }

    /// The present rate: over the last second, or that of the latest windows if not all of it was observed, or of all windows if these do not
    /// tell it.
    pub fn rate_now(&self, now: Nanos, pauses: &Pauses) -> Rate {
        let second = self.history.rate_now(now, |from| pauses.traced(from, now) == now - from);
        let latest = || self.sampled.now().filter(Rate::is_known);
        second.or_else(latest).unwrap_or_else(|| self.rate(now, pauses))
    }

    /// Sums of what the windows have shown so far; empty if there was no pause.
    pub fn sums(&self, now: Nanos, pauses: &Pauses) -> RateSums {
        let first = self.first_read.filter(|_| pauses.has_paused());
        first.map_or_else(RateSums::default, |first| self.sampled.sums(pauses, now, first)[0])
    }

    /// The last whole seconds, oldest first, with all that was delivered in them.
    pub fn points(&self, now: Nanos, pauses: &Pauses, traced: &TracedSeconds) -> Vec<HistoryPoint> {
        let first = self.first_read.filter(|_| pauses.has_paused());
        let rates = first.map(|first| self.sampled.by_second(pauses, now, first));
        self.history.points_traced(now, traced, &rates.unwrap_or_default())
    }

    /// The times of each segment, with the place of its leg.
    pub(super) fn segment_times(
        &self,
    ) -> impl Iterator<Item = (usize, Segment, &Distribution)> + '_ {
        self.segments.iter().enumerate().flat_map(|(leg, row)| {
            Segment::ALL
                .into_iter()
                .filter_map(move |segment| Some((leg, segment, row[segment as usize].as_deref()?)))
        })
    }

    /// The segments in the order of the way, each with its part of the whole time.
    pub fn segments(&self) -> Vec<SegmentStat> {
        let all = || self.segment_times();
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
                error: self.crossings.error_of(leg, segment, distribution),
            })
            .collect();
        // The dwell lies before the leg that it counts to.
        stats.sort_by_key(|s| (s.leg, s.segment != Segment::BrokerDwell, s.segment));
        stats
    }

    /// The one-way delays in short.
    pub fn one_way(&self) -> Summary {
        self.one_way.summary()
    }
}

/// The segment in which a leg goes from one host to another, its limits and their error; `None` on one host.
fn crossing(leg: &Leg) -> Option<(Segment, [Nanos; 2], Nanos)> {
    let (segment, limits) = leg.crossing()?;
    Some((segment, limits, leg.circumstances.path.hosts.error))
}

/// Time at which a delivery was read, or else passed the last stage that was seen.
pub fn ended_at(delivery: &Delivery) -> Nanos {
    let last = delivery.legs.last().and_then(|leg| leg.times.seen().next_back());
    read_at(delivery).or(last.map(|(_, at)| at)).unwrap_or_default()
}

/// The moment by which a delivery is in a sampling window or is not: when its last leg's packet was handed to the NIC queue, or else the
/// first stage of that leg. Not when it was read: what was on its way when the window opened is read in it, and may not be known.
pub fn sampled_at(delivery: &Delivery) -> Nanos {
    let Some(times) = delivery.legs.last().map(|leg| &leg.times) else { return Nanos(0) };
    let first = || times.seen().next().map(|(_, at)| at);
    times.get(Stage::Xmit).or_else(first).unwrap_or_default()
}

/// Time at which a delivery was read; `None` if nobody was seen to read it.
pub fn read_at(delivery: &Delivery) -> Option<Nanos> {
    delivery.legs.last()?.times.get(Stage::Read)
}
