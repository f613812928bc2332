//! Every protocol, seen from its start or joined, in messages of 1 B to 4 MB: what was sent is counted, on any port.

use crate::played::Played;
use wirelap_correlate::Config;
use wirelap_events::{Body, Seq};
use wirelap_test_support::compose::{amqp, kafka, mqtt, nats, opcua, websocket, zenoh, zmtp};
use wirelap_test_support::random::Random;
use wirelap_test_support::world::{Connection, World, process};

/// A message of this number, in its protocol's bytes.
type Numbered<'a> = &'a dyn Fn(u32) -> Vec<u8>;

/// The start at which the tracer comes to see a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// From its first byte.
    First,
    /// The connection was open and idle.
    Idle,
    /// As `Idle`, of a capture: nothing but packets.
    Packets,
    /// A message was on its way.
    Middle,
}

/// A message of `len` bytes of payload, number `n` of its kind.
type Encode = fn(n: u32, len: usize) -> Vec<u8>;

struct Case {
    name: &'static str,
    port: u16,
    /// The first bytes of the client.
    opening: &'static [u8],
    encode: Encode,
}

/// Bytes that look like nothing, different for each message.
fn payload(n: u32, len: usize) -> Vec<u8> {
    Random::new(n.into()).bytes(len)
}

fn write(n: u32, len: usize) -> Vec<u8> {
    opcua::chunks(n + 1, &opcua::write(&[&payload(n, len)]), 64_000).concat()
}

fn produce(n: u32, len: usize) -> Vec<u8> {
    kafka::produce(n as usize + 7, "t1", &kafka::batch(1, &kafka::record(&payload(n, len))))
}

