//! Makes results of the outcomes of trials: pools the repetitions of one middleware, payload size and rate.

mod outcome;
mod repetition;
mod round_trip;
mod why;

pub use outcome::is_partial;

use crate::ab::Variant;
use crate::choice::Broker;
use crate::measure::Outcome;
use crate::pacing::Pacing;
use crate::tally::SegmentTimes;
use crate::trial::Trial;
use crate::workload_processes::RoleProcess;
use outcome::{done, groups, is_untraced, payload_bytes};
use round_trip::rtt_half;
use std::collections::BTreeMap;
use wirelap_contract::{Role, WorkloadKind};
use wirelap_correlate::Overhead as Ledger;
use wirelap_events::Nanos;
use wirelap_events::{Saturate, Total};
use wirelap_report::{
    GroundTruth, Latency, Messages, Process, Repetition, RunResult, Samples, Throughput, Trust,
};
use wirelap_session::Sampling;

/// What trials have in common that are repetitions of each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    middleware: String,
    broker: Option<String>,
    variant: Option<Variant>,
    payload: usize,
    /// The bits of the rate, which are in the order of rates above 0.
    rate: Option<u64>,
}

fn key(trial: &Trial) -> Key {
    Key {
        middleware: trial.name().to_owned(),
        broker: trial.broker.as_ref().map(|broker| broker.name().to_owned()),
        variant: trial.variant,
        payload: trial.payload,
        rate: rate(trial).map(f64::to_bits),
    }
}

/// The wanted rate of a trial.
fn rate(trial: &Trial) -> Option<f64> {
    match trial.pacing {
        Pacing::Rate(rate) => Some(rate),
        Pacing::PingPong | Pacing::BackToBack => None,
    }
}

/// One result for each middleware, broker, variant, payload size and rate. Middlewares and sizes are in the order of the lists,
/// rates ascend, and the two variants stand side by side.
pub fn pool(outcomes: &[Outcome], middlewares: &[String], payloads: &[usize]) -> Vec<RunResult> {
    let mut groups: BTreeMap<Key, Vec<(u32, &Outcome)>> = BTreeMap::new();
    for (position, outcome) in (1..).zip(outcomes) {
        groups.entry(key(&outcome.trial)).or_default().push((position, outcome));
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(key, _)| {
        let middleware = middlewares.iter().position(|name| *name == key.middleware);
        let payload = payloads.iter().position(|&size| size == key.payload);
        (middleware, payload, key.rate, key.variant)
    });
    groups.into_iter().map(|(key, repetitions)| result(key, &repetitions)).collect()
}

fn result(key: Key, repetitions: &[(u32, &Outcome)]) -> RunResult {
    let all: Vec<&Outcome> = repetitions.iter().map(|(_, outcome)| *outcome).collect();
    let each: Vec<Repetition> =
        repetitions.iter().map(|&(position, outcome)| repetition::of(position, outcome)).collect();
    let messages = each.iter().fold(Messages::default(), |sum, one| add(sum, one.messages));
    let mut segments = SegmentTimes::default();
    for outcome in &all {
        segments.merge(&outcome.tally.segments);
    }
    let processes = processes(&all);
    let mut result = RunResult {
        middleware: key.middleware,
        broker: key.broker,
        variant: key.variant.map(|variant| variant.to_string()),
        payload_bytes: payload_bytes(&all, key.payload as u64),
        rate_msg_per_s: key.rate.map(f64::from_bits),
        topology: None,
        untraced: all.iter().any(|outcome| is_untraced(outcome)),
        partial: all.iter().any(|outcome| is_partial(outcome)),
        error: all.iter().find_map(|outcome| outcome.error.as_ref()).map(ToString::to_string),
        messages,
        throughput: mean_throughput(&each),
        rate_reached: rate_reached(&all),
        connections: None,
        latency: latency(&all),
        segments: segments.rows(),
        sched_gap_ns: merged(&all, |outcome| &outcome.tally.gap).distribution(),
        overhead: (&ledger(&all)).into(),
        why: why::why(&all, &processes),
        processes,
        trust: trust(&all, messages),
        ground_truth: ground_truth(&all),
        repetitions: each,
        notes: notes(&all),
    };
    result.partial |= result.is_mostly_undelivered();
    result.judge();
    result
}

/// What was measured at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtRate {
    /// The share of the wanted rate at which messages were sent; `None` if that is not known.
    pub sent_share: Option<f64>,
    /// The 99th percentile of the latency, from the intended time of sending where that is known; `None` if more than 1 % of the
    /// messages did not arrive, or if a trial failed.
    pub p99_ns: Option<u64>,
}

