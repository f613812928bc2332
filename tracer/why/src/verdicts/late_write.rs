//! The sender wrote a part of the message, and came back for the rest long after there was room for it.
//!
//! The cause is found where the rest came into an empty socket, with nothing under way. What the sender had to wait for room before is
//! `send_buffer`.

use crate::clause::Clause;
use crate::definition::Definition;
use wirelap_limits::kinds::LATE_WRITE;

pub const DEFINITION: Definition = Definition {
    limits: Some(LATE_WRITE),
    facts: |case| case.often_and([Clause::LateWrite]),
    ..Definition::USUAL
};
