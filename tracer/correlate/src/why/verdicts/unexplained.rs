//! Much time is lost, and no rule says why.
//!
//! It is the time of a segment to which no cause was found, without the distance to the other end. A thread that could run and did not
//! waited for a CPU, whoever had it: of that, the verdict is `run_queue_contention`.

use crate::limits::kinds::{RUN_QUEUE_CONTENTION, UNEXPLAINED};
use crate::limits::rules::{LONGEST_EVENT, MIN_MESSAGES_FOR_VERDICT};
use crate::why::case::{RowCase, VerdictCase};
use crate::why::clause::{Circumstance, Clause, Remedy};
use crate::why::definition::Definition;
use crate::why::explanation::{Severity, Verdict, leg_number};
use crate::why::kind::VerdictKind;
use wirelap_events::{MAX_LEGS, Nanos, Pid, Segment};

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
    if !cost.passes(&UNEXPLAINED) || row.measured.messages() < MIN_MESSAGES_FOR_VERDICT {
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
