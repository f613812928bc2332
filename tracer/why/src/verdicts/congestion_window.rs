//! The congestion window is full.
//!
//! The cause is found by the window and the segments under way at the send. A window that a loss made small is `retransmission`; what bytes
//! spent in a queue meanwhile is that queue's.

use crate::clause::Clause;
use crate::definition::{Definition, InStartUp, Nature};
use wirelap_events::TxState;
use wirelap_limits::kinds::CONGESTION_WINDOW;

pub const DEFINITION: Definition = Definition {
    limits: Some(CONGESTION_WINDOW),
    nature: Nature::FullSocket,
    in_start_up: InStartUp::Usually,
    is_of_load: true,
    facts: |case| {
        let (tx, bytes) = case.tcp_at_send();
        let full = tx.map(|tx| Clause::CongestionWindow { tx, bytes });
        let trip = Clause::RoundTrip(case.finding.longest.circumstances.path.round_trip);
        case.often_and(full.into_iter().chain([trip]))
    },
    ..Definition::USUAL
};

/// A connection that has rested begins again with so many segments (`TCP_INIT_CWND`, include/net/tcp.h).
const INITIAL_WINDOW: u32 = 10;

/// True if TCP makes the window smaller at a send of so many segments, because the connection has rested
/// (`tcp_cwnd_restart`): the window that was read at the send is made smaller a moment later.
pub fn is_restarted(tx: TxState, segments: u32) -> bool {
    tx.in_flight == 0 && segments > INITIAL_WINDOW
}
