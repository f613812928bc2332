//! One repetition, with all that a result and a later comparison need of it.

use super::clients;
use super::notes;
use super::outcome::{
    done, groups, is_partial, is_untraced, ledger, messages, rate, throughput, traced,
};
use super::requests;
use super::round_trip;
use crate::cost;
use crate::ground_truth::TruthRecords;
use crate::measure::Outcome;
use crate::pacing::TrialPacing;
use crate::workload_processes::RoleProcess;
use wirelap_contract::Role;
use wirelap_correlate::UncertainCounts;
use wirelap_events::{Count, Nanos, Segment};
use wirelap_report::{
    DistributionSummary, Histograms, IdleUse, MessageCounts, ProcessUse, Repetition,
    ReportedBreakdown, ReportedScheduling, ReportedTimeSpent, ReportedTrust, ReportedUnixClients,
    Samples, SeenFrom, SegmentHistogram, SentAtRate, UsageAt,
};
use wirelap_session::Sampling;
use wirelap_session::meter::{Meter, UsagePoint, cpu_share};

/// A repetition at its `position` in the order of the run.
pub fn of(position: u32, outcome: &Outcome) -> Repetition {
    let messages = messages(outcome);
    let ledger = ledger(outcome);
    let tally = &outcome.tally;
    let own = OwnTimes::of(outcome);
    Repetition {
        number: outcome.trial.repetition,
        position,
        partial: is_partial(outcome) || messages.delivered < messages.expected().div_ceil(2),
        error: outcome.error.as_ref().map(ToString::to_string),
        interrupted: outcome.interrupted.map(str::to_owned),
        messages,
        throughput: throughput(outcome, messages.delivered),
        rate: sent_at_rate(outcome),
        payload_bytes: tally.payload_bytes.0,
        view: view(outcome),
        one_way_ns: tally.one_way.distribution(),
        clock_error_ns: groups(outcome)
            .map(|group| group.one_way_error)
            .filter(|error| error.count > 0)
            .max_by_key(|error| error.count)
            .map(Into::into),
        rtt_half_ns: round_trip::rtt_half(outcome),
        connections: clients::connections(outcome),
        request_one_way_ns: pings(outcome).and_then(some),
        reply_one_way_ns: some(&tally.replies),
        publish_to_deliver_ns: some(&own.actual),
        intended_to_deliver_ns: some(&own.intended),
        requests: requests::of(&outcome.requests),
        sched_gap_ns: tally.gap.distribution(),
        histograms: histograms(outcome, &own),
        time_spent: ReportedTimeSpent::from(&outcome.evidence.time_spent()),
        byte_deliveries: ledger.deliveries,
        wire_bytes: ledger.total(),
        overhead: (&ledger).into(),
        processes: outcome
            .processes
            .iter()
            .map(|process| process_use(outcome, process, messages.delivered))
            .collect(),
        trust: trust(outcome, messages),
        ground_truth: outcome.truth.clone(),
        machine: outcome.machine,
        breakdown: ReportedBreakdown::of(&outcome.snapshot),
        notes: notes::of(outcome),
    }
}

/// From where the messages were seen. Those of a pause between windows are in no other view.
fn view(outcome: &Outcome) -> Option<SeenFrom> {
    if outcome.tally.matched > 0 {
        Some(SeenFrom::BothEnds)
    } else {
        groups(outcome).find_map(SeenFrom::of)
    }
}

fn some(samples: &Samples) -> Option<DistributionSummary> {
    (samples.count() > 0).then(|| samples.distribution())
}

/// The latencies by the workloads' own records.
struct OwnTimes {
    /// From publish to deliver.
    actual: Samples,
    /// From the intended time of sending to deliver; empty unless pacing is a rate.
    intended: Samples,
}

impl OwnTimes {
    fn of(outcome: &Outcome) -> OwnTimes {
        let (actual, intended) =
            outcome.records.as_ref().map(TruthRecords::times).unwrap_or_default();
        let is_rate = matches!(outcome.trial.pacing, TrialPacing::Rate(_));
        OwnTimes { actual, intended: if is_rate { intended } else { Samples::new() } }
    }
}

/// The latencies of the pings; `None` unless pacing is ping-pong.
fn pings(outcome: &Outcome) -> Option<&Samples> {
    (outcome.trial.pacing == TrialPacing::PingPong).then_some(&outcome.tally.requests)
}

fn histograms(outcome: &Outcome, own: &OwnTimes) -> Histograms {
    let tally = &outcome.tally;
    let segments = tally.segments.iter().filter_map(|(leg, segment, samples)| {
        let (min_ns, max_ns) = samples.extremes()?;
        Some(SegmentHistogram {
            leg,
            segment: segment.name().to_owned(),
            total_ns: samples.sum().0,
            min_ns,
            max_ns,
            histogram: samples.histogram()?,
            clock_error_ns: clock_error(outcome, leg, segment),
        })
    });
    Histograms {
        one_way_ns: tally.one_way.histogram(),
        one_way_blocks_ns: tally.blocks.iter().filter_map(Samples::histogram).collect(),
        rtt_half_ns: round_trip::histogram(outcome),
        connect_ns: clients::times(outcome).histogram(),
        request_one_way_ns: pings(outcome).and_then(Samples::histogram),
        reply_one_way_ns: tally.replies.histogram(),
        sched_gap_ns: tally.gap.histogram(),
        round_trip_ns: requests::round_trips(&outcome.requests).encode(),
        request_segments: requests::segments(&outcome.requests),
        publish_to_deliver_ns: own.actual.histogram(),
        intended_to_deliver_ns: own.intended.histogram(),
        segments: segments.collect(),
    }
}

