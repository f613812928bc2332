//! The receiver's window is full: it reads too slowly, or has too little room.
//!
//! The cause is found by the window and the bytes under way at the send. What bytes spent in a queue meanwhile is that queue's.

use crate::clause::Clause;
use crate::definition::{Bearer, Definition, InStartUp, Nature};
use wirelap_limits::kinds::RECEIVE_WINDOW;

pub const DEFINITION: Definition = Definition {
    limits: Some(RECEIVE_WINDOW),
    nature: Nature::FullSocket,
    in_start_up: InStartUp::WhileTuning,
    bearer: Bearer::Reader,
    is_of_load: true,
    facts: |case| case.often_and(case.tcp_at_send().0.map(Clause::ReceiveWindow)),
    ..Definition::USUAL
};
