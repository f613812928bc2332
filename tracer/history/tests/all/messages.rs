//! Single messages.

use crate::live::Live;
use wirelap_correlate::{DelayCause, DeliverySink, Nondelivery, VerdictKind};
use wirelap_events::{GroupId, MessageId, Nanos, Segment, Stamp};
use wirelap_history::{KeptMessage, MessageFate};
use wirelap_test_support::compose::stamp;

const ROW: GroupId = GroupId(0);

fn ids<'a>(messages: impl Iterator<Item = &'a KeptMessage>) -> Vec<u64> {
    messages.map(|message| message.delivery.message.0).collect()
}

#[test]
fn a_burst_keeps_the_slowest_and_some_that_follow_each_other() {
    let mut live = Live::new(1, 48 << 20, 4);
    for index in 0..5_000u64 {
        // Some of them are in no order, and slower than all others.
        let one_way =
            if index % 250 == 200 { 9_000_000 + index * 7_919 % 1_000 } else { 1_000 + index };
        live.deliver(0, one_way, 0);
        live.now += Nanos(1_000);
    }
    live.tick(Nanos::from_millis(250));
    let slow = live
        .history
        .messages()
        .slowest(ROW)
        .filter(|message| message.one_way >= Some(Nanos(9_000_000)));
    assert_eq!(slow.count(), 16, "as many as a slice keeps");
    let latest = ids(live.history.messages().latest(ROW));
    assert!(latest.len() <= 48, "{}", latest.len());
    assert!((1..=32).all(|id| latest.contains(&id)), "the first follow each other");
}

#[test]
fn while_latency_grows_not_each_message_is_copied_and_the_slowest_is_nearly_there() {
    let mut live = Live::new(1, 48 << 20, 4);
    (1..=100_000u64).for_each(|index| drop(live.deliver(0, 100_000 + index * 100, 0)));
    live.tick(Nanos::from_millis(250));
    let slowest = live.history.messages().slowest(ROW).next().unwrap().one_way.unwrap();
    assert!(slowest.0 * 32 >= 10_100_000 * 31, "{slowest}");
}

#[test]
fn neighbours_are_those_of_the_same_flow() {
    let mut live = Live::new(2, 48 << 20, 4);
    for _ in 0..3 {
        live.deliver(0, 1_000, 0);
        live.deliver(1, 1_000, 0);
        live.tick(Nanos::from_millis(250));
    }
    // Two of one send call.
    live.deliver(0, 1_000, 0);
    live.deliver(0, 9_000, 0);
    live.tick(Nanos::from_millis(250));
    let messages = live.history.messages();
    let by_id = |id| messages.latest(ROW).find(|message| message.delivery.message == MessageId(id));
    let id = |message: Option<&KeptMessage>| message.map(|message| message.delivery.message.0);
    let around = |of| {
        let message = by_id(of).unwrap();
        (id(messages.before(message)), id(messages.after(message)))
    };
    assert_eq!(around(1), (None, Some(3)));
    assert_eq!(around(5), (Some(3), Some(7)));
    assert_eq!(around(7), (Some(5), Some(8)));
    assert_eq!(around(8), (Some(7), None));
}

#[test]
fn what_became_of_a_message_is_known() {
    let mut live = Live::new(1, 48 << 20, 4);
    let held_up = live.message(0, 80_000_000, 0);
    let cause = DelayCause {
        kind: VerdictKind::NagleDelayedAck,
        leg: 0,
        segment: Segment::SocketTx,
        time: Nanos(40_000_000),
    };
    live.judged(&held_up, Some(cause));
    let mut warmup = live.message(0, 1_000, 0);
    warmup.stamp = Some(Stamp { warmup: true, ..stamp(1) });
    live.collector.aside(&warmup);
    let partial = live.message(0, 2_000, 0);
    live.aside(&partial);
    let mut lost = live.message(0, 3_000, 0);
    lost.legs.pop();
    live.collector.undelivered(&lost, Nondelivery::Lost);
    live.collector.undelivered(&lost, Nondelivery::UnderWay);
    live.tick(Nanos::from_millis(250));
    let messages = live.history.messages();
    let slowest = messages.slowest(ROW).next().unwrap();
    assert_eq!((slowest.cause, slowest.one_way), (Some(cause), Some(Nanos(80_000_000))));
    assert_eq!(messages.latest(ROW).count(), 1);
    let aside: Vec<_> = messages.aside(ROW).map(|message| message.fate).collect();
    assert_eq!(aside, [MessageFate::Aside; 2]);
    let undelivered = messages.undelivered(ROW).map(|message| message.fate);
    let at_end: Vec<_> =
        undelivered.map(|fate| fate == MessageFate::Undelivered { at_end: true }).collect();
    assert_eq!(at_end, [true, false], "the newest first");
}

/// To put a message together that nobody keeps takes time on the tracing thread.
#[test]
fn messages_that_are_given_up_are_asked_for_while_there_is_a_place_for_them() {
    let mut live = Live::new(2, 48 << 20, 4);
    let given_up = |live: &mut Live| {
        let mut told = 0;
        while live.collector.takes_given_up(ROW, None) && told < 1_000 {
            let lost = live.message(0, 1_000, 0);
            live.collector.aside(&lost);
            live.collector.undelivered(&lost, Nondelivery::Lost);
            told += 1;
        }
        told
    };
    for _ in 0..3 {
        assert!((1..=16).contains(&given_up(&mut live)));
        assert!(live.collector.takes_given_up(GroupId(1), None), "another row has its own places");
        live.tick(Nanos::from_millis(250));
    }
    live.hang_up();
    live.publish(Nanos::from_millis(250));
    assert_eq!(given_up(&mut live), 0, "nobody takes updates");
}

#[test]
fn many_rows_share_the_messages_of_a_slice() {
    let mut live = Live::new(100, 48 << 20, 4);
    for _ in 0..3 {
        for row in 0..100 {
            (0..50).for_each(|index| drop(live.deliver(row, 1_000 + index, 0)));
        }
        live.tick(Nanos::from_millis(250));
    }
    let kept = |row| live.history.messages().latest(GroupId(row)).count();
    // Of the first slice, before it was known how many rows there are, some rows have none.
    assert!(
        (0..100).all(|row| (4..=96).contains(&kept(row))),
        "{:?}",
        (0..100).map(kept).collect::<Vec<_>>()
    );
}
