//! The broker has the message and nobody has asked for it, it waits for more, it keeps the message until that expires, it may send no more before an acknowledgement, another server of its cluster has not copied the message, or its thread slept until data of another connection came.
//!
//! The cause is found by the requests of consumers and of servers that copy, what they let the broker wait for, and the subscriber's acknowledgements. What the consumer's
//! own thread did before it asked is `client_stalled` or `reader_busy`, and for want of a CPU `run_queue_contention`. A wait for an earlier
//! answer is a note where threads wait for a CPU as long. A wait for data of others is a note: what they are asked, and what they do until they
//! answer, is not seen.

mod blame;

use super::run_queue_contention;
use crate::awaited::Awaited;
use crate::clause::{Clause, Remedy};
use crate::definition::Definition;
use crate::finding::Finding;
use wirelap_events::Nanos;
use wirelap_limits::kinds::FETCH_WAIT;

pub const DEFINITION: Definition = Definition {
    limits: Some(FETCH_WAIT),
    is_note: |case| {
        let awaited = case.finding.mostly_awaited();
        awaited == Awaited::Others
            || awaited == Awaited::Answer && run_queue_contention::is_anywhere(case)
    },
    facts: |case| case.often_and([asked(case.finding)]),
    remedy: |case| {
        case.finding.longest.circumstances.request.awaits_commit.then_some(Remedy::Commit)
    },
    ..Definition::USUAL
};

fn asked(finding: &Finding) -> Clause {
    if finding.longest.circumstances.request.awaits_commit {
        return Clause::AwaitsCommit;
    }
    match finding.mostly_awaited() {
        Awaited::Answer => return Clause::AnswerAwaited,
        Awaited::Expiry => return Clause::Expired,
        Awaited::Replica => return Clause::ReplicaAwaited,
        Awaited::Others => return Clause::OthersAwaited,
        Awaited::Acknowledgement => return Clause::AcknowledgementUnderWay,
        Awaited::UnseenAcknowledgement => return Clause::AcknowledgementUnseen,
        Awaited::LateAcknowledgement => return Clause::SubscriberAcknowledgedLate,
        Awaited::Request if asked_late(finding).is_some() => return Clause::ConsumerAskedLate,
        _ => {}
    }
    let limits = finding.longest.circumstances.request.limits;
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
    finding.longest.circumstances.awaited_credit().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Evidence;
    use crate::explanation::Severity;
    use crate::kind::VerdictKind;
    use crate::rules::tests::{MS, task};
    use wirelap_events::{Holder, Hop, Leg, LegOffCpu, OffCpu, SleepCall, Stage};
    use wirelap_test_support::delivered;

    /// Returns how grave it is that 100 of 1,000 messages wait 20 ms for an earlier answer, if so many wait as long for a CPU at the broker.
    fn awaiting_answers(contended: u64) -> Option<Severity> {
        let mut evidence = Evidence::default();
        for n in 0..1_000 {
            let (sent, long) = (n * 100 * MS, 20 * MS);
            let waited = u64::from(n % 10 == 3 && n / 10 < contended) * long;
            let asked = u64::from(n % 10 == 7) * long;
            let read = sent + 100_000 + waited;
            let first = delivered::leg(&[
                (Stage::Send, sent),
                (Stage::Ready, sent + 50_000),
                (Stage::Read, read),
            ]);
            let again = read + asked + 50_000;
            let mut second = delivered::leg(&[(Stage::Send, again), (Stage::Read, again + 50_000)]);
            second.circumstances.request.made = (asked > 0).then_some(Nanos(read + asked));
            let waited = Nanos(waited);
            let mut reader = OffCpu { waited, ..OffCpu::NONE };
            reader.add_holder(&Holder { task: task(9), held: waited, ..Holder::default() });
            let (first, second) = (
                Leg { sender: Some(task(1)), reader: Some(task(2)), ..first },
                Leg { sender: Some(task(2)), reader: Some(task(3)), ..second },
            );
            let mut delivery = delivered::delivery([first, second]);
            delivery.off_cpu =
                [LegOffCpu { reader: Some(reader), ..LegOffCpu::NONE }, LegOffCpu::NONE]
                    .into_iter()
                    .collect();
            evidence.delivery(&delivery, delivery.one_way().unwrap());
        }
        let why = evidence.explain();
        why.verdicts.iter().find(|v| v.kind == VerdictKind::FetchWait).map(|v| v.severity)
    }

    #[test]
    fn answers_of_a_broker_without_a_cpu_are_late_for_that() {
        assert_eq!(awaiting_answers(0), Some(Severity::Problem));
        assert_eq!(awaiting_answers(50), Some(Severity::Problem));
        assert_eq!(awaiting_answers(100), Some(Severity::Note));
    }

    /// Verdicts of messages that a broker keeps for so long, asleep in this call until an interrupt ends that.
    fn kept(ms: f64, sleep: SleepCall) -> Vec<(VerdictKind, Severity)> {
        let mut evidence = Evidence::default();
        for n in 0..1_000 {
            let (sent, read) = (n * 100 * MS, n * 100 * MS + 100_000);
            let again = read + Nanos::from_f64(ms * MS as f64).0;
            let first = delivered::leg(&[
                (Stage::Send, sent),
                (Stage::Ready, sent + 50_000),
                (Stage::Read, read),
            ]);
            let mut second = delivered::leg(&[(Stage::Send, again), (Stage::Read, again + 50_000)]);
            let [left, woken] = [read + 5_000, again - 5_000].map(Nanos);
            let hop =
                Hop { task: task(2), woken, running: woken, from_irq: true, ..Hop::default() };
            second.before.push(Hop { left: Some(left), sleep, ..hop });
            let (first, second) = (
                Leg { sender: Some(task(1)), reader: Some(task(2)), ..first },
                Leg { sender: Some(task(2)), reader: Some(task(3)), ..second },
            );
            let delivery = delivered::delivery([first, second]);
            evidence.delivery(&delivery, delivery.one_way().unwrap());
        }
        evidence.explain().verdicts.iter().map(|told| (told.kind, told.severity)).collect()
    }

    #[test]
    fn a_quorum_of_brokers_is_no_problem() {
        assert_eq!(kept(0.5, SleepCall::Poll), []);
        assert_eq!(kept(5.0, SleepCall::Poll), [(VerdictKind::FetchWait, Severity::Note)]);
        let stalled = [(VerdictKind::BrokerStalled, Severity::Problem)];
        assert_eq!(kept(0.5, SleepCall::TimedPoll), stalled);
        assert_eq!(kept(5.0, SleepCall::TimedPoll), stalled);
    }
}
