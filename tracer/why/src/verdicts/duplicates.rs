//! Messages were delivered, or sent, more than once.
//!
//! The cause is found by the protocol's own marks, and by numbers that come again; why a server sends a message again, by what its client
//! said of it, or by the end of the channel or connection on which the client had got it.

use crate::clause::Clause;
use crate::definition::Definition;
use crate::evidence::Evidence;
use crate::explanation::{Severity, Verdict};
use crate::kind::VerdictKind;
use wirelap_events::Total;
use wirelap_limits::rules::{MIN_DUPLICATES, TOLERATED_LOSS};

pub const DEFINITION: Definition =
    Definition { add_of_row: |row, found| found.extend(find(row.evidence)), ..Definition::USUAL };

fn find(evidence: &Evidence) -> Option<Verdict> {
    let losses = &evidence.losses;
    let (repeats, all) = (losses.duplicates, losses.sent.max(losses.delivered));
    if repeats < MIN_DUPLICATES || repeats.saturating_mul(TOLERATED_LOSS) <= all {
        return None;
    }
    let sent = losses.sent;
    let times = losses.redelivered.min(repeats);
    let repeats = repeats.saturating_sub(times);
    let mut clauses = Vec::new();
    if times > 0 {
        clauses.push(Clause::Redelivered { times, sent });
        clauses.extend(losses.put_back.all().map(|(why, count)| {
            let by = count.by.map(|pid| (pid, evidence.setting.names.get(&pid).copied()));
            Clause::PutBack { messages: count.messages, why, by, has_others: count.has_others }
        }));
        let known = losses.put_back.all().map(|(_, count)| count.messages).total();
        if known > 0 && known < times {
            clauses.push(Clause::PutBackUnseen(times.saturating_sub(known)));
        }
    }
    if repeats > 0 {
        clauses.push(Clause::Repeated { repeats, sent });
    }
    Some(Verdict::of_row(VerdictKind::Duplicates, Severity::Problem, clauses))
}
