//! `ksoftirqd` received the packet, later than the interrupt would have.
//!
//! The cause is found by the thread that received it, and only as long as that one had waited for a CPU.

use crate::clause::Clause;
use crate::definition::Definition;
use wirelap_limits::kinds::SOFTIRQ_DEFERRAL;

pub const DEFINITION: Definition = Definition {
    limits: Some(SOFTIRQ_DEFERRAL),
    facts: |case| case.often_and([Clause::LeftToKsoftirqd]),
    ..Definition::USUAL
};
