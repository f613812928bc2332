//! One publisher to many, many to one, and what comes twice or was stored.

use crate::brokered::{BROKER, house};
use crate::played::Played;
use wirelap_correlate::Config;
use wirelap_events::{Delivery, Nanos, Stage};
use wirelap_test_support::compose::mqtt::{
    CONNECT, CONNECT_V5, publish, publish_v5_with, publish_with,
};
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{Connection, Process, World, process};

const SECOND: u64 = 1_000_000_000;

/// `QoS` 1, and the same sent again.
const AT_LEAST_ONCE: u8 = 0x32;
const AGAIN: u8 = 0x3a;
const RETAIN: u8 = 0x31;

fn broker() -> Process {
    process(10, "mosquitto")
}

/// One more client of the house's broker.
fn join(world: &mut World, client: Process, port: u32) -> Connection {
    join_at(world, client, port, broker(), BROKER)
}

fn join_at(world: &mut World, client: Process, port: u32, broker: Process, at: &str) -> Connection {
    world.connect_mqtt(client, &format!("127.0.0.1:{port}"), broker, at)
}

/// Published, then delivered to each of `to`. Returns each delivery's latency.
fn pass(
    world: &mut World,
    from: &mut Connection,
    to: &mut [Connection],
    bytes: &[u8],
) -> Vec<Option<Nanos>> {
    let (sent, _) = world.message(&mut from.up, bytes);
    to.iter_mut().map(|to| world.message(&mut to.down, bytes).1.since(sent)).collect()
}

/// In the order in which they were read.
fn latencies(played: &Played) -> Vec<Option<Nanos>> {
    let mut all: Vec<&Delivery> = played.deliveries.iter().collect();
    all.sort_by_key(|delivery| delivery.legs.last().unwrap().times.get(Stage::Read));
    all.into_iter().map(Delivery::one_way).collect()
}

fn ids(played: &Played) -> usize {
    let ids: std::collections::HashSet<_> = played.deliveries.iter().map(|d| d.message).collect();
    ids.len()
}

#[test]
fn a_shared_subscription_delivers_each_message_once() {
    let mut world = World::new();
    let (mut publisher, mut workers) = house(&mut world, 4);
    let mut expected = Vec::new();
    for n in 0..100 {
        let bytes = publish("jobs", format!("job {n}").as_bytes());
        let worker = n % workers.len();
        expected.extend(pass(&mut world, &mut publisher, &mut workers[worker..=worker], &bytes));
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [100, 100, 100, 0]);
    assert_eq!((ids(&played), latencies(&played)), (100, expected));
}

#[test]
fn several_groups_get_each_message_once_a_group() {
    let mut world = World::new();
    let (mut publisher, members) = house(&mut world, 6);
    let mut groups: Vec<Vec<Connection>> = members.chunks(2).map(<[_]>::to_vec).collect();
    for n in 0..60 {
        let bytes = publish("jobs", format!("job {n}").as_bytes());
        world.message(&mut publisher.up, &bytes);
        for group in &mut groups {
            world.message(&mut group[n % 2].down, &bytes);
        }
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [60, 180, 180, 0]);
    assert_eq!(ids(&played), 60);
}

#[test]
fn a_thousand_publishers_at_once_with_the_same_content() {
    let mut world = World::new();
    let (_, mut subscribers) = house(&mut world, 1);
    let mut publishers: Vec<_> =
        (0..1000).map(|n| join(&mut world, process(1000 + n, "pub"), 20_000 + n)).collect();
    let bytes = publish("status", b"online");
    let sent: Vec<_> =
        publishers.iter_mut().map(|from| world.message(&mut from.up, &bytes).0).collect();
    let reads = sent.iter().map(|_| world.message(&mut subscribers[0].down, &bytes).1);
    let reads: Vec<_> = reads.collect();
    let played = Played::of(&world);
    assert_eq!(played.counts(), [1000, 1000, 1000, 0]);
    assert_eq!(ids(&played), 1000);
    assert!(reads.iter().zip(&sent).map(|(read, &sent)| read.since(sent)).eq(latencies(&played)));
}

#[test]
fn wildcards_deliver_what_they_match() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 3);
    let mut expected = Vec::new();
    // The first subscribes to a/1, the second to a/+, the third to #.
    for _ in 0..20 {
        for (topic, first) in [("a/1", 0), ("a/2", 1), ("b", 2)] {
            let bytes = publish(topic, b"same");
            expected.extend(pass(&mut world, &mut publisher, &mut subscribers[first..], &bytes));
        }
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [60, 120, 120, 0]);
    assert_eq!((ids(&played), latencies(&played)), (60, expected));
}

