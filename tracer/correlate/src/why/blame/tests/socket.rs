//! What a socket, a qdisc and the network kept.

use super::super::{Cause, VerdictKind};
use super::{QUIET, RESTED, blamed, blamed_with, hop, leg, of, throttled};
use wirelap_events::{
    Circumstances, Leg, LegOffCpu, Nagle, Nanos, OffCpu, Segment, Stage, Transport, TxState,
};

/// A send that waited 40 ms in its socket, in these circumstances.
fn held_of(tx: TxState, len: u32, acked: bool) -> Cause {
    let mut leg = leg(&[(Stage::Send, 0), (Stage::Sent, 0), (Stage::Queue, 40_000)]);
    leg.circumstances.tx = Some(tx);
    leg.circumstances.send_len = len;
    leg.circumstances.acked = acked.then_some(Nanos(39_990_000));
    blamed(vec![leg])[0].2
}

fn held(tx: TxState, acked: bool) -> Cause {
    held_of(tx, 64, acked)
}

#[test]
fn nagle_needs_an_ack_that_set_it_free() {
    assert_eq!(held(QUIET, true), of(VerdictKind::NagleDelayedAck));
    assert_eq!(held(QUIET, false), Cause::Ordinary);
    assert_eq!(held(TxState { nagle: Nagle::Off, ..QUIET }, true), Cause::Ordinary);
    assert_eq!(held(TxState { in_flight: 0, segments_out: 0, ..QUIET }, true), Cause::Ordinary);
    assert_eq!(held(TxState { unsent: 1448 - 64, ..QUIET }, true), Cause::Ordinary);
    assert_eq!(held(TxState { nagle: Nagle::Corked, ..QUIET }, false), of(VerdictKind::Corked));
}

/// tcp(7): 200 ms is the ceiling of a cork.
#[test]
fn a_cork_holds_no_longer_than_its_timer() {
    let corked = TxState { nagle: Nagle::Corked, ..QUIET };
    let held = |tx, ms: u64, acked: bool| {
        let mut leg = leg(&[(Stage::Send, 0), (Stage::Sent, 0), (Stage::Queue, ms * 1_000)]);
        leg.circumstances.tx = Some(tx);
        leg.circumstances.send_len = 64;
        leg.circumstances.acked = acked.then_some(Nanos::from_millis(ms - 1));
        blamed(vec![leg])[0].2
    };
    assert_eq!(held(corked, 201, false), of(VerdictKind::Corked));
    for acked in [false, true] {
        assert_ne!(held(corked, 2_910, acked), of(VerdictKind::Corked));
        // A closed window holds what a cork would hold, too.
        let closed = TxState { window: 100, ..corked };
        assert_eq!(held(closed, 40, acked), of(VerdictKind::ReceiveWindow));
        assert_eq!(held(closed, 2_910, acked), of(VerdictKind::ReceiveWindow));
        let congested = TxState { segments_out: 10, ..corked };
        assert_eq!(held(congested, 40, acked), of(VerdictKind::CongestionWindow));
    }
}

#[test]
fn windows_come_before_nagle() {
    assert_eq!(held(TxState { window: 100, ..QUIET }, true), of(VerdictKind::ReceiveWindow));
    assert_eq!(held(TxState { window: 100, ..QUIET }, false), of(VerdictKind::ReceiveWindow));
    assert_eq!(
        held(TxState { segments_out: 10, ..QUIET }, false),
        of(VerdictKind::CongestionWindow)
    );
    assert_eq!(held(TxState { window: 128, ..QUIET }, true), of(VerdictKind::NagleDelayedAck));
    let full = TxState { segments_out: 10, ..QUIET };
    assert_eq!(held(full, true), of(VerdictKind::CongestionWindow));
    assert_eq!(held(TxState { segments_out: 9, ..full }, true), of(VerdictKind::NagleDelayedAck));
    // 100 KB wait behind ten segments; the receiver would take 50 KB more.
    let both = TxState { unsent: 100_000, in_flight: 14_480, ..full };
    assert_eq!(held(both, true), of(VerdictKind::CongestionWindow));
    assert_eq!(
        held(TxState { window: 15_000, segments_out: 9, ..both }, true),
        of(VerdictKind::ReceiveWindow)
    );
}

#[test]
fn a_send_larger_than_the_buffer_waits_for_acks() {
    let narrow = TxState { send_buffer: 4_608, ..RESTED };
    assert_eq!(held_of(narrow, 4_609, true), of(VerdictKind::SendBuffer));
    assert_eq!(held_of(narrow, 4_608, true), Cause::Ordinary);
    assert_eq!(held_of(narrow, 4_609, false), Cause::Ordinary);
    // Recordings of earlier versions do not tell.
    assert_eq!(held_of(TxState { send_buffer: 0, ..RESTED }, 4_609, true), Cause::Ordinary);
}

