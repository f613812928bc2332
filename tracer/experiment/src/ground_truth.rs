//! Compares the trace with the workloads' own records (the truth files).

use crate::kept_times::{KeptTimes, LaneMessage};
use crate::tally::{LANES, MessageTimes, Tally, lane};
use std::cmp::Reverse;
use std::fs::File;
use std::io::{BufReader, Seek};
use wirelap_contract::{TruthError, TruthKind, TruthReader, TruthRecord};
use wirelap_correlate::Evidence;
use wirelap_events::Saturate;
use wirelap_events::{Nanos, Pid, Segment, Stamp};
use wirelap_report::{GroundTruth, Samples};

/// A number that no message of a run reaches.
const MAX_RECORDS: usize = 1 << 24;

/// The times of one message in the workloads' records, in nanoseconds; 0 for a time without a record.
#[derive(Clone, Copy, Debug, Default)]
struct MessageRecord {
    publish: u64,
    intended: u64,
    deliver: u64,
}

/// The records of all workloads of a trial.
#[derive(Debug)]
pub struct TruthRecords {
    /// The records of each lane: of each publisher's messages, and of the replies to them.
    lanes: KeptTimes<MessageRecord>,
    /// The same of messages that do not count: of the warm-up, and of the turns in which the cost of tracing was measured.
    uncounted: KeptTimes<MessageRecord>,
    /// The further deliveries of messages that several subscribers got, and their times.
    further: Vec<(LaneMessage, Nanos)>,
    /// The process that published the messages of each lane; 0 if none did.
    publishers: Vec<Pid>,
    /// True if a message may have several subscribers.
    several: bool,
    /// Number of published messages, without the warm-up.
    pub published: u64,
    /// Number of deliveries, without the warm-up; duplicates are counted.
    pub delivered: u64,
    /// Deliveries that were left out, because the clock of their process is not known.
    without_clock: u64,
    /// Round-trip times in nanoseconds.
    pub round_trips: Vec<u64>,
}

impl Default for TruthRecords {
    fn default() -> TruthRecords {
        TruthRecords {
            lanes: KeptTimes::new(LANES),
            uncounted: KeptTimes::new(LANES),
            further: Vec::new(),
            publishers: vec![Pid(0); LANES],
            several: false,
            published: 0,
            delivered: 0,
            without_clock: 0,
            round_trips: Vec::new(),
        }
    }
}

impl TruthRecords {
    /// Reads the truth files of all processes of a trial, each with its process; `several` if a message may have several
    /// subscribers. `clock` gives a time of a process's clock by that of this host; records whose clock is not known are left out.
    ///
    /// # Errors
    /// A file cannot be read; the text says why.
    pub fn read<'a>(
        files: impl Iterator<Item = (Pid, &'a File)>,
        several: bool,
        clock: &dyn Fn(Pid, Nanos) -> Option<Nanos>,
    ) -> Result<TruthRecords, String> {
        let mut records = TruthRecords { several, ..TruthRecords::default() };
        for (by, file) in files {
            records
                .read_file(by, file, clock)
                .map_err(|error| format!("cannot read the truth file of a workload: {error}"))?;
        }
        Ok(records)
    }

    fn read_file(
        &mut self,
        by: Pid,
        mut file: &File,
        clock: &dyn Fn(Pid, Nanos) -> Option<Nanos>,
    ) -> Result<(), TruthError> {
        file.rewind()?;
        for truth in TruthReader::new(BufReader::new(file))? {
            let mut truth = truth?;
            let Some(at) = clock(by, truth.at) else {
                let is_counted = truth.kind == TruthKind::Deliver && !truth.stamp.warmup;
                self.without_clock.grow(u64::from(is_counted));
                continue;
            };
            if truth.kind == TruthKind::Publish {
                // The intended time is of the same clock.
                truth.aux = clock(by, Nanos(truth.aux)).map_or(truth.aux, |intended| intended.0);
            }
            self.take(by, &TruthRecord { at, ..truth });
        }
        Ok(())
    }

    /// Adds one record of a process.
    pub fn take(&mut self, by: Pid, truth: &TruthRecord) {
        if truth.stamp.warmup {
            return self.take_uncounted(truth);
        }
        match truth.kind {
            TruthKind::Publish => self.published.grow(1),
            TruthKind::Deliver => self.delivered.grow(1),
            TruthKind::RoundTrip => return self.round_trips.push(truth.aux),
        }
        let message = message(truth.stamp);
        if truth.kind == TruthKind::Publish
            && let Some(publisher) = self.publishers.get_mut(message.0)
        {
            *publisher = by;
        }
        let several = self.several;
        let Some(record) = self.record_mut(message) else { return };
        match truth.kind {
            TruthKind::Publish => (record.publish, record.intended) = (truth.at.0, truth.aux),
            TruthKind::Deliver if record.deliver == 0 => record.deliver = truth.at.0,
            TruthKind::Deliver if several => self.keep_further(message, truth.at),
            // Of duplicates, the first counts.
            TruthKind::Deliver | TruthKind::RoundTrip => {}
        }
    }

