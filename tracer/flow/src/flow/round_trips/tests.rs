use super::*;
use std::cell::Cell;
use wirelap_test_support::delivered;

fn bytes(start: u64) -> ByteRange {
    ByteRange::new(Offset(start), 10)
}

fn departure(extent: ByteRange) -> Departure {
    Departure { sent: Nanos(extent.start.0), left: Nanos(extent.end.0) }
}

/// The look-up of requests of which the bytes before `come` have left.
fn left(come: u64) -> impl Fn(ByteRange, bool) -> RequestLookUp {
    move |extent, _| {
        let departure = departure(extent);
        let sent = SentRequest { departure, is_here: false, leg: None, is_handed_on: false };
        if extent.end.0 > come { RequestLookUp::NotYet } else { RequestLookUp::Sent(sent) }
    }
}

fn taken(trips: &mut RoundTrips, number: u64) -> Option<Departure> {
    trips.take_request(number).map(|request| request.departure)
}

#[test]
fn a_reply_finds_when_its_request_left() {
    let mut trips = RoundTrips::default();
    trips.asked(7, bytes(100), Nanos(0));
    trips.asked(8, bytes(110), Nanos(0));
    assert_eq!(trips.wants_from(), Some(Offset(100)));
    trips.look_up(left(115));
    assert_eq!(trips.wants_from(), Some(Offset(110)), "its last bytes have not left");
    assert_eq!(taken(&mut trips, 7), Some(departure(bytes(100))));
    assert_eq!((taken(&mut trips, 7), taken(&mut trips, 9)), (None, None));
    trips.look_up(left(120));
    assert_eq!(taken(&mut trips, 8), Some(departure(bytes(110))));
    assert_eq!((trips.is_waiting(), trips.wants_from()), (false, None));
}

#[test]
fn what_has_no_reply_is_counted_once() {
    let mut trips = RoundTrips::default();
    trips.asked(1, bytes(0), Nanos(0));
    trips.asked(1, bytes(20), Nanos(0));
    assert_eq!(trips.take_unanswered(), 1, "its number is used again");
    trips.look_up(left(100));
    assert_eq!(taken(&mut trips, 1), Some(departure(bytes(20))));
    trips.asked(2, bytes(40), Nanos(0));
    trips.asked(3, bytes(60), Nanos::from_millis(900));
    trips.give_up(Nanos::from_millis(500));
    assert_eq!((trips.take_unanswered(), trips.is_waiting()), (1, true));
    trips.give_up(Nanos::from_millis(1_000));
    assert_eq!((trips.take_unanswered(), trips.is_waiting()), (1, false));
    let now = Nanos::from_millis(2_000);
    assert_eq!((trips.is_due(now), trips.is_due(now)), (true, false));
}

#[test]
fn a_warm_up_and_what_was_not_seen_to_leave_are_left_out() {
    let mut trips = RoundTrips::default();
    trips.asked(1, bytes(0), Nanos(0));
    trips.mark_warm_up(Offset(10));
    trips.asked(2, bytes(10), Nanos(0));
    trips.look_up(left(10));
    trips.look_up(|_, _| RequestLookUp::Unseen);
    assert_eq!((taken(&mut trips, 1), taken(&mut trips, 2)), (None, None));
    assert_eq!(trips.take_unanswered(), 0);
}

#[test]
fn a_part_of_them_is_followed_from_end_to_end() {
    let mut trips = RoundTrips::default();
    let samples = Cell::new(0);
    for ms in 1..=1_000 {
        trips.asked(ms, bytes(ms * 10), Nanos::from_millis(ms));
        trips.look_up(|_, is_sample| {
            samples.set(samples.get() + u32::from(is_sample));
            RequestLookUp::Unseen
        });
    }
    assert_eq!(samples.get(), 100);
}

#[test]
fn what_is_handed_on_is_followed_and_not_counted() {
    let mut trips = RoundTrips::default();
    trips.asked(1, bytes(0), Nanos(0));
    assert!(trips.handed_on(2, bytes(10), Nanos(1)) && trips.handed_on(3, bytes(20), Nanos(2)));
    trips.mark_warm_up(Offset(100));
    trips.look_up(left(30));
    assert!(trips.take_request(2).is_some_and(|request| request.is_handed_on));
    trips.give_up(Nanos(100));
    assert_eq!((trips.take_unanswered(), trips.is_waiting()), (0, false));
}

#[test]
fn a_request_that_nobody_answers_is_over_at_once() {
    let mut trips = RoundTrips::default();
    for number in 0..2_000 {
        trips.asked(number, bytes(number * 10), Nanos(number));
        trips.look_up(left(u64::MAX));
        trips.end_unanswered(number);
        trips.end_unanswered(number);
    }
    assert_eq!((trips.take_unanswered(), trips.is_waiting()), (2_000, false));
}

/// The look-up of requests that have left, each with its leg.
fn left_with_leg(extent: ByteRange, _: bool) -> RequestLookUp {
    let leg = Some(Box::new(delivered::leg(&[])));
    let departure = departure(extent);
    RequestLookUp::Sent(SentRequest { departure, is_here: true, leg, is_handed_on: false })
}

#[test]
fn what_nobody_answers_gives_way_to_what_is_handed_on_later() {
    let mut trips = RoundTrips::default();
    for number in 0..10_000 {
        assert!(trips.handed_on(number, bytes(number * 10), Nanos(number)));
        assert!(trips.open.len() <= MAX_HANDED_ON && trips.leaving.len() <= MAX_HANDED_ON);
    }
    assert!(trips.asked(10_000, bytes(100_000), Nanos(10_000)));
    trips.look_up(left(1_000_000));
    // The last one, and the one that has waited for the longest time.
    for number in [9_999, 0] {
        assert!(trips.take_request(number).is_some_and(|request| request.is_handed_on));
    }
    trips.drop_handed_on(10_000);
    assert!(trips.take_request(10_000).is_some(), "it is the sender's own");
}

#[test]
fn legs_count_as_memory_while_they_are_kept() {
    let mut trips = RoundTrips::default();
    let legs = |trips: &RoundTrips| trips.legs;
    (0..8).for_each(|number| _ = trips.handed_on(number, bytes(number * 10), Nanos(0)));
    let before = trips.held_bytes();
    trips.look_up(left_with_leg);
    assert_eq!(trips.held_bytes(), before + 8 * size_of::<Leg>());
    trips.drop_handed_on(0);
    trips.handed_on(1, bytes(1_000), Nanos(100));
    assert_eq!(legs(&trips), 6);
    let request = trips.take_request(2).unwrap();
    assert_eq!(legs(&trips), 5);
    trips.add_reply(UnreadReply { number: 2, extent: bytes(0), found_at: Nanos(0), request });
    assert_eq!(legs(&trips), 6);
    assert!(trips.take_reply().is_some() && trips.take_reply().is_none());
    assert_eq!(legs(&trips), 5);
    trips.give_up(Nanos(50));
    assert_eq!(legs(&trips), 0);
    trips.look_up(left_with_leg);
    assert_eq!(legs(&trips), 1);
    trips.interrupt();
    assert_eq!((legs(&trips), trips.is_waiting()), (0, false));
}

#[test]
fn their_number_is_bounded() {
    let mut trips = RoundTrips::default();
    for number in 0..10_000 {
        trips.asked(number, bytes(number * 10), Nanos(0));
    }
    assert_eq!((trips.open.len(), trips.leaving.len()), (OPEN, OPEN));
}
