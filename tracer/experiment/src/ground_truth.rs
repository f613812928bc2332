//! Compares the trace with the workloads' own records (the truth files).

use crate::tally::Tally;
use std::fs::File;
use std::io::{BufReader, Seek};
use wirelap_contract::{TruthError, TruthKind, TruthReader, TruthRecord};
use wirelap_correlate::Evidence;
use wirelap_events::Saturate;
use wirelap_events::{Nanos, Segment, Stamp};
use wirelap_report::{GroundTruth, Samples};

/// The most messages of one direction whose records are kept. A run with more messages is sampled anyway.
const MAX_RECORDS: usize = 1 << 24;

/// The times of one message in the workloads' records, in nanoseconds; 0 for a time without a record.
#[derive(Clone, Copy, Debug, Default)]
struct MessageRecord {
    publish: u64,
    intended: u64,
    deliver: u64,
}

/// The records of all workloads of a trial.
#[derive(Debug, Default)]
pub struct Records {
    requests: Vec<MessageRecord>,
    replies: Vec<MessageRecord>,
    /// How many messages were published, without the warm-up.
    pub published: u64,
    /// How many messages were delivered, without the warm-up; duplicates are counted.
    pub delivered: u64,
    /// Round-trip times in nanoseconds.
    pub round_trips: Vec<u64>,
}

impl Records {
    /// Reads the truth files of all processes of a trial.
    ///
    /// # Errors
    /// A file cannot be read; the text says why.
    pub fn read<'a>(files: impl Iterator<Item = &'a File>) -> Result<Records, String> {
        let mut records = Records::default();
        for file in files {
            records
                .read_file(file)
                .map_err(|error| format!("cannot read the truth file of a workload: {error}"))?;
        }
        Ok(records)
    }

    fn read_file(&mut self, mut file: &File) -> Result<(), TruthError> {
        file.rewind()?;
        for truth in TruthReader::new(BufReader::new(file))? {
            self.take(&truth?);
        }
        Ok(())
    }

    /// Adds one record.
    pub fn take(&mut self, truth: &TruthRecord) {
        if truth.stamp.warmup {
            return;
        }
        match truth.kind {
            TruthKind::Publish => self.published.grow(1),
            TruthKind::Deliver => self.delivered.grow(1),
            TruthKind::RoundTrip => return self.round_trips.push(truth.aux),
        }
        let Some(record) = self.record_mut(truth.stamp) else { return };
        match truth.kind {
            TruthKind::Publish => (record.publish, record.intended) = (truth.at.0, truth.aux),
            // Of duplicates, the first counts.
            TruthKind::Deliver if record.deliver == 0 => record.deliver = truth.at.0,
            TruthKind::Deliver | TruthKind::RoundTrip => {}
        }
    }

    fn lane(&mut self, stamp: Stamp) -> &mut Vec<MessageRecord> {
        if stamp.reply { &mut self.replies } else { &mut self.requests }
    }

    /// The record of a message. Trials have one stream, so others have none.
    fn record_mut(&mut self, stamp: Stamp) -> Option<&mut MessageRecord> {
        let seq = stamp.seq as usize;
        if stamp.stream != 0 || seq >= MAX_RECORDS {
            return None;
        }
        let lane = self.lane(stamp);
        if lane.len() <= seq {
            lane.resize(seq.saturating_add(1), MessageRecord::default());
        }
        lane.get_mut(seq)
    }

    fn record(&self, stamp: Stamp) -> MessageRecord {
        let lane = if stamp.reply { &self.replies } else { &self.requests };
        lane.get(stamp.seq as usize).copied().unwrap_or_default()
    }

    /// The times of publish and deliver of all messages that have both, of the workloads' clock.
    pub fn spans(&self) -> impl Iterator<Item = (Nanos, Nanos)> + '_ {
        let all = self.requests.iter().chain(&self.replies);
        let whole = all.filter(|a| a.publish > 0 && a.deliver >= a.publish);
        whole.map(|record| (Nanos(record.publish), Nanos(record.deliver)))
    }

    /// The latencies of all messages by the workloads' clock: from publish to deliver, and from the intended time of sending to
    /// deliver.
    pub fn times(&self) -> (Samples, Samples) {
        let (mut actual, mut intended) = (Samples::new(), Samples::new());
        for record in self.requests.iter().chain(&self.replies) {
            if record.publish > 0 && record.deliver > 0 {
                actual.add(Nanos(record.deliver.saturating_sub(record.publish)));
                intended.add(Nanos(record.deliver.saturating_sub(record.intended)));
            }
        }
        (actual, intended)
    }
}

