//! Every byte of the device is in exactly one part of the ledger.

use crate::played::{Played, sent_bytes};
use proptest::prelude::*;
use wirelap_correlate::{Config, Operation, OperationCost, Overhead, Part, Snapshot};
use wirelap_events::{Body, PacketHook, Retransmit, Seq, TcpFields, tcp_flags};
use wirelap_test_support::compose::mqtt::{CONNACK, CONNECT, publish, publish_with};
use wirelap_test_support::compose::{payload, plain, stamp};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::{Connection, IP, LINK, TCP, Way, World, process};

const BROKER: &str = "127.0.0.1:1883";
const HEADERS: u64 = (LINK + IP + TCP) as u64;

/// A packet without data.
fn bare(world: &mut World, way: &Way, flags: u8) {
    let mut packet = world.tcp_packet(way, PacketHook::Xmit, way.next, 0);
    packet.tcp = packet.tcp.map(|tcp| TcpFields { flags, ..tcp });
    world.tell(Body::Packet(packet), &[]);
}

fn total(snapshot: &Snapshot) -> u64 {
    snapshot.groups.iter().map(|group| group.overhead.total()).sum()
}

fn client(world: &mut World, number: u32) -> Connection {
    let from = format!("127.0.0.1:{}", 40_000 + number);
    let (client, broker) = (process(20 + number, "client"), process(10, "broker"));
    world.connect_mqtt(client, &from, broker, BROKER)
}

/// The parts that have bytes.
fn parts(overhead: &Overhead) -> Vec<(Part, u64)> {
    overhead.detail.parts().iter().filter(|(_, bytes)| *bytes > 0).collect()
}

#[test]
fn a_session_part_by_part() {
    let mut world = World::new();
    let mut client = client(&mut world, 0);
    world.message(&mut client.up, b"\x82\x06\x00\x01\x00\x01t\x01");
    world.message(&mut client.down, b"\x90\x03\x00\x01\x00");
    let data = publish_with(0x32, "t", &payload(stamp(0), 40));
    assert_eq!(data.len(), 47);
    let start = client.up.next;
    world.message(&mut client.up, &data);
    // The same packet again.
    world.xmit(&client.up, start, &data);
    let socket = client.up.from.0;
    world.tell(Body::Retransmit(Retransmit { socket, start, len: 47, recovery: None }), &[]);
    world.message(&mut client.down, b"\x40\x02\x00\x07");
    bare(&mut world, &client.up, tcp_flags::ACK);
    world.message(&mut client.up, b"\xc0\x00");
    world.message(&mut client.down, b"\xd0\x00");
    world.message(&mut client.up, b"\xe0\x00");
    bare(&mut world, &client.up, tcp_flags::ACK | tcp_flags::FIN);
    bare(&mut world, &client.down, tcp_flags::ACK | tcp_flags::FIN);
    let overhead = Played::of(&world).early.groups[0].overhead;
    let with_data = 9;
    assert_eq!(
        parts(&overhead),
        [
            (Part::Payload, 40),
            (Part::Header, 7),
            (Part::Session, (CONNECT.len() + CONNACK.len() + 2) as u64),
            (Part::Subscribe, 8 + 5),
            (Part::Ack, 4),
            (Part::KeepAlive, 4),
            (Part::Transport, with_data * u64::from(TCP)),
            (Part::Network, with_data * u64::from(IP)),
            (Part::Link, with_data * u64::from(LINK)),
            (Part::PureAck, HEADERS),
            (Part::Connection, 4 * HEADERS),
            (Part::Retransmitted, HEADERS + 47),
        ]
    );
    assert_eq!(overhead.total(), sent_bytes(&world.events));
    assert_eq!((overhead.packets, overhead.detail.retransmissions), (15, 1));
    let cost =
        |operation, count, bytes| (overhead.detail.cost(operation), OperationCost { count, bytes });
    for (is, should) in [
        cost(Operation::Open, 1, (CONNECT.len() + CONNACK.len()) as u64),
        cost(Operation::Declare, 2, 13),
        cost(Operation::Publish, 1, 7),
        cost(Operation::Acknowledge, 1, 4),
        cost(Operation::KeepAlive, 2, 4),
        cost(Operation::Close, 1, 2),
    ] {
        assert_eq!(is, should);
    }
}

