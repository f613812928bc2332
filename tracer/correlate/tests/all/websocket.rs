//! `WebSockets`: of a protocol that the user has named, and with compressed messages.

use crate::played::Played;
use wirelap_correlate::{Config, SnapshotNote};
use wirelap_test_support::compose::websocket::{Deflater, REQUEST, frame, masked, response};
use wirelap_test_support::compose::{mqtt, nats, varint};
use wirelap_test_support::world::{Connection, World, process};

const CONNECT: &[u8] = b"\x10\x0c\0\x04MQTT\x04\x02\0\x3c\0\0";
const PORT: u16 = 7_831;

/// A connection to a server, seen from its first byte or found open.
fn connection(world: &mut World, is_late: bool) -> Connection {
    let (client, server) = (process(10, "client"), process(20, "server"));
    let to = format!("127.0.0.1:{PORT}");
    if is_late {
        world.existing(client, "127.0.0.1:40000", server, &to)
    } else {
        world.connect(client, "127.0.0.1:40000", server, &to)
    }
}

fn named(protocol: &str) -> Config {
    Config { decode: vec![(PORT, protocol.to_owned())], ..Config::default() }
}

/// Messages that were found to be sent, by protocol.
fn sent(played: &Played) -> Vec<(&str, u64)> {
    let groups = played.snapshot.groups.iter();
    groups.map(|group| (group.middleware.as_str(), group.messages.sent)).collect()
}

fn publish(n: u32) -> Vec<u8> {
    mqtt::publish("a/b", format!("number {n}").as_bytes())
}

#[test]
fn a_named_protocol_is_read_with_and_without_a_websocket() {
    for is_late in [false, true] {
        for is_websocket in [false, true] {
            let mut world = World::new();
            let mut pair = connection(&mut world, is_late);
            let framed = |bytes: &[u8]| if is_websocket { masked(bytes) } else { bytes.to_vec() };
            if !is_late {
                if is_websocket {
                    world.message(&mut pair.up, REQUEST);
                    world.message(&mut pair.down, &response(""));
                }
                world.message(&mut pair.up, &framed(CONNECT));
            }
            for n in 0..10 {
                world.message(&mut pair.up, &framed(&publish(n)));
            }
            let played = Played::new(named("mqtt"), &world.events);
            let what = format!("late: {is_late}, WebSocket: {is_websocket}");
            assert_eq!(sent(&played), [("mqtt", 10)], "{what}");
            assert!(played.snapshot.notes.is_empty(), "{what}");
        }
    }
}

/// Messages of a client in a WebSocket, compressed, from the first one or a later one on.
fn compressed(forgets: bool, is_late: bool) -> World {
    let mut world = World::new();
    let mut pair = connection(&mut world, is_late);
    if !is_late {
        world.message(&mut pair.up, REQUEST);
        let forgets = if forgets { "; client_no_context_takeover" } else { "" };
        world.message(&mut pair.down, &response(&format!("permessage-deflate{forgets}")));
        world.message(&mut pair.up, &masked(b"CONNECT {\"verbose\":false}\r\n"));
    }
    let mut deflater = Deflater::new(forgets);
    for n in 0..30 {
        let text = nats::message("PUB sensors.room", format!("{n} temperature 21.5").as_bytes());
        let packed = frame(0xC2, Some([1, 2, 3, n]), &deflater.message(&text));
        if n >= 4 || !is_late {
            world.message(&mut pair.up, &packed);
        }
    }
    world
}

#[test]
fn compressed_messages_are_read_if_nothing_they_refer_to_is_missing() {
    for (forgets, is_late, messages) in [(false, false, 30), (true, false, 30), (true, true, 26)] {
        for config in [Config::default(), named("nats")] {
            let played = Played::new(config, &compressed(forgets, is_late).events);
            let what = format!("forgets: {forgets}, late: {is_late}");
            assert_eq!(sent(&played), [("nats", messages)], "{what}");
            assert!(played.snapshot.notes.is_empty(), "{what}");
        }
    }
}

#[test]
fn what_refers_to_messages_before_is_said() {
    let world = compressed(false, true);
    let played = Played::new(named("nats"), &world.events);
    let [SnapshotNote::UnreadWebSockets { connections: 1 }] = played.snapshot.notes[..] else {
        panic!("{:?}", played.snapshot.notes)
    };
    let note = wirelap_report::words::snapshot_notes(&played.snapshot);
    assert!(note[0].starts_with("1 WebSocket: compressed messages refer to"), "{note:?}");
    // Without a name for its port, only its frames show what it is.
    let played = Played::new(Config::default(), &world.events);
    assert_eq!(sent(&played), []);
    let [row] = &played.snapshot.unknown.rows[..] else { panic!("not one row") };
    let name = row.protocol.as_ref().expect("a name");
    assert!(name.is_compressed_websocket(), "{name}");
}

/// The frames of a client that puts each field of a PUBLISH into one of its own, as mqtt.js does.
fn fields(n: u16) -> Vec<Vec<u8>> {
    let payload: Vec<u8> =
        (0..200_u8).map(|byte| byte.wrapping_mul(37) ^ n.to_be_bytes()[1]).collect();
    let length = varint(payload.len() + 9);
    let number = n.to_be_bytes();
    let fields: [&[u8]; 6] = [&[0x32], &length, b"\0\x05", b"a/b/c", &number, &payload];
    fields.iter().map(|field| masked(field)).collect()
}

#[test]
fn a_client_that_is_joined_late_and_frames_each_field_is_read() {
    for config in [Config::default(), named("mqtt")] {
        let mut world = World::new();
        let mut pair = connection(&mut world, true);
        for n in 1..=40 {
            for field in fields(n).into_iter().skip(if n == 1 { 3 } else { 0 }) {
                world.message(&mut pair.up, &field);
            }
            let [high, low] = n.to_be_bytes();
            world.message(&mut pair.down, &frame(0x82, None, &[0x40, 2, high, low]));
        }
        let played = Played::new(config, &world.events);
        assert_eq!(sent(&played), [("mqtt", 39)]);
        assert!(played.snapshot.notes.is_empty(), "{:?}", played.snapshot.notes);
    }
}
