//! What one trial says, by itself.

use crate::measure::Outcome;
use crate::pacing::Pacing;
use wirelap_contract::{Done, Kind, Role};
use wirelap_correlate::Group;
use wirelap_events::Total;
use wirelap_report::Messages;
use wirelap_session::Sampling;

/// The measurement did not reach its end.
pub fn is_partial(outcome: &Outcome) -> bool {
    outcome.error.is_some() || outcome.interrupted.is_some()
}

/// A trace could follow nothing of it.
pub fn is_untraced(outcome: &Outcome) -> bool {
    outcome.trial.about.kind == Kind::Untraced
}

/// What the process of a role said in the end.
pub fn done(outcome: &Outcome, role: Role) -> Option<&Done> {
    outcome.parts.iter().find(|part| part.role == role)?.done.as_ref()
}

/// The workloads' own counts; without them their records'; without those the trace's.
pub fn messages(outcome: &Outcome) -> Messages {
    let tally = &outcome.tally;
    let seen = tally.matched.saturating_add(tally.unmatched);
    let (sender, receiver) = outcome.trial.roles();
    let (sender, receiver) = (done(outcome, sender), done(outcome, receiver));
    let counts = match (outcome.trial.pacing, sender, receiver) {
        (Pacing::PingPong, Some(ping), Some(pong)) => {
            // One that does not tell has answered what came back.
            let (there, back) = (pong.received.or(ping.received), pong.sent.or(ping.received));
            let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.saturating_add(b));
            sum(ping.sent, back).zip(sum(there, ping.received))
        }
        // Whoever answers keeps no count.
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
            // Nothing was to be followed.
            _ if is_untraced(outcome) => 0,
            Sampling::Off => delivered.saturating_sub(tally.matched),
            Sampling::Windows { .. } => tally.unmatched,
        },
        duplicates: receiver.map_or(tally.duplicates, |done| done.duplicates),
        retained: groups(outcome).map(|group| group.messages.retained).total(),
        warmup: warmup(outcome),
    }
}

/// The correlator keeps stamped messages of the warm-up to itself, and counts them.
fn warmup(outcome: &Outcome) -> u64 {
    let stamped: u64 = groups(outcome).map(|group| group.messages.warmup).total();
    stamped.saturating_add(outcome.tally.warmup)
}

/// The rows of a trial's snapshot that are its own.
pub fn groups(outcome: &Outcome) -> impl Iterator<Item = &Group> {
    let name = outcome.trial.name();
    outcome.snapshot.groups.iter().filter(move |group| group.middleware == name)
}