/// Compares every matched message with the records. Adds the times that only the workloads know (before the send and after the
/// read) to the segments of the tally and to the evidence.
pub fn compare(tally: &mut Tally, evidence: &mut Evidence, records: &Records) -> GroundTruth {
    let mut truth = GroundTruth {
        published: records.published,
        delivered: records.delivered,
        ..GroundTruth::default()
    };
    let mut outer = Vec::new();
    for (stamp, slot) in tally.messages() {
        let record = records.record(stamp);
        if record.deliver == 0 {
            truth.unknown.grow(1);
            continue;
        }
        if record.publish == 0 {
            continue;
        }
        truth.compared.grow(1);
        let wire = slot.read - slot.sent;
        let whole = Nanos(record.deliver.saturating_sub(record.publish));
        if wire > whole {
            truth.violations.grow(1);
            truth.worst_violation_ns = truth.worst_violation_ns.max((wire - whole).0);
        }
        let before = slot.sent.since(Nanos(record.publish));
        let after = Nanos(record.deliver).since(slot.read);
        match (before, after) {
            (Some(before), Some(after)) => outer.push((before, after)),
            _ => truth.order_violations.grow(1),
        }
    }
    let last_leg = tally.last_leg();
    for (before, after) in outer {
        tally.segments.add(0, Segment::ClientTx, before);
        tally.segments.add(last_leg, Segment::ClientRx, after);
        evidence.outside(before, after);
    }
    truth
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::delivery;
    use std::sync::Arc;
    use wirelap_correlate::DeliverySink;
    use wirelap_events::Stage;

    const PING: Stamp = Stamp { stream: 0, seq: 3, reply: false, warmup: false };

    fn records(publish: u64, deliver: u64) -> Records {
        let mut records = Records::default();
        let truth = |kind, at| TruthRecord { kind, stamp: PING, at: Nanos(at), aux: at };
        records.take(&truth(TruthKind::Publish, publish));
        records.take(&truth(TruthKind::Deliver, deliver));
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
        let truth = compare(&mut tally, &mut Evidence::default(), &records(90, 230));
        assert_eq!((truth.compared, truth.violations, truth.order_violations), (1, 0, 0));
        let rows = tally.segments.rows();
        assert_eq!(rows.iter().filter_map(|row| row.total_ns).sum::<u64>(), 230 - 90);
        let shares: f64 = rows.iter().map(|row| row.share).sum();
        assert!((shares - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_latency_longer_than_the_truth_is_a_violation() {
        let truth = compare(&mut tally(), &mut Evidence::default(), &records(110, 205));
        assert_eq!((truth.violations, truth.worst_violation_ns), (1, 5));
        assert_eq!(truth.order_violations, 1);
    }

    #[test]
    fn a_message_that_nobody_got_is_unknown() {
        let mut other = records(90, 230);
        other.requests[3].deliver = 0;
        assert_eq!(compare(&mut tally(), &mut Evidence::default(), &other).unknown, 1);
    }

    #[test]
    fn warmup_is_left_out() {
        let mut records = Records::default();
        let stamp = Stamp { warmup: true, ..PING };
        records.take(&TruthRecord { kind: TruthKind::Publish, stamp, at: Nanos(5), aux: 5 });
        assert_eq!(records.published, 0);
    }
}