#[test]
fn what_the_rate_accounts_for_is_paced() {
    // 10,000 B in 40 ms.
    let paced = TxState { pacing: 250_000, ..RESTED };
    assert_eq!(held_of(paced, 10_000, false), of(VerdictKind::Pacing));
    assert_eq!(
        held_of(TxState { pacing: 500_000, ..RESTED }, 10_000, true),
        of(VerdictKind::Pacing)
    );
    assert_eq!(held_of(TxState { pacing: 600_000, ..RESTED }, 10_000, true), Cause::Ordinary);
}

#[test]
fn a_connection_that_has_rested_begins_with_ten_segments() {
    assert_eq!(held_of(RESTED, 11 * 1448, true), of(VerdictKind::CongestionWindow));
    assert_eq!(held_of(RESTED, 10 * 1448, true), Cause::Ordinary);
    assert_eq!(held_of(RESTED, 11 * 1448, false), Cause::Ordinary);
    let busy = TxState { in_flight: 1, ..RESTED };
    assert_eq!(held_of(busy, 11 * 1448 + 1, true), of(VerdictKind::NagleDelayedAck));
}

#[test]
fn what_was_sent_again_was_lost() {
    let mut leg = leg(&[(Stage::Sent, 0), (Stage::Queue, 200_000), (Stage::Rx, 200_010)]);
    leg.circumstances.resent = true;
    assert_eq!(blamed(vec![leg])[0].2, of(VerdictKind::Retransmission));
}

#[test]
fn what_is_before_the_first_transmission_is_not_lost() {
    let stages = [(Stage::Sent, 0), (Stage::Lost, 40_000), (Stage::Queue, 240_000)];
    let mut leg = leg(&stages);
    leg.circumstances = Circumstances {
        tx: Some(QUIET),
        send_len: 64,
        acked: Some(Nanos(39_990_000)),
        resent: true,
        ..Circumstances::default()
    };
    let expected = [
        (0, Segment::SocketTx, of(VerdictKind::NagleDelayedAck), 40_000_000),
        (0, Segment::Loss, of(VerdictKind::Retransmission), 200_000_000),
    ];
    assert_eq!(blamed(vec![leg.clone()]), expected);
    // For three quarters of it, earlier bytes were missing.
    leg.circumstances.loss_in_socket = Nanos(30_000_000);
    let parts = blamed(vec![leg]);
    assert_eq!(parts[0], (0, Segment::SocketTx, of(VerdictKind::Retransmission), 30_000_000));
    assert_eq!(parts[1], (0, Segment::SocketTx, of(VerdictKind::NagleDelayedAck), 10_000_000));
}

#[test]
fn a_window_that_a_loss_made_small_is_the_losss() {
    let full = TxState { segments_out: 10, ..QUIET };
    let mut leg = leg(&[(Stage::Sent, 0), (Stage::Queue, 40_000)]);
    leg.circumstances = Circumstances {
        tx: Some(full),
        send_len: 64,
        acked: Some(Nanos(39_990_000)),
        ..Circumstances::default()
    };
    assert_eq!(blamed(vec![leg.clone()])[0].2, of(VerdictKind::CongestionWindow));
    leg.circumstances.shrunk_by_loss = true;
    assert_eq!(blamed(vec![leg])[0].2, of(VerdictKind::Retransmission));
}

#[test]
fn a_socket_that_may_not_add_to_a_full_qdisc_waits_for_it() {
    let stages = [(Stage::Sent, 0), (Stage::Queue, 40_000), (Stage::Xmit, 42_000)];
    let mut held = leg(&stages);
    held.circumstances.send_len = 64;
    held.circumstances.tx = Some(TxState { window: 100, ..QUIET });
    held.circumstances.acked = Some(Nanos(39_990_000));
    let parts = blamed(vec![held.clone()]);
    assert!(parts.iter().all(|part| part.2 == of(VerdictKind::QdiscQueueing)), "{parts:?}");
    held.times.set(Stage::Xmit, Nanos(40_100_000));
    assert_eq!(blamed(vec![held])[0].2, of(VerdictKind::ReceiveWindow));
}

#[test]
fn a_sender_of_datagrams_that_has_no_cpu_between_them_waits_for_one() {
    let mut parts = leg(&[(Stage::Send, 0), (Stage::Sent, 9_000), (Stage::Queue, 9_002)]);
    parts.flow.transport = Transport::Udp;
    let mut waited = OffCpu { waited: Nanos(7_000_000), ..OffCpu::NONE };
    waited.add_holder(&hop(0, 0, 7_000, 5).holder);
    let blamed = blamed_with(vec![parts], vec![LegOffCpu { writing: waited, ..LegOffCpu::NONE }]);
    assert_eq!(blamed[0], (0, Segment::Write, of(VerdictKind::RunQueueContention), 7_000_000));
    assert_eq!(blamed[1], (0, Segment::Write, Cause::Ordinary, 2_000_000));
}

