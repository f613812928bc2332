//! Times in a socket, a qdisc and the network.

use super::super::{Cause, VerdictKind};
use super::{QUIET, RESTED, blamed, blamed_with, hop, leg, of, throttled};
use wirelap_events::{
    Circumstances, Leg, LegLosses, LegOffCpu, LinkQueue, Nagle, Nanos, OffCpu, Segment,
    SenderSocket, Stage, Transport, TxState,
};

/// A send that waited 40 ms in its socket, in these circumstances.
fn held_of(tx: TxState, len: u32, acked: bool) -> Cause {
    let mut leg = leg(&[(Stage::Send, 0), (Stage::Sent, 0), (Stage::Queue, 40_000)]);
    leg.circumstances.socket.tx = Some(tx);
    leg.circumstances.socket.send_len = len;
    leg.circumstances.socket.acked = acked.then_some(Nanos(39_990_000));
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
        leg.circumstances.socket.tx = Some(tx);
        leg.circumstances.socket.send_len = 64;
        leg.circumstances.socket.acked = acked.then_some(Nanos::from_millis(ms - 1));
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
    // More than the congestion window takes at once, after a rest: a round trip is short, the rate is what takes the time.
    let long = TxState { pacing: 1_000_000, cwnd: 10, ..RESTED };
    assert_eq!(held_of(long, 30_000, true), of(VerdictKind::Pacing));
    let quick = TxState { pacing: 100_000_000, ..long };
    assert_eq!(held_of(quick, 30_000, true), of(VerdictKind::CongestionWindow));
    // Behind bytes under way, a queue may set the rate.
    let busy = TxState { in_flight: 1_448, segments_out: 1, ..long };
    assert_eq!(held_of(busy, 30_000, true), of(VerdictKind::CongestionWindow));
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
    leg.circumstances.loss.resent = true;
    assert_eq!(blamed(vec![leg])[0].2, of(VerdictKind::Retransmission));
}

#[test]
fn what_is_before_the_first_transmission_is_not_lost() {
    let stages = [(Stage::Sent, 0), (Stage::Lost, 40_000), (Stage::Queue, 240_000)];
    let mut leg = leg(&stages);
    leg.circumstances = Circumstances {
        socket: SenderSocket {
            tx: Some(QUIET),
            send_len: 64,
            acked: Some(Nanos(39_990_000)),
            ..SenderSocket::default()
        },
        loss: LegLosses { resent: true, ..LegLosses::default() },
        ..Circumstances::default()
    };
    let expected = [
        (0, Segment::SocketTx, of(VerdictKind::NagleDelayedAck), 40_000_000),
        (0, Segment::Loss, of(VerdictKind::Retransmission), 200_000_000),
    ];
    assert_eq!(blamed(vec![leg.clone()]), expected);
    // For three quarters of it, earlier bytes were missing.
    leg.circumstances.loss.in_socket = Nanos(30_000_000);
    let parts = blamed(vec![leg]);
    assert_eq!(parts[0], (0, Segment::SocketTx, of(VerdictKind::Retransmission), 30_000_000));
    assert_eq!(parts[1], (0, Segment::SocketTx, of(VerdictKind::NagleDelayedAck), 10_000_000));
}

#[test]
fn a_window_that_a_loss_made_small_is_the_losss() {
    let full = TxState { segments_out: 10, ..QUIET };
    let mut leg = leg(&[(Stage::Sent, 0), (Stage::Queue, 40_000)]);
    leg.circumstances = Circumstances {
        socket: SenderSocket {
            tx: Some(full),
            send_len: 64,
            acked: Some(Nanos(39_990_000)),
            ..SenderSocket::default()
        },
        ..Circumstances::default()
    };
    assert_eq!(blamed(vec![leg.clone()])[0].2, of(VerdictKind::CongestionWindow));
    leg.circumstances.loss.shrunk_window = true;
    assert_eq!(blamed(vec![leg])[0].2, of(VerdictKind::Retransmission));
}

#[test]
fn a_socket_that_may_not_add_to_a_full_qdisc_waits_for_it() {
    let stages = [(Stage::Sent, 0), (Stage::Queue, 40_000), (Stage::Xmit, 42_000)];
    let mut held = leg(&stages);
    held.circumstances.socket.send_len = 64;
    held.circumstances.socket.tx = Some(TxState { window: 100, ..QUIET });
    held.circumstances.socket.acked = Some(Nanos(39_990_000));
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
        leg.circumstances.socket.tx = Some(tx);
        blamed(vec![leg])[0].2
    };
    let empty = TxState { in_flight: 0, segments_out: 0, ..QUIET };
    assert_eq!(write(empty), of(VerdictKind::LateWrite));
    assert_eq!(write(QUIET), Cause::Ordinary);
    assert_eq!(write(TxState { unsent: 9_000, ..QUIET }), of(VerdictKind::SendBuffer));
    assert_eq!(write(TxState { window: 500, ..QUIET }), of(VerdictKind::ReceiveWindow));
}

