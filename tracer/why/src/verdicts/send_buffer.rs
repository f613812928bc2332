//! The sender's socket buffer is full.
//!
//! The cause is found by the bytes that had not left at the send, a send that is larger than the buffer, or one of which the socket took a part
//! only, until an acknowledgement made room. What bytes spent in a queue meanwhile is that queue's.

use crate::clause::Clause;
use crate::definition::{Definition, InStartUp, Nature};
use wirelap_limits::kinds::SEND_BUFFER;

pub const DEFINITION: Definition = Definition {
    limits: Some(SEND_BUFFER),
    nature: Nature::FullSocket,
    in_start_up: InStartUp::WhileTuning,
    is_of_load: true,
    facts: |case| {
        let (tx, bytes) = case.tcp_at_send();
        case.often_and(tx.map(|tx| Clause::SendBuffer { tx, bytes }))
    },
    ..Definition::USUAL
};
