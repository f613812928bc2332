//! Why requests take long: reads of a value, confirms, questions that a server hands on.
//!
//! ```text
//! who asks ──1──▶ who answers ──2──▶ who asks
//! who asks ──1──▶ server ──2──▶ who answers ──3──▶ server ──4──▶ who asks
//! ```
//!
//! A request and its reply are followed as a message of two legs, or of four. What a server waits for between them is not seen, other brokers or
//! subscribers perhaps: a sleep there is told only where its thread waited for nobody. It was blocked in the kernel or stopped, or a timer
//! ended its sleep. Of a client that answers, it is a note that it waited for others.

use super::clause::{Clause, Remedy};
use super::evidence::Evidence;
use super::explanation::{Severity, Verdict, Why};
use super::gathered::Gathered;
use super::kind::VerdictKind;
use super::rules;
use super::setting::Setting;
use wirelap_events::{Nanos, Pid, Segment};

impl Why {
    /// Adds why the row's requests take long, as far as its messages do not show the same.
    pub fn add_requests(&mut self, requests: &Evidence, setting: &Setting) {
        let mut evidence = requests.clone();
        evidence.setting = setting.clone();
        let weighed = evidence.weighed();
        let told = Clause::OfRequests {
            requests: weighed.breakdown.messages(),
            middle: Nanos::from_f64(weighed.breakdown.middle().mean_latency()),
        };
        let mut verdicts = rules::verdicts(&evidence, &weighed);
        // A client that left its connection unread is told where it is not told already that it stalled.
        verdicts.sort_by_key(|verdict| verdict.kind == VerdictKind::Backpressure);
        let mut found: Vec<Verdict> = Vec::new();
        for mut verdict in verdicts {
            if !is_of_round_trip(&verdict, &weighed) {
                continue;
            }
            if is_answering_client(&verdict) {
                tell_of_client(&mut verdict, &weighed);
            }
            let pid = |of: &Verdict| of.process.map(|(task, _)| task.pid);
            let is_same =
                |other: &Verdict| other.kind == verdict.kind && pid(other) == pid(&verdict);
            let is_told = |other: &Verdict| takes_time(other) && is_covered(&verdict, other);
            if !self.verdicts.iter().any(is_told) && !found.iter().any(is_same) {
                // The same without times says less.
                self.verdicts.retain(|other| !is_same(other));
                verdict.evidence.insert(0, told.clone());
                found.push(verdict);
            }
        }
        self.verdicts.extend(found);
        rules::sort(&mut self.verdicts, self.messages);
    }
}

/// True if the time that it takes of messages, or of requests, is known.
fn takes_time(verdict: &Verdict) -> bool {
    verdict.median > Nanos(0) || verdict.slow_messages > 0
}

/// Kinds whose cause is the machine's: where CPUs are short or idle, they are so for all.
const KINDS_OF_MACHINE: [VerdictKind; 2] =
    [VerdictKind::RunQueueContention, VerdictKind::IdleWakeup];

/// True if another verdict says the same: of the same process, of one for many alike, or of any where this one names none or the cause is no
/// process's.
fn is_covered(verdict: &Verdict, other: &Verdict) -> bool {
    let pid = |of: &Verdict| of.process.map(|(task, _)| task.pid);
    let is_for_many =
        |of: &Verdict| of.evidence.iter().any(|clause| matches!(clause, Clause::AlikeAt(_)));
    let is_same = pid(verdict).is_none_or(|pid_of_it| pid(other) == Some(pid_of_it))
        || KINDS_OF_MACHINE.contains(&verdict.kind);
    verdict.kind == other.kind && (is_same || is_for_many(verdict) || is_for_many(other))
}

/// True if the thread that stalled waited for nobody else, for most of the time.
fn waited_for_none(verdict: &Verdict, weighed: &Gathered) -> bool {
    let pid = verdict.process.map_or(Pid(0), |(task, _)| task.pid);
    let leg = verdict.leg.map_or(0, |leg| usize::from(leg).saturating_sub(1));
    let mut findings = weighed.findings(leg, verdict.kind).into_iter();
    let found = findings.find(|(of, _)| *of == pid);
    found.is_some_and(|(_, finding)| finding.waited_for_none.0 > finding.whole() / 2)
}