#[test]
fn a_write_in_parts_is_told_by_what_the_socket_held() {
    let write = |tx: TxState| {
        let mut leg = leg(&[(Stage::Send, 0), (Stage::Sent, 90_000), (Stage::Queue, 90_002)]);
        leg.circumstances.tx = Some(tx);
        blamed(vec![leg])[0].2
    };
    let empty = TxState { in_flight: 0, segments_out: 0, ..QUIET };
    assert_eq!(write(empty), of(VerdictKind::LateWrite));
    assert_eq!(write(QUIET), Cause::Ordinary);
    assert_eq!(write(TxState { unsent: 9_000, ..QUIET }), of(VerdictKind::SendBuffer));
    assert_eq!(write(TxState { window: 500, ..QUIET }), of(VerdictKind::ReceiveWindow));
}

/// Its sender holds a message back until an acknowledgement comes.
fn held_in_socket(tx: TxState) -> Leg {
    let mut leg = leg(&[(Stage::Send, 0), (Stage::Sent, 0), (Stage::Queue, 90_000)]);
    leg.circumstances = Circumstances {
        tx: Some(tx),
        send_len: 64,
        acked: Some(Nanos(89_990_000)),
        unread_until: Some(Nanos(80_000_000)),
        ..Circumstances::default()
    };
    leg
}

#[test]
fn what_waits_for_a_reader_without_quota_waits_for_quota() {
    let full = TxState { segments_out: 10, ..QUIET };
    for (tx, kind) in [(QUIET, VerdictKind::NagleDelayedAck), (full, VerdictKind::CongestionWindow)]
    {
        let rests = LegOffCpu { unread: throttled(), ..LegOffCpu::NONE };
        let parts = blamed_with(vec![held_in_socket(tx)], vec![rests]);
        let expected = [
            (0, Segment::SocketTx, of(VerdictKind::CpuThrottled), 70_000_000),
            (0, Segment::SocketTx, of(VerdictKind::RunQueueContention), 10_000_000),
            (0, Segment::SocketTx, of(kind), 10_000_000),
        ];
        assert_eq!(parts, expected);
        // A reader that sleeps and reads nothing is stalled.
        let asleep = OffCpu { asleep: Nanos(60_000_000), ..OffCpu::NONE };
        let rests = LegOffCpu { unread: asleep, ..LegOffCpu::NONE };
        let parts = blamed_with(vec![held_in_socket(tx)], vec![rests]);
        let stalled = (0, Segment::SocketTx, of(VerdictKind::ClientStalled), 60_000_000);
        assert_eq!(parts[0], stalled, "{parts:?}");
    }
}

#[test]
fn a_message_that_leaves_without_an_acknowledgement_was_held_back_all_the_same() {
    let mut leg = held_in_socket(TxState { unsent: 60_000, ..QUIET });
    leg.circumstances.acked = None;
    assert_eq!(blamed(vec![leg.clone()])[0].2, Cause::Ordinary);
    leg.circumstances.whole_segment = true;
    assert_eq!(blamed(vec![leg])[0].2, of(VerdictKind::NagleDelayedAck));
}

#[test]
fn a_library_that_waits_for_what_was_lost_is_the_networks() {
    let stages = [(Stage::Publish, 0), (Stage::Send, 300_000), (Stage::Queue, 300_010)];
    let mut leg = leg(&stages);
    leg.circumstances.missing = Some((Nanos(100_000_000), Nanos(290_000_000)));
    let found = blamed(vec![leg]);
    assert_eq!(found[0], (0, Segment::ClientTx, of(VerdictKind::Retransmission), 190_000_000));
    assert_eq!(found[1], (0, Segment::ClientTx, Cause::Ordinary, 110_000_000));
}

/// A proxy that cannot send to its client does not read what the broker sends.
#[test]
fn what_waits_before_a_full_proxy_waits_for_the_proxys_client() {
    let none = TxState { window: 0, ..QUIET };
    let mut before = held_in_socket(none);
    before.times.set(Stage::Read, Nanos(90_100_000));
    let mut after = held_in_socket(none);
    let times = [(Stage::Send, 90_200_000), (Stage::Sent, 90_200_000), (Stage::Queue, 95_000_000)];
    for (stage, at) in times {
        after.times.set(stage, Nanos(at));
    }
    after.circumstances.held_before = Nanos(70_000_000);
    let parts = blamed(vec![before.clone(), after.clone()]);
    let window = of(VerdictKind::ReceiveWindow);
    assert!(parts.contains(&(1, Segment::BrokerDwell, window, 70_000_000)), "{parts:?}");
    assert!(parts.contains(&(0, Segment::SocketTx, window, 20_000_000)), "{parts:?}");
    // It could have sent.
    after.circumstances.held_before = Nanos(0);
    let parts = blamed(vec![before, after]);
    assert!(parts.contains(&(0, Segment::SocketTx, window, 90_000_000)), "{parts:?}");
}