    fn take_uncounted(&mut self, truth: &TruthRecord) {
        let Some(record) = self.uncounted.get_mut(message(truth.stamp)) else { return };
        match truth.kind {
            TruthKind::Publish => record.publish = truth.at.0,
            TruthKind::Deliver if record.deliver == 0 => record.deliver = truth.at.0,
            TruthKind::Deliver | TruthKind::RoundTrip => {}
        }
    }

    fn record_mut(&mut self, (lane, seq): LaneMessage) -> Option<&mut MessageRecord> {
        if seq as usize >= MAX_RECORDS {
            return None;
        }
        self.lanes.get_mut((lane, seq))
    }

    fn keep_further(&mut self, message: LaneMessage, at: Nanos) {
        self.further.push((message, at));
        while self.lanes.is_too_many(self.further.len()) && self.lanes.drop_half() {
            self.further.retain(|((_, seq), _)| self.lanes.keeps(*seq));
        }
    }

    fn record(&self, message: LaneMessage) -> MessageRecord {
        self.lanes.get(message).copied().unwrap_or_default()
    }

    /// True if the process that a message's first send was seen of is another one than the one that published it.
    fn is_sent_by_another(&self, (lane, _): LaneMessage, times: MessageTimes) -> bool {
        let publisher = self.publishers.get(lane).copied().unwrap_or(Pid(0));
        publisher != Pid(0) && times.sender != Pid(0) && times.sender != publisher
    }

    fn all(&self) -> impl Iterator<Item = &MessageRecord> {
        self.lanes.iter().map(|(_, record)| record)
    }

    /// The times of publish and deliver of the messages that do not count and have both, of the workloads' clock.
    pub fn uncounted_spans(&self) -> impl Iterator<Item = (Nanos, Nanos)> + '_ {
        let all = self.uncounted.iter().map(|(_, record)| record);
        let whole = all.filter(|a| a.publish > 0 && a.deliver >= a.publish);
        whole.map(|record| (Nanos(record.publish), Nanos(record.deliver)))
    }

    /// The latencies of all messages by the workloads' clock: from publish to deliver, and from the intended time of sending to
    /// deliver.
    pub fn times(&self) -> (Samples, Samples) {
        let (mut actual, mut intended) = (Samples::new(), Samples::new());
        for record in self.all() {
            if record.publish > 0 && record.deliver > 0 {
                actual.add(Nanos(record.deliver) - Nanos(record.publish));
                intended.add(Nanos(record.deliver) - Nanos(record.intended));
            }
        }
        for (record, deliver) in self.further() {
            actual.add(deliver - Nanos(record.publish));
            intended.add(deliver - Nanos(record.intended));
        }
        (actual, intended)
    }

    /// The further deliveries of messages that were published, each with the record of its message.
    fn further(&self) -> impl Iterator<Item = (MessageRecord, Nanos)> + '_ {
        let kept = self.further.iter().filter(|((_, seq), _)| self.lanes.keeps(*seq));
        let all = kept.map(|&(message, deliver)| (self.record(message), deliver));
        all.filter(|(record, _)| record.publish > 0)
    }

    /// Each matched delivery with its record. Which of its subscribers a delivery of the trace went to is not known: so the
    /// latest read is compared with the latest record, and so on. No delivery is read after its own record, so none is read
    /// after the one that it is compared with, even if the trace has fewer of them.
    fn beside<'a>(
        &'a self,
        tally: &'a Tally,
    ) -> Box<dyn Iterator<Item = (LaneMessage, MessageTimes, MessageRecord)> + 'a> {
        let messages = tally.messages().map(|(stamp, times)| (message(stamp), times));
        let messages = messages.filter(|((_, seq), _)| self.lanes.keeps(*seq));
        if self.further.is_empty() {
            // There may be millions.
            return Box::new(
                messages.map(|(message, times)| (message, times, self.record(message))),
            );
        }
        let mut reads: Vec<(LaneMessage, MessageTimes)> = messages.collect();
        let first = self.lanes.iter().map(|(message, record)| (message, Nanos(record.deliver)));
        let mut delivers: Vec<(LaneMessage, Nanos)> =
            first.filter(|(_, at)| at.0 > 0).chain(self.further.iter().copied()).collect();
        reads.sort_unstable_by_key(|&(message, times)| (message, Reverse(times.read)));
        delivers.sort_unstable_by_key(|&(message, at)| (message, Reverse(at)));
        let mut delivers = delivers.into_iter().peekable();
        Box::new(reads.into_iter().map(move |(message, times)| {
            while delivers.next_if(|&(other, _)| other < message).is_some() {}
            let deliver = delivers.next_if(|&(other, _)| other == message);
            let deliver = deliver.map_or(0, |(_, at)| at.0);
            (message, times, MessageRecord { deliver, ..self.record(message) })
        }))
    }
}

