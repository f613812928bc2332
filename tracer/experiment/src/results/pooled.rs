//! The figures of a result over all of its repetitions.

use super::clients;
use super::merged::merged;
use super::outcome::{payload_bytes, rate};
use super::record::TrialRecord;
use super::repetition::coverage;
use super::requests;
use super::round_trip;
use super::why::{ResultCauses, causes};
use crate::cases::unique;
use crate::pacing::TrialPacing;
use std::collections::BTreeMap;
use wirelap_correlate::{Overhead as Ledger, UncertainCounts};
use wirelap_events::human::counted;
use wirelap_events::{Count, Total};
use wirelap_report::{
    DistributionSummary, GroundTruth, Latency, MessageCounts, ProcessUse, Repetition,
    ReportedOverhead, ReportedProcess, ReportedTrust, RunResult, SeenFrom, SegmentRow, Throughput,
};
use wirelap_session::Sampling;

/// The result of at least one trial. `earlier` is the same result in the file of a run that was resumed.
pub fn result(records: &[&TrialRecord], earlier: Option<&RunResult>) -> RunResult {
    let mut result = pooled(records, earlier);
    if let [only] = &mut result.repetitions[..] {
        take_judgement(only, &result.trust);
        return result;
    }
    for (repetition, record) in result.repetitions.iter_mut().zip(records) {
        take_judgement(repetition, &pooled(&[record], None).trust);
    }
    result
}

/// A repetition is judged as a result that has no other.
fn take_judgement(repetition: &mut Repetition, judged: &ReportedTrust) {
    repetition.trust.verdict = judged.verdict;
    repetition.trust.reasons.clone_from(&judged.reasons);
}

fn pooled(records: &[&TrialRecord], earlier: Option<&RunResult>) -> RunResult {
    let trial = &records[0].trial;
    let all: Vec<&Repetition> = records.iter().map(|record| &record.repetition).collect();
    let messages = sum_of_messages(&all);
    let processes = processes(&all);
    let ResultCauses { why, repetitions: why_repetitions } = causes(records, &processes, earlier);
    let is_sampled = trial.sampling != Sampling::Off || records[0].is_untraced();
    let traced = (
        Count::sum(all.iter().map(|one| one.payload_bytes)).0,
        Count::sum(all.iter().map(|one| one.messages.matched)).0,
    );
    let mut result = RunResult {
        middleware: trial.name().to_owned(),
        broker: trial.broker.as_ref().map(|broker| broker.name().to_owned()),
        variant: trial.variant.map(|variant| variant.to_string()),
        payload_bytes: payload_bytes(trial, traced),
        rate_msg_per_s: rate(trial),
        topology: clients::topology(trial.workloads.topology),
        settings: settings(records),
        untraced: records[0].is_untraced(),
        partial: records.iter().any(|record| record.is_partial()),
        error: all.iter().find_map(|one| one.error.clone()),
        messages,
        throughput: mean_throughput(&all),
        rate_reached: rate_reached(&all),
        connections: clients::pooled(&all),
        latency: latency(trial.pacing, &all),
        view: view(messages, &all),
        muted: None,
        partial_sight: None,
        requests: requests::pooled(&all),
        segments: segment_rows(&all),
        sched_gap_ns: sched_gap(&all),
        overhead: overhead(&all),
        why,
        why_repetitions,
        processes,
        client_size: None,
        trust: trust(&all, coverage(messages, is_sampled)),
        ground_truth: ground_truth(&all),
        repetitions: all.iter().map(|one| (*one).clone()).collect(),
        notes: Vec::new(),
    };
    if let Some(slowdown) = &result.trust.tracer.slowdown {
        result.latency.correct(slowdown);
    }
    result.notes = notes(&result);
    result.partial |= result.is_mostly_undelivered();
    result.judge();
    result
}

/// From where the messages were seen: from both ends, if some were.
fn view(messages: MessageCounts, all: &[&Repetition]) -> Option<SeenFrom> {
    let followed = (messages.matched > 0).then_some(SeenFrom::BothEnds);
    followed.or_else(|| all.iter().find_map(|one| one.view))
}

/// Figures of one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtRate {
    /// The share of the wanted rate at which messages were sent; `None` if that is not known.
    pub sent_share: Option<f64>,
    /// The 99th percentile of the latency, from the intended time of sending where that is known; `None` if more than 1 % of the
    /// messages did not arrive, or if a trial failed.
    pub p99_ns: Option<u64>,
}

/// Returns the figures of the trials of one rate.
pub fn at_rate(records: &[&TrialRecord]) -> AtRate {
    let all: Vec<&Repetition> = records.iter().map(|record| &record.repetition).collect();
    let messages = sum_of_messages(&all);
    let missing = (Count(messages.expected()) - messages.delivered).0;
    let whole = !records.iter().any(|record| record.is_partial());
    let latency = latency(records[0].trial.pacing, &all);
    let times = latency.intended_to_deliver_ns.unwrap_or(latency.one_way_ns);
    AtRate {
        sent_share: rate_reached(&all),
        p99_ns: (whole && times.count > 0 && missing <= messages.expected() / 100)
            .then_some(times.p99),
    }
}

