use super::*;
use crate::threads::Chain;
use wirelap_events::{Circumstances, DropCause, LegPath, Recovery};

fn range(start: u64, end: u64) -> ByteRange {
    ByteRange { start: Offset(start), end: Offset(end) }
}

fn marks() -> TcpMarks {
    TcpMarks::new(100)
}

#[test]
fn a_partial_write_ends_where_the_next_starts() {
    let mut marks = marks();
    marks.send(range(0, 100), Nanos(1), TaskId::default(), None);
    marks.send(range(40, 100), Nanos(5), TaskId::default(), None);
    let path = marks.path(range(0, 100));
    assert_eq!((path.send, path.sent), (Some(Nanos(1)), Some(Nanos(5))));
    assert_eq!(marks.path(range(39, 40)).sent, Some(Nanos(1)));
}

#[test]
fn a_write_that_took_nothing_does_not_count() {
    let mut marks = marks();
    marks.send(range(0, 100), Nanos(1), TaskId::default(), None);
    marks.send(range(0, 100), Nanos(9), TaskId::default(), None);
    assert_eq!(marks.path(range(0, 50)).send, Some(Nanos(9)));
}

/// Time for which a message of 100 bytes that was written in three parts waited for room, and whether it is known when there was some.
fn room(tell: impl Fn(&mut TcpMarks)) -> (Nanos, bool) {
    let mut marks = marks();
    marks.send(range(0, 100), Nanos(1_000), TaskId::default(), None);
    tell(&mut marks);
    let seen = marks.path(range(0, 100)).circumstances;
    (seen.socket.awaited_room, seen.socket.is_room_unseen)
}

#[test]
fn what_a_socket_refuses_waits_for_an_acknowledgement() {
    let send = |marks: &mut TcpMarks, start, at| {
        marks.send(range(start, 100), Nanos(at), TaskId::default(), None);
    };
    let in_parts = |is_acked: bool| {
        room(|marks| {
            if is_acked {
                marks.acknowledged(Offset(30), Nanos(41_000));
            }
            send(marks, 40, 41_100);
            // It is tried again, and nothing is taken.
            send(marks, 70, 41_200);
            send(marks, 70, 45_000);
            if is_acked {
                marks.acknowledged(Offset(70), Nanos(81_100));
            }
            send(marks, 70, 99_000);
        })
    };
    assert_eq!(in_parts(true), (Nanos(40_000 + 40_000), false));
    assert_eq!(in_parts(false), (Nanos(0), true));
    // A sender that wrote less than it had, and came back later.
    let halves = room(|marks| {
        marks.acknowledged(Offset(50), Nanos(41_000));
        marks.send(range(100, 150), Nanos(90_000), TaskId::default(), None);
    });
    assert_eq!(halves, (Nanos(0), false));
}

#[test]
fn the_copy_that_made_it_counts() {
    let mut marks = marks();
    marks.xmit(range(0, 10), Some(Nanos(1)), Nanos(2));
    marks.xmit(range(0, 10), Some(Nanos(50)), Nanos(51));
    marks.xmit(range(0, 10), Some(Nanos(90)), Nanos(91));
    marks.rx(range(0, 10), Nanos(60), None);
    marks.rx(range(0, 10), Nanos(95), None);
    marks.ready(Offset(10), Nanos(61), true);
    let path = marks.path(range(0, 10));
    assert_eq!((path.queue, path.xmit), (Some(Nanos(50)), Some(Nanos(51))));
    assert_eq!((path.rx, path.ready), (Some(Nanos(60)), Some(Nanos(61))));
}

#[test]
fn what_overtakes_earlier_bytes_waits_for_them() {
    let path = |left_again: Option<u64>| {
        let mut marks = marks();
        for (start, at) in [(0, 1), (10, 2)] {
            marks.xmit(range(start, start + 10), None, Nanos(at));
        }
        marks.rx(range(10, 20), Nanos(5), None);
        if let Some(at) = left_again {
            marks.xmit(range(0, 10), None, Nanos(at));
        }
        marks.rx(range(0, 10), Nanos(90), None);
        marks.ready(Offset(20), Nanos(91), true);
        [range(0, 10), range(10, 20)].map(|extent| marks.path(extent).circumstances.loss.overtook)
    };
    assert_eq!(path(None), [false, true]);
    // The first copy was lost, perhaps.
    assert_eq!(path(Some(60)), [false, false]);
}

