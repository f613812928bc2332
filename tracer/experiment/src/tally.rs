//! Sums up the deliveries of a trial: the exact times of each message that can be compared with the workloads' records, and
//! histograms of everything else.

mod blocks;
mod sink;

pub use blocks::LatencyBlocks;

use crate::kept_times::KeptTimes;
use crate::samples::SharedSamples;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wirelap_events::{
    Count, Delivery, MAX_LEGS, Nanos, Pid, SampleStatus, Segment, Segments, Stage, Stamp,
};
use wirelap_events::{Saturate, Total};
use wirelap_report::{Samples, SegmentRow};

/// The number of lanes: two directions for each stream of a stamp.
pub const LANES: usize = 128;

/// A number that no message of a run reaches.
const MAX_KEPT: usize = 1 << 24;

/// Times at which a message was first sent and last read; both 0 if it was not matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageTimes {
    /// Time at which the message's first byte was sent.
    pub sent: Nanos,
    /// Time at which the receive call that took the message's last byte returned.
    pub read: Nanos,
    /// The process that sent its first byte; 0 if that is not known.
    pub sender: Pid,
}

/// The times of messages in each segment of each leg.
#[derive(Clone, Debug, Default)]
pub struct SegmentTimes([[Option<Box<Samples>>; Segment::ALL.len()]; MAX_LEGS]);

impl SegmentTimes {
    /// Adds the time of one message.
    pub fn add(&mut self, leg: usize, segment: Segment, time: Nanos) {
        if let Some(legs) = self.0.get_mut(leg) {
            legs[segment as usize].get_or_insert_default().add(time);
        }
    }

    /// Adds the times of many messages.
    pub fn add_all(&mut self, leg: usize, segment: Segment, times: &Samples) {
        if let Some(legs) = self.0.get_mut(leg) {
            legs[segment as usize].get_or_insert_default().merge(times);
        }
    }

    /// The segments that at least one message had, with the number of the leg, in the order in which messages pass them.
    pub fn iter(&self) -> impl Iterator<Item = (u8, Segment, &Samples)> {
        self.0.iter().enumerate().flat_map(|(leg, times)| {
            let leg = u8::try_from(wirelap_events::human::ordinal(leg)).unwrap_or(u8::MAX);
            life_order().filter_map(move |s| Some((leg, s, times[s as usize].as_deref()?)))
        })
    }

    /// One row for each segment that at least one message had, in the order in which messages pass them.
    pub fn rows(&self) -> Vec<SegmentRow> {
        let whole: u128 = self.iter().map(|(_, _, samples)| u128::from(samples.sum().0)).total();
        self.iter()
            .map(|(leg, segment, samples)| SegmentRow {
                leg,
                segment: segment.name().to_owned(),
                p50_ns: samples.quantile(0.5).0,
                p99_ns: samples.quantile(0.99).0,
                share: if whole > 0 { samples.sum().0 as f64 / whole as f64 } else { 0.0 },
                total_ns: Some(samples.sum().0),
                count: samples.count(),
                clock_error_ns: None,
            })
            .collect()
    }
}

/// The segments of a leg in order. The dwell at the forwarder comes before the leg that it is counted with.
fn life_order() -> impl Iterator<Item = Segment> {
    let dwell = std::iter::once(Segment::BrokerDwell);
    dwell.chain(Segment::ALL.into_iter().filter(|&segment| segment != Segment::BrokerDwell))
}

/// Further deliveries of messages that have several.
#[derive(Debug)]
struct FurtherDeliveries {
    times: Vec<(Stamp, MessageTimes)>,
    /// Most deliveries of a message: to each of its subscribers once.
    most_copies: u64,
    /// Number of further deliveries of each message of each lane, if there may be several.
    copies: Vec<Vec<u32>>,
}

