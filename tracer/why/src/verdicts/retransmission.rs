//! Packets were lost, and sent again; or bytes do not arrive at all.
//!
//! The cause is found by the packets themselves: what TCP sent again of a message, or of what was before it, until it arrived; a congestion window
//! that a loss made small; a request or an acknowledgement that was lost; or packets that overtook earlier ones, though none was lost. What was sent again in vain, because a queue was long, is a note:
//! the queue is what has to be mended.

use crate::absences;
use crate::case::VerdictCase;
use crate::clause::{Clause, Named};
use crate::definition::{Bearer, Definition, InStartUp};
use crate::evidence::Evidence;
use crate::finding::Finding;
use crate::kind::VerdictKind;
use crate::loss_counts::LostSegments;
use wirelap_events::{MAX_LEGS, Nanos, Recovery, Segment, TaskId, Total};
use wirelap_limits::kinds::RETRANSMISSION;

pub const DEFINITION: Definition = Definition {
    limits: Some(RETRANSMISSION),
    in_start_up: InStartUp::Never,
    // The process that waits for lost bytes is not the one that knows what became of them.
    bearer: Bearer::Sender,
    is_note: is_late_in_queue,
    facts: |case| case.often_and(lost(case.evidence(), case.finding)),
    add_of_row: |row, found| absences::of_bytes(row.evidence, found),
    ..Definition::USUAL
};

/// True if TCP sent packets again in vain, which were still in a queue: its timers did not expect one so long.
fn is_late_in_queue(case: &VerdictCase<'_>) -> bool {
    if !case.finding.lost.were_only_late(&case.evidence().losses.segments) {
        return false;
    }
    (0..MAX_LEGS).any(|leg| {
        let queues = [VerdictKind::BottleneckLink, VerdictKind::QdiscQueueing];
        let findings = queues.into_iter().flat_map(|kind| case.row.gathered.findings(leg, kind));
        findings.into_iter().any(|(_, queued)| queued.whole() >= case.finding.whole())
    })
}

/// The clauses for losses: whose bytes were lost, how they came again, and where they were lost, as
/// far as that was seen.
fn lost(evidence: &Evidence, finding: &Finding) -> Vec<Clause> {
    let lost = finding.lost;
    // Its own connection's bytes, or a request.
    let is_behind = |finding: &Finding| {
        let earlier = finding.longest.circumstances.socket.behind;
        earlier.is_some_and(|earlier| earlier.time >= Nanos(finding.longest.time.0 / 2))
    };
    if finding.segment() == Segment::BrokerDwell && !is_behind(finding) {
        let recoveries = finding.awaited_recoveries;
        let has_recoveries = recoveries.iter().any(|&count| count > 0);
        return [
            Some(Clause::AwaitedLost(finding.mostly_awaited())),
            has_recoveries.then_some(Clause::Recovered(recoveries)),
            in_all(evidence),
        ]
        .into_iter()
        .flatten()
        .collect();
    }
    let name = |task: Option<TaskId>| -> Option<Named> {
        let pid = task?.pid;
        Some((pid, *evidence.setting.names.get(&pid)?))
    };
    let ends = name(finding.longest.task).zip(name(finding.longest.reader));
    let (own, behind) = (lost.own, lost.messages.saturating_sub(lost.own));
    // The protocol alone can say which datagram was lost.
    let is_tcp = finding.longest.circumstances.socket.tx.is_some()
        || lost.overtook > 0
        || evidence.losses.segments.resent > 0;
    let has_recoveries = lost.recoveries != [0; Recovery::ALL.len()];
    let datagrams = !is_tcp && !has_recoveries;
    let whose = Clause::Lost { datagrams, own, behind, ends };
    if datagrams {
        let dropped = evidence.losses.datagrams.by_cause();
        let has_dropped = dropped.iter().any(|(_, count)| *count > 0);
        return [
            Some(whose),
            (own > 0).then_some(Clause::RepairedByProtocol),
            has_dropped.then_some(Clause::DatagramsDropped(dropped)),
            in_all(evidence),
        ]
        .into_iter()
        .flatten()
        .collect();
    }
    let LostSegments { resent, twice, .. } = evidence.losses.segments;
    if lost.were_only_late(&evidence.losses.segments) {
        let recovered = has_recoveries.then_some(Clause::Recovered(lost.recoveries));
        let overtaken = Clause::Overtaken { own, behind, resent, twice };
        return std::iter::once(overtaken).chain(recovered).collect();
    }
    let here = if lost.drops.iter().any(|&count| count > 0) {
        Clause::DroppedHere(lost.drops)
    } else {
        Clause::NotDroppedHere
    };
    [
        Some(whose),
        has_recoveries.then_some(Clause::Recovered(lost.recoveries)),
        Some(here),
        in_all(evidence),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The clause for losses on all connections of the row; `None` if there were none.
fn in_all(evidence: &Evidence) -> Option<Clause> {
    let LostSegments { resent, twice, dropped } = evidence.losses.segments;
    let dropped: u64 = dropped.iter().total();
    (resent > 0 || dropped > 0).then_some(Clause::OnAllConnections { resent, twice, dropped })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{MS, found, task};
    use wirelap_events::{
        Circumstances, Delivery, Leg, LegLosses, LegPath, LinkQueue, MessageId, Stage,
    };
    use wirelap_test_support::delivered;

    /// Messages of which every tenth is under way for so many more milliseconds: in a queue, and behind what TCP sent again in vain.
    fn behind_a_queue(queued: u64, resent: u64) -> Evidence {
        let mut evidence = Evidence::default();
        for n in 0..500 {
            let [queued, resent] = [queued, resent].map(|ms| if n % 10 == 3 { ms * MS } else { 0 });
            let (sent, xmit) = (n * 1_000 * MS, n * 1_000 * MS + resent + 1_000);
            let came = xmit + queued + 1_000;
            let (from, to) = (Nanos(xmit), Nanos(came));
            let (longest, least) = (to - from, Nanos(1_000));
            let leg = Leg {
                sender: Some(task(1)),
                reader: Some(task(2)),
                circumstances: Circumstances {
                    loss: LegLosses { in_socket: Nanos(resent), ..LegLosses::default() },
                    path: LegPath {
                        queue: Some(LinkQueue { from, to, longest, least, rate: 1 }),
                        distance: Nanos(1_000),
                        ..LegPath::default()
                    },
                    ..Circumstances::default()
                },
                ..delivered::leg(&[
                    (Stage::Send, sent),
                    (Stage::Sent, sent),
                    (Stage::Queue, xmit),
                    (Stage::Xmit, xmit),
                    (Stage::Rx, came),
                    (Stage::Read, came + 65_000),
                ])
            };
            let delivery = Delivery { message: MessageId(n), ..delivered::delivery([leg]) };
            evidence.delivery(&delivery, delivery.one_way().unwrap());
        }
        (evidence.losses.segments.resent, evidence.losses.segments.twice) = (10, 10);
        evidence
    }

    #[test]
    fn what_was_sent_again_in_vain_from_a_long_queue_is_not_lost() {
        let kinds = |evidence: Evidence| {
            found(&evidence.explain()).into_iter().map(|(kind, _, _)| kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds(behind_a_queue(300, 200)), [VerdictKind::BottleneckLink]);
        // There is hardly a queue, and packets overtook each other.
        assert_eq!(kinds(behind_a_queue(0, 200)), [VerdictKind::Retransmission]);
        let mut lost = behind_a_queue(300, 200);
        lost.losses.segments.twice = 0;
        assert_eq!(kinds(lost), [VerdictKind::BottleneckLink, VerdictKind::Retransmission]);
    }
}
