//! Messages that a server hands on with another topic, in another protocol or at another of its addresses.

use crate::played::Played;
use wirelap_correlate::{Clause, Config, Group};
use wirelap_events::{Body, PacketHook, Seq};
use wirelap_test_support::compose::mqtt::{CONNACK, CONNECT, publish};
use wirelap_test_support::compose::{amqp, nats};
use wirelap_test_support::world::{Connection, World, process};

const MESSAGES: u64 = 30;

/// The first words of a protocol's client and server, and how they carry a message.
#[derive(Clone, Copy)]
struct Dialect {
    name: &'static str,
    port: u16,
    opening: [&'static [u8]; 2],
    sent: fn(&str, &[u8]) -> Vec<u8>,
    delivered: fn(&str, &[u8]) -> Vec<u8>,
}

const MQTT: Dialect = Dialect {
    name: "mqtt",
    port: 1883,
    opening: [CONNECT, CONNACK],
    sent: publish,
    delivered: publish,
};

const AMQP: Dialect = Dialect {
    name: "amqp",
    port: 5672,
    opening: [
        b"AMQP\0\0\x09\x01",
        b"\x01\0\0\0\0\0\x12\0\x0a\0\x0a\0\x09\0\0\0\0\0\0\0\0\0\0\0\0\xce",
    ],
    sent: |topic, payload| amqp::publish("amq.topic", topic, payload),
    delivered: |topic, payload| amqp::deliver("amq.topic", topic, 1, payload),
};

/// AMQP where a queue with a dead letter exchange hands messages on.
const DEAD: Dialect =
    Dialect { delivered: |topic, payload| amqp::deliver("dead", topic, 1, payload), ..AMQP };

/// A queue hands its dead letters on with another key.
const RENAMED: Dialect = Dialect {
    delivered: |key, payload| amqp::deliver_dead_letter(["amq.topic", "work"], key, 1, payload),
    ..AMQP
};

const NATS: Dialect = Dialect {
    name: "nats",
    port: 4222,
    opening: [b"CONNECT {\"verbose\":false}\r\n", b"INFO {\"server_id\":\"N\"}\r\n"],
    sent: |topic, payload| nats::message(&format!("PUB {topic}"), payload),
    delivered: |topic, payload| nats::message(&format!("MSG {topic} 1"), payload),
};

/// A client of a broker that speaks several protocols.
fn client(world: &mut World, number: u32, dialect: Dialect, port: u16) -> Connection {
    let (own, broker) = (process(20 + number, "client"), process(10, "broker"));
    let from = format!("127.0.0.1:{}", 40_000 + number);
    let to = format!("127.0.0.1:{port}");
    let mut connection = world.connect_at(own, &from, broker, &to, Seq(number << 20));
    let [first, answer] = dialect.opening;
    world.message(&mut connection.up, first);
    world.message(&mut connection.down, answer);
    connection
}

fn unique(n: u64) -> String {
    format!("reading {n}")
}

fn equal(_: u64) -> String {
    "ON".into()
}

/// The first few are unique.
fn later_equal(n: u64) -> String {
    if n < 4 { unique(n) } else { equal(n) }
}

/// Messages of a topic, which has another name on the other side, of a publisher and two subscribers.
fn pass(
    (from, topic): (Dialect, &str),
    (to, name): (Dialect, &str),
    ports: [u16; 2],
    payload: fn(u64) -> String,
) -> World {
    let mut world = World::new();
    let mut publisher = client(&mut world, 1, from, ports[0]);
    let mut subscribers = [2, 3].map(|n| client(&mut world, n, to, ports[1]));
    for n in 0..MESSAGES {
        let payload = payload(n);
        world.message(&mut publisher.up, &(from.sent)(topic, payload.as_bytes()));
        for subscriber in &mut subscribers {
            world.message(&mut subscriber.down, &(to.delivered)(name, payload.as_bytes()));
        }
        world.now += 2_000_000;
    }
    world
}

/// Live, and of packets alone.
fn played(world: &World) -> [Played; 2] {
    let packets = world.events.iter().filter(|told| match told.event.body {
        Body::Packet(packet) => packet.hook == PacketHook::Xmit,
        _ => false,
    });
    let packets: Vec<_> = packets.cloned().collect();
    let config = Config { packets_only: true, ..Config::default() };
    [Played::of(world), Played::new(config, &packets)]
}

fn counts(group: &Group) -> [u64; 4] {
    let counts = group.messages;
    [counts.sent, counts.delivered, counts.matched, counts.uncovered]
}

#[test]
fn what_a_broker_translates_is_followed() {
    let cases = [
        ((MQTT, "plant/line4/load"), (AMQP, "plant.line4.load")),
        ((AMQP, "plant.line4.load"), (MQTT, "plant/line4/load")),
        ((MQTT, "plant/line4/load"), (NATS, "plant.line4.load")),
        ((NATS, "plant.line4.load"), (MQTT, "plant/line4/load")),
        ((MQTT, "plant.line4/load"), (MQTT, "plant/line4/load")),
        ((AMQP, "work"), (DEAD, "work")),
        ((AMQP, "work"), (RENAMED, "given up")),
    ];
    for (from, to) in cases {
        for payload in [unique, equal] {
            let case = format!("{} {} to {} {}", from.0.name, from.1, to.0.name, to.1);
            let world = pass(from, to, [from.0.port, to.0.port], payload);
            for played in played(&world) {
                let groups = &played.snapshot.groups;
                let of = |name: &str| groups.iter().find(|group| group.middleware == name).unwrap();
                let followed = [MESSAGES, 2 * MESSAGES, 2 * MESSAGES, 0];
                assert_eq!(counts(of(from.0.name)), followed, "{case}");
                if from.0.name != to.0.name {
                    assert_eq!(counts(of(to.0.name)), [0; 4], "{case}");
                }
                let time = |one: &wirelap_events::Delivery| one.one_way().unwrap().0;
                assert!(played.deliveries.iter().all(|one| time(one) < 100_000), "{case}");
                let mut last = played.deliveries.iter().filter_map(|one| one.legs.last());
                let has_expired = to.1 == "given up";
                assert!(
                    last.all(|leg| leg.circumstances.subscription.has_expired == has_expired),
                    "{case}"
                );
            }
        }
    }
}

/// A broker with two listeners, as a capture shows it.
#[test]
fn two_ports_of_a_broker_are_one_row() {
    for payload in [unique, equal] {
        let world = pass((MQTT, "t"), (MQTT, "t"), [1883, 1884], payload);
        for played in played(&world) {
            assert_eq!(played.counts(), [MESSAGES, 2 * MESSAGES, 2 * MESSAGES, 0]);
        }
    }
}

/// Two brokers of one host, each of which has clients that publish the same.
#[test]
fn two_brokers_with_the_same_messages_are_two_rows() {
    let mut world = World::new();
    let mut clients = [1883, 1884].map(|port| {
        let number = u32::from(port) % 100;
        [client(&mut world, number, MQTT, port), client(&mut world, number + 5, MQTT, port)]
    });
    for n in 0..MESSAGES {
        let payload = format!("reading {n}");
        for [publisher, _] in &mut clients {
            world.message(&mut publisher.up, &publish("t", payload.as_bytes()));
        }
        for [_, subscriber] in &mut clients {
            world.message(&mut subscriber.down, &publish("t", payload.as_bytes()));
        }
        world.now += 2_000_000;
    }
    let [_, captured] = played(&world);
    let all: Vec<_> = captured.snapshot.groups.iter().map(counts).collect();
    assert_eq!(all, [[MESSAGES, MESSAGES, MESSAGES, 0]; 2]);
}

/// Subscribers come by a proxy on the broker's host, which is a client of the broker: in a capture it is a server of its own.
#[test]
fn a_proxy_of_subscribers_is_no_port_of_the_broker() {
    let mut world = World::new();
    let mut publisher = client(&mut world, 1, MQTT, 1883);
    let mut upstream = client(&mut world, 2, MQTT, 1883);
    let mut subscriber = client(&mut world, 3, MQTT, 1884);
    for n in 0..MESSAGES {
        let bytes = publish("t", format!("reading {n}").as_bytes());
        world.message(&mut publisher.up, &bytes);
        world.message(&mut upstream.down, &bytes);
        world.message(&mut subscriber.down, &bytes);
        world.now += 2_000_000;
    }
    let [_, captured] = played(&world);
    let all: Vec<_> = captured.snapshot.groups.iter().map(counts).collect();
    assert!(all.contains(&[MESSAGES, MESSAGES, MESSAGES, 0]), "{all:?}");
    assert!(all.contains(&[0, MESSAGES, 0, MESSAGES]), "{all:?}");
}

/// A server that maps topics to others, as NATS' mappings and rewriting brokers do.
#[test]
fn what_a_server_hands_on_with_another_topic_is_followed() {
    let cases = [
        ((NATS, "orders.eu"), (NATS, "stored.orders")),
        ((MQTT, "line4/load"), (MQTT, "site1/line4/load")),
        ((AMQP, "load"), (MQTT, "site1/load")),
    ];
    for (from, to) in cases {
        for payload in [unique, later_equal] {
            let world = pass(from, to, [from.0.port, to.0.port], payload);
            // Nothing but the process tells in packets alone that two ports are one server's.
            let both =
                played(&world).into_iter().take(if from.0.port == to.0.port { 2 } else { 1 });
            for played in both {
                let groups = &played.snapshot.groups;
                let group = groups.iter().find(|group| group.middleware == from.0.name).unwrap();
                assert_eq!(
                    counts(group),
                    [MESSAGES, 2 * MESSAGES, 2 * MESSAGES, 0],
                    "{from:?}",
                    from = from.1
                );
            }
        }
    }
}

/// Nothing tells that a message is another one with another topic, if both are short, or either may be it.
#[test]
fn what_two_topics_have_in_common_is_not_taken_for_one() {
    let world = pass((MQTT, "a"), (MQTT, "b"), [1883, 1883], equal);
    assert_eq!(Played::of(&world).counts(), [MESSAGES, 2 * MESSAGES, 0, 2 * MESSAGES]);
    let mut world = World::new();
    let mut publishers = [1, 2].map(|n| client(&mut world, n, MQTT, 1883));
    let mut subscriber = client(&mut world, 3, MQTT, 1883);
    for n in 0..MESSAGES {
        let payload = unique(n).into_bytes();
        for (publisher, topic) in publishers.iter_mut().zip(["a", "b"]) {
            world.message(&mut publisher.up, &publish(topic, &payload));
        }
        world.message(&mut subscriber.down, &publish("c", &payload));
        world.now += 2_000_000;
    }
    assert_eq!(Played::of(&world).counts(), [2 * MESSAGES, MESSAGES, 0, MESSAGES]);
}

/// A broker that is a client of another one, and puts a prefix before topics.
#[test]
fn what_a_bridge_sends_with_another_topic_is_one_message() {
    for (prefix, payload) in
        [("", equal as fn(u64) -> String), ("site1/", unique), ("site1/", later_equal)]
    {
        let mut world = World::new();
        let (broker, hub) = (process(10, "broker"), process(11, "hub"));
        let mut up =
            world.connect_mqtt(process(20, "pub"), "127.0.0.1:41000", broker, "127.0.0.1:1883");
        let mut bridge = world.connect_mqtt(broker, "127.0.0.1:42000", hub, "127.0.0.1:1884");
        let mut down =
            world.connect_mqtt(process(30, "sub"), "127.0.0.1:43000", hub, "127.0.0.1:1884");
        for n in 0..MESSAGES {
            let payload = payload(n).into_bytes();
            let there = format!("{prefix}t");
            world.message(&mut up.up, &publish("t", &payload));
            world.message(&mut bridge.up, &publish(&there, &payload));
            world.message(&mut down.down, &publish(&there, &payload));
            world.now += 2_000_000;
        }
        let played = Played::of(&world);
        assert!(played.deliveries.iter().all(|one| one.legs.len() == 3), "{prefix}");
        let all: Vec<_> = played.snapshot.groups.iter().map(counts).collect();
        let sum = all.iter().fold([0; 4], |sum, one| std::array::from_fn(|n| sum[n] + one[n]));
        assert_eq!(sum, [MESSAGES, MESSAGES, MESSAGES, 0], "{prefix}");
    }
}

/// Two brokers, each of which is a client of the other one and hands on everything.
#[test]
fn what_goes_round_between_two_bridges_is_told() {
    let looped = |rounds: u64, comes_back: bool| {
        let mut world = World::new();
        let (near, far) = (process(10, "near"), process(11, "far"));
        let (at_near, at_far) = ("127.0.0.1:1883", "127.0.0.1:1884");
        let mut up = world.connect_mqtt(process(20, "pub"), "127.0.0.1:41000", near, at_near);
        let mut there = world.connect_mqtt(near, "127.0.0.1:42000", far, at_far);
        let mut back = world.connect_mqtt(far, "127.0.0.1:42001", near, at_near);
        let mut down = world.connect_mqtt(process(30, "sub"), "127.0.0.1:43000", near, at_near);
        for n in 0..MESSAGES {
            let bytes = publish("t", unique(n).as_bytes());
            world.message(&mut up.up, &bytes);
            for _ in 0..rounds {
                world.message(&mut down.down, &bytes);
                world.message(&mut there.up, &bytes);
                if comes_back {
                    world.message(&mut back.up, &bytes);
                }
            }
            world.now += 2_000_000;
        }
        let played = Played::of(&world);
        let verdicts = played.snapshot.groups.iter().flat_map(|row| &row.why.verdicts);
        verdicts.flat_map(|verdict| &verdict.evidence).find_map(|clause| match clause {
            Clause::Looped { times, between } => {
                Some((*times, between.map(|both| both.map(|one| one.0.0))))
            }
            _ => None,
        })
    };
    assert_eq!(looped(1, false), None);
    let (times, between) = looped(3, true).unwrap();
    assert!((2 * MESSAGES..=4 * MESSAGES).contains(&times), "{times}");
    let mut both = between.unwrap();
    both.sort_unstable();
    assert_eq!(both, [10, 11]);
}