/// True for a problem that the round trip alone shows.
fn is_of_round_trip(verdict: &Verdict, weighed: &Gathered) -> bool {
    let is_shown = match verdict.kind {
        VerdictKind::BrokerStalled => {
            is_answering_client(verdict) || waited_for_none(verdict, weighed)
        }
        // Of others that it asks, those that copy its log are known.
        VerdictKind::FetchWait => {
            is_answering_client(verdict) || verdict.evidence.contains(&Clause::ReplicaAwaited)
        }
        VerdictKind::LockWait
        | VerdictKind::ReleaseWait
        | VerdictKind::NeverDelivered
        | VerdictKind::Duplicates
        | VerdictKind::Unexplained => false,
        _ => true,
    };
    let is_grave = verdict.severity == Severity::Problem || is_awaiting_others(verdict);
    is_shown && takes_time(verdict) && is_grave
}

/// True if its thread waited for data of another connection.
fn is_awaiting_others(verdict: &Verdict) -> bool {
    verdict.kind == VerdictKind::FetchWait && verdict.evidence.contains(&Clause::OthersAwaited)
}

/// The leg that leads to a client which answers what a server hands on to it, and the one back.
const CLIENTS_LEGS: [u8; 2] = [2, 3];

/// True if it is about a client that answers what a server hands on to it: as it takes the second leg, or before it sends the third.
fn is_answering_client(verdict: &Verdict) -> bool {
    let is_senders = matches!(verdict.segment, Some(Segment::BrokerDwell | Segment::Write));
    let is_own = matches!(
        verdict.kind,
        VerdictKind::BrokerStalled | VerdictKind::BrokerCpuBound | VerdictKind::Backpressure
    );
    verdict.leg == Some(CLIENTS_LEGS[usize::from(is_senders)])
        && (is_own || is_awaiting_others(verdict))
}

