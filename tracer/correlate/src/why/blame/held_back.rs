//! What keeps bytes in their sender's socket.

use super::super::explanation::Cause;
use super::super::kind::VerdictKind;
use wirelap_events::{Circumstances, Nagle, Nanos, TxState};

/// A connection that has rested begins again with so many segments (`TCP_INIT_CWND`, include/net/tcp.h).
const INITIAL_WINDOW: u32 = 10;

/// A cork holds bytes for 200 ms at most (tcp(7), `TCP_CORK`); the timer may be late.
const CORKED: Nanos = Nanos::from_millis(250);

/// What kept TCP from sending at once: the rules of `tcp_write_xmit` (`net/ipv4/tcp_output.c`), in its order.
pub(super) fn held_back(tx: TxState, seen: &Circumstances, time: Nanos) -> Cause {
    let (len, freed_by_ack) = (seen.send_len, seen.acked.is_some());
    let mss = tx.mss.max(1);
    let waiting = tx.unsent.saturating_add(len);
    let segments = waiting.div_ceil(mss);
    let is_short = !waiting.is_multiple_of(mss);
    if freed_by_ack {
        if let Some(kind) = full_window(tx, waiting, segments) {
            return Cause::Of(kind);
        }
        if tx.send_buffer > 0 && len > tx.send_buffer {
            return Cause::Of(VerdictKind::SendBuffer);
        }
    } else if waiting > tx.window.saturating_sub(tx.in_flight) {
        // What acknowledges nothing new may open the window, too.
        return Cause::Of(VerdictKind::ReceiveWindow);
    } else if tx.segments_out >= tx.cwnd {
        // A tail loss probe sends what is new without an ACK (RFC 8985 §7.3).
        return Cause::Of(VerdictKind::CongestionWindow);
    }
    if tx.nagle == Nagle::Corked {
        return Cause::when(time <= CORKED, VerdictKind::Corked);
    }
    // Without an ACK, it leaves when as much has come together as fits into a segment.
    let is_over = freed_by_ack || seen.whole_segment;
    if tx.nagle == Nagle::On && tx.in_flight > 0 && is_short && is_over {
        return Cause::Of(VerdictKind::NagleDelayedAck);
    }
    if is_paced(tx, waiting, time) {
        return Cause::Of(VerdictKind::Pacing);
    }
    // `tcp_cwnd_restart`: the window that was read at the send is made smaller a moment later.
    let has_rested = freed_by_ack && tx.in_flight == 0 && segments > INITIAL_WINDOW;
    Cause::when(has_rested, VerdictKind::CongestionWindow)
}

/// Which of the two windows so many bytes do not fit into; of both, the one with less room.
fn full_window(tx: TxState, waiting: u32, segments: u32) -> Option<VerdictKind> {
    let room = tx.window.saturating_sub(tx.in_flight);
    let room_of_segments = tx.cwnd.saturating_sub(tx.segments_out);
    let is_congested = segments > room_of_segments;
    if is_congested && room_of_segments.saturating_mul(tx.mss.max(1)) < room {
        return Some(VerdictKind::CongestionWindow);
    }
    (waiting > room)
        .then_some(VerdictKind::ReceiveWindow)
        .or(is_congested.then_some(VerdictKind::CongestionWindow))
}

/// Whether most of the time is what the pacing rate makes of so many bytes.
fn is_paced(tx: TxState, waiting: u32, time: Nanos) -> bool {
    let spread = u128::from(waiting)
        .saturating_mul(1_000_000_000)
        .checked_div(u128::from(tx.pacing.max(1)))
        .unwrap_or(0);
    tx.pacing > 0 && spread >= u128::from(time.0) / 2
}