#[test]
fn the_second_subscriber_gets_a_copy() {
    let mut world = World::new();
    let mut publisher = client(&mut world, 0);
    let mut subscribers = [1, 2, 3].map(|number| client(&mut world, number));
    let idle = client(&mut world, 4);
    for n in 0..5 {
        let data = publish("topic", &payload(stamp(n), 100));
        world.message(&mut publisher.up, &data);
        for subscriber in &mut subscribers {
            world.message(&mut subscriber.down, &data);
            bare(&mut world, &subscriber.up, tcp_flags::ACK);
        }
    }
    bare(&mut world, &idle.up, tcp_flags::ACK);
    let played = Played::of(&world);
    let overhead = &played.group().overhead;
    assert_eq!(overhead.deliveries, 15);
    let legs = &overhead.detail.legs;
    assert_eq!((legs[1][Part::Payload], legs[1][Part::Copies]), (500, 0));
    assert_eq!((legs[2][Part::Payload], legs[2][Part::Copies]), (500, 1000));
    assert_eq!(legs[2][Part::PureAck], 15 * HEADERS, "they answer the second leg's data");
    assert_eq!(legs[0][Part::PureAck], HEADERS, "a connection without messages is on no leg");
    let session = 4 * HEADERS + (CONNECT.len() + CONNACK.len()) as u64;
    assert_eq!(legs[0].total(), session + HEADERS);
    assert_eq!(legs[1].total(), session + 5 * (HEADERS + 109));
    assert_eq!(legs[2].total(), 3 * session + 15 * (2 * HEADERS + 109));
    assert_eq!(overhead.total(), sent_bytes(&world.events));
}

/// Whoever starts a broker asks whether it listens yet.
#[test]
fn a_connection_without_a_word_belongs_to_its_server() {
    let mut world = World::new();
    let ask = |world: &mut World, from: &str, to: &str| {
        let asks = world.connect(process(9, "asks"), from, process(10, "broker"), to);
        for way in [asks.up, asks.down] {
            bare(world, &way, tcp_flags::FIN);
            world.tell(Body::Closed(way.from.0), &[]);
        }
    };
    ask(&mut world, "127.0.0.1:39000", BROKER);
    world.now += 200_000_000;
    let mut publisher = client(&mut world, 0);
    world.message(&mut publisher.up, &publish("topic", &payload(stamp(0), 100)));
    ask(&mut world, "127.0.0.1:39001", BROKER);
    let all = sent_bytes(&world.events);
    ask(&mut world, "127.0.0.1:39002", "127.0.0.1:7777");
    let played = Played::of(&world);
    for snapshot in [&played.early, &played.snapshot] {
        assert_eq!(snapshot.groups.len(), 1);
        assert_eq!(total(snapshot), all);
        let legs = &snapshot.groups[0].overhead.detail.legs;
        assert_eq!(legs[0][Part::Connection], 8 * HEADERS);
    }
}

#[test]
fn a_client_that_does_both_has_a_leg_in_each_direction() {
    let mut world = World::new();
    let mut publisher = client(&mut world, 0);
    let mut both = client(&mut world, 1);
    let data = publish("topic", &payload(stamp(0), 50));
    world.message(&mut publisher.up, &data);
    world.message(&mut both.down, &data);
    world.message(&mut both.up, &publish("reply", &payload(stamp(1), 30)));
    let legs = Played::of(&world).group().overhead.detail.legs;
    assert_eq!((legs[1][Part::Payload], legs[2][Part::Payload]), (80, 50));
    assert_eq!(legs[0].total(), 0);
}

#[test]
fn what_the_program_sends_again_is_no_new_payload() {
    let mut world = World::new();
    let mut pair =
        world.connect(process(1, "a"), "127.0.0.1:40000", process(2, "b"), "127.0.0.1:9000");
    world.message(&mut pair.up, &plain(stamp(0), 100));
    world.message(&mut pair.up, &plain(stamp(0), 100));
    let played = Played::of(&world);
    assert_eq!(
        parts(&played.group().overhead)[..3],
        [(Part::Payload, 100), (Part::Repeats, 100), (Part::Header, 8)]
    );
    assert_eq!(played.group().overhead.payload, 200);
}