fn sum_of_messages(all: &[&Repetition]) -> MessageCounts {
    all.iter().fold(MessageCounts::default(), |sum, one| {
        let (a, b) = (sum, one.messages);
        let expected = a.expected.or(b.expected);
        let expected = expected.map(|_| (Count(a.expected()) + b.expected()).0);
        wirelap_events::fieldwise!(a + b => MessageCounts {
            sent, delivered, matched, uncovered, never_read, cut, unfinished, duplicates, retained, warmup;
            expected
        })
    })
}

/// The settings that the processes of a variant reported.
fn settings(records: &[&TrialRecord]) -> BTreeMap<String, String> {
    let of_variants = records.iter().filter(|record| record.trial.variant.is_some());
    of_variants.flat_map(|record| record.settings.clone()).collect()
}

/// The share of the wanted rate at which messages were sent, over all repetitions.
fn rate_reached(all: &[&Repetition]) -> Option<f64> {
    let sums = all.iter().filter_map(|one| one.rate);
    let (sent, wanted) =
        sums.fold((0.0, 0.0), |sum, one| (sum.0 + one.sent as f64, sum.1 + one.wanted));
    (wanted > 0.0).then(|| (sent / wanted).min(1.0))
}

/// The mean of the repetitions, without those that failed before a message arrived.
fn mean_throughput(all: &[&Repetition]) -> Throughput {
    let counted = || all.iter().filter(|one| !one.partial || one.throughput.msg_per_s > 0.0);
    let mean = |of: fn(&Throughput) -> f64| {
        counted().map(|one| of(&one.throughput)).total::<f64>() / counted().count().max(1) as f64
    };
    Throughput {
        msg_per_s: mean(|one| one.msg_per_s),
        payload_bit_per_s: mean(|one| one.payload_bit_per_s),
        relative_error: None,
    }
}

fn latency(pacing: TrialPacing, all: &[&Repetition]) -> Latency {
    let one_way_ns = merged(all, |one| Some(one.one_way_ns), |of| of.one_way_ns.as_ref());
    let some = |distribution: DistributionSummary| (distribution.count > 0).then_some(distribution);
    let requests = merged(all, |one| one.request_one_way_ns, |of| of.request_one_way_ns.as_ref());
    let replies = merged(all, |one| one.reply_one_way_ns, |of| of.reply_one_way_ns.as_ref());
    let actual =
        merged(all, |one| one.publish_to_deliver_ns, |of| of.publish_to_deliver_ns.as_ref());
    let intended =
        merged(all, |one| one.intended_to_deliver_ns, |of| of.intended_to_deliver_ns.as_ref());
    Latency {
        one_way_ns,
        // Clocks were the least known in one of the repetitions.
        clock_error_ns: all.iter().filter_map(|one| one.clock_error_ns).max_by_key(|one| one.p50),
        rtt_half_ns: round_trip::pooled(all),
        request_one_way_ns: some(requests).filter(|_| pacing == TrialPacing::PingPong),
        reply_one_way_ns: some(replies),
        publish_to_deliver_ns: some(actual),
        intended_to_deliver_ns: some(intended).filter(|_| matches!(pacing, TrialPacing::Rate(_))),
        without_tracing: None,
    }
}

fn sched_gap(all: &[&Repetition]) -> DistributionSummary {
    merged(all, |one| Some(one.sched_gap_ns), |of| of.sched_gap_ns.as_ref())
}

fn segment_rows(all: &[&Repetition]) -> Vec<SegmentRow> {
    let each = all.iter().flat_map(|one| &one.histograms.segments);
    let mut rows = requests::segment_times(each).rows();
    for row in &mut rows {
        let each = all.iter().flat_map(|one| &one.histograms.segments);
        let own = each.filter(|one| one.leg == row.leg && one.segment == row.segment);
        row.clock_error_ns = own.filter_map(|one| one.clock_error_ns).max();
    }
    rows
}

fn overhead(all: &[&Repetition]) -> ReportedOverhead {
    let mut sum = Ledger::default();
    for one in all {
        sum += &Ledger::from(&one.overhead);
    }
    (&sum).into()
}

