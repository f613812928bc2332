//! Messages that reach who passes them on unseen: where they come out, they do not begin.

use crate::played::Played;
use wirelap_correlate::GroupNote;
use wirelap_events::{Body, Stamp};
use wirelap_test_support::compose::{payload, stamp, zenoh, zmtp};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::{Connection, Process, Way, World, process};

const MESSAGES: u32 = 30;

/// A publisher and a subscriber that are connected to a router.
struct Routed {
    world: World,
    publisher: Connection,
    subscriber: Connection,
}

/// A connection with the handshake of a Zenoh session.
fn session(world: &mut World, client: Process, from: &str, server: Process) -> Connection {
    let mut connection = world.connect(client, from, server, "127.0.0.1:7447");
    let Connection { up, down } = &mut connection;
    world.message(up, b"\x07\x00\x41\x09\x01\xaa\x0a\xff\xff");
    world.message(down, b"\x0a\x00\x61\x09\x00\xbb\x0a\xff\xff\x02\xc0\xc1");
    world.message(up, b"\x06\x00\x42\x0a\x05\x02\xc0\xc1");
    world.message(down, b"\x03\x00\x62\x0a\x07");
    connection
}

/// A message with this stamp, number `n` of its connection.
fn put(n: u32, stamp: Stamp) -> Vec<u8> {
    zenoh::put(n, &payload(stamp, 100))
}

impl Routed {
    fn new() -> Routed {
        let mut world = World::new();
        let router = process(10, "router");
        let publisher = session(&mut world, process(20, "pub"), "127.0.0.1:40020", router);
        let subscriber = session(&mut world, process(30, "sub"), "127.0.0.1:40030", router);
        Routed { world, publisher, subscriber }
    }

    /// The router has passed on all messages.
    fn played() -> Routed {
        let mut routed = Routed::new();
        for n in 0..MESSAGES {
            let bytes = put(n, stamp(n));
            routed.world.message(&mut routed.publisher.up, &bytes);
            routed.world.message(&mut routed.subscriber.down, &bytes);
        }
        routed
    }
}

/// Number of packets that the client of a session sends before its first message.
const HANDSHAKE: u32 = 2;

/// Leaves out those of a kind of events that are of what was sent with these numbers, from 0. There are two such events of each.
fn leave_out(world: &mut World, is_one: impl Fn(&OwnedEvent) -> bool, numbers: &[u32]) {
    let mut seen = 0;
    world.events.retain(|told| {
        let number = seen / 2;
        seen += u32::from(is_one(told));
        !(is_one(told) && numbers.contains(&number))
    });
}

/// A packet with bytes leaves, or comes in.
fn is_packet(way: &Way) -> impl Fn(&OwnedEvent) -> bool {
    let key = way.key;
    move |told| matches!(told.event.body, Body::Packet(packet) if packet.flow == key && packet.payload_len > 0)
}

/// Bytes are ready, or read.
fn is_taken(way: &Way) -> impl Fn(&OwnedEvent) -> bool {
    let socket = way.to.0;
    move |told| match &told.event.body {
        Body::Read(read) => read.socket == socket,
        Body::Ready(ready) => ready.socket == socket,
        _ => false,
    }
}

/// Leaves out the packets of the messages with these numbers.
fn hide(world: &mut World, way: &Way, numbers: &[u32]) {
    let numbers: Vec<u32> = numbers.iter().map(|number| HANDSHAKE + number).collect();
    leave_out(world, is_packet(way), &numbers);
}

/// Leaves out that the messages with these numbers are ready, and read.
fn hide_reads(world: &mut World, way: &Way, numbers: &[u32]) {
    let numbers: Vec<u32> = numbers.iter().map(|number| HANDSHAKE + number).collect();
    leave_out(world, is_taken(way), &numbers);
}

/// Every delivery that was handed out has both legs.
fn assert_whole(played: &Played) {
    let short = played.deliveries.iter().find(|delivery| delivery.legs.len() != 2);
    assert!(short.is_none(), "{short:#?}");
}

#[test]
fn what_was_passed_on_after_unseen_bytes_does_not_begin_there() {
    let mut routed = Routed::played();
    hide(&mut routed.world, &routed.publisher.up, &[10, 11]);
    let played = Played::of(&routed.world);
    assert_whole(&played);
    assert_eq!(played.counts(), [28, 30, 28, 2]);
}

