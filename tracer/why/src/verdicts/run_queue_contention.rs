//! A thread was woken, or `ksoftirqd` was, and another had the CPU.
//!
//! The cause is found by the scheduler's events: from the wakeup until the thread runs, and who had the CPU meanwhile. A packet that is left
//! to `ksoftirqd` waits as long as that thread waits for a CPU. Threads that hand a message to each other, or get it at the same time, have
//! the CPU by turns: that is how such programs work, and a note. So is what wirelap itself has most of: nothing is wrong with what is
//! watched if the watching is slow.

use crate::case::VerdictCase;
use crate::clause::{Clause, Remedy};
use crate::definition::{Definition, InStartUp, Nature};
use crate::finding::Finding;
use crate::kind::VerdictKind;
use wirelap_events::{MAX_LEGS, Segment};
use wirelap_limits::kinds::RUN_QUEUE_CONTENTION;
use wirelap_limits::rules::{HANDED_OVER, LONGEST_HAND_OVER, MOST_OF_TIME, SCHEDULER_TURN};

pub const DEFINITION: Definition = Definition {
    limits: Some(RUN_QUEUE_CONTENTION),
    nature: Nature::ThreadWait,
    in_start_up: InStartUp::Usually,
    has_culprits: true,
    is_note: |case| is_handing_over(case) || is_by_tracer(case),
    facts: |case| {
        // The threads that had the CPU are said first, and whether they belong to the row.
        let members = &case.evidence().setting.members;
        let mut clauses = case.finding.culprits.of_the_cpu(case.finding.longest.task, members);
        if is_by_tracer(case) {
            clauses.insert(0, Clause::TracerHadCpu);
        }
        if case.finding.segment() == Segment::Wire {
            clauses.insert(0, Clause::LeftToKsoftirqd);
        }
        clauses.push(case.how_often());
        clauses
    },
    remedy: |case| is_by_tracer(case).then_some(Remedy::TraceLess),
    ..Definition::USUAL
};

/// True if wirelap itself had the CPU for most of it.
fn is_by_tracer(case: &VerdictCase<'_>) -> bool {
    case.finding.culprits.share_of_tracer() >= MOST_OF_TIME
}

/// True if the row's own processes had the CPU, none waits for longer than a turn, and a typical message does not mostly wait.
fn is_handing_over(case: &VerdictCase<'_>) -> bool {
    let cost = case.cost;
    let own = case.finding.culprits.share_of(&case.evidence().setting.members);
    let is_most = cost.median_share >= MOST_OF_TIME && cost.median >= LONGEST_HAND_OVER.0 as f64;
    own >= HANDED_OVER && !is_most && cost.each() < SCHEDULER_TURN.0 as f64
}

/// True if threads of the same process wait for a CPU for as long as the case takes: that is what has to be mended where it waits for
/// them.
pub fn is_behind(case: &VerdictCase<'_>) -> bool {
    let Some(task) = case.finding.longest.task else { return false };
    (0..MAX_LEGS).any(|leg| {
        let place = (leg, VerdictKind::RunQueueContention, task.pid);
        case.row.gathered.finding(place).is_some_and(|found| is_as_long(leg, found, case))
    })
}

/// True if threads of any process wait for a CPU for as long as the case takes.
pub fn is_anywhere(case: &VerdictCase<'_>) -> bool {
    (0..MAX_LEGS).any(|leg| {
        let all = case.row.gathered.findings(leg, VerdictKind::RunQueueContention);
        all.into_iter().any(|(_, contention)| is_as_long(leg, contention, case))
    })
}

/// True if waits for a CPU take as long as the case: in all, at most, and of the messages in which the case matters.
fn is_as_long(leg: usize, contention: &Finding, case: &VerdictCase<'_>) -> bool {
    let is_long =
        contention.whole() >= case.finding.whole() && contention.most.0 >= case.finding.most.0 / 2;
    is_long && {
        let waits = VerdictKind::RunQueueContention;
        let waits = case.row.measured.kind(leg, waits, &RUN_QUEUE_CONTENTION);
        if case.cost.is_typical(&case.limits) {
            waits.median >= case.cost.median / 2.0
        } else {
            waits.in_hits_of(&case.cost) >= case.cost.hit.time / 2.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Evidence;
    use crate::explanation::Severity;
    use crate::rules::tests::{Made, take};
    use wirelap_events::Pid;

    /// Threads of the row's own processes that have the CPU by turns are how it works; strangers, or most of the time, are not.
    #[test]
    fn who_hands_a_message_over_is_no_contention() {
        let severity = |waited_us: u64, holder: u32| {
            let mut evidence = Evidence::default();
            evidence.setting.members = [Pid(1), Pid(2)].into_iter().collect();
            for n in 0..100 {
                let made =
                    Made { at_ms: n * 10, busy_us: 250, waited_us, holder, ..Made::default() };
                take(&mut evidence, &made);
            }
            let why = evidence.explain();
            why.verdicts
                .iter()
                .find(|v| v.kind == VerdictKind::RunQueueContention)
                .map(|v| v.severity)
        };
        assert_eq!(severity(200, 1), Some(Severity::Note));
        assert_eq!(severity(200, 50), Some(Severity::Problem));
        assert_eq!(severity(900, 1), Some(Severity::Note));
        assert_eq!(severity(1_500, 1), Some(Severity::Problem));
    }
}