/// The largest error of a segment's times, because the leg goes from one host to another; `None` on one host.
fn clock_error(outcome: &Outcome, leg: u8, segment: Segment) -> Option<u64> {
    let stats = groups(outcome).flat_map(|group| &group.segments);
    let own = stats.filter(|stat| stat.leg == leg && stat.segment == segment);
    own.map(|stat| stat.error.0).max().filter(|error| *error > 0)
}

/// The messages that the sender sent, and those that the rate wants in the same time.
fn sent_at_rate(outcome: &Outcome) -> Option<SentAtRate> {
    let trial = &outcome.trial;
    let rate = rate(trial)?;
    let done = done(outcome, Role::Pub)?;
    let sent = done.sent.filter(|&sent| sent > 0)?;
    let took = (Nanos(done.last_ns) - Nanos(done.first_ns)).as_secs_f64() + 1.0 / rate;
    // A trial that was ended by its time has lasted that long, even if its last message was sent earlier.
    let by_time = trial.messages.is_none_or(|messages| sent < messages) && !is_partial(outcome);
    let whole = trial.duration.filter(|_| by_time).map_or(0.0, |time| time.as_secs_f64());
    Some(SentAtRate { sent, wanted: took.max(whole) * rate })
}

fn process_use(outcome: &Outcome, process: &RoleProcess, delivered: u64) -> ProcessUse {
    let meter = process.meter.as_ref();
    let parts = meter.map(|meter| meter.series_until(last_message(outcome)));
    let per_message = |ns: f64| (delivered > 0).then(|| ns / delivered as f64);
    let seen = traced(outcome, process.traced_as);
    ProcessUse {
        role: process.role.name().to_owned(),
        pid: process.pid,
        name: process.name.clone(),
        host: process.host.clone(),
        // The agent of another host tells of its processes.
        cpu_share: parts.and_then(cpu_share).or_else(|| seen?.cpu_share),
        cpu_ns_per_message: meter.and_then(|meter| per_message(meter.cpu().as_nanos() as f64)),
        rss_bytes: meter.map(Meter::peak_rss).or_else(|| seen?.rss_bytes),
        rss_at_start_bytes: meter.map(Meter::rss_at_start),
        over_time: parts.map(over_time).unwrap_or_default(),
        scheduling: seen.and_then(|process| ReportedScheduling::of(process.scheduling)),
        unix_clients: seen.and_then(|process| process.unix.clone()).map(ReportedUnixClients::from),
        idle: process.idle.as_ref().map(|meter| IdleUse {
            seconds: meter.wall().as_secs_f64(),
            cpu_share: meter.cpu_share(),
            rss_bytes: meter.peak_rss(),
        }),
    }
}

/// Time at which the last message was sent or delivered, by the workloads' own counts, or later if that is not known. At the end
/// of a trial nothing happens for some time: only then it is sure that no further message is delivered.
fn last_message(outcome: &Outcome) -> Nanos {
    let (sender, receiver) = outcome.trial.roles();
    let last = done(outcome, receiver).map_or(0, |done| done.last_ns);
    let last = last.max(done(outcome, sender).map_or(0, |done| done.last_ns));
    // Connections are measured as long as they are kept.
    if last == 0 || outcome.trial.connects() { Nanos(u64::MAX) } else { Nanos(last) }
}

fn over_time(parts: &[UsagePoint]) -> Vec<UsageAt> {
    let point = |point: &UsagePoint| UsageAt {
        at_s: point.at.as_secs_f64(),
        cpu_share: point.cpu.as_secs_f64() / point.wall.as_secs_f64().max(1e-9),
        rss_bytes: point.rss_bytes,
    };
    parts.iter().map(point).collect()
}

fn trust(outcome: &Outcome, messages: MessageCounts) -> ReportedTrust {
    let trust = ReportedTrust::from(&outcome.snapshot.trust);
    let mut uncertain = UncertainCounts::default();
    groups(outcome).for_each(|group| uncertain.add(group.uncertain));
    let mut trust = trust.with_uncertain(uncertain);
    trust.unfinished = Count::sum(groups(outcome).map(|group| group.holes.unfinished_messages)).0;
    trust.encrypted_connections =
        Count::sum(groups(outcome).map(|group| group.holes.encrypted_connections)).0;
    trust.telescoping_violations = outcome.tally.telescoping_violations.0;
    let cost = outcome.cost.as_ref().and_then(|cost| cost.as_ref().ok());
    cost::tell(cost.copied(), &mut trust.tracer);
    let is_sampled = outcome.trial.sampling != Sampling::Off;
    trust.coverage = coverage(messages, is_sampled || is_untraced(outcome));
    trust
}

/// The matched share of the delivered messages or, of a sampled trace, of those that it saw; 1 if there are none.
pub fn coverage(messages: MessageCounts, is_sampled: bool) -> f64 {
    let whole = if is_sampled {
        (Count(messages.matched) + messages.uncovered).0
    } else {
        messages.delivered
    };
    if whole > 0 { messages.matched as f64 / whole as f64 } else { 1.0 }
}
