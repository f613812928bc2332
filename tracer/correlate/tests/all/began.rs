//! Beginnings of messages of which only packets are seen, as in captures of other programs.

use crate::brokered::house;
use crate::played::{Played, seen};
use wirelap_correlate::Config;
use wirelap_events::{Body, Delivery, PacketHook, Segment, Stage};
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{Way, World};

const LATER: u64 = 200_000_000;

/// Tells of some bytes by a packet at each end of a connection.
fn carry(world: &mut World, way: &mut Way, bytes: &[u8]) {
    let (start, len) = way.advance(bytes.len());
    world.xmit(way, start, bytes);
    world.rx(way, start, len);
}

/// Deliveries from packets alone: at both ends, or at one place at which it is not known which way they
/// went.
fn packets(mut world: World, at_both_ends: bool) -> Vec<Delivery> {
    world.events.retain(|told| match told.event.body {
        Body::Packet(packet) => at_both_ends || packet.hook == PacketHook::Xmit,
        _ => false,
    });
    for told in &mut world.events {
        if let Body::Packet(packet) = &mut told.event.body {
            (packet.socket, packet.queued) = (None, None);
            if !at_both_ends {
                packet.hook = PacketHook::Rx;
            }
        }
    }
    Played::new(Config { packets_only: true, ..Config::default() }, &world.events).deliveries
}

/// A message whose first half is written 200 ms before the second, and what its broker sends at once.
fn in_halves() -> World {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let bytes = publish("t", &payload(stamp(0), 64));
    let (first, second) = bytes.split_at(bytes.len() / 2);
    carry(&mut world, &mut publisher.up, first);
    world.now += LATER;
    carry(&mut world, &mut publisher.up, second);
    carry(&mut world, &mut subscribers[0].down, &bytes);
    world
}

#[test]
fn a_message_in_two_packets_begins_with_the_first() {
    let world = in_halves();
    let deliveries = packets(world, true);
    let [delivery] = deliveries.as_slice() else { panic!("{deliveries:?}") };
    let stages: Vec<Stage> = seen(delivery, 0).into_iter().map(|(stage, _)| stage).collect();
    assert_eq!(stages, [Stage::Send, Stage::Sent, Stage::Rx, Stage::Read]);
    let (_, first) = delivery.segments().next().unwrap();
    let write = first.get(Segment::Write).unwrap();
    assert!((LATER..LATER + 10_000_000).contains(&write.0), "{write:?}");
    assert!(first.get(Segment::Wire).is_some_and(|wire| wire.0 < 10_000_000));
    assert_eq!((first.get(Segment::Qdisc), first.get(Segment::SocketTx)), (None, None));
    assert!(delivery.one_way().unwrap().0 >= LATER);
    // What was in one packet was written at once.
    let stages: Vec<Stage> = seen(delivery, 1).into_iter().map(|(stage, _)| stage).collect();
    assert_eq!(stages, [Stage::Xmit, Stage::Rx, Stage::Read]);
}

#[test]
fn where_it_is_not_known_which_way_packets_went_it_begins_there_too() {
    let world = in_halves();
    let deliveries = packets(world, false);
    let [delivery] = deliveries.as_slice() else { panic!("{deliveries:?}") };
    let stages: Vec<Stage> = seen(delivery, 0).into_iter().map(|(stage, _)| stage).collect();
    assert_eq!(stages, [Stage::Send, Stage::Sent, Stage::Read]);
    let (_, first) = delivery.segments().next().unwrap();
    assert!(first.get(Segment::Write).is_some_and(|write| write.0 >= LATER));
    assert_eq!(first.get(Segment::Wire), None, "nothing tells when it left, and when it came");
}

#[test]
fn a_first_byte_that_is_sent_again_counts_from_the_first_time() {
    for at_both_ends in [true, false] {
        let mut world = World::new();
        let (mut publisher, mut subscribers) = house(&mut world, 1);
        let bytes = publish("t", &payload(stamp(0), 64));
        let (first, second) = bytes.split_at(bytes.len() / 2);
        let (start, len) = publisher.up.advance(first.len());
        world.xmit(&publisher.up, start, first);
        world.now += LATER;
        world.xmit(&publisher.up, start, first);
        world.rx(&publisher.up, start, len);
        carry(&mut world, &mut publisher.up, second);
        carry(&mut world, &mut subscribers[0].down, &bytes);
        let deliveries = packets(world, at_both_ends);
        let [delivery] = deliveries.as_slice() else { panic!("{deliveries:?}") };
        assert!(delivery.one_way().unwrap().0 >= LATER, "{delivery:?}");
    }
}

#[test]
fn of_two_messages_in_one_packet_each_begins_with_it() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let [one, two] = [0, 1].map(|n| publish("t", &payload(stamp(n), 64)));
    let (begin, end) = two.split_at(two.len() / 2);
    carry(&mut world, &mut publisher.up, &[&one[..], begin].concat());
    carry(&mut world, &mut subscribers[0].down, &one);
    world.now += LATER;
    carry(&mut world, &mut publisher.up, end);
    carry(&mut world, &mut subscribers[0].down, &two);
    let deliveries = packets(world, true);
    let [one, two] = deliveries.as_slice() else { panic!("{deliveries:?}") };
    assert!(one.one_way().unwrap().0 < LATER);
    assert!(two.one_way().unwrap().0 >= LATER);
    assert_eq!(one.begins(), two.begins());
}
