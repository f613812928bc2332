//! Messages were delivered, or sent, more than once.
//!
//! The cause is found by the protocol's own marks, and by numbers that come again.

use crate::clause::Clause;
use crate::definition::Definition;
use crate::evidence::Evidence;
use crate::explanation::{Severity, Verdict};
use crate::kind::VerdictKind;
use wirelap_limits::rules::{MIN_DUPLICATES, TOLERATED_LOSS};

pub const DEFINITION: Definition =
    Definition { add_of_row: |row, found| found.extend(find(row.evidence)), ..Definition::USUAL };

fn find(evidence: &Evidence) -> Option<Verdict> {
    let losses = &evidence.losses;
    let (repeats, all) = (losses.duplicates, losses.sent.max(losses.delivered));
    if repeats < MIN_DUPLICATES || repeats.saturating_mul(TOLERATED_LOSS) <= all {
        return None;
    }
    let clauses = vec![Clause::Repeated { repeats, sent: losses.sent }];
    Some(Verdict::of_row(VerdictKind::Duplicates, Severity::Problem, clauses))
}