#[test]
fn the_same_content_on_two_topics_is_two_messages() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let mut expected = Vec::new();
    for _ in 0..20 {
        let [first, second] = ["a", "b"].map(|topic| publish(topic, b"same"));
        let sent = [&first, &second].map(|bytes| world.message(&mut publisher.up, bytes).0);
        // The broker passes the later one on first.
        for (bytes, sent) in [(&second, sent[1]), (&first, sent[0])] {
            expected.push(world.message(&mut subscribers[0].down, bytes).1.since(sent));
        }
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [40, 40, 40, 0]);
    assert_eq!(latencies(&played), expected);
}

#[test]
fn what_was_stored_is_told_as_retained() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let (sent, _) = world.message(&mut publisher.up, &publish_with(RETAIN, "t", b"on"));
    let (_, read) = world.message(&mut subscribers[0].down, &publish("t", b"on"));
    let mut late = join(&mut world, process(40, "sub"), 41_000);
    world.message(&mut late.down, &publish_with(RETAIN, "t", b"on"));
    // Stored before anyone looked.
    world.message(&mut late.down, &publish_with(RETAIN, "old", b"on"));
    let played = Played::of(&world);
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    assert_eq!(latencies(&played), [read.since(sent)]);
    let counts = played.group().messages;
    assert_eq!((counts.retained, counts.duplicates), (2, 0));
}

/// A bridge's broker hands the publisher's mark on. Whether it is a bridge may not have been seen.
#[test]
fn what_is_published_to_be_stored_comes_to_a_bridge_for_the_first_time() {
    for (connect, missed) in
        [(&b"\x10\x0d\x00\x04MQTT\x84\x02\x00\x3c\x00\x01b"[..], 0), (CONNECT, 1)]
    {
        let mut world = World::new();
        let (mut publisher, _) = house(&mut world, 0);
        let mut bridge = world.connect(process(40, "edge"), "127.0.0.1:41000", broker(), BROKER);
        world.message(&mut bridge.up, connect);
        world.message(&mut bridge.down, &publish_with(RETAIN, "old", b"stored before"));
        let mut expected = Vec::new();
        for n in b'1'..=b'9' {
            let bytes = publish_with(RETAIN, "t", &[b'v', n]);
            let (sent, _) = world.message(&mut publisher.up, &bytes);
            let (_, read) = world.message(&mut bridge.down, &bytes);
            expected.push(read.since(sent));
        }
        let played = Played::of(&world);
        let delivered = 9 - missed;
        assert_eq!(played.counts(), [9, delivered, delivered, 0]);
        assert_eq!(latencies(&played), expected.split_off(usize::from(missed > 0)));
        assert_eq!(played.group().messages.retained, 1 + missed);
    }
}

/// The broker leaves the publisher's mark in what it sends, because the client wants so. The client's session may be older than its connection.
#[test]
fn what_was_stored_before_a_client_subscribed_is_retained_though_it_has_the_publishers_mark() {
    const AS_PUBLISHED: &[u8] = b"\x82\x07\0\x01\0\0\x01#\x08";
    const RETAIN_AND_KEEP: u8 = RETAIN | AT_LEAST_ONCE;
    for (resumes, first, stored) in
        [(0, RETAIN, 1), (0, RETAIN_AND_KEEP, 1), (1, RETAIN, 1), (1, RETAIN_AND_KEEP, 0)]
    {
        let mut world = World::new();
        let (mut publisher, _) = house(&mut world, 0);
        let early = publish_v5_with(first, "t", b"before");
        world.message(&mut publisher.up, &publish_with(first, "t", b"before"));
        let client = process(40, "client");
        let mut client = world.connect(client, "127.0.0.1:41000", broker(), BROKER);
        world.message(&mut client.up, CONNECT_V5);
        world.message(&mut client.down, &[0x20, 3, resumes, 0, 0]);
        world.message(&mut client.up, AS_PUBLISHED);
        world.message(&mut client.down, b"\x90\x04\0\x01\0\0");
        world.message(&mut client.down, &early);
        for n in b'1'..=b'9' {
            // Another subscription of the client changes nothing.
            if n == b'5' {
                world.message(&mut client.up, b"\x82\x07\0\x02\0\0\x01u\x08");
            }
            world.message(&mut publisher.up, &publish_with(first, "t", &[b'v', n]));
            world.message(&mut client.down, &publish_v5_with(first, "t", &[b'v', n]));
        }
        let played = Played::of(&world);
        let delivered = 10 - stored;
        let case = format!("{resumes} {first:x}");
        assert_eq!(played.counts(), [10, delivered, delivered, 0], "{case}");
        assert_eq!(played.group().messages.retained, stored, "{case}");
    }
}

