//! Facts about the outcome of a single trial.

use crate::measure::Outcome;
use crate::pacing::TrialPacing;
use crate::trial::Trial;
use wirelap_contract::{Done, Role, WorkloadKind, WorkloadTopology};
use wirelap_correlate::{Group, Overhead as Ledger};
use wirelap_events::{Count, Nanos, Pid};
use wirelap_report::{MessageCounts, Throughput};
use wirelap_session::Sampling;

/// True if the measurement did not reach its end.
pub fn is_partial(outcome: &Outcome) -> bool {
    outcome.error.is_some() || outcome.interrupted.is_some()
}

/// True if the middleware has no messages that a trace could follow.
pub fn is_untraced(outcome: &Outcome) -> bool {
    outcome.trial.about.kind == WorkloadKind::Untraced
}

/// The statement `DONE` of the process of a role.
pub fn done(outcome: &Outcome, role: Role) -> Option<&Done> {
    outcome.processes.iter().find(|part| part.role == role)?.done.as_ref()
}

/// The counts of messages: those that the workloads reported, otherwise those of the truth files, otherwise those of the trace.
pub fn messages(outcome: &Outcome) -> MessageCounts {
    let tally = &outcome.tally;
    let seen = (tally.matched + tally.unmatched).0;
    let (sender, receiver) = outcome.trial.roles();
    let (sender, receiver) = (done(outcome, sender), done(outcome, receiver));
    let counts = match (outcome.trial.pacing, sender, receiver) {
        (TrialPacing::PingPong, Some(ping), Some(pong)) => {
            // A pong that reports no count has answered as many messages as came back.
            let (there, back) = (pong.received.or(ping.received), pong.sent.or(ping.received));
            let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| (Count(a) + b).0);
            sum(ping.sent, back).zip(sum(there, ping.received))
        }
        // Without a pong process, the ping counts the replies.
        (TrialPacing::PingPong, Some(ping), None) => ping.sent.zip(ping.received),
        (_, Some(publisher), Some(subscriber)) => publisher.sent.zip(subscriber.received),
        _ => None,
    };
    if outcome.trial.connects() {
        return MessageCounts::default();
    }
    let recorded = outcome.records.as_ref().map(|records| (records.published, records.delivered));
    let (sent, delivered) = counts.or(recorded).unwrap_or((seen, seen));
    MessageCounts {
        sent,
        delivered,
        expected: expected(outcome, sent),
        matched: tally.matched.0,
        uncovered: match outcome.trial.sampling {
            // The trace has nothing to follow.
            _ if is_untraced(outcome) => 0,
            Sampling::Off => (Count(delivered) - tally.matched).0,
            Sampling::Windows { .. } => tally.unmatched.0,
        },
        never_read: 0,
        cut: 0,
        unfinished: 0,
        duplicates: receiver.map_or(tally.duplicates.0, |done| done.duplicates),
        retained: Count::sum(groups(outcome).map(|group| group.messages.retained)).0,
        warmup: warmup(outcome),
    }
}

/// Number of deliveries that `sent` messages should have; `None` if one each.
fn expected(outcome: &Outcome, sent: u64) -> Option<u64> {
    let topology = outcome.trial.workloads.topology;
    (!topology.is_pair()).then(|| topology.deliveries(sent)).filter(|&expected| expected != sent)
}

/// The number of warm-up messages: stamped ones are counted by the correlator, others by the tally.
fn warmup(outcome: &Outcome) -> u64 {
    let stamped = Count::sum(groups(outcome).map(|group| group.messages.warmup));
    (outcome.tally.warmup + stamped).0
}

/// The rows of a trial's snapshot that belong to its middleware.
pub fn groups(outcome: &Outcome) -> impl Iterator<Item = &Group> {
    let name = outcome.trial.name();
    outcome.snapshot.groups.iter().filter(move |group| group.middleware == name)
}

/// A process as the trace saw it.
pub fn traced(outcome: &Outcome, pid: Pid) -> Option<&wirelap_correlate::Process> {
    let mut processes = groups(outcome).flat_map(|group| &group.processes);
    processes.find(|process| process.pid == pid)
}

/// The wanted rate of a trial.
pub fn rate(trial: &Trial) -> Option<f64> {
    match trial.pacing {
        TrialPacing::Rate(rate) => Some(rate),
        TrialPacing::PingPong | TrialPacing::BackToBack => None,
    }
}