/// What the trials of one rate have measured.
pub fn at_rate(all: &[&Outcome]) -> AtRate {
    let messages =
        all.iter().fold(Messages::default(), |sum, one| add(sum, outcome::messages(one)));
    let missing = messages.sent.saturating_sub(messages.delivered);
    let whole = !all.iter().any(|outcome| is_partial(outcome));
    let latency = latency(all);
    let times = latency.intended_to_deliver_ns.unwrap_or(latency.one_way_ns);
    AtRate {
        sent_share: rate_reached(all),
        p99_ns: (whole && times.count > 0 && missing <= messages.sent / 100).then_some(times.p99),
    }
}

fn add(a: Messages, b: Messages) -> Messages {
    Messages {
        sent: a.sent.saturating_add(b.sent),
        delivered: a.delivered.saturating_add(b.delivered),
        matched: a.matched.saturating_add(b.matched),
        uncovered: a.uncovered.saturating_add(b.uncovered),
        duplicates: a.duplicates.saturating_add(b.duplicates),
        retained: a.retained.saturating_add(b.retained),
        warmup: a.warmup.saturating_add(b.warmup),
    }
}

/// The share of the wanted rate at which messages were sent, over all repetitions.
fn rate_reached(all: &[&Outcome]) -> Option<f64> {
    let sums = all.iter().filter_map(|outcome| {
        let trial = &outcome.trial;
        let rate = rate(trial)?;
        let done = done(outcome, Role::Pub)?;
        let sent = done.sent.filter(|&sent| sent > 0)?;
        let took = Nanos(done.last_ns.saturating_sub(done.first_ns)).as_secs_f64() + 1.0 / rate;
        // A trial that was ended by its time has lasted that long, even if its last message was sent earlier.
        let by_time = trial.messages.is_none_or(|messages| sent < messages) && !is_partial(outcome);
        let whole = trial.duration.filter(|_| by_time).map_or(0.0, |time| time.as_secs_f64());
        Some((sent as f64, took.max(whole) * rate))
    });
    let (sent, wanted) = sums.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (wanted > 0.0).then(|| (sent / wanted).min(1.0))
}

/// The mean of the repetitions, without those that failed before a message arrived.
fn mean_throughput(each: &[Repetition]) -> Throughput {
    let counted = || each.iter().filter(|one| !one.partial || one.throughput.msg_per_s > 0.0);
    let mean = |of: fn(&Throughput) -> f64| {
        counted().map(|one| of(&one.throughput)).total::<f64>() / counted().count().max(1) as f64
    };
    Throughput {
        msg_per_s: mean(|one| one.msg_per_s),
        payload_bit_per_s: mean(|one| one.payload_bit_per_s),
    }
}

fn merged(all: &[&Outcome], of: impl Fn(&Outcome) -> &Samples) -> Samples {
    let mut merged = Samples::new();
    for outcome in all {
        merged.merge(of(outcome));
    }
    merged
}

fn latency(all: &[&Outcome]) -> Latency {
    let pacing = all[0].trial.pacing;
    let ping_pong = pacing == Pacing::PingPong;
    let (mut actual, mut intended) = (Samples::new(), Samples::new());
    for records in all.iter().filter_map(|outcome| outcome.records.as_ref()) {
        let times = records.times();
        actual.merge(&times.0);
        intended.merge(&times.1);
    }
    let some = |samples: &Samples| (samples.count() > 0).then(|| samples.distribution());
    Latency {
        one_way_ns: merged(all, |outcome| &outcome.tally.one_way).distribution(),
        rtt_half_ns: rtt_half(all),
        request_one_way_ns: some(&merged(all, |o| &o.tally.requests)).filter(|_| ping_pong),
        reply_one_way_ns: some(&merged(all, |o| &o.tally.replies)),
        publish_to_deliver_ns: some(&actual),
        intended_to_deliver_ns: some(&intended).filter(|_| matches!(pacing, Pacing::Rate(_))),
    }
}

fn ledger(all: &[&Outcome]) -> Ledger {
    let mut sum = Ledger::default();
    for outcome in all {
        sum += &outcome::ledger(outcome);
    }
    sum
}

