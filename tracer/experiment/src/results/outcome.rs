//! Facts about the outcome of a single trial.

use crate::measure::Outcome;
use crate::pacing::Pacing;
use wirelap_contract::{Done, Role, WorkloadKind};
use wirelap_correlate::Group;
use wirelap_events::Total;
use wirelap_report::Messages;
use wirelap_session::Sampling;

/// Whether the measurement did not reach its end.
pub fn is_partial(outcome: &Outcome) -> bool {
    outcome.error.is_some() || outcome.interrupted.is_some()
}

/// Whether the middleware has no messages that a trace could follow.
pub fn is_untraced(outcome: &Outcome) -> bool {
    outcome.trial.about.kind == WorkloadKind::Untraced
}

/// The statement `DONE` of the process of a role.
pub fn done(outcome: &Outcome, role: Role) -> Option<&Done> {
    outcome.processes.iter().find(|part| part.role == role)?.done.as_ref()
}

/// The counts of messages: those that the workloads reported, otherwise those of the truth files, otherwise those of the trace.
pub fn messages(outcome: &Outcome) -> Messages {
    let tally = &outcome.tally;
    let seen = tally.matched.saturating_add(tally.unmatched);
    let (sender, receiver) = outcome.trial.roles();
    let (sender, receiver) = (done(outcome, sender), done(outcome, receiver));
    let counts = match (outcome.trial.pacing, sender, receiver) {
        (Pacing::PingPong, Some(ping), Some(pong)) => {
            // A pong that reports no count has answered as many messages as came back.
            let (there, back) = (pong.received.or(ping.received), pong.sent.or(ping.received));
            let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.saturating_add(b));
            sum(ping.sent, back).zip(sum(there, ping.received))
        }
        // Without a pong process, the ping counts the replies.
        (Pacing::PingPong, Some(ping), None) => ping.sent.zip(ping.received),
        (_, Some(publisher), Some(subscriber)) => publisher.sent.zip(subscriber.received),
        _ => None,
    };
    let recorded = outcome.records.as_ref().map(|records| (records.published, records.delivered));
    let (sent, delivered) = counts.or(recorded).unwrap_or((seen, seen));
    Messages {
        sent,
        delivered,
        matched: tally.matched,
        uncovered: match outcome.trial.sampling {
            // The trace has nothing to follow.
            _ if is_untraced(outcome) => 0,
            Sampling::Off => delivered.saturating_sub(tally.matched),
            Sampling::Windows { .. } => tally.unmatched,
        },
        duplicates: receiver.map_or(tally.duplicates, |done| done.duplicates),
        retained: groups(outcome).map(|group| group.messages.retained).total(),
        warmup: warmup(outcome),
    }
}

/// The number of warm-up messages: stamped ones are counted by the correlator, others by the tally.
fn warmup(outcome: &Outcome) -> u64 {
    let stamped: u64 = groups(outcome).map(|group| group.messages.warmup).total();
    stamped.saturating_add(outcome.tally.warmup)
}

/// The rows of a trial's snapshot that belong to its middleware.
pub fn groups(outcome: &Outcome) -> impl Iterator<Item = &Group> {
    let name = outcome.trial.name();
    outcome.snapshot.groups.iter().filter(move |group| group.middleware == name)
}
