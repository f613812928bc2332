//! Causes that keep bytes in their sender's socket.

use super::super::explanation::Cause;
use super::super::kind::VerdictKind;
use wirelap_events::{Circumstances, EarlierBytes, Leg, Nagle, Nanos, Stage, TxState};

/// A connection that has rested begins again with so many segments (`TCP_INIT_CWND`, include/net/tcp.h).
const INITIAL_WINDOW: u32 = 10;

/// A packet that is in the qdisc for so long has a queue before it.
const BACKED_UP: Nanos = Nanos::from_millis(1);

/// A cork holds bytes for 200 ms at most (tcp(7), `TCP_CORK`); the timer may be late.
const CORKED: Nanos = Nanos::from_millis(250);

/// The cause that kept TCP from sending at once: the rules of `tcp_write_xmit` (`net/ipv4/tcp_output.c`), in
/// its order.
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

/// The window of the two into which so many bytes do not fit; of both, the one with less room.
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

/// True if most of the time is as long as the pacing rate takes for so many bytes.
fn is_paced(tx: TxState, waiting: u32, time: Nanos) -> bool {
    let spread = u128::from(waiting)
        .saturating_mul(1_000_000_000)
        .checked_div(u128::from(tx.pacing.max(1)))
        .unwrap_or(0);
    tx.pacing > 0 && spread >= u128::from(time.0) / 2
}

/// True for a cause that only keeps bytes in a socket until others were acknowledged or read: these may be in a queue
/// meanwhile.
pub(super) fn is_full(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::Of(
            VerdictKind::ReceiveWindow | VerdictKind::CongestionWindow | VerdictKind::SendBuffer
        )
    )
}

/// The cause that kept earlier bytes in the socket that the message of `leg` had to leave by; `None` if a later write could have set
/// them free.
pub(super) fn kept_by(leg: &Leg, earlier: &EarlierBytes) -> Option<Cause> {
    if is_queued_behind(leg, earlier.tx) {
        return Some(Cause::Of(VerdictKind::QdiscQueueing));
    }
    let then = Circumstances {
        send_len: earlier.send_len,
        acked: Some(earlier.since),
        ..leg.circumstances
    };
    let window = Cause::Of(VerdictKind::ReceiveWindow);
    match held_back(earlier.tx, &then, earlier.time) {
        Cause::Of(VerdictKind::CongestionWindow) => Some(congestion(leg, earlier.tx)),
        // When they were sent, there was room; then there was none.
        _ if earlier.no_room => Some(window),
        Cause::Of(VerdictKind::NagleDelayedAck | VerdictKind::Corked) => None,
        Cause::Ordinary if earlier.tx.nagle == Nagle::Corked => None,
        Cause::Of(kind) => Some(Cause::Of(kind)),
        Cause::Ordinary | Cause::Distance => {
            Some(Cause::when(earlier.tx.unsent > 0, VerdictKind::SendBuffer))
        }
    }
}

/// The congestion window is full, perhaps because a loss made it small. After a rest, TCP itself makes it small.
pub(super) fn congestion(leg: &Leg, tx: TxState) -> Cause {
    let is_by_loss = leg.circumstances.shrunk_by_loss && tx.in_flight > 0;
    Cause::Of(if is_by_loss { VerdictKind::Retransmission } else { VerdictKind::CongestionWindow })
}

/// True if the qdisc is so full that the socket may not add to it: TCP small queues
/// (`tcp_small_queue_check` in `net/ipv4/tcp_output.c`).
pub(super) fn is_queued_behind(leg: &Leg, tx: TxState) -> bool {
    let times = &leg.times;
    let queued = times.get(Stage::Queue).zip(times.get(Stage::Xmit));
    tx.in_flight > 0 && queued.is_some_and(|(queue, xmit)| xmit - queue >= BACKED_UP)
}