fn processes(all: &[&Outcome]) -> Vec<Process> {
    let Some(last) = all.last() else { return Vec::new() };
    let of_role = |role| {
        let parts = all.iter().flat_map(|outcome| &outcome.processes);
        parts.filter(move |part: &&RoleProcess| part.role == role).filter_map(|part| part.meter)
    };
    let process = |part: &RoleProcess| {
        let shares: Vec<f64> = of_role(part.role).map(|meter| meter.cpu_share()).collect();
        Process {
            role: part.role.name().to_owned(),
            pid: part.pid,
            host: None,
            name: part.name.clone(),
            cpu_share: (!shares.is_empty())
                .then(|| shares.iter().total::<f64>() / shares.len() as f64),
            rss_bytes: of_role(part.role).map(|meter| meter.peak_rss()).max(),
            scheduling: why::scheduling(last, part.pid),
            unix_clients: why::unix_clients(last, part.pid),
        }
    };
    last.processes.iter().map(process).collect()
}

fn trust(all: &[&Outcome], messages: Messages) -> Trust {
    let mut sum = Trust::default();
    for outcome in all {
        let one = Trust::from(&outcome.snapshot.trust);
        for (probe, lost) in one.events_lost {
            sum.events_lost.entry(probe).or_default().grow(lost);
        }
        sum.events.grow(one.events);
        sum.uncaptured_bytes.grow(one.uncaptured_bytes);
        sum.undecoded_bytes.grow(one.undecoded_bytes);
        sum.unread_messages.grow(one.unread_messages);
        sum.unseen_sent = sum.unseen_sent.plus(one.unseen_sent);
        sum.unseen_received = sum.unseen_received.plus(one.unseen_received);
        sum.to_unseen_readers
            .grow(groups(outcome).map(|group| group.to_unseen_readers).total::<u64>());
        sum.read_twice.grow(groups(outcome).map(|group| group.read_twice).total::<u64>());
        sum.without_send.grow(groups(outcome).map(|group| group.without_send).total::<u64>());
        sum.evicted.grow(one.evicted);
        sum.window_share += one.window_share / all.len() as f64;
        sum.telescoping_violations.grow(outcome.tally.telescoping_violations);
        sum.tracer.slowdown = sum.tracer.slowdown.or(outcome.slowdown);
        sum.tracer.cpu_share += one.tracer.cpu_share / all.len() as f64;
        sum.tracer.rss_bytes = sum.tracer.rss_bytes.max(one.tracer.rss_bytes);
    }
    let sampled = all.iter().any(|outcome| outcome.trial.sampling != Sampling::Off);
    let untraced = all.iter().any(|outcome| is_untraced(outcome));
    let whole = if sampled || untraced {
        messages.matched.saturating_add(messages.uncovered)
    } else {
        messages.delivered
    };
    sum.coverage = if whole > 0 { messages.matched as f64 / whole as f64 } else { 1.0 };
    sum
}

fn ground_truth(all: &[&Outcome]) -> Option<GroundTruth> {
    all.iter().filter_map(|outcome| outcome.truth.clone()).reduce(|a, b| GroundTruth {
        published: a.published.saturating_add(b.published),
        delivered: a.delivered.saturating_add(b.delivered),
        compared: a.compared.saturating_add(b.compared),
        violations: a.violations.saturating_add(b.violations),
        order_violations: a.order_violations.saturating_add(b.order_violations),
        unknown: a.unknown.saturating_add(b.unknown),
        worst_violation_ns: a.worst_violation_ns.max(b.worst_violation_ns),
    })
}

fn notes(all: &[&Outcome]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let foreign = all.iter().any(|outcome| outcome.trial.about.kind == WorkloadKind::Foreign);
    if foreign {
        notes.push(
            "the messages come from its own programs: they are matched by the protocol's numbers, or by topic and content in order"
                .into(),
        );
    }
    if all.iter().any(|outcome| outcome.trial.sampling != Sampling::Off && !is_untraced(outcome)) {
        notes.push(if foreign {
            "msg/s are reported by its own program; counts, times and bytes come from the sampled windows"
                .into()
        } else {
            "counts and msg/s are reported by the workloads; times and bytes come from the sampled windows"
                .into()
        });
    }
    if all.iter().any(|outcome| is_untraced(outcome)) {
        notes.push("its figures are reported by its own program: it has no messages that a trace could follow".into());
    }
    if all.iter().any(|outcome| matches!(outcome.trial.broker, Some(Broker::Running(_)))) {
        notes.push("the broker was running before: its version and settings are not known".into());
    }
    let traced = all.iter().flat_map(|outcome| {
        groups(outcome).flat_map(|group| &group.notes).chain(&outcome.snapshot.notes)
    });
    for note in traced {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}