fn processes(all: &[&Repetition]) -> Vec<ReportedProcess> {
    let of_role = |role: &str| -> Vec<&ProcessUse> {
        let parts = all.iter().flat_map(|one| &one.processes);
        parts.filter(|part| part.role == role).collect()
    };
    let process = |part: &ProcessUse| {
        let shares: Vec<f64> =
            of_role(&part.role).into_iter().filter_map(|part| part.cpu_share).collect();
        ReportedProcess {
            role: part.role.clone(),
            pid: part.pid,
            host: None,
            name: part.name.clone(),
            cpu_share: (!shares.is_empty())
                .then(|| shares.iter().total::<f64>() / shares.len() as f64),
            rss_bytes: of_role(&part.role).into_iter().filter_map(|part| part.rss_bytes).max(),
            scheduling: part.scheduling,
            unix_clients: part.unix_clients.clone(),
            ..ReportedProcess::default()
        }
    };
    all.last().into_iter().flat_map(|last| &last.processes).map(process).collect()
}

fn trust(all: &[&Repetition], coverage: f64) -> ReportedTrust {
    let mut sum = ReportedTrust { coverage, ..ReportedTrust::default() };
    let mut uncertain = UncertainCounts::default();
    let count = all.len() as f64;
    for one in all.iter().map(|one| &one.trust) {
        for (probe, lost) in &one.events_lost {
            let total = sum.events_lost.entry(probe.clone()).or_default();
            *total = (Count(*total) + *lost).0;
        }
        sum = wirelap_events::fieldwise!(sum + one => ReportedTrust {
            skipped_runs, fragmented_datagrams, late_events, events, uncaptured_bytes, undecoded_bytes, unread_messages,
            unread_packets, unfinished, encrypted_connections, evicted, telescoping_violations;
            ..sum
        });
        sum.unseen_sent = sum.unseen_sent.plus(one.unseen_sent);
        sum.unseen_received = sum.unseen_received.plus(one.unseen_received);
        uncertain.add(one.uncertain());
        sum.window_share += one.window_share / count;
        sum.tracer.slowdown = sum.tracer.slowdown.or(one.tracer.slowdown);
        sum.tracer.slowdown_unknown = sum.tracer.slowdown_unknown.or(one.tracer.slowdown_unknown);
        sum.tracer.cpu_share += one.tracer.cpu_share / count;
        sum.tracer.rss_bytes = sum.tracer.rss_bytes.max(one.tracer.rss_bytes);
        sum.tracer.ring_bytes = sum.tracer.ring_bytes.max(one.tracer.ring_bytes);
    }
    sum.with_uncertain(uncertain)
}

fn ground_truth(all: &[&Repetition]) -> Option<GroundTruth> {
    all.iter().filter_map(|one| one.ground_truth.clone()).reduce(|a, b| {
        wirelap_events::fieldwise!(a + b => GroundTruth {
            published, delivered, compared, violations, order_violations, other_senders, unknown;
            worst_violation_ns: a.worst_violation_ns.max(b.worst_violation_ns)
        })
    })
}

/// From this stolen share on, it is noted: one message of a hundred, so that the 99th percentile may be stolen time.
const STOLEN: f64 = 0.01;

/// A note on the CPU time that the hypervisor gave to something else, if it is enough to matter.
fn stolen(repetitions: &[Repetition]) -> Option<String> {
    let each = repetitions.iter().filter_map(|one| one.machine?.steal_share);
    let (count, sum) = each.clone().fold((0.0, 0.0), |(count, sum), one| (count + 1.0, sum + one));
    let (mean, most) = (sum / count, each.fold(0.0, f64::max));
    (mean >= STOLEN).then(|| {
        format!(
            "the hypervisor took {:.1} % of the CPU time that was wanted, {:.1} % in the worst repetition: times are longer, and \
             rates lower, than this machine's own",
            mean * 100.0,
            most * 100.0
        )
    })
}

/// The notes of all repetitions, one on the machine, and one on the causes if they are not of all.
fn notes(result: &RunResult) -> Vec<String> {
    let each = result.repetitions.iter().flat_map(|one| one.notes.clone());
    let mut notes = unique(&each.collect::<Vec<_>>());
    notes.extend(stolen(&result.repetitions));
    let (of, all) = (result.why_repetitions.len() as u64, result.repetitions.len() as u64);
    if of > 0 {
        notes.push(format!(
            "the causes and the slowest messages are those of {of} of {}: those of trials that a signal stopped, or that were \
             measured before or after the run was resumed, cannot be added to them",
            counted(all, "repetition")
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_report::MachineState;

    #[test]
    fn stolen_time_is_noted_from_one_percent_on() {
        let of = |shares: &[Option<f64>]| {
            let state = |&steal_share| MachineState { steal_share, ..MachineState::default() };
            let one = |share| Repetition { machine: Some(state(share)), ..Repetition::default() };
            stolen(&shares.iter().map(one).collect::<Vec<_>>())
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[None, Some(0.009)]), None);
        let note = of(&[None, Some(0.01), Some(0.052)]).unwrap();
        assert!(note.starts_with("the hypervisor took 3.1 % of the CPU time that was wanted, 5.2 % in the worst repetition:"), "{note}");
    }
}
