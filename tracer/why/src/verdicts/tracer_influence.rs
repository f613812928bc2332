//! A thread was woken, and wirelap itself had the CPU.
//!
//! The cause is found as `run_queue_contention` is. Nothing is wrong with what is watched if the watching is slow: it is a note.

use crate::clause::Clause;
use crate::definition::{Definition, Nature};
use wirelap_limits::kinds::TRACER_INFLUENCE;

pub const DEFINITION: Definition = Definition {
    limits: Some(TRACER_INFLUENCE),
    nature: Nature::ThreadWait,
    has_culprits: true,
    is_note: |_| true,
    facts: |case| case.often_and([Clause::TracerHadCpu]),
    ..Definition::USUAL
};