/// The sums of a trial's deliveries.
#[derive(Debug)]
pub struct Tally {
    lanes: KeptTimes<MessageTimes>,
    /// A bit for each message of each lane that was delivered.
    delivered: Vec<Vec<u64>>,
    further: FurtherDeliveries,
    /// The one-way latency of all messages.
    pub one_way: Samples,
    /// The same in blocks of successive messages.
    pub blocks: LatencyBlocks,
    /// The one-way latency of stamped messages that are no replies.
    pub requests: Samples,
    /// The one-way latency of replies.
    pub replies: Samples,
    /// The scheduling gap of the messages that had one.
    pub gap: Samples,
    /// The times in each segment.
    pub segments: SegmentTimes,
    /// Messages that were followed from the first send to the last read.
    pub matched: Count,
    /// Deliveries that were not followed from end to end.
    pub unmatched: Count,
    /// Warm-up messages of other projects' programs.
    pub warmup: Count,
    /// Matched messages that were delivered again.
    pub duplicates: Count,
    /// Matched messages whose segments do not sum to their one-way latency.
    pub telescoping_violations: Count,
    /// Payload bytes of the matched messages.
    pub payload_bytes: Count,
    /// The first send and the last read of all matched messages.
    pub span: Option<(Nanos, Nanos)>,
    /// Counts messages without a stamp, after this many of the warm-up; `None` counts those with a stamp.
    unstamped: Option<u64>,
    progress: Arc<AtomicU64>,
    /// Takes each delivery, if the user has asked for it.
    samples: Option<SharedSamples>,
}

impl Tally {
    /// An empty tally with memory for `expected` messages. `progress` counts deliveries for other threads.
    pub fn new(expected: usize, progress: Arc<AtomicU64>) -> Tally {
        let mut lanes = KeptTimes::new(LANES);
        for stamp in [request(0), Stamp { reply: true, ..request(0) }] {
            lanes.reserve(lane(stamp), expected);
        }
        Tally {
            lanes,
            delivered: vec![Vec::new(); LANES],
            further: FurtherDeliveries {
                times: Vec::new(),
                most_copies: 1,
                copies: vec![Vec::new(); LANES],
            },
            one_way: Samples::new(),
            blocks: LatencyBlocks::default(),
            requests: Samples::new(),
            replies: Samples::new(),
            gap: Samples::new(),
            segments: SegmentTimes::default(),
            matched: Count(0),
            unmatched: Count(0),
            warmup: Count(0),
            duplicates: Count(0),
            telescoping_violations: Count(0),
            payload_bytes: Count(0),
            span: None,
            unstamped: None,
            progress,
            samples: None,
        }
    }

    /// A tally of messages without a stamp, which other projects' programs send. The first `warmup` messages are not counted, nor
    /// are messages with a stamp.
    pub fn unstamped(self, warmup: u64) -> Tally {
        Tally { unstamped: Some(warmup), ..self }
    }

    /// A tally of messages that several subscribers get.
    pub fn with_copies(mut self, most_copies: u64) -> Tally {
        self.further.most_copies = most_copies;
        self
    }

    /// The index of the last leg, which is the same for all messages of a trial.
    pub fn last_leg(&self) -> usize {
        self.segments.0.iter().rposition(|leg| leg.iter().any(Option::is_some)).unwrap_or_default()
    }

