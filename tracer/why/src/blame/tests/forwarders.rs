//! Forwarders that cannot send on: what is before them in their sockets.

use super::super::{Cause, VerdictKind};
use super::socket::{held_in_socket, queue};
use super::{QUIET, RESTED, blamed, blamed_with, leg, of};
use wirelap_events::{EarlierBytes, LegOffCpu, Nagle, Nanos, OffCpu, Segment, Stage, TxState};

/// Earlier bytes that were in a forwarder's socket for 70 ms, sent in this state.
#[expect(clippy::unnecessary_wraps, reason = "what it is put into may have none")]
fn stuck(tx: TxState, no_room: bool) -> Option<EarlierBytes> {
    let time = Nanos::from_millis(70);
    Some(EarlierBytes { since: Nanos::from_millis(10), time, tx, send_len: 64, no_room })
}

/// A forwarder that slept and worked for 40 ms each after a message had come, and sent it at once then: what is put down to it, and to the
/// reader behind it. `TCP_NODELAY` is set, so that nothing waits for an acknowledgement.
fn before_a_forwarder(held_before: Option<EarlierBytes>) -> [u64; 3] {
    let before = leg(&[(Stage::Send, 0), (Stage::Ready, 1_000), (Stage::Read, 81_000)]);
    let mut after = leg(&[(Stage::Send, 81_010), (Stage::Queue, 81_020), (Stage::Read, 81_500)]);
    // Of the message itself, the socket took and sent all.
    after.circumstances.socket.tx = Some(SENT_AT_ONCE);
    after.circumstances.socket.held_before = held_before;
    let asleep = Nanos::from_millis(40);
    let rests = LegOffCpu { reader: Some(OffCpu { asleep, ..OffCpu::NONE }), ..LegOffCpu::NONE };
    let parts = blamed_with(vec![before, after], vec![rests, LegOffCpu::NONE]);
    let of_kind = |kind| {
        parts.iter().filter(move |part| part.2 == of(kind)).map(|part| part.3 / 1_000_000).sum()
    };
    [VerdictKind::BrokerStalled, VerdictKind::BrokerCpuBound, VerdictKind::ReceiveWindow]
        .map(of_kind)
}

const SENT_AT_ONCE: TxState = TxState { nagle: Nagle::Off, ..RESTED };

/// The socket's state while the message waited counts, not the one when the forwarder could send at last.
#[test]
fn a_forwarder_whose_client_has_no_room_is_not_slow_itself() {
    let full = TxState { window: 0, ..SENT_AT_ONCE };
    // There is some work beside.
    assert_eq!(before_a_forwarder(stuck(full, false)), [10, 0, 70]);
    // There was room when they were sent, and the window was closed afterwards.
    assert_eq!(before_a_forwarder(stuck(SENT_AT_ONCE, true)), [10, 0, 70]);
}

#[test]
fn a_forwarder_that_sleeps_or_works_is_slow_itself() {
    assert_eq!(before_a_forwarder(None), [40, 40, 0]);
    // What was in its socket was not there for want of room.
    assert_eq!(before_a_forwarder(stuck(SENT_AT_ONCE, false)), [40, 40, 0]);
}

/// One that reads and writes a message in pieces, and slept between the first and the last: what is put down to it, to the reader behind it,
/// and to nobody.
#[test]
fn a_forwarder_that_writes_in_pieces_waits_for_room_before_the_last() {
    let between = |held: Option<EarlierBytes>| {
        let first = leg(&[(Stage::Send, 0), (Stage::Read, 100)]);
        let mut late = leg(&[(Stage::Send, 1_000), (Stage::Sent, 91_000), (Stage::Queue, 91_010)]);
        late.circumstances.socket.tx = Some(SENT_AT_ONCE);
        late.circumstances.socket.held_in_write = held;
        let writing = OffCpu { asleep: Nanos::from_millis(90), ..OffCpu::NONE };
        let rests = LegOffCpu { writing, ..LegOffCpu::NONE };
        let parts = blamed_with(vec![first, late], vec![LegOffCpu::NONE, rests]);
        let of_kind = |kind| {
            parts.iter().filter(move |part| part.2 == of(kind)).map(|part| part.3 / 1_000_000).sum()
        };
        let all: [u64; 2] = [VerdictKind::BrokerStalled, VerdictKind::ReceiveWindow].map(of_kind);
        all
    };
    assert_eq!(between(stuck(TxState { window: 0, ..SENT_AT_ONCE }, false)), [20, 70]);
    assert_eq!(between(stuck(SENT_AT_ONCE, true)), [20, 70]);
    // It was stopped, perhaps: nothing was in its socket, or nothing that there was no room for.
    assert_eq!(between(None), [90, 0]);
    assert_eq!(between(stuck(SENT_AT_ONCE, false)), [90, 0]);
}

#[test]
fn a_window_that_closes_behind_a_send_is_full_all_the_same() {
    let mut sent = leg(&[(Stage::Send, 0), (Stage::Sent, 0), (Stage::Queue, 40_000)]);
    sent.circumstances.socket.tx = Some(SENT_AT_ONCE);
    assert_eq!(blamed(vec![sent.clone()])[0].2, Cause::Ordinary);
    sent.circumstances.socket.no_room = true;
    assert_eq!(blamed(vec![sent])[0].2, of(VerdictKind::ReceiveWindow));
}

#[test]
fn a_forwarder_behind_a_slow_link_waits_for_the_link() {
    let before = leg(&[(Stage::Send, 0), (Stage::Ready, 1_000), (Stage::Read, 81_000)]);
    let mut after = leg(&[(Stage::Send, 81_010), (Stage::Queue, 81_020), (Stage::Read, 81_500)]);
    after.circumstances.socket.held_before = stuck(TxState { window: 0, ..SENT_AT_ONCE }, false);
    after.circumstances.path.queue = queue(5_000, 60_000);
    let parts = blamed(vec![before, after]);
    let link = (1, Segment::BrokerDwell, of(VerdictKind::BottleneckLink), 70_000_000);
    assert!(parts.contains(&link), "{parts:?}");
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
    after.circumstances.socket.held_before = stuck(none, false);
    let parts = blamed(vec![before.clone(), after.clone()]);
    let window = of(VerdictKind::ReceiveWindow);
    assert!(parts.contains(&(1, Segment::BrokerDwell, window, 70_000_000)), "{parts:?}");
    assert!(parts.contains(&(0, Segment::SocketTx, window, 20_000_000)), "{parts:?}");
    // It could have sent.
    after.circumstances.socket.held_before = None;
    let parts = blamed(vec![before, after]);
    assert!(parts.contains(&(0, Segment::SocketTx, window, 90_000_000)), "{parts:?}");
}
