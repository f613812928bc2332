//! Congestion control (BBR) spreads the segments over time.
//!
//! The cause is found by the rate that it had set at the send: the bytes take most of their time in the socket at that rate.

use crate::clause::Clause;
use crate::definition::Definition;
use wirelap_events::{Nanos, TxState};
use wirelap_limits::SECOND;
use wirelap_limits::kinds::PACING;

pub const DEFINITION: Definition = Definition {
    limits: Some(PACING),
    is_of_load: true,
    facts: |case| {
        let (tx, bytes) = case.tcp_at_send();
        case.often_and(tx.map(|tx| Clause::Paced { tx, bytes }))
    },
    ..Definition::USUAL
};

/// True if most of the time is as long as the pacing rate takes for so many bytes.
pub fn spreads(tx: TxState, waiting: u32, time: Nanos) -> bool {
    let spread = u128::from(waiting)
        .saturating_mul(u128::from(SECOND.0))
        .checked_div(u128::from(tx.pacing.max(1)))
        .unwrap_or(0);
    tx.pacing > 0 && spread >= u128::from(time.0) / 2
}
