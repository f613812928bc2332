//! The broker has the message and nobody has asked for it, it waits for more, it keeps the message until that expires, or it may send no more before an acknowledgement.
//!
//! It is found by the consumer's requests, what they let the broker wait for, and the subscriber's acknowledgements. What the consumer's
//! own thread did before it asked is `client_stalled` or `reader_busy`.

mod blame;

use crate::limits::kinds::FETCH_WAIT;
use crate::why::awaited::Awaited;
use crate::why::clause::{Clause, Remedy};
use crate::why::definition::Definition;
use crate::why::finding::Finding;
use wirelap_events::Nanos;

pub const DEFINITION: Definition = Definition {
    limits: Some(FETCH_WAIT),
    facts: |case| case.often_and([asked(case.finding)]),
    remedy: |case| case.finding.circumstances.awaits_commit.then_some(Remedy::Commit),
    ..Definition::USUAL
};

fn asked(finding: &Finding) -> Clause {
    if finding.circumstances.awaits_commit {
        return Clause::AwaitsCommit;
    }
    match finding.mostly_awaited() {
        Awaited::Answer => return Clause::AnswerAwaited,
        Awaited::Expiry => return Clause::Expired,
        Awaited::Acknowledgement => return Clause::AcknowledgementUnderWay,
        Awaited::UnseenAcknowledgement => return Clause::AcknowledgementUnseen,
        Awaited::LateAcknowledgement => return Clause::SubscriberAcknowledgedLate,
        Awaited::Request if asked_late(finding).is_some() => return Clause::ConsumerAskedLate,
        _ => {}
    }
    let limits = finding.circumstances.request_limits;
    Clause::RequestWaits(limits.filter(|limits| limits.longest < Nanos(u64::MAX)))
}

/// The clause for a reader that had not asked, or not acknowledged, for most of the time.
pub fn asked_late(finding: &Finding) -> Option<Clause> {
    let is_late = finding.late_requests.saturating_mul(2) >= finding.parts.max(1)
        || finding.mostly_awaited() == Awaited::LateAcknowledgement;
    let is_window = is_window(finding) || finding.mostly_awaited() == Awaited::LateAcknowledgement;
    let late = if is_window { Clause::AcknowledgedLate } else { Clause::AskedLate };
    is_late.then_some(late)
}

/// True if the broker was kept by how many messages may be unacknowledged, and not by a request.
fn is_window(finding: &Finding) -> bool {
    finding.circumstances.awaited_credit().is_some()
}