#[test]
fn a_packet_that_was_overtaken_was_not_sent_again() {
    let mut world = World::new();
    let mut pair =
        world.connect(process(1, "a"), "127.0.0.1:40000", process(2, "b"), "127.0.0.1:9000");
    world.message(&mut pair.up, &plain(stamp(0), 100));
    let [first, second] = [1, 2].map(|n| plain(stamp(n), 100));
    let (start, _) = pair.up.advance(first.len());
    let (next, _) = pair.up.advance(second.len());
    // The queue lost the first copy: the device carries it once, late.
    world.xmit(&pair.up, next, &second);
    let socket = pair.up.from.0;
    world.tell(Body::Retransmit(Retransmit { socket, start, len: 104, recovery: None }), &[]);
    world.xmit(&pair.up, start, &first);
    let overhead = Played::of(&world).group().overhead;
    assert_eq!((overhead.payload, overhead.retransmitted), (300, 0));
    assert_eq!(overhead.detail.retransmissions, 1);
    assert_eq!(overhead.total(), sent_bytes(&world.events));
}

#[test]
fn a_super_packet_is_several_frames() {
    let mut world = World::new();
    let mut pair =
        world.connect(process(1, "a"), "127.0.0.1:40000", process(2, "b"), "127.0.0.1:9000");
    world.message(&mut pair.up, &plain(stamp(0), 8192));
    let framed = Played::of(&world).group().overhead.detail.framed;
    // Two SYNs; 8196 = 5 × 1448 + 956 with 52 bytes of headers.
    assert_eq!(framed.frames, 2 + 6);
    let headers = 14 + 20 + 32 + 4;
    assert_eq!(framed.bytes, 8196 + 8 * headers);
    assert_eq!(framed.line_bytes(), framed.bytes + 8 * 20);
}

#[test]
fn a_packet_with_an_impossible_number_is_counted_all_the_same() {
    let mut world = World::new();
    let mut pair =
        world.connect(process(1, "a"), "127.0.0.1:40000", process(2, "b"), "127.0.0.1:9000");
    world.message(&mut pair.up, &plain(stamp(0), 100));
    let far = Seq(pair.up.next.0.wrapping_add(1 << 31));
    world.xmit(&pair.up, far, &[0; 10]);
    let played = Played::of(&world);
    assert_eq!(played.group().overhead.total(), sent_bytes(&world.events));
    assert_eq!(played.group().overhead.opaque, 10);
}

/// Messages and acknowledgements on three connections; the first [`INTRODUCTION`] events open them.
fn traffic() -> Vec<OwnedEvent> {
    let mut world = World::new();
    let mut publisher = client(&mut world, 0);
    let mut subscriber = client(&mut world, 1);
    let mut pair =
        world.connect(process(1, "a"), "127.0.0.1:43000", process(2, "b"), "127.0.0.1:9000");
    for n in 0..30 {
        let bytes = publish("topic", &payload(stamp(n), 40));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscriber.down, &bytes);
        world.message(&mut pair.up, &plain(stamp(n), 3000));
        for way in [&publisher.down, &subscriber.up, &pair.down] {
            bare(&mut world, way, tcp_flags::ACK);
        }
    }
    world.events
}

/// Connections, sessions and the first message on each: from then on every row is known.
const INTRODUCTION: usize = 63;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn parts_add_up_whatever_is_lost_doubled_late_or_cut(
        // Of each event: where it comes, how often, how much of its payload is captured.
        fates in prop::collection::vec((any::<u16>(), 0usize..=2, 0usize..4000), 700),
        spread in 1usize..2000,
    ) {
        let all = traffic();
        let (known, rest) = all.split_at(INTRODUCTION);
        let mut order: Vec<(usize, OwnedEvent)> = Vec::new();
        for ((place, told), (late, times, snap)) in rest.iter().enumerate().zip(&fates) {
            for copy in 0..*times {
                let mut told = told.clone();
                told.payload.truncate(*snap);
                order.push((place + (usize::from(*late) + copy * 77) % spread, told));
            }
        }
        order.sort_by_key(|(place, _)| *place);
        let told: Vec<OwnedEvent> =
            known.iter().cloned().chain(order.into_iter().map(|(_, told)| told)).collect();
        let played = Played::new(Config::default(), &told);
        for snapshot in [&played.early, &played.snapshot] {
            prop_assert_eq!(snapshot.groups.len(), 2);
            prop_assert_eq!(total(snapshot), sent_bytes(&told));
        }
    }
}
