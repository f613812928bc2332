//! Zenoh's routers: what they pass on began elsewhere, whether that was seen or not.

use crate::played::Played;
use wirelap_correlate::{Config, VerdictKind};
use wirelap_events::Body;
use wirelap_test_support::compose::{payload, stamp, varint, zenoh};
use wirelap_test_support::world::{Connection, Process, Way, World, process};

const MESSAGES: u32 = 20;

/// The role and the ID that an end of a session gives itself.
type Who = (u8, u8);

const ROUTER: u8 = 0;
const PEER: u8 = 1;
const CLIENT: u8 = 2;

/// The handshake of a session.
fn greet(world: &mut World, connection: &mut Connection, client: Who, server: Who) {
    let Connection { up, down } = connection;
    let init = |header: u8, (role, id): Who| vec![header, 9, role, id, 0x0a, 0xff, 0xff];
    world.message(up, &zenoh::batch(&init(0x41, client)));
    world.message(down, &zenoh::batch(&[init(0x61, server), vec![2, 0xc0, 0xc1]].concat()));
    world.message(up, &zenoh::batch(b"\x42\x0a\x05\x02\xc0\xc1"));
    world.message(down, &zenoh::batch(b"\x62\x0a\x07"));
}

/// A session of these processes, whose client has this port.
fn session(
    world: &mut World,
    (client, port, who): (Process, u16, Who),
    (server, to, as_server): (Process, &str, Who),
) -> Connection {
    let mut connection = world.connect(client, &format!("127.0.0.1:{port}"), server, to);
    greet(world, &mut connection, who, as_server);
    connection
}

/// Message `n`, with a timestamp by the clock of who has this ID.
fn stamped(n: u32, by: u8) -> Vec<u8> {
    let payload = payload(stamp(n), 64);
    let put = [&[0x5d, 1, 0x21, 7, 1, by][..], &varint(payload.len()), &payload].concat();
    zenoh::batch(&[vec![0x25], varint(n as usize), put].concat())
}

/// The packets of a world, of which nothing else is known.
fn packets(mut world: World) -> Played {
    world.events.retain(|told| matches!(told.event.body, Body::Packet(_)));
    for told in &mut world.events {
        if let Body::Packet(packet) = &mut told.event.body {
            packet.socket = None;
        }
    }
    Played::new(Config { packets_only: true, ..Config::default() }, &world.events)
}