const CASES: [Case; 11] = [
    Case {
        name: "mqtt",
        port: 1883,
        opening: b"\x10\x10\0\x04MQTT\x04\x02\0\x3c\0\x04abcd",
        encode: |n, len| mqtt::publish("sensors/t1", &payload(n, len)),
    },
    Case {
        name: "mqtt",
        port: 1883,
        opening: b"\x10\x11\0\x04MQTT\x05\x02\0\x3c\0\0\x04abcd",
        encode: |n, len| mqtt::publish_v5("sensors/t1", &payload(n, len)),
    },
    Case {
        name: "nats",
        port: 4222,
        opening: b"CONNECT {\"verbose\":false}\r\n",
        encode: |n, len| nats::message("PUB sensors.t1", &payload(n, len)),
    },
    Case {
        name: "amqp",
        port: 5672,
        opening: b"AMQP\0\0\x09\x01",
        encode: |n, len| amqp::publish("sensors", "t1", &payload(n, len)),
    },
    Case {
        name: "kafka",
        port: 9092,
        opening: b"\0\0\0\x11\0\x12\0\0\0\0\0\x01\0\x07rdkafka",
        encode: produce,
    },
    Case {
        name: "zmtp",
        port: 0,
        opening: b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
            \x04\x19\x05READY\x0bSocket-Type\0\0\0\x04PUSH",
        encode: |n, len| zmtp::part(false, &payload(n, len)),
    },
    Case {
        name: "opcua",
        port: 4840,
        opening: b"HELF\x20\0\0\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0",
        encode: write,
    },
    Case {
        name: "mqtt",
        port: 0,
        opening: b"GET /mqtt HTTP/1.1\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n\
            \x82\x92\0\0\0\0\x10\x10\0\x04MQTT\x04\x02\0\x3c\0\x04abcd",
        encode: |n, len| websocket::masked(&mqtt::publish("sensors/t1", &payload(n, len))),
    },
    Case {
        name: "nats",
        port: 0,
        opening: b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n\
            \x82\x9b\0\0\0\0CONNECT {\"verbose\":false}\r\n",
        encode: |n, len| websocket::masked(&nats::message("PUB sensors.t1", &payload(n, len))),
    },
    Case {
        name: "nats",
        port: 0,
        opening: b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n\
            \x82\x9b\0\0\0\0CONNECT {\"verbose\":false}\r\n",
        encode: |n, len| {
            let text = nats::message("PUB sensors.t1", &payload(n, len));
            let packed = websocket::Deflater::new(true).message(&text);
            websocket::frame(0xC2, Some(n.to_be_bytes()), &packed)
        },
    },
    Case { name: "zenoh", port: 7447, opening: b"", encode: |n, len| zenoh::put(n, &payload(n, len)) },
];

const SIZES: [usize; 7] = [1, 100, 4 << 10, 8 << 10, 64 << 10, 1 << 20, 4 << 20];

/// Sends bytes in one call, in packets of at most `packet` bytes.
fn send(world: &mut World, pair: &mut Connection, bytes: &[u8], packet: usize) {
    let (start, len) = pair.up.advance(bytes.len());
    let way = pair.up;
    world.send(&way, start, len);
    let mut at = start;
    for part in bytes.chunks(packet) {
        let len = u32::try_from(part.len()).unwrap();
        world.xmit(&way, at, part);
        world.rx(&way, at, len);
        at = at.plus(len);
        world.ready(&way, at);
        world.read(&way, at, len);
    }
    world.now += 50_000_000;
}

/// Number of messages that came out, and of those that began while the connection was watched.
fn run(case: &Case, size: usize, start: Start, port: u16, packet: usize) -> (u64, u64) {
    let mut world = World::new();
    let (client, server) = (process(10, "client"), process(20, "server"));
    let to = format!("127.0.0.1:{port}");
    let mut pair = match start {
        Start::First => world.connect(client, "127.0.0.1:40000", server, &to),
        _ => world.existing(client, "127.0.0.1:40000", server, &to),
    };
    if start == Start::First && !case.opening.is_empty() {
        send(&mut world, &mut pair, case.opening, packet);
    }
    if start == Start::Middle {
        // What the socket said when it was found open lay before this message.
        let message = (case.encode)(99, size);
        let (_, tail) = message.split_at(message.len() / 3);
        world.events.clear();
        pair.up.next = Seq(pair.up.next.0.wrapping_add(77));
        send(&mut world, &mut pair, tail, packet);
    }
    // A short frame of ZMTP tells nothing but its length.
    let is_bare = case.name == "zmtp" && size < 256;
    let count = match size {
        _ if is_bare => 20,
        ..=0x10_0000 => 6,
        _ => 3,
    };
    for n in 1..=count {
        send(&mut world, &mut pair, &(case.encode)(n, size), packet);
    }
    if start == Start::Packets {
        world.events.retain(|told| matches!(told.event.body, Body::Packet(_)));
    }
    let config = Config { packets_only: start == Start::Packets, ..Config::default() };
    let played = Played::new(config, &world.events);
    let groups: Vec<_> =
        played.snapshot.groups.iter().filter(|g| g.middleware == case.name).collect();
    for other in played.snapshot.groups.iter().filter(|group| group.middleware != case.name) {
        println!("{} {size} {start:?} {port} {packet}: {}", case.name, other.middleware);
    }
    if groups.len() != played.snapshot.groups.len() {
        return (u64::MAX, count.into());
    }
    (groups.iter().map(|group| group.messages.sent).sum(), count.into())
}

#[test]
fn every_message_is_counted_whatever_its_size_and_however_it_is_met() {
    let mut wrong = Vec::new();
    for case in &CASES {
        for size in SIZES {
            for start in [Start::First, Start::Idle, Start::Packets, Start::Middle] {
                // No opening is composed for Zenoh.
                if start == Start::First && case.opening.is_empty() {
                    continue;
                }
                for port in [case.port, 7_831].into_iter().filter(|port| *port != 0) {
                    for packet in [1_448, 65_483] {
                        let (found, sent) = run(case, size, start, port, packet);
                        if found != sent {
                            wrong.push(format!(
                                "{} {size} B {start:?} port {port} packets {packet}: {found} of {sent}",
                                case.name
                            ));
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Bytes that are not decoded, as the first ones of a connection or in its middle, are no row and have a
/// name.
#[test]
fn what_is_not_decoded_is_no_row_and_has_a_name() {
    let record = |n: u32| [&[23, 3, 3, 4, 0][..], &payload(n, 1024)].concat();
    let bulk = |n: u32| {
        [
            format!("*3\r\n$3\r\nSET\r\n$3\r\nk{n:02}\r\n$512\r\n").as_bytes(),
            &payload(n, 512),
            b"\r\n",
        ]
        .concat()
    };
    let http = |n: u32| {
        [
            format!("POST /{n} HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n").as_bytes(),
            &payload(n, 900),
        ]
        .concat()
    };
    let query = |n: u32| [&b"Q\0\0\0\x10"[..], format!("select {n:04}\0").as_bytes()].concat();
    let cases: [(&str, Numbered<'_>); 5] = [
        ("TLS", &record),
        ("Redis", &bulk),
        ("HTTP", &http),
        ("PostgreSQL", &query),
        ("", &|n| payload(n, 700)),
    ];
    for (name, encode) in cases {
        for port in [7_831, 1883, 8883, 4222, 9092, 7447, 4840] {
            for is_joined in [true, false] {
                let mut world = World::new();
                let (client, server) = (process(10, "client"), process(20, "server"));
                let to = format!("127.0.0.1:{port}");
                let mut pair = if is_joined {
                    world.existing(client, "127.0.0.1:40000", server, &to)
                } else {
                    world.connect(client, "127.0.0.1:40000", server, &to)
                };
                for n in 0..40 {
                    send(&mut world, &mut pair, &encode(n), 65_483);
                }
                let played = Played::new(Config::default(), &world.events);
                let groups = &played.snapshot.groups;
                assert!(groups.is_empty(), "{name} on {port}: {:?}", groups[0].middleware);
                let [row] = &played.snapshot.unknown.rows[..] else {
                    panic!("{name}: not one row")
                };
                let shown = row.protocol.as_ref().map(ToString::to_string).unwrap_or_default();
                // A record of application data is no beginning of TLS, but it is one of its records.
                assert!(shown.starts_with(name) && shown.is_empty() == name.is_empty(), "{row:?}");
                let sent: usize = (0..40).map(|n| encode(n).len()).sum();
                assert_eq!(
                    (row.bytes_to_server, row.bytes_from_server),
                    (sent as u64, 0),
                    "{name}"
                );
                assert_eq!(row.server.as_deref(), Some("server"));
                let note = &wirelap_report::words::snapshot_notes(&played.snapshot)[0];
                assert!(note.contains(&format!("port {port}")), "{note}");
            }
        }
    }
}

/// Random payload in packets of a saturated sender: whatever it looks like, it is nothing.
#[test]
fn random_bytes_are_nothing() {
    for (seed, packet) in [(1, 1_448), (2, 65_483), (3, 100), (4, 700)] {
        let mut world = World::new();
        let (client, server) = (process(10, "client"), process(20, "server"));
        let mut pair = world.existing(client, "127.0.0.1:40000", server, "127.0.0.1:7831");
        send(&mut world, &mut pair, &payload(seed, 16 << 20), packet);
        let played = Played::new(Config::default(), &world.events);
        assert!(played.snapshot.groups.is_empty(), "{:?}", played.snapshot.groups[0].middleware);
        assert_eq!(played.snapshot.unknown.rows[0].protocol, None);
    }
}

/// A proxy says who its client is before the client's first byte (the PROXY protocol), in the same packet or before.
#[test]
fn behind_a_proxys_header_a_conversation_begins() {
    let line = b"PROXY TCP4 10.0.0.1 10.0.0.2 40000 7831\r\n".to_vec();
    let binary = [&b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c"[..], &[10; 12]].concat();
    let mqtt = &CASES[0];
    for header in [line, binary] {
        for is_alone in [true, false] {
            let mut world = World::new();
            let (client, server) = (process(10, "haproxy"), process(20, "server"));
            let mut pair = world.connect(client, "127.0.0.1:40000", server, "127.0.0.1:7831");
            if is_alone {
                send(&mut world, &mut pair, &header, 1_448);
                send(&mut world, &mut pair, mqtt.opening, 1_448);
            } else {
                send(&mut world, &mut pair, &[&header, mqtt.opening].concat(), 1_448);
            }
            for n in 0..3 {
                send(&mut world, &mut pair, &(mqtt.encode)(n, 50), 1_448);
            }
            let played = Played::new(Config::default(), &world.events);
            assert_eq!(played.group().middleware, "mqtt");
            assert_eq!(played.group().messages.sent, 3);
        }
    }
}
