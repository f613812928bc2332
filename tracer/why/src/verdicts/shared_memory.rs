//! The payload is in shared memory: the network has nothing to show. The protocol says so.

use crate::why::clause::Clause;
use crate::why::definition::Definition;
use crate::why::explanation::{Severity, Verdict};
use crate::why::kind::VerdictKind;

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