/// Tells of a client what would be told of a broker in its place. One that does not watch its connection sleeps while data is there for it.
fn tell_of_client(verdict: &mut Verdict, weighed: &Gathered) {
    let is_stalled = verdict.kind != VerdictKind::BrokerCpuBound;
    if is_stalled && !waited_for_none(verdict, weighed) {
        (verdict.severity, verdict.remedy) = (Severity::Note, Remedy::None);
    }
    verdict.kind = if is_stalled { VerdictKind::ClientStalled } else { VerdictKind::ReaderBusy };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{MS, task};
    use std::collections::BTreeSet;
    use wirelap_events::{Comm, Delivery, Hop, Leg, Stage, TaskId};
    use wirelap_events::{LegOffCpu, OffCpu, OffCpuReason, SleepCall};
    use wirelap_test_support::delivered;

    const ASKS: u32 = 1;
    const SERVER: u32 = 2;
    const ANSWERS: u32 = 3;

    /// A request that a server hands on, and whose answer takes 20 ms in which the client that gives it rests so, if it rests at all.
    fn handed_on(at: u64, sleep: Option<SleepCall>) -> Delivery {
        let ends = [(ASKS, SERVER), (SERVER, ANSWERS), (ANSWERS, SERVER), (SERVER, ASKS)];
        let ways = ends.iter().zip([0, 100_000, 20_200_000, 20_300_000]);
        let named = |pid: u32| Some::<TaskId>(task(pid));
        let mut legs: Vec<Leg> = ways
            .map(|(&(from, to), after)| {
                let sent = at + after;
                let stages = [(Stage::Send, sent), (Stage::Ready, sent + 40_000)];
                let read = (Stage::Read, sent + 50_000);
                let leg = delivered::leg(&[stages[0], stages[1], read]);
                Leg { sender: named(from), reader: named(to), ..leg }
            })
            .collect();
        let (read, sent) = (at + 150_000, at + 20_200_000);
        legs[2].before.push(Hop {
            task: task(ANSWERS),
            left: Some(Nanos(if sleep.is_some() { read + 20_000 } else { read - 50_000 })),
            woken: Nanos(if sleep.is_some() { sent - 20_000 } else { read - 20_000 }),
            running: Nanos(if sleep.is_some() { sent - 10_000 } else { read - 10_000 }),
            reason: OffCpuReason::Asleep,
            from_irq: true,
            sleep: sleep.unwrap_or(SleepCall::Poll),
            ..Hop::default()
        });
        let mut delivery = delivered::delivery(legs);
        let rests = LegOffCpu { dwell: Some(OffCpu::NONE), ..LegOffCpu::NONE };
        delivery.off_cpu = [rests; 4].into_iter().collect();
        delivery
    }

    /// A request that a server hands on, and that lies in the socket of the client which answers it for 20 ms, while that waits for others' data.
    fn left_unread(at: u64) -> Delivery {
        let mut delivery = handed_on(at, Some(SleepCall::Poll));
        let sent = at + 100_000;
        let (ready, woken) = (sent + 40_000, sent + 20_000_000);
        let stages = [
            (Stage::Send, sent),
            (Stage::Ready, ready),
            (Stage::Wakeup, woken),
            (Stage::Running, woken + 10_000),
            (Stage::Read, woken + 20_000),
        ];
        let mut leg = delivered::leg(&stages);
        (leg.sender, leg.reader) = (Some(task(SERVER)), Some(task(ANSWERS)));
        leg.chain.push(Hop {
            task: task(ANSWERS),
            left: Some(Nanos(at)),
            woken: Nanos(woken),
            running: Nanos(woken + 10_000),
            reason: OffCpuReason::Asleep,
            sleep: SleepCall::Poll,
            ..Hop::default()
        });
        delivery.legs[1] = leg;
        delivery.legs[2].before.clear();
        delivery
    }

    /// Kind, gravity, leg and process of what is told of such requests.
    fn told(sleep: Option<SleepCall>) -> Vec<(VerdictKind, Severity, Option<u8>, u32)> {
        told_of(|at| handed_on(at, sleep))
    }

    fn told_of(request: impl Fn(u64) -> Delivery) -> Vec<(VerdictKind, Severity, Option<u8>, u32)> {
        told_beside(Vec::new(), request)
    }

    fn told_beside(
        known: Vec<Verdict>,
        request: impl Fn(u64) -> Delivery,
    ) -> Vec<(VerdictKind, Severity, Option<u8>, u32)> {
        let mut requests = Evidence::default();
        for n in 0..100 {
            let delivery = request(n * 50 * MS);
            requests.delivery(&delivery, delivery.one_way().unwrap());
        }
        let mut why = Why { verdicts: known, ..Why::default() };
        why.add_requests(&requests, &Setting::default());
        let pid = |one: &Verdict| one.process.map_or(0, |(task, _)| task.pid.0);
        why.verdicts.iter().map(|one| (one.kind, one.severity, one.leg, pid(one))).collect()
    }

    #[test]
    fn a_client_that_answers_is_told_by_what_it_did() {
        let stalled = |severity| [(VerdictKind::ClientStalled, severity, Some(3), ANSWERS)];
        assert_eq!(told(Some(SleepCall::TimedPoll)), stalled(Severity::Problem));
        assert_eq!(told(Some(SleepCall::Timer)), stalled(Severity::Problem));
        assert_eq!(told(Some(SleepCall::Poll)), stalled(Severity::Note));
        let busy = [(VerdictKind::ReaderBusy, Severity::Problem, Some(3), ANSWERS)];
        assert_eq!(told(None), busy);
        let unread = [(VerdictKind::ClientStalled, Severity::Note, Some(2), ANSWERS)];
        assert_eq!(told_of(left_unread), unread, "no broker's flow control");
    }

    #[test]
    fn a_second_culprit_is_told_beside_the_first() {
        let known = |pid, evidence| Verdict {
            process: Some((task(pid), Comm::default())),
            median: Nanos(MS),
            evidence,
            ..Verdict::new(VerdictKind::ClientStalled, Severity::Problem)
        };
        let stalled = |pid, evidence| {
            let sleeps = |at| handed_on(at, Some(SleepCall::TimedPoll));
            let told = told_beside(vec![known(pid, evidence)], sleeps);
            told.into_iter().map(|(.., pid)| pid).collect::<BTreeSet<_>>()
        };
        assert_eq!(stalled(ASKS, Vec::new()), [ASKS, ANSWERS].into());
        assert_eq!(stalled(ANSWERS, Vec::new()), [ANSWERS].into());
        assert_eq!(stalled(ASKS, vec![Clause::AlikeAt(9)]), [ASKS].into(), "told for many");
        let waits = |pid| Verdict { kind: VerdictKind::RunQueueContention, ..known(pid, vec![]) };
        assert!(is_covered(&waits(ANSWERS), &waits(ASKS)), "the machine's CPUs are short");
    }

    #[test]
    fn who_sends_a_leg_late_is_not_who_takes_it() {
        let of_client = |leg, segment| {
            let verdict = Verdict::new(VerdictKind::BrokerStalled, Severity::Problem);
            is_answering_client(&Verdict { leg: Some(leg), segment: Some(segment), ..verdict })
        };
        assert!(of_client(2, Segment::Wakeup) && of_client(3, Segment::BrokerDwell));
        assert!(of_client(3, Segment::Write));
        assert!(!of_client(2, Segment::BrokerDwell) && !of_client(2, Segment::Write));
        assert!(!of_client(3, Segment::Wakeup) && !of_client(4, Segment::BrokerDwell));
    }
}