fn message(stamp: Stamp) -> LaneMessage {
    (lane(stamp), stamp.seq)
}

/// Compares every matched message with the records. Adds the times that only the workloads know (before the send and after the
/// read) to the segments of the tally and to the evidence. Up to `tolerance`, times of both may contradict each other.
pub fn compare(
    tally: &mut Tally,
    evidence: &mut Evidence,
    records: &TruthRecords,
    tolerance: Nanos,
) -> GroundTruth {
    let mut truth = GroundTruth {
        published: records.published,
        delivered: records.delivered,
        ..GroundTruth::default()
    };
    let (mut all_before, mut all_after) = (Samples::new(), Samples::new());
    for (message, slot, record) in records.beside(tally) {
        if record.deliver == 0 {
            truth.unknown.grow(1);
            continue;
        }
        if record.publish == 0 {
            continue;
        }
        truth.compared.grow(1);
        if records.is_sent_by_another(message, slot) {
            truth.other_senders.grow(1);
            continue;
        }
        let wire = slot.read - slot.sent;
        let whole = Nanos(record.deliver) - Nanos(record.publish);
        if wire > whole + tolerance {
            truth.violations.grow(1);
            truth.worst_violation_ns = truth.worst_violation_ns.max((wire - whole).0);
        }
        let since = |to: Nanos, from: Nanos| {
            to.since(from).or((from - to <= tolerance).then_some(Nanos(0)))
        };
        let before = since(slot.sent, Nanos(record.publish));
        let after = since(Nanos(record.deliver), slot.read);
        match (before, after) {
            (Some(before), Some(after)) => {
                all_before.add(before);
                all_after.add(after);
                evidence.outside(before, after);
            }
            _ => truth.order_violations.grow(1),
        }
    }
    // A delivery without a record may be one of those that were left out.
    truth.unknown.shrink(records.without_clock);
    if all_before.count() > 0 {
        let last_leg = tally.last_leg();
        tally.segments.add_all(0, Segment::ClientTx, &all_before);
        tally.segments.add_all(last_leg, Segment::ClientRx, &all_after);
    }
    truth
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::delivery;
    use std::sync::Arc;
    use wirelap_correlate::DeliverySink;
    use wirelap_events::{Stage, TaskId, Tid};

    const PING: Stamp = Stamp { stream: 0, seq: 3, reply: false, warmup: false };

    const PUBLISHER: Pid = Pid(1);

    fn records(publish: u64, deliver: u64) -> TruthRecords {
        let mut records = TruthRecords::default();
        let truth = |kind, at| TruthRecord { kind, stamp: PING, at: Nanos(at), aux: at };
        records.take(PUBLISHER, &truth(TruthKind::Publish, publish));
        records.take(PUBLISHER, &truth(TruthKind::Deliver, deliver));
        records
    }

    fn tally() -> Tally {
        let mut tally = Tally::new(8, Arc::default());
        tally.delivery(&delivery(PING, &[(Stage::Send, 100), (Stage::Read, 200)]));
        tally
    }

    #[test]
    fn the_whole_life_telescopes() {
        let mut tally = tally();
        let truth = compare(&mut tally, &mut Evidence::default(), &records(90, 230), Nanos(0));
        assert_eq!((truth.compared, truth.violations, truth.order_violations), (1, 0, 0));
        let rows = tally.segments.rows();
        assert_eq!(rows.iter().filter_map(|row| row.total_ns).sum::<u64>(), 230 - 90);
        let shares: f64 = rows.iter().map(|row| row.share).sum();
        assert!((shares - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_latency_longer_than_the_truth_is_a_violation() {
        let truth = compare(&mut tally(), &mut Evidence::default(), &records(110, 205), Nanos(0));
        assert_eq!((truth.violations, truth.worst_violation_ns), (1, 5));
        assert_eq!(truth.order_violations, 1);
    }

    /// A delivery of the trace has no record, because it was not got, or because nothing is known of its process's clock.
    #[test]
    fn a_delivery_whose_record_has_no_time_is_not_said_to_be_unknown() {
        for (without_clock, unknown) in [(0, 1), (1, 0)] {
            let records = TruthRecords { without_clock, ..TruthRecords::default() };
            let truth = compare(&mut tally(), &mut Evidence::default(), &records, Nanos(0));
            assert_eq!((truth.unknown, truth.compared), (unknown, 0));
        }
    }

    #[test]
    fn clocks_of_two_hosts_contradict_each_other_by_no_more_than_their_error() {
        let of = |tolerance| {
            let records = records(110, 205);
            let truth = compare(&mut tally(), &mut Evidence::default(), &records, Nanos(tolerance));
            (truth.violations, truth.order_violations)
        };
        assert_eq!([of(4), of(5), of(9), of(10)], [(1, 1), (0, 1), (0, 1), (0, 0)]);
    }

    #[test]
    fn a_message_that_another_process_sends_first_is_none_of_its_publisher() {
        let of = |pid| {
            let mut tally = Tally::new(8, Arc::default());
            let mut delivery = delivery(PING, &[(Stage::Send, 100), (Stage::Read, 200)]);
            delivery.legs[0].sender = Some(TaskId { pid, tid: Tid(7) });
            tally.delivery(&delivery);
            let truth = compare(&mut tally, &mut Evidence::default(), &records(90, 230), Nanos(0));
            let is_whole = tally.segments.rows().iter().any(|row| row.segment == "client_tx");
            (truth.compared, truth.other_senders, truth.violations, is_whole)
        };
        assert_eq!(of(PUBLISHER), (1, 0, 0, true));
        assert_eq!(of(Pid(10)), (1, 1, 0, false), "a broker's");
        assert_eq!(of(Pid(0)), (1, 0, 0, true), "nothing is known of its sender");
    }

    #[test]
    fn a_message_that_nobody_got_is_unknown() {
        let mut other = records(90, 230);
        other.record_mut(message(PING)).unwrap().deliver = 0;
        assert_eq!(compare(&mut tally(), &mut Evidence::default(), &other, Nanos(0)).unknown, 1);
    }

    #[test]
    fn deliveries_of_one_message_are_compared_latest_with_latest() {
        let mut tally = Tally::new(8, Arc::default()).with_copies(3);
        let mut records = TruthRecords { several: true, ..records(90, 230) };
        for (read, deliver) in [(300, 301), (250, 290)] {
            tally.delivery(&delivery(PING, &[(Stage::Send, 100), (Stage::Read, read)]));
            let at = Nanos(deliver);
            records.take(
                PUBLISHER,
                &TruthRecord { kind: TruthKind::Deliver, stamp: PING, at, aux: 1 },
            );
        }
        // The read of the first delivery was not traced.
        let truth = compare(&mut tally, &mut Evidence::default(), &records, Nanos(0));
        assert_eq!((truth.compared, truth.violations, truth.order_violations), (2, 0, 0));
        assert_eq!((truth.unknown, records.delivered), (0, 3));
        assert_eq!(records.times().0.count(), 3);
        // A read that is later than any delivery is not of this message.
        tally.delivery(&delivery(PING, &[(Stage::Send, 100), (Stage::Read, 302)]));
        let truth = compare(&mut tally, &mut Evidence::default(), &records, Nanos(0));
        assert_eq!((truth.compared, truth.violations), (3, 1));
        tally.delivery(&delivery(PING, &[(Stage::Send, 100), (Stage::Read, 303)]));
        assert_eq!((tally.matched.0, tally.duplicates.0), (3, 1));
    }

    #[test]
    fn messages_of_another_publisher_have_records_of_their_own() {
        let second = Stamp { stream: 1, ..PING };
        let mut records = records(90, 230);
        records.take(
            PUBLISHER,
            &TruthRecord { kind: TruthKind::Publish, stamp: second, at: Nanos(290), aux: 290 },
        );
        records.take(
            PUBLISHER,
            &TruthRecord { kind: TruthKind::Deliver, stamp: second, at: Nanos(430), aux: 430 },
        );
        let mut tally = tally();
        tally.delivery(&delivery(second, &[(Stage::Send, 300), (Stage::Read, 400)]));
        let truth = compare(&mut tally, &mut Evidence::default(), &records, Nanos(0));
        assert_eq!((truth.compared, truth.violations, truth.order_violations), (2, 0, 0));
    }

    #[test]
    fn warmup_is_left_out() {
        let mut records = TruthRecords::default();
        let stamp = Stamp { warmup: true, ..PING };
        records.take(
            PUBLISHER,
            &TruthRecord { kind: TruthKind::Publish, stamp, at: Nanos(5), aux: 5 },
        );
        assert_eq!(records.published, 0);
    }
}