    /// The stamp and the times of every matched message whose times were kept.
    pub fn messages(&self) -> impl Iterator<Item = (Stamp, MessageTimes)> + '_ {
        let known = self.lanes.iter().filter(|(_, slot)| **slot != MessageTimes::default());
        let first = known.map(|((lane, seq), &slot)| {
            // The function `lane` numbers the lanes.
            let stream = u8::try_from(lane / 2).unwrap_or_default();
            (Stamp { stream, seq, reply: lane % 2 == 1, warmup: false }, slot)
        });
        let further = self.further.times.iter().filter(|(stamp, _)| self.lanes.keeps(stamp.seq));
        first.chain(further.copied())
    }

    fn take(&mut self, delivery: &Delivery) {
        match (delivery.stamp, self.unstamped) {
            (Some(stamp), None) if !stamp.warmup => self.count(delivery, Some(stamp)),
            (None, Some(warmup)) if self.warmup < warmup => {
                self.warmup += 1;
                self.sample(delivery, SampleStatus::WarmUp);
            }
            (None, Some(_)) => self.count(delivery, None),
            _ => {}
        }
    }

    fn count(&mut self, delivery: &Delivery, stamp: Option<Stamp>) {
        self.progress.fetch_add(1, Ordering::Relaxed);
        let last = delivery.legs.last().and_then(|leg| leg.times.get(Stage::Read));
        let (Some(one_way), Some(read)) = (delivery.one_way(), last) else {
            self.unmatched += 1;
            self.sample(delivery, SampleStatus::of_uncovered(delivery));
            return;
        };
        let sender = delivery.legs.first().and_then(|leg| leg.sender);
        let sender = sender.map_or(Pid(0), |task| task.pid);
        let slot = MessageTimes { sent: read - one_way, read, sender };
        if stamp.is_some_and(|stamp| !self.keep(stamp, slot)) {
            self.duplicates += 1;
            self.sample(delivery, SampleStatus::Duplicate);
            return;
        }
        self.sample(delivery, SampleStatus::Counted);
        self.matched += 1;
        self.payload_bytes += delivery.payload_len;
        self.one_way.add(one_way);
        self.blocks.add(one_way);
        match stamp.map(|stamp| stamp.reply) {
            Some(true) => self.replies.add(one_way),
            Some(false) => self.requests.add(one_way),
            None => {}
        }
        self.span = Some(match self.span {
            Some((first, last)) => (first.min(slot.sent), last.max(slot.read)),
            None => (slot.sent, slot.read),
        });
        self.take_segments(delivery, one_way);
    }

    fn take_segments(&mut self, delivery: &Delivery, one_way: Nanos) {
        let mut sum = Nanos(0);
        let mut gap: Option<Nanos> = None;
        for (leg, segments) in delivery.segments() {
            sum += segments.sum();
            if let Some(waited) = Segments::sched_gap(&segments) {
                gap = Some(gap.unwrap_or_default() + waited);
            }
            for (segment, time) in segments.iter() {
                self.segments.add(leg, segment, time);
            }
        }
        // Between hosts, a segment in which time ran backwards is 0, by no more than the clocks' error.
        if sum < one_way || sum - one_way > delivery.clock_error {
            self.telescoping_violations += 1;
        }
        if let Some(gap) = gap {
            self.gap.add(gap);
        }
    }

    /// Keeps the times of a message; returns false if it was delivered before.
    fn keep(&mut self, stamp: Stamp, slot: MessageTimes) -> bool {
        let seq = stamp.seq as usize;
        if seq >= MAX_KEPT {
            return true;
        }
        let delivered = &mut self.delivered[lane(stamp)];
        let (word, bit) = (seq / 64, 1_u64 << (seq % 64));
        if delivered.len() <= word {
            delivered.resize(word.saturating_add(1), 0);
        }
        if delivered[word] & bit == 0 {
            delivered[word] |= bit;
            if let Some(place) = self.lanes.get_mut((lane(stamp), stamp.seq)) {
                *place = slot;
            }
            return true;
        }
        self.further.most_copies > 1 && self.keep_further(stamp, slot)
    }

    /// Keeps the times of a further delivery; returns false if all subscribers have had the message.
    fn keep_further(&mut self, stamp: Stamp, slot: MessageTimes) -> bool {
        let copies = &mut self.further.copies[lane(stamp)];
        let seq = stamp.seq as usize;
        if copies.len() <= seq {
            copies.resize(seq.saturating_add(1), 0);
        }
        // The first delivery is in its lane.
        let further = &mut copies[seq];
        if u64::from(*further).saturating_add(1) >= self.further.most_copies {
            return false;
        }
        further.grow(1);
        if self.lanes.keeps(stamp.seq) {
            self.further.times.push((stamp, slot));
        }
        while self.lanes.is_too_many(self.further.times.len()) && self.lanes.drop_half() {
            self.further.times.retain(|(stamp, _)| self.lanes.keeps(stamp.seq));
        }
        true
    }
}

fn request(stream: u8) -> Stamp {
    Stamp { stream, seq: 0, reply: false, warmup: false }
}