/// sent, delivered, matched, uncovered of all rows.
fn all_counts(played: &Played) -> [u64; 4] {
    let mut all = [0; 4];
    for group in &played.snapshot.groups {
        let one = group.messages;
        let counts = [one.sent, one.delivered, one.matched, one.uncovered];
        all.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    all
}

/// A publisher, two routers or peers of which the first has connected to the second, and a subscriber. Nobody's process is known, and
/// the first of the two has another address on each side.
#[test]
fn what_goes_through_two_routers_is_sent_once() {
    for role in [ROUTER, PEER] {
        let mut world = World::new();
        let [publisher, first, second, subscriber] =
            [(20, "pub"), (10, "first"), (11, "second"), (30, "sub")].map(|(p, n)| process(p, n));
        let one = (first, "127.0.0.1:7447", (role, 0xa1));
        let two = (second, "127.0.0.1:7448", (role, 0xa2));
        let from = session(&mut world, (publisher, 40_020, (CLIENT, 0xb1)), one);
        let between = session(&mut world, (first, 40_010, (role, 0xa1)), two);
        let to = session(&mut world, (subscriber, 40_030, (CLIENT, 0xb2)), two);
        let mut ways = [from.up, between.up, to.down];
        for n in 0..MESSAGES {
            for way in &mut ways {
                world.message(way, &stamped(n, 0xa1));
            }
        }
        let played = packets(world);
        let all = u64::from(MESSAGES);
        assert_eq!(all_counts(&played), [all, all, all, 0], "role {role}");
        assert!(played.deliveries.iter().all(|delivery| delivery.legs.len() == 3), "role {role}");
    }
}

/// A sender and a receiver, of which the sender says that it has this role. Its messages have a timestamp by this clock.
fn from(role: u8, clock: u8) -> Played {
    let mut world = World::new();
    let server = (process(10, "sender"), "127.0.0.1:7447", (role, 0xa1));
    let client = (process(30, "sub"), 40_030, (CLIENT, 0xb2));
    let mut to = session(&mut world, client, server);
    (0..MESSAGES).for_each(|n| _ = world.message(&mut to.down, &stamped(n, clock)));
    Played::of(&world)
}

#[test]
fn what_a_router_has_from_elsewhere_is_not_sent_by_it() {
    let all = u64::from(MESSAGES);
    for (role, clock, is_its_own) in [
        (ROUTER, 0xa1, true),
        (ROUTER, 0xa2, false),
        // An application may publish what has any time.
        (PEER, 0xa2, true),
        (CLIENT, 0xa2, true),
    ] {
        let expected = if is_its_own { [all, all, all, 0] } else { [0, all, 0, all] };
        assert_eq!(from(role, clock).counts(), expected, "role {role}, clock {clock:x}");
    }
}

/// A router that hands on between two clients of its own, and gets messages of the same key from another router that it has no use for.
/// Their first leg is not seen: their publisher is elsewhere.
#[test]
fn what_one_router_has_no_use_for_was_not_lost() {
    for (clock, is_lost) in [(0xa1, true), (0xa9, false)] {
        let mut world = World::new();
        let router = (process(10, "router"), "127.0.0.1:7447", (ROUTER, 0xa2));
        let mut connect =
            |pid, port, who| session(&mut world, (process(pid, "client"), port, who), router);
        let from = connect(20, 40_020, (CLIENT, 0xb1));
        let to = connect(30, 40_030, (CLIENT, 0xb2));
        let mut other = connect(40, 40_040, (ROUTER, 0xa1));
        let mut ways: [Way; 2] = [from.up, to.down];
        for n in 0..MESSAGES {
            for way in &mut ways {
                world.message(way, &stamped(n, 0xa2));
            }
            world.message(&mut other.up, &stamped(1_000 + n, clock));
        }
        for way in &mut ways {
            world.message(way, &stamped(MESSAGES, 0xa2));
        }
        let played = Played::of(&world);
        let mut verdicts = played.group().why.verdicts.iter();
        let never = verdicts.any(|verdict| verdict.kind == VerdictKind::NeverDelivered);
        // One that the other router says it has published itself reached nobody.
        assert_eq!(never, is_lost, "{:?}", played.group().why.verdicts);
        let sent = u64::from(MESSAGES) * (1 + u64::from(is_lost)) + 1;
        assert_eq!(played.group().messages.sent, sent);
    }
}

/// A router with a client whose connection was open before, and in what it sends nothing is recognised: what the router says may be of that.
#[test]
fn what_may_have_come_in_unknown_bytes_does_not_begin_at_the_router() {
    for is_there in [false, true] {
        let mut world = World::new();
        let router = (process(10, "router"), "127.0.0.1:7447", (ROUTER, 0xa2));
        let mut unknown = world.existing(process(40, "pub"), "127.0.0.1:40040", router.0, router.1);
        let client = (process(30, "sub"), 40_030, (CLIENT, 0xb2));
        let mut to = session(&mut world, client, router);
        for n in 0..MESSAGES {
            if is_there {
                let number = u8::try_from(n).unwrap();
                let bytes = (0..90_u8).map(|at| at.wrapping_mul(37).wrapping_add(number * 11));
                let unknown_bytes: Vec<u8> = bytes.collect();
                world.message(&mut unknown.up, &unknown_bytes);
            }
            world.message(&mut to.down, &stamped(n, 0xa2));
        }
        let all = u64::from(MESSAGES);
        let expected = if is_there { [0, all, 0, all] } else { [all, all, all, 0] };
        assert_eq!(Played::of(&world).counts(), expected);
    }
}

/// Declarations of subscribers and of liveliness tokens, and interests in them, on both sides of a router.
#[test]
fn what_is_declared_is_no_message() {
    let mut world = World::new();
    let router = (process(10, "router"), "127.0.0.1:7447", (ROUTER, 0xa2));
    let mut from = session(&mut world, (process(20, "node"), 40_020, (CLIENT, 0xb1)), router);
    let mut to = session(&mut world, (process(30, "watcher"), 40_030, (CLIENT, 0xb2)), router);
    let token = b"\x1e\x26\x01\x00\x05a/b/c";
    let subscriber = b"\x1e\x22\x02\x00\x05a/b/c";
    let interest = b"\x79\x03\x38\x00\x05a/b/c";
    for n in 0..MESSAGES {
        let frame =
            |message: &[u8]| zenoh::batch(&[&[0x25][..], &varint(n as usize), message].concat());
        world.message(&mut to.up, &frame(interest));
        for message in [&token[..], subscriber] {
            world.message(&mut from.up, &frame(message));
            world.message(&mut to.down, &frame(message));
        }
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [0; 4]);
    assert_eq!(played.group().why.verdicts, []);
    assert_eq!(played.group().holes.undecoded_bytes, 0);
}