/// Bytes that have arrived, and of whose arrival their sender hears at 202 only; the next wait for that.
fn unheard(tell: impl Fn(&mut TcpMarks)) -> Circumstances {
    let mut marks = marks();
    marks.send(range(0, 10), Nanos(1), TaskId::default(), None);
    marks.xmit(range(0, 10), None, Nanos(2));
    marks.rx(range(0, 10), Nanos(3), None);
    marks.ready(Offset(10), Nanos(4), true);
    marks.send(range(10, 20), Nanos(6), TaskId::default(), None);
    tell(&mut marks);
    marks.acknowledged(Offset(10), Nanos(202));
    marks.xmit(range(10, 20), None, Nanos(203));
    marks.rx(range(10, 20), Nanos(204), None);
    marks.ready(Offset(20), Nanos(205), true);
    let path = marks.path(range(10, 20));
    assert_eq!(path.lost, None);
    assert!(!path.circumstances.loss.resent && !path.circumstances.loss.behind);
    path.circumstances
}

#[test]
fn a_lost_acknowledgement_keeps_its_sender_waiting() {
    let dropped = unheard(|marks| marks.unheard(Offset(10), Nanos(5), DropCause::Filter));
    assert_eq!(dropped.loss.in_socket, Nanos(196));
    assert_eq!(dropped.loss.dropped, Some(DropCause::Filter));
    let again = |recovery| {
        move |marks: &mut TcpMarks| {
            marks.xmit(range(0, 10), None, Nanos(200));
            marks.resent(range(0, 10), Nanos(200), Some(recovery));
        }
    };
    assert_eq!(unheard(again(Recovery::Timeout)).loss.in_socket, Nanos(196));
    // The receiver may delay it for so long.
    assert_eq!(unheard(again(Recovery::TailProbe)).loss.in_socket, Nanos(0));
}

#[test]
fn what_was_under_way_may_be_unread_for_long() {
    let mut marks = marks();
    let state = |in_flight, unsent| Some(TxState { in_flight, unsent, ..TxState::default() });
    marks.send(range(0, 10), Nanos(1), TaskId::default(), state(0, 0));
    marks.send(range(10, 20), Nanos(5), TaskId::default(), state(10, 0));
    marks.send(range(20, 30), Nanos(6), TaskId::default(), state(10, 10));
    for (place, at) in [(0, 400_000), (10, 900_000), (20, 950_000)] {
        let bytes = range(place, place + 10);
        if place == 0 {
            marks.rx(bytes, Nanos(300_000), None);
        }
        marks.read(bytes, Nanos(at), TaskId::default(), Chain::default());
    }
    let unread = |start| marks.path(range(start, start + 10)).circumstances.unread;
    // It was on its way for long.
    assert_eq!((unread(0), unread(10)), (None, Some((Nanos(300_000), Nanos(400_000)))));
    // Those before it had not left either.
    assert_eq!(unread(20), Some((Nanos(300_000), Nanos(400_000))));
}

#[test]
fn a_reader_without_room_has_something_to_read_until_it_has() {
    let mut marks = marks();
    let state =
        |in_flight, unsent| Some(TxState { in_flight, unsent, mss: 1, ..TxState::default() });
    let send = |marks: &mut TcpMarks, start, at, state| {
        marks.send(range(start, start + 10), Nanos(at), TaskId::default(), state);
    };
    send(&mut marks, 0, 1, state(0, 0));
    marks.ready(Offset(10), Nanos(2), true);
    marks.read(range(0, 4), Nanos(3), TaskId::default(), Chain::default());
    // All of it has come in and was acknowledged.
    send(&mut marks, 10, 5, state(0, 0));
    marks.read(range(4, 10), Nanos(100), TaskId::default(), Chain::default());
    // The window is small, and the reader has read everything.
    send(&mut marks, 20, 105, state(0, 10));
    let unread = |start| marks.path(range(start, start + 10)).circumstances.unread;
    assert_eq!(unread(10), Some((Nanos(5), Nanos(u64::MAX))));
    assert_eq!(unread(20), None);
}