/// The payload size of a trial's messages. The programs of other projects may not use the wanted size: for them, it is the mean
/// of the traced messages, whose payload bytes and number these are.
pub fn payload_bytes(trial: &Trial, (bytes, matched): (u64, u64)) -> u64 {
    let wanted = trial.payload as u64;
    let is_foreign = trial.about.kind == WorkloadKind::Foreign;
    bytes.checked_div(matched).filter(|_| is_foreign).unwrap_or(wanted)
}

/// The throughput from the receiver's first to its last message.
pub fn throughput(outcome: &Outcome, delivered: u64) -> Throughput {
    let by = match outcome.trial.pacing {
        TrialPacing::PingPong => Role::Ping,
        TrialPacing::Rate(_) | TrialPacing::BackToBack => Role::Sub,
    };
    let reported = done(outcome, by).map(|done| (done.first_ns, done.last_ns));
    let spanned = outcome.tally.span.map(|(first, last)| (first.0, last.0));
    let (first, last) = reported.filter(|(first, _)| *first > 0).or(spanned).unwrap_or_default();
    let seconds = (Nanos(last) - Nanos(first)).as_secs_f64();
    let msg_per_s = if seconds > 0.0 { (Count(delivered) - 1).0 as f64 / seconds } else { 0.0 };
    let traced = (outcome.tally.payload_bytes.0, outcome.tally.matched.0);
    let bits = payload_bytes(&outcome.trial, traced) as f64 * 8.0;
    let measured = done(outcome, by).and_then(|done| done.payload_bit_per_s);
    Throughput {
        // A sampled trace has not counted all messages of a program that reports nothing but its rate.
        msg_per_s: match measured {
            Some(measured) if outcome.trial.about.kind == WorkloadKind::Foreign => measured / bits,
            _ => msg_per_s,
        },
        payload_bit_per_s: measured.unwrap_or(msg_per_s * bits),
        // The programs have counted all of the time.
        relative_error: None,
    }
}

/// Returns the ledger of the bytes of a trial's messages.
pub fn ledger(outcome: &Outcome) -> Ledger {
    let mut own = Ledger::default();
    groups(outcome).for_each(|group| own += &group.overhead);
    own.deliveries = deliveries_of_bytes(outcome, &own);
    own
}

/// The number of deliveries that a trial's bytes belong to. A sampling window cuts messages at both of its ends, so there the
/// number follows from the payload bytes.
fn deliveries_of_bytes(outcome: &Outcome, own: &Ledger) -> u64 {
    match outcome.trial.sampling {
        Sampling::Off => own.deliveries,
        Sampling::Windows { .. } => {
            let legs_before = outcome.tally.last_leg() as u64;
            let topology = outcome.trial.workloads.topology;
            deliveries_of_payload(own.payload, outcome.trial.payload as u64, legs_before, topology)
        }
    }
}

/// The number of deliveries that `bytes` of payload belong to. A message passes `legs_before` legs once, and the last one once for
/// each of its subscribers.
fn deliveries_of_payload(
    bytes: u64,
    size: u64,
    legs_before: u64,
    topology: WorkloadTopology,
) -> u64 {
    // As many messages as there are publishers, so that each topic has its share.
    let messages = u64::from(topology.publishers.max(1));
    let deliveries = topology.deliveries(messages);
    let payloads = (Count(messages) * legs_before + deliveries).0;
    let of_all = u128::from(payloads).saturating_mul(size.into()).max(1);
    let share = u128::from(bytes).saturating_mul(deliveries.into()).checked_div(of_all);
    share.and_then(|share| u64::try_from(share).ok()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_contract::SubscribedTopics;

    #[test]
    fn each_subscriber_has_the_payload_once_and_the_broker_once_more() {
        let pair = WorkloadTopology::default();
        assert_eq!(deliveries_of_payload(6400, 64, 0, pair), 100);
        assert_eq!(deliveries_of_payload(12_800, 64, 1, pair), 100);
        let fan_out = WorkloadTopology { subscribers: 1000, ..pair };
        assert_eq!(deliveries_of_payload(1001 * 64 * 3, 64, 1, fan_out), 3000);
        let all = WorkloadTopology {
            publishers: 5,
            topics: 5,
            subscription: SubscribedTopics::All,
            ..fan_out
        };
        assert_eq!(deliveries_of_payload(1001 * 64 * 3, 64, 1, all), 3000);
        assert_eq!(deliveries_of_payload(64, 0, 1, pair), 64);
    }
}
