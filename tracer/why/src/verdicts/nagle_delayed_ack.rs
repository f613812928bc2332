//! Nagle's algorithm at the sender keeps a short segment back until what was sent before is acknowledged, and the receiver delays
//! that acknowledgement (by 40 ms on Linux).
//!
//! The cause is found by the state of TCP at the send: `TCP_NODELAY` off, bytes under way, and less than a segment to be sent. The message has
//! to have left when their acknowledgement came, or when enough for a segment had come together. A full window comes first.

use crate::clause::Clause;
use crate::definition::Definition;
use wirelap_events::{Nagle, TxState};
use wirelap_limits::kinds::NAGLE_DELAYED_ACK;

pub const DEFINITION: Definition = Definition {
    limits: Some(NAGLE_DELAYED_ACK),
    facts: |case| {
        let was_acked = case.finding.longest.circumstances.socket.acked.is_some();
        let tx = case.tcp_at_send().0;
        case.often_and(tx.map(|tx| Clause::Nagle { tx, was_acked }))
    },
    ..Definition::USUAL
};

/// True if the algorithm keeps back what does not fill its last segment (`is_short`), and what it waits for has come since
/// (`is_over`).
pub fn keeps_back(tx: TxState, is_short: bool, is_over: bool) -> bool {
    tx.nagle == Nagle::On && tx.in_flight > 0 && is_short && is_over
}