#[test]
fn a_sender_without_a_cpu_between_its_writes_waits_for_one() {
    let mut leg = leg(&[(Stage::Send, 0), (Stage::Sent, 90_000), (Stage::Queue, 90_000)]);
    leg.circumstances.socket.tx = Some(QUIET);
    let rests = LegOffCpu { writing: throttled(), ..LegOffCpu::NONE };
    let expected = [
        (0, Segment::Write, of(VerdictKind::CpuThrottled), 70_000_000),
        (0, Segment::Write, of(VerdictKind::RunQueueContention), 10_000_000),
        (0, Segment::Write, Cause::Ordinary, 10_000_000),
    ];
    assert_eq!(blamed_with(vec![leg], vec![rests]), expected);
}

#[test]
fn a_sender_is_late_from_when_there_is_room_on() {
    let write = |awaited_room: Nanos, is_room_unseen: bool| {
        let mut leg = leg(&[(Stage::Send, 0), (Stage::Sent, 90_000), (Stage::Queue, 90_002)]);
        leg.circumstances.socket.tx = Some(TxState { in_flight: 0, segments_out: 0, ..QUIET });
        leg.circumstances.socket.awaited_room = awaited_room;
        leg.circumstances.socket.is_room_unseen = is_room_unseen;
        let blamed = blamed(vec![leg]);
        blamed.iter().map(|part| (part.2, part.3 / 1_000_000)).take(2).collect::<Vec<_>>()
    };
    let (full, late) = (of(VerdictKind::SendBuffer), of(VerdictKind::LateWrite));
    assert_eq!(write(Nanos::from_millis(86), false), [(full, 86), (late, 4)]);
    assert_eq!(write(Nanos(49_000), false)[0], (late, 90));
    assert_eq!(write(Nanos(0), true)[0], (Cause::Ordinary, 90));
}

/// Its sender holds a message back until an acknowledgement comes.
pub fn held_in_socket(tx: TxState) -> Leg {
    let mut leg = leg(&[(Stage::Send, 0), (Stage::Sent, 0), (Stage::Queue, 90_000)]);
    leg.circumstances = Circumstances {
        socket: SenderSocket {
            tx: Some(tx),
            send_len: 64,
            acked: Some(Nanos(89_990_000)),
            ..SenderSocket::default()
        },
        unread: Some((Nanos(0), Nanos(80_000_000))),
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
        // One that works on something else would not have read the message either.
        let busy = (0, Segment::SocketTx, of(VerdictKind::ReaderBusy), 20_000_000);
        assert_eq!(parts[1..], [busy, (0, Segment::SocketTx, of(kind), 10_000_000)]);
    }
}

#[test]
fn a_message_that_leaves_without_an_acknowledgement_was_held_back_all_the_same() {
    let mut leg = held_in_socket(TxState { unsent: 60_000, ..QUIET });
    (leg.circumstances.socket.acked, leg.circumstances.unread) = (None, None);
    assert_eq!(blamed(vec![leg.clone()])[0].2, Cause::Ordinary);
    leg.circumstances.socket.whole_segment = true;
    assert_eq!(blamed(vec![leg])[0].2, of(VerdictKind::NagleDelayedAck));
}

#[test]
fn a_library_that_waits_for_what_was_lost_is_the_networks() {
    let stages = [(Stage::Publish, 0), (Stage::Send, 300_000), (Stage::Queue, 300_010)];
    let mut leg = leg(&stages);
    leg.circumstances.loss.missing = Some((Nanos(100_000_000), Nanos(290_000_000)));
    let found = blamed(vec![leg]);
    assert_eq!(found[0], (0, Segment::ClientTx, of(VerdictKind::Retransmission), 190_000_000));
    assert_eq!(found[1], (0, Segment::ClientTx, Cause::Ordinary, 110_000_000));
}

/// So many microseconds of a queue, in the middle of what `held_in_socket` waits for.
#[expect(clippy::unnecessary_wraps, reason = "what it is put into may have none")]
pub fn queue(from: u64, to: u64) -> Option<LinkQueue> {
    let [from, to] = [from, to].map(Nanos::from_micros);
    let (longest, least) = (Nanos::from_millis(40), Nanos::from_millis(1));
    Some(LinkQueue { from, to, longest, least, rate: 125_000 })
}