/// The lane of a stamp, whose stream number has 6 bits.
pub fn lane(stamp: Stamp) -> usize {
    usize::from(stamp.stream % 64).saturating_mul(2).saturating_add(usize::from(stamp.reply))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use wirelap_correlate::DeliverySink;
    use wirelap_test_support::delivered;

    /// A delivery with a single leg that passed these stages.
    pub fn delivery(stamp: Stamp, stages: &[(Stage, u64)]) -> Delivery {
        Delivery { stamp: Some(stamp), ..delivered::delivery([delivered::leg(stages)]) }
    }

    fn stamp(seq: u32) -> Stamp {
        Stamp { seq, ..request(0) }
    }

    #[test]
    fn matched_unmatched_warmup_and_duplicates_are_told_apart() {
        let mut tally = Tally::new(8, Arc::default());
        let whole = [(Stage::Send, 10), (Stage::Ready, 20), (Stage::Read, 30)];
        tally.delivery(&delivery(stamp(5), &whole));
        tally.delivery(&delivery(stamp(5), &whole));
        tally.delivery(&delivery(stamp(6), &[(Stage::Send, 10), (Stage::Ready, 20)]));
        tally.delivery(&delivery(Stamp { warmup: true, ..stamp(5) }, &whole));
        tally.delivery(&Delivery { stamp: None, ..delivery(stamp(7), &whole) });
        assert_eq!((tally.matched, tally.unmatched), (Count(1), Count(1)));
        assert_eq!((tally.duplicates, tally.telescoping_violations), (Count(1), Count(0)));
        let slot = MessageTimes { sent: Nanos(10), read: Nanos(30), sender: Pid(0) };
        assert_eq!(tally.messages().collect::<Vec<_>>(), [(stamp(5), slot)]);
    }

    #[test]
    fn a_message_of_any_publisher_is_counted_once_for_each_subscriber() {
        let mut tally = Tally::new(8, Arc::default()).with_copies(3);
        let whole = [(Stage::Send, 10), (Stage::Ready, 20), (Stage::Read, 30)];
        for stream in [0, 1, 63] {
            for _ in 0..4 {
                tally.delivery(&delivery(Stamp { stream, ..stamp(5) }, &whole));
            }
        }
        assert_eq!((tally.matched, tally.duplicates), (Count(9), Count(3)));
        assert_eq!(tally.messages().filter(|(stamp, _)| stamp.stream == 63).count(), 3);
    }

    #[test]
    fn messages_of_others_count_without_a_stamp_after_the_warmup() {
        let mut tally = Tally::new(8, Arc::default()).unstamped(2);
        let whole = [(Stage::Send, 10), (Stage::Ready, 20), (Stage::Read, 30)];
        for _ in 0..5 {
            tally.delivery(&Delivery { stamp: None, ..delivery(stamp(0), &whole) });
        }
        tally.delivery(&Delivery { stamp: None, ..delivery(stamp(0), &whole[..2]) });
        tally.delivery(&delivery(stamp(5), &whole));
        assert_eq!([tally.warmup, tally.matched, tally.unmatched], [2, 3, 1].map(Count));
        assert_eq!((tally.one_way.count(), tally.requests.count()), (3, 0));
        assert_eq!((tally.duplicates.0, tally.messages().count()), (0, 0));
    }

    #[test]
    fn shares_add_up_to_one_and_totals_to_the_latency() {
        let mut tally = Tally::new(8, Arc::default());
        for seq in 0..100 {
            let at = u64::from(seq) * 1000;
            let reply = Stamp { reply: seq % 2 == 0, ..stamp(seq) };
            let stages = [(Stage::Send, at), (Stage::Xmit, at + 30), (Stage::Read, at + 100)];
            tally.delivery(&delivery(reply, &stages));
        }
        let rows = tally.segments.rows();
        let shares: f64 = rows.iter().map(|row| row.share).total();
        assert!((shares - 1.0).abs() < 1e-12, "{shares}");
        assert_eq!(
            rows.iter().filter_map(|row| row.total_ns).total::<u64>(),
            tally.one_way.sum().0
        );
        assert_eq!((tally.requests.count(), tally.replies.count()), (50, 50));
    }

    #[test]
    fn a_stray_sequence_does_not_take_memory() {
        let mut tally = Tally::new(8, Arc::default());
        let stages = [(Stage::Send, 10), (Stage::Read, 30)];
        tally.delivery(&delivery(stamp(u32::MAX), &stages));
        assert_eq!((tally.matched.0, tally.messages().count()), (1, 0));
    }
}
