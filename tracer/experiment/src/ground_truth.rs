//! The trace against the workloads' own records.

use crate::tally::Tally;
use std::fs::File;
use std::io::{BufReader, Seek};
use wirelap_contract::{Truth, TruthError, TruthKind, TruthReader};
use wirelap_correlate::Evidence;
use wirelap_events::Saturate;
use wirelap_events::{Nanos, Segment, Stamp};
use wirelap_report::{GroundTruth, Samples};

/// More records than this of one direction are not kept; a run that long is sampled anyway.
const MOST_KEPT: usize = 1 << 24;

/// What the workloads say about one message; 0 where they say nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    publish: u64,
    intended: u64,
    deliver: u64,
}

/// What the workloads wrote down.
#[derive(Debug, Default)]
pub struct Records {
    requests: Vec<Account>,
    replies: Vec<Account>,
    /// Messages published, warm-up not counted.
    pub published: u64,
    /// Messages delivered, warm-up not counted; copies count.
    pub delivered: u64,
    /// Round-trip times.
    pub round_trips: Vec<u64>,
}

impl Records {
    /// Reads the files of all processes of a trial.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn read<'a>(files: impl Iterator<Item = &'a File>) -> Result<Records, String> {
        let mut records = Records::default();
        for file in files {
            records
                .read_file(file)
                .map_err(|error| format!("cannot read a workload's records: {error}"))?;
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

    /// Takes in one record.
    pub fn take(&mut self, truth: &Truth) {
        if truth.stamp.warmup {
            return;
        }
        match truth.kind {
            TruthKind::Publish => self.published.grow(1),
            TruthKind::Deliver => self.delivered.grow(1),
            TruthKind::RoundTrip => return self.round_trips.push(truth.aux),
        }
        let Some(account) = self.account_mut(truth.stamp) else { return };
        match truth.kind {
            TruthKind::Publish => (account.publish, account.intended) = (truth.at.0, truth.aux),
            // Of copies, the first counts.
            TruthKind::Deliver if account.deliver == 0 => account.deliver = truth.at.0,
            TruthKind::Deliver | TruthKind::RoundTrip => {}
        }
    }

    fn lane(&mut self, stamp: Stamp) -> &mut Vec<Account> {
        if stamp.reply { &mut self.replies } else { &mut self.requests }
    }

    /// Our trials have one stream.
    fn account_mut(&mut self, stamp: Stamp) -> Option<&mut Account> {
        let seq = stamp.seq as usize;
        if stamp.stream != 0 || seq >= MOST_KEPT {
            return None;
        }
        let lane = self.lane(stamp);
        if lane.len() <= seq {
            lane.resize(seq.saturating_add(1), Account::default());
        }
        lane.get_mut(seq)
    }

    fn account(&self, stamp: Stamp) -> Account {
        let lane = if stamp.reply { &self.replies } else { &self.requests };
        lane.get(stamp.seq as usize).copied().unwrap_or_default()
    }

    /// Publish and deliver of all messages that have both, by the workloads' clock.
    pub fn spans(&self) -> impl Iterator<Item = (Nanos, Nanos)> + '_ {
        let accounts = self.requests.iter().chain(&self.replies);
        let whole = accounts.filter(|a| a.publish > 0 && a.deliver >= a.publish);
        whole.map(|account| (Nanos(account.publish), Nanos(account.deliver)))
    }

    /// Publish → deliver of all messages by the workloads' clock, and the same from the intended
    /// send times.
    pub fn times(&self) -> (Samples, Samples) {
        let (mut actual, mut intended) = (Samples::new(), Samples::new());
        for account in self.requests.iter().chain(&self.replies) {
            if account.publish > 0 && account.deliver > 0 {
                actual.add(Nanos(account.deliver.saturating_sub(account.publish)));
                intended.add(Nanos(account.deliver.saturating_sub(account.intended)));
            }
        }
        (actual, intended)
    }
}

/// Compares every matched message with the records, and completes the tally's segments with what only
/// the workloads know: the time before the send and after the read. The evidence gets the same.
pub fn compare(tally: &mut Tally, evidence: &mut Evidence, records: &Records) -> GroundTruth {
    let mut truth = GroundTruth {
        published: records.published,
        delivered: records.delivered,
        ..GroundTruth::default()
    };
    let mut outer = Vec::new();
    for (stamp, slot) in tally.slots() {
        let account = records.account(stamp);
        if account.deliver == 0 {
            truth.unknown.grow(1);
            continue;
        }
        if account.publish == 0 {
            continue;
        }
        truth.compared.grow(1);
        let wire = slot.read - slot.sent;
        let whole = Nanos(account.deliver.saturating_sub(account.publish));
        if wire > whole {
            truth.violations.grow(1);
            truth.worst_violation_ns = truth.worst_violation_ns.max((wire - whole).0);
        }
        let before = slot.sent.since(Nanos(account.publish));
        let after = Nanos(account.deliver).since(slot.read);
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
        let truth = |kind, at| Truth { kind, stamp: PING, at: Nanos(at), aux: at };
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
        records.take(&Truth { kind: TruthKind::Publish, stamp, at: Nanos(5), aux: 5 });
        assert_eq!(records.published, 0);
    }
}