#[test]
fn the_distance_is_what_every_packet_needs() {
    let mut marks = marks();
    let distance = |marks: &TcpMarks| marks.path(range(0, 10)).circumstances.path.distance;
    for (start, left, came, known) in [(0, 100, 175, 0), (10, 200, 220, 75), (20, 300, 390, 20)] {
        let bytes = range(start, start + 10);
        marks.xmit(bytes, Some(Nanos(left - 50)), Nanos(left));
        // A router has it before.
        marks.rx(bytes, Nanos(left + 1), None);
        marks.rx(bytes, Nanos(came), None);
        assert_eq!(distance(&marks), Nanos(known));
        marks.ready(bytes.end, Nanos(came + 1), true);
    }
    assert_eq!(distance(&marks), Nanos(20));
    // They were in a queue, perhaps, since before anything was seen: TCP knows of shorter round trips.
    let state = |min_rtt| Some(TxState { min_rtt, ..TxState::default() });
    marks.send(range(30, 40), Nanos(400), TaskId::default(), state(0));
    assert_eq!(distance(&marks), Nanos(20));
    let mut queued = TcpMarks::new(100);
    queued.send(range(0, 10), Nanos(1), TaskId::default(), state(3));
    queued.xmit(range(0, 10), None, Nanos(10));
    queued.rx(range(0, 10), Nanos(9_000_000), None);
    queued.ready(Offset(10), Nanos(9_000_001), true);
    assert_eq!(distance(&queued), Nanos(3_000));
}

/// A request that was lost may be answered long after it was read.
#[test]
fn the_last_loss_is_remembered_when_its_bytes_are_not() {
    let mut marks = marks();
    for (start, at) in [(0, 100), (10, 1_000)] {
        let bytes = range(start, start + 10);
        marks.xmit(bytes, None, Nanos(at));
        marks.dropped(bytes, Nanos(at + 1), DropCause::Filter, false, None);
        marks.xmit(bytes, None, Nanos(at + 300));
        marks.rx(bytes, Nanos(at + 301), None);
        marks.ready(bytes.end, Nanos(at + 302), true);
        marks.acknowledged(bytes.end, Nanos(at + 303));
    }
    marks.prune(Offset(20), Nanos(50));
    let missing = |marks: &TcpMarks, since, to| {
        let missing = marks.missing_between(Nanos(since), Nanos(to));
        missing.map(|missing| (missing.from.0, missing.there.0))
    };
    assert_eq!(missing(&marks, 0, 2_000), Some((1_000, 1_302)));
    assert_eq!(missing(&marks, 0, 900), Some((100, 402)));
    // Of two, the one that lasted longer in this time.
    assert_eq!(missing(&marks, 200, 1_100), Some((100, 402)));
    marks.prune(Offset(20), Nanos(900));
    assert_eq!(missing(&marks, 0, 900), None);
}

#[test]
fn what_was_sent_again_in_vain_held_nobody_up() {
    let mut marks = marks();
    marks.rx(range(0, 10), Nanos(1), None);
    marks.resent(range(0, 10), Nanos(5), None);
    assert!(!marks.path(range(0, 10)).circumstances.loss.resent);
    marks.resent(range(10, 20), Nanos(6), None);
    assert!(marks.path(range(10, 20)).circumstances.loss.resent);
    marks.ready(Offset(30), Nanos(7), true);
    marks.resent(range(20, 30), Nanos(8), None);
    assert!(!marks.path(range(20, 30)).circumstances.loss.resent);
}

/// Bytes that a receiver on another host acknowledges at once, after 40 ms, or only with its next request.
#[test]
fn bytes_have_reached_another_host_a_round_trip_after_they_left() {
    let mut marks = marks();
    let ms = Nanos::from_millis;
    let reached = |marks: &TcpMarks, start| marks.reached(range(start, start + 10));
    let hear = |marks: &mut TcpMarks, upto, at| {
        marks.heard(Offset(upto), ms(at), true);
        marks.acknowledged(Offset(upto), ms(at));
    };
    marks.xmit(range(0, 10), None, ms(1));
    assert_eq!(reached(&marks, 0), None, "how long the way is was not seen");
    hear(&mut marks, 10, 3);
    marks.xmit(range(10, 20), None, ms(10));
    hear(&mut marks, 20, 14);
    marks.xmit(range(20, 30), None, ms(20));
    hear(&mut marks, 30, 62);
    marks.xmit(range(30, 40), None, ms(70));
    let all = [0, 10, 20, 30].map(|start| reached(&marks, start));
    assert_eq!(all, [3, 14, 20 + 2, 70 + 2].map(|at| Some(ms(at))));
}

