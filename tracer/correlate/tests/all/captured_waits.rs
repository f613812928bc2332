//! Waits of a broker before it passes messages on, as packets alone show them.

use crate::brokered::house;
use crate::played::Played;
use wirelap_correlate::{Config, VerdictKind};
use wirelap_events::{Body, PacketHook, Seq, TcpFields, tcp_flags};
use wirelap_test_support::compose::mqtt::{publish, publish_with};
use wirelap_test_support::compose::{amqp, payload, stamp};
use wirelap_test_support::world::{Connection, Way, World, process};

const MESSAGES: u32 = 20;
const WAIT: u64 = 100_000_000;

/// The verdicts on what packets alone tell, of which all messages were followed.
fn verdicts(mut world: World) -> Vec<VerdictKind> {
    world.events.retain(|told| match told.event.body {
        Body::Packet(packet) => packet.hook == PacketHook::Xmit,
        _ => false,
    });
    for told in &mut world.events {
        if let Body::Packet(packet) = &mut told.event.body {
            (packet.socket, packet.queued) = (None, None);
            packet.hook = PacketHook::Rx;
        }
    }
    let config = Config { packets_only: true, ..Config::default() };
    let played = Played::new(config, &world.events);
    assert_eq!(played.counts(), [MESSAGES.into(), MESSAGES.into(), MESSAGES.into(), 0]);
    let time = |one: &wirelap_events::Delivery| one.one_way().unwrap().0;
    assert!(played.deliveries.iter().all(|one| (WAIT..WAIT + 1_000_000).contains(&time(one))));
    played.group().why.verdicts.iter().map(|one| one.kind).collect()
}

#[test]
fn a_publisher_that_is_late_to_release_its_messages() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    for n in 0..MESSAGES {
        let bytes = publish_with(0x34, "t", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut publisher.down, b"\x50\x02\x00\x07");
        world.now += WAIT;
        world.message(&mut publisher.up, b"\x62\x02\x00\x07");
        world.message(&mut subscribers[0].down, &bytes);
        world.now += WAIT;
    }
    assert_eq!(verdicts(world), [VerdictKind::ReleaseWait]);
}

/// An AMQP client, in a transaction or not.
fn client(world: &mut World, pid: u32) -> Connection {
    let from = format!("127.0.0.1:{}", 40_000 + pid);
    let (own, broker) = (process(pid, "client"), process(10, "beam.smp"));
    let mut connection = world.connect_at(own, &from, broker, "127.0.0.1:5672", Seq(pid << 20));
    world.message(&mut connection.up, b"AMQP\0\0\x09\x01");
    let start = b"\x01\0\0\0\0\0\x12\0\x0a\0\x0a\0\x09\0\0\0\0\0\0\0\0\0\0\0\0\xce";
    world.message(&mut connection.down, start);
    connection
}

#[test]
fn a_publisher_that_is_late_to_commit_its_transactions() {
    const SELECT: &[u8] = &[0, 90, 0, 10];
    const COMMIT: &[u8] = &[0, 90, 0, 20];
    let mut world = World::new();
    let [mut publisher, mut consumer] = [20, 30].map(|pid| client(&mut world, pid));
    world.message(&mut publisher.up, &amqp::frame(1, 1, SELECT));
    for n in (0..MESSAGES).step_by(2) {
        for n in [n, n + 1] {
            let bytes = amqp::publish("", "t", &payload(stamp(n), 64));
            world.message(&mut publisher.up, &bytes);
        }
        world.now += WAIT;
        world.message(&mut publisher.up, &amqp::frame(1, 1, COMMIT));
        for n in [n, n + 1] {
            let bytes = amqp::deliver("", "t", u64::from(n) + 1, &payload(stamp(n), 64));
            world.message(&mut consumer.down, &bytes);
        }
        world.now += WAIT;
    }
    assert_eq!(verdicts(world), [VerdictKind::ReleaseWait]);
}

/// The subscriber says how much room it has.
fn window(world: &mut World, subscriber: &Connection, window: u16) {
    let way: &Way = &subscriber.up;
    let mut packet = world.tcp_packet(way, PacketHook::Xmit, way.next, 0);
    let ack = subscriber.down.next;
    packet.tcp = Some(TcpFields { seq: way.next, ack, flags: tcp_flags::ACK, window });
    world.tell(Body::Packet(packet), &[]);
}

#[test]
fn a_subscriber_that_has_no_room() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    for n in 0..MESSAGES {
        let bytes = publish("t", &payload(stamp(n), 64));
        window(&mut world, &subscribers[0], 0);
        world.message(&mut publisher.up, &bytes);
        world.now += WAIT;
        window(&mut world, &subscribers[0], 65_535);
        world.message(&mut subscribers[0].down, &bytes);
        world.now += 3 * WAIT;
    }
    assert_eq!(verdicts(world), [VerdictKind::ReceiveWindow]);
}