/// For 60 of 90 ms in a socket whose windows are full, the bytes before were in a queue.
#[test]
fn what_waits_for_a_slow_link_is_neither_the_windows_nor_the_readers() {
    let congested = TxState { segments_out: 10, ..QUIET };
    let full = TxState { window: 100, ..QUIET };
    let asleep = OffCpu { asleep: Nanos::from_millis(90), ..OffCpu::NONE };
    let rests = LegOffCpu { unread: asleep, ..LegOffCpu::NONE };
    for (tx, after) in [(congested, VerdictKind::ClientStalled), (full, VerdictKind::ReceiveWindow)]
    {
        let mut held = held_in_socket(tx);
        held.circumstances.path.queue = queue(20_000, 80_000);
        let on_link = blamed_with(vec![held.clone()], vec![rests]);
        let expected = [
            (0, Segment::SocketTx, of(VerdictKind::BottleneckLink), 60_000_000),
            (0, Segment::SocketTx, of(after), 30_000_000),
        ];
        assert_eq!(on_link, expected);
        // A device of this host comes first.
        held.circumstances.path.qdisc_queue = queue(20_000, 80_000);
        let in_qdisc = blamed_with(vec![held], vec![rests]);
        assert_eq!(in_qdisc[0].2, of(VerdictKind::QdiscQueueing), "{in_qdisc:?}");
        assert_eq!(in_qdisc[0].3, 60_000_000);
    }
}

#[test]
fn a_queue_has_no_part_in_what_waits_for_something_else() {
    let held = |tx: TxState, queued| {
        let mut held = held_in_socket(tx);
        held.circumstances.unread = None;
        held.circumstances.path.queue = queued;
        blamed(vec![held])
    };
    let of_link = |parts: &[(usize, Segment, Cause, u64)]| {
        parts.iter().any(|part| part.2 == of(VerdictKind::BottleneckLink))
    };
    // Nagle's algorithm, a cork.
    assert!(!of_link(&held(QUIET, queue(0, 90_000))));
    assert!(!of_link(&held(TxState { nagle: Nagle::Corked, ..QUIET }, queue(0, 90_000))));
    // The queue was gone, or came later.
    let congested = TxState { segments_out: 10, ..QUIET };
    assert!(!of_link(&held(congested, None)));
    assert!(!of_link(&held(congested, queue(95_000, 99_000))));
}

#[test]
fn a_message_that_is_in_a_queue_on_the_path_waits_for_the_link() {
    let wire = |edit: fn(&mut Leg)| {
        let mut sent = leg(&[(Stage::Send, 0), (Stage::Xmit, 10), (Stage::Rx, 30_010)]);
        edit(&mut sent);
        let parts = blamed(vec![sent]);
        parts
            .into_iter()
            .filter(|part| part.1 == Segment::Wire)
            .map(|part| (part.2, part.3))
            .collect::<Vec<_>>()
    };
    let expected = [(of(VerdictKind::BottleneckLink), 29_000_000), (Cause::Ordinary, 1_000_000)];
    assert_eq!(wire(|leg| leg.circumstances.path.queue = queue(0, 40_000)), expected);
    assert_eq!(wire(|_| ()), [(Cause::Ordinary, 30_000_000)]);
    let deferred = wire(|leg| {
        leg.circumstances.path.queue = queue(0, 40_000);
        leg.circumstances.path.deferred = true;
    });
    assert_eq!(deferred, [(of(VerdictKind::RunQueueContention), 30_000_000)]);
    // What a qdisc on the path sends by its timer was in its queue, and waited for `ksoftirqd` only at last.
    let by_timer = wire(|leg| {
        leg.circumstances.path.queue = queue(0, 40_000);
        leg.circumstances.path.deferred = true;
        leg.circumstances.path.deferred_since = Nanos(30_000_000);
    });
    let expected = [
        (of(VerdictKind::RunQueueContention), 10_000),
        (of(VerdictKind::BottleneckLink), 28_990_000),
        (Cause::Ordinary, 1_000_000),
    ];
    assert_eq!(by_timer, expected);
    // The connection's packets need 20 ms at least, for whatever reason.
    let far = wire(|leg| leg.circumstances.path.distance = Nanos(20_000_000));
    assert_eq!(far, [(Cause::Distance, 20_000_000), (Cause::Ordinary, 10_000_000)]);
    let near = wire(|leg| leg.circumstances.path.distance = Nanos(400_000));
    assert_eq!(near, [(Cause::Ordinary, 30_000_000)]);
}