#[test]
fn lost_observations_do_not_borrow_their_neighbours() {
    let mut marks = marks();
    marks.send(range(20, 30), Nanos(5), TaskId::default(), None);
    marks.read(range(20, 30), Nanos(9), TaskId::default(), Chain::default());
    marks.ready(Offset(10), Nanos(1), true);
    marks.ready(Offset(30), Nanos(6), false);
    let path = marks.path(range(10, 20));
    assert_eq!((path.send, path.ready, path.read), (None, None, None));
    assert_eq!(marks.passed_at(range(10, 20)), Some(Nanos(9)));
    assert_eq!(marks.path(range(5, 10)).ready, Some(Nanos(1)));
}

/// Asserts that the times of packets alone are those of the whole path, and that this has nothing
/// else.
fn assert_alone(marks: &TcpMarks, extent: ByteRange) {
    let alone = marks.packets_alone(extent).expect("only packets were seen");
    let path = marks.path(extent);
    assert_eq!((alone.xmit, alone.rx), (path.xmit, path.rx));
    let way = LegPath { heard: alone.heard, ..LegPath::default() };
    let only = Circumstances { path: way, ..Circumstances::default() };
    assert_eq!(path.circumstances, only);
    let others = [path.send, path.sent, path.lost, path.queue, path.ready, path.read];
    assert_eq!((others, path.sender, path.reader), ([None; 6], None, None));
}

#[test]
fn packets_alone_tell_the_same_in_less_time() {
    let mut marks = marks();
    for n in 0..20 {
        let bytes = range(n * 10, n * 10 + 10);
        if n % 3 != 0 {
            marks.xmit(bytes, None, Nanos(n * 100 + 5));
        }
        if n % 4 != 0 {
            marks.rx(bytes, Nanos(n * 100 + 7), None);
        }
        if n % 5 == 4 {
            marks.heard(bytes.end, Nanos(n * 100 + 9), n % 2 == 0);
            marks.acknowledged(bytes.end, Nanos(n * 100 + 9));
        }
    }
    for n in 0..20 {
        assert_alone(&marks, range(n * 10 + 3, n * 10 + 8));
    }
    // Captured after its acknowledgement, and so not what was acknowledged.
    marks.acknowledged(Offset(210), Nanos(2_000));
    marks.rx(range(200, 210), Nanos(2_005), None);
    assert_alone(&marks, range(200, 210));
}

#[test]
fn what_more_is_known_of_is_not_packets_alone() {
    let tell: [fn(&mut TcpMarks); 6] = [
        |marks| marks.send(range(0, 10), Nanos(1), TaskId::default(), None),
        |marks| marks.read(range(0, 10), Nanos(9), TaskId::default(), Chain::default()),
        |marks| marks.ready(Offset(10), Nanos(9), true),
        |marks| marks.rx(range(0, 10), Nanos(9), None),
        |marks| marks.xmit(range(0, 10), None, Nanos(9)),
        |marks| marks.resent(range(0, 10), Nanos(9), None),
    ];
    for tell in tell {
        let mut marks = marks();
        marks.xmit(range(0, 10), None, Nanos(2));
        marks.rx(range(0, 10), Nanos(3), None);
        assert!(marks.packets_alone(range(0, 10)).is_some());
        tell(&mut marks);
        assert_eq!(marks.packets_alone(range(0, 10)), None);
    }
}

#[test]
fn what_nobody_sees_come_in_is_not_known_to_be_on_the_way() {
    let at = |offset: u64| Offset::START.plus(offset);
    let range = |start, end| ByteRange { start: at(start), end: at(end) };
    let arrived = |tell: &dyn Fn(&mut TcpMarks), sees_packets| {
        let mut marks = marks();
        tell(&mut marks);
        super::super::Marks::Tcp(marks).has_arrived(range(100, 200), sees_packets)
    };
    let reads = |marks: &mut TcpMarks| {
        marks.read(range(0, 100), Nanos(9), TaskId::default(), Chain::new());
    };
    let comes_in = |marks: &mut TcpMarks, range| marks.rx(range, Nanos(8), None);
    assert_eq!(arrived(&|_| (), false), None);
    assert_eq!(arrived(&reads, false), None);
    assert_eq!(arrived(&reads, true), None, "it was read, and nobody saw it come");
    assert_eq!(arrived(&|_| (), true), Some(false), "the first ones are lost");
    assert_eq!(arrived(&|marks| comes_in(marks, range(0, 100)), true), Some(false));
    assert_eq!(arrived(&|marks| comes_in(marks, range(100, 200)), false), Some(true));
    assert_eq!(arrived(&|marks| marks.ready(at(100), Nanos(8), true), false), Some(false));
    assert_eq!(arrived(&|marks| marks.ready(at(200), Nanos(8), true), false), Some(true));
}
