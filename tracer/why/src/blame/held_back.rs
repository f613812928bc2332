//! Causes that keep bytes in their sender's socket.

use super::super::definition::Nature;
use super::super::explanation::Cause;
use super::super::kind::VerdictKind;
use super::super::verdicts::{congestion_window, corked, nagle_delayed_ack, pacing};
use wirelap_events::{EarlierBytes, Leg, Nagle, Nanos, SenderSocket, Stage, TxState};
use wirelap_limits::causes::SHORTEST_QUEUEING;

/// The cause that kept TCP from sending at once: the rules of `tcp_write_xmit` (`net/ipv4/tcp_output.c`), in
/// its order.
pub fn held_back(tx: TxState, socket: &SenderSocket, time: Nanos) -> Cause {
    let (len, freed_by_ack) = (socket.send_len, socket.acked.is_some());
    let mss = tx.mss.max(1);
    let waiting = tx.unsent.saturating_add(len);
    let segments = waiting.div_ceil(mss);
    let is_short = !waiting.is_multiple_of(mss);
    if freed_by_ack {
        if let Some(kind) = full_window(tx, waiting, segments) {
            // Acknowledgements of what leaves at a set rate come at that rate. With nothing under way, no queue sets it.
            let is_paced = kind == VerdictKind::CongestionWindow
                && tx.in_flight == 0
                && pacing::spreads(tx, waiting, time);
            return Cause::Of(if is_paced { VerdictKind::Pacing } else { kind });
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
        return Cause::when(corked::may_last(time), VerdictKind::Corked);
    }
    // Without an ACK, it leaves when as much has come together as fits into a segment.
    let is_over = freed_by_ack || socket.whole_segment;
    if nagle_delayed_ack::keeps_back(tx, is_short, is_over) {
        return Cause::Of(VerdictKind::NagleDelayedAck);
    }
    if pacing::spreads(tx, waiting, time) {
        return Cause::Of(VerdictKind::Pacing);
    }
    let has_rested = freed_by_ack && congestion_window::is_restarted(tx, segments);
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

/// True for a cause that only keeps bytes in a socket until others were acknowledged or read: these may be in a queue
/// meanwhile.
pub fn is_full(cause: Cause) -> bool {
    cause.kind().is_some_and(|kind| kind.definition().nature == Nature::FullSocket)
}

/// The cause that kept earlier bytes in the socket that the message of `leg` had to leave by; `None` if a later write could have set
/// them free.
pub fn kept_by(leg: &Leg, earlier: &EarlierBytes) -> Option<Cause> {
    if is_queued_behind(leg, earlier.tx) {
        return Some(Cause::Of(VerdictKind::QdiscQueueing));
    }
    let then = SenderSocket {
        send_len: earlier.send_len,
        acked: Some(earlier.since),
        ..leg.circumstances.socket
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
pub fn congestion(leg: &Leg, tx: TxState) -> Cause {
    let is_by_loss = leg.circumstances.loss.shrunk_window && tx.in_flight > 0;
    Cause::Of(if is_by_loss { VerdictKind::Retransmission } else { VerdictKind::CongestionWindow })
}

/// True if the qdisc is so full that the socket may not add to it: TCP small queues
/// (`tcp_small_queue_check` in `net/ipv4/tcp_output.c`).
pub fn is_queued_behind(leg: &Leg, tx: TxState) -> bool {
    let times = &leg.times;
    let queued = times.get(Stage::Queue).zip(times.get(Stage::Xmit));
    tx.in_flight > 0 && queued.is_some_and(|(queue, xmit)| xmit - queue >= SHORTEST_QUEUEING)
}
