//! The payload is in shared memory: the network has nothing to show. The protocol says so.

use crate::clause::Clause;
use crate::definition::Definition;
use crate::explanation::{Severity, Verdict};
use crate::kind::VerdictKind;

pub const DEFINITION: Definition = Definition {
    add_of_row: |row, found| {
        let shared = row.evidence.losses.shared;
        let note = || {
            let clauses = vec![Clause::InSharedMemory(shared)];
            Verdict::of_row(VerdictKind::SharedMemory, Severity::Note, clauses)
        };
        found.extend((shared > 0).then(note));
    },
    ..Definition::USUAL
};