/// ZMTP is used because its messages lie against each other.
#[test]
fn a_first_leg_that_is_found_after_the_second_comes_before_it() {
    let mut world = World::new();
    let mut end = |pid, name, from, types: [&str; 2]| {
        let proxy = process(10, "proxy");
        let mut connection = world.connect(process(pid, name), from, proxy, "127.0.0.1:5555");
        world.message(&mut connection.up, &zmtp::introduction(types[0]));
        world.message(&mut connection.down, &zmtp::introduction(types[1]));
        connection
    };
    let mut publisher = end(20, "pub", "127.0.0.1:40020", ["PUB", "XSUB"]);
    let mut subscriber = end(30, "sub", "127.0.0.1:40030", ["SUB", "XPUB"]);
    for n in 0..MESSAGES {
        let bytes = zmtp::part(false, &payload(stamp(n), 100));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscriber.down, &bytes);
    }
    // Before the first message, the socket's type was sent.
    leave_out(&mut world, is_packet(&publisher.up), &[1 + 10]);
    let played = Played::of(&world);
    assert_whole(&played);
    assert_eq!(played.counts(), [30, 30, 30, 0]);
    assert_eq!(played.group().notes[0], GroupNote::PacketNotSeen { legs: 1 });
}

/// That bytes are missing shows with the packet after them, when the message has been passed on.
#[test]
fn what_turns_out_later_to_have_come_unseen_does_not_begin_there() {
    let mut routed = Routed::played();
    hide(&mut routed.world, &routed.publisher.up, &[10, 11]);
    hide_reads(&mut routed.world, &routed.publisher.up, &[10, 11]);
    let played = Played::of(&routed.world);
    assert_whole(&played);
    assert_eq!(played.counts(), [28, 30, 28, 2]);
}

#[test]
fn what_came_during_a_pause_does_not_begin_where_it_goes_on() {
    let mut routed = Routed::new();
    for n in 0..MESSAGES {
        let bytes = put(n, stamp(n));
        let pauses = n == 10;
        if pauses {
            routed.world.tell(Body::Window(false), &[]);
            let (_, len) = routed.publisher.up.advance(bytes.len());
            routed.world.now += u64::from(len);
            routed.world.tell(Body::Window(true), &[]);
        } else {
            routed.world.message(&mut routed.publisher.up, &bytes);
        }
        routed.world.message(&mut routed.subscriber.down, &bytes);
    }
    let played = Played::of(&routed.world);
    assert_whole(&played);
    assert_eq!(played.counts(), [29, 30, 29, 0]);
    assert_eq!(played.group().messages.cut, 1, "the pause has cut it");
}

#[test]
fn bytes_that_are_passed_on_are_those_of_the_second_leg() {
    let mut routed = Routed::played();
    let second = |played: &Played| played.group().overhead.detail.legs[2].total();
    let whole = second(&Played::of(&routed.world));
    hide(&mut routed.world, &routed.publisher.up, &[28, 29]);
    assert_eq!(second(&Played::of(&routed.world)), whole);
}

/// Nothing is missing: the router says something itself.
#[test]
fn who_passes_messages_on_may_publish() {
    let mut routed = Routed::played();
    for n in 0..5 {
        let own = Stamp { stream: 1, ..stamp(n) };
        routed.world.message(&mut routed.subscriber.down, &put(MESSAGES + n, own));
    }
    let played = Played::of(&routed.world);
    assert_eq!(played.counts(), [35, 35, 35, 0]);
    let own = played.deliveries.iter().filter(|delivery| delivery.legs.len() == 1);
    assert_eq!(own.count(), 5);
}

/// A process of which nothing is known to be passed on: what it says is its own, whatever it got unseen.
#[test]
fn who_passes_nothing_on_publishes() {
    let mut world = World::new();
    let mut pair = session(&mut world, process(1, "ping"), "127.0.0.1:40000", process(2, "pong"));
    for n in 0..MESSAGES {
        world.message(&mut pair.up, &put(n, stamp(n)));
        world.message(&mut pair.down, &put(n, Stamp { reply: true, ..stamp(n) }));
    }
    hide(&mut world, &pair.up, &[10, 11]);
    let played = Played::of(&world);
    assert_eq!(played.counts(), [58, 58, 58, 0]);
}
