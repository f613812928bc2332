//! Much time is lost, and no rule says why.
//!
//! Unexplained time is that of a segment to which no cause was found, without the distance to the other end. A thread that could run and did not
//! waited for a CPU, whoever had it: of that, the verdict is `run_queue_contention`.

use crate::case::{RowCase, VerdictCase};
use crate::clause::{Circumstance, Clause, Remedy};
use crate::definition::Definition;
use crate::explanation::{Severity, Verdict, leg_number};
use crate::kind::VerdictKind;
use wirelap_events::{MAX_LEGS, Nanos, Pid, Segment};
use wirelap_limits::kinds::{RUN_QUEUE_CONTENTION, UNEXPLAINED};
use wirelap_limits::rules::{LONGEST_EVENT, MIN_MESSAGES_FOR_VERDICT, MINOR_CAUSE};

pub const DEFINITION: Definition = Definition {
    add_of_row: |row, found| {
        for leg in 0..MAX_LEGS {
            found.extend(Segment::ALL.into_iter().filter_map(|segment| find(row, leg, segment)));
        }
    },
    ..Definition::USUAL
};

fn find(row: &RowCase<'_>, leg: usize, segment: Segment) -> Option<Verdict> {
    let cost = row.measured.unexplained(leg, segment);
    let is_minor = !cost.is_typical(&UNEXPLAINED) && cost.slow_share < MINOR_CAUSE;
    if !cost.passes(&UNEXPLAINED) || is_minor || row.measured.messages() < MIN_MESSAGES_FOR_VERDICT
    {
        return None;
    }
    // Between two hosts, it may be the difference of their clocks.
    let error = row.gathered.error_of(leg, segment);
    if Nanos::from_f64(cost.median.max(cost.each())) <= error && error > Nanos(0) {
        return None;
    }
    let (kind, limits) = match segment {
        Segment::RunQueue => (VerdictKind::RunQueueContention, RUN_QUEUE_CONTENTION),
        _ => (VerdictKind::Unexplained, UNEXPLAINED),
    };
    let finding = row.gathered.finding((leg, VerdictKind::Unexplained, Pid(0)));
    let case = finding.map(|finding| VerdictCase { row, finding, cost, limits });
    if case.is_some_and(|case| case.was_within(LONGEST_EVENT)) {
        return None;
    }
    Some(Verdict {
        leg: Some(leg_number(leg)),
        segment: Some(segment),
        period: case.and_then(|case| case.period()),
        evidence: vec![Clause::Unexplained {
            time: Nanos::from_f64(cost.median.max(cost.each())),
            segment,
            leg,
            is_cpu: kind != VerdictKind::Unexplained,
        }],
        remedy: Remedy::Usual(Circumstance::in_segment(segment)),
        ..cost.verdict(kind, Severity::Problem)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Evidence;
    use crate::rules::tests::{MS, Made};
    use wirelap_events::Stage;

    /// True if time without a cause is told if each fifth message of one host's to another loses 20 ms on the wire, and the error of
    /// their clocks is so many milliseconds.
    fn is_unexplained_between_hosts(error_ms: u64) -> bool {
        let mut evidence = Evidence::default();
        for n in 0..1_000 {
            let mut delivery = Made { at_ms: n * 100, ..Made::default() }.delivery();
            let late = Nanos(u64::from(n % 5 == 2) * 20 * MS);
            delivery.clock_error = Nanos(error_ms * MS);
            let leg = &mut delivery.legs[0];
            let hosts = &mut leg.circumstances.path.hosts;
            (hosts.from, hosts.to, hosts.error) = (1, 2, Nanos(error_ms * MS));
            let ready = leg.times.get(Stage::Ready).unwrap();
            leg.times.set(Stage::Xmit, ready - Nanos(50_000));
            leg.times.set(Stage::Rx, ready - Nanos(10_000) + late);
            for stage in [Stage::Ready, Stage::Read] {
                let at = leg.times.get(stage).unwrap();
                leg.times.set(stage, at + late);
            }
            evidence.delivery(&delivery, delivery.one_way().unwrap());
        }
        let why = evidence.explain();
        why.verdicts.iter().any(|verdict| verdict.segment == Some(Segment::Wire))
    }

    #[test]
    fn what_may_be_the_difference_of_two_clocks_is_not_told() {
        let told: Vec<bool> = [0, 1, 15, 25].map(is_unexplained_between_hosts).into();
        assert_eq!(told, [true, true, true, false]);
    }

    /// True if time without a cause is told if each tenth message waits 20 ms for its reader, and each so-many-th loses 20 ms on the
    /// wire.
    fn is_unexplained(every: u64) -> bool {
        let mut evidence = Evidence::default();
        for n in 0..1_000 {
            let busy_us = u64::from(n % 10 == 5) * 20_000;
            let mut delivery = Made { at_ms: n * 100, busy_us, ..Made::default() }.delivery();
            let late = Nanos(u64::from(n % every == 7) * 20 * MS);
            let times = &mut delivery.legs[0].times;
            let ready = times.get(Stage::Ready).unwrap();
            times.set(Stage::Xmit, ready - Nanos(50_000));
            times.set(Stage::Rx, ready - Nanos(10_000) + late);
            for stage in [Stage::Ready, Stage::Read] {
                let at = times.get(stage).unwrap();
                times.set(stage, at + late);
            }
            evidence.delivery(&delivery, delivery.one_way().unwrap());
        }
        let why = evidence.explain();
        why.verdicts.iter().any(|verdict| verdict.kind == VerdictKind::Unexplained)
    }

    #[test]
    fn a_small_part_without_a_cause_is_not_told_beside_a_large_one_with() {
        assert!(is_unexplained(100));
        assert!(!is_unexplained(250));
    }
}
