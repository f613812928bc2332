//! `TCP_CORK` or `MSG_MORE` keeps back what the sender has written.
//!
//! The cause is found by the state of the socket at the send, where no window was full. What waits for longer than a cork keeps bytes waits
//! for something else.

use crate::clause::Clause;
use crate::definition::Definition;
use wirelap_events::Nanos;
use wirelap_limits::causes::LONGEST_CORK;
use wirelap_limits::kinds::CORKED;

pub const DEFINITION: Definition = Definition {
    limits: Some(CORKED),
    facts: |case| case.often_and([Clause::Corked]),
    ..Definition::USUAL
};

/// True if a cork may keep bytes for so long.
pub fn may_last(time: Nanos) -> bool {
    time <= LONGEST_CORK
}