#[test]
fn a_subscriber_that_comes_back_gets_duplicates() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let once = |n: u32| publish_with(AT_LEAST_ONCE, "t", format!("{}", n / 3).as_bytes());
    let mut expected = Vec::new();
    for n in 0..6 {
        expected.extend(pass(&mut world, &mut publisher, &mut subscribers, &once(n)));
    }
    world.now += SECOND;
    let mut back = [join(&mut world, process(30, "sub"), 45_000)];
    // It had not acknowledged the last two.
    for _ in 0..2 {
        world.message(&mut back[0].down, &publish_with(AGAIN, "t", b"1"));
    }
    for n in 3..9 {
        expected.extend(pass(&mut world, &mut publisher, &mut back, &once(n)));
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [12, 12, 12, 0]);
    assert_eq!(latencies(&played), expected);
    assert_eq!(played.group().messages.duplicates, 2);
}

#[test]
fn a_publisher_that_comes_back_repeats_itself() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let once = publish_with(AT_LEAST_ONCE, "t", b"x");
    let mut expected = pass(&mut world, &mut publisher, &mut subscribers, &once);
    world.now += SECOND;
    let mut back = join(&mut world, process(20, "pub"), 45_000);
    // At least once: the broker passes it on again.
    let (sent, _) = world.message(&mut back.up, &publish_with(AGAIN, "t", b"x"));
    let (_, read) = world.message(&mut subscribers[0].down, &once);
    expected.push(read.since(sent));
    expected.extend(pass(&mut world, &mut back, &mut subscribers, &once));
    let played = Played::of(&world);
    assert_eq!(played.counts(), [2, 3, 3, 0]);
    assert_eq!(latencies(&played), expected);
    assert_eq!(played.group().messages.duplicates, 1);
}

#[test]
fn a_delivery_without_its_publish_does_not_shift_the_next_ones() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let bytes = publish("t", b"same");
    world.message(&mut subscribers[0].down, &bytes);
    let mut expected = Vec::new();
    for _ in 0..20 {
        expected.extend(pass(&mut world, &mut publisher, &mut subscribers, &bytes));
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [20, 21, 20, 1]);
    assert_eq!(latencies(&played), expected);
}

#[test]
fn one_process_with_all_publishers_and_subscribers() {
    let mut world = World::new();
    let all = process(50, "python3");
    let mut publishers: Vec<_> = (0..5).map(|n| join(&mut world, all, 46_000 + n)).collect();
    let mut subscribers: Vec<_> = (0..3).map(|n| join(&mut world, all, 47_000 + n)).collect();
    let bytes = publish("t", b"same");
    let mut expected = Vec::new();
    for _ in 0..10 {
        for publisher in &mut publishers {
            expected.extend(pass(&mut world, publisher, &mut subscribers, &bytes));
        }
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [50, 150, 150, 0]);
    assert!(played.deliveries.iter().all(|delivery| delivery.legs.len() == 2));
    assert_eq!(latencies(&played), expected);
}

#[test]
fn a_bridge_between_brokers_is_a_leg() {
    let mut world = World::new();
    let (mut publisher, _) = house(&mut world, 0);
    let (other, at) = (process(11, "mosquitto"), "127.0.0.1:1884");
    let mut bridge = join_at(&mut world, broker(), 48_000, other, at);
    let mut subscriber = join_at(&mut world, process(60, "sub"), 48_001, other, at);
    let bytes = publish("t", b"same");
    let mut expected = Vec::new();
    for _ in 0..10 {
        let (sent, _) = world.message(&mut publisher.up, &bytes);
        world.message(&mut bridge.up, &bytes);
        expected.push(world.message(&mut subscriber.down, &bytes).1.since(sent));
    }
    let played = Played::of(&world);
    assert!(played.deliveries.iter().all(|delivery| delivery.legs.len() == 3));
    assert_eq!(latencies(&played), expected);
    let sent: u64 = played.snapshot.groups.iter().map(|group| group.messages.sent).sum();
    assert_eq!(sent, 10);
}

#[test]
fn more_deliveries_than_there_is_room_for_are_counted() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 300);
    for n in 0..5 {
        let bytes = publish("t", &payload(stamp(n), 8));
        pass(&mut world, &mut publisher, &mut subscribers, &bytes);
    }
    let played = Played::new(Config { max_messages: 50, ..Config::default() }, &world.events);
    let [sent, delivered, matched, uncovered] = played.counts();
    assert_eq!(sent, 5);
    assert_eq!(matched + uncovered + played.group().messages.never_read, 1500);
    assert!(matched < 1500 && delivered >= matched);
    assert!(played.snapshot.trust.evicted > 0);
}
