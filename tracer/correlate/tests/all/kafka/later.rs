//! Consumers that come later: a log is read when they do.

use super::house;
use crate::played::Played;
use wirelap_correlate::{Config, GroupNote};
use wirelap_events::Nanos;
use wirelap_test_support::compose::kafka::{
    at_offset, batch, fetch, fetched, produce_acked, produced, record,
};
use wirelap_test_support::world::{Connection, World, process};

const SECOND: u64 = 1_000_000_000;

fn one(n: usize) -> Vec<u8> {
    at_offset(batch(1, &record(b"the same")), n)
}

fn send(world: &mut World, producer: &mut Connection, all: std::ops::Range<usize>) {
    for n in all {
        world.message(&mut producer.up, &produce_acked(0, n, "t", &one(0)));
        world.message(&mut producer.down, &produced(0, n, "t", Ok(n)));
    }
}

fn read(world: &mut World, consumer: &mut Connection, all: std::ops::Range<usize>) {
    let response: Vec<u8> = all.clone().flat_map(one).collect();
    world.message(&mut consumer.up, &fetch(all.start));
    world.message(&mut consumer.down, &fetched(all.start, "t", &response));
}

fn second_reader(world: &mut World) -> Connection {
    let broker = process(10, "java");
    world.connect(process(31, "other"), "127.0.0.1:40031", broker, "127.0.0.1:9092")
}

#[test]
fn who_comes_a_minute_later_is_followed() {
    let mut world = World::new();
    let (mut producer, mut consumer) = house(&mut world);
    send(&mut world, &mut producer, 0..100);
    world.now += 60 * SECOND;
    read(&mut world, &mut consumer, 0..100);
    let played = Played::of(&world);
    assert_eq!(played.counts(), [100, 100, 100, 0]);
    let time = played.deliveries[0].one_way().unwrap();
    assert!(time > Nanos(60 * SECOND) && time < Nanos(61 * SECOND), "{time:?}");
}

/// One group reads at once, and another one when the first has read all for long.
#[test]
fn a_second_group_that_comes_later_is_followed() {
    let mut world = World::new();
    let (mut producer, mut consumer) = house(&mut world);
    let mut other = second_reader(&mut world);
    for n in 0..100 {
        send(&mut world, &mut producer, n..n + 1);
        read(&mut world, &mut consumer, n..n + 1);
    }
    world.now += 30 * SECOND;
    read(&mut world, &mut other, 0..100);
    let played = Played::of(&world);
    assert_eq!(played.counts(), [100, 200, 200, 0]);
    assert_eq!(played.group().notes, []);
}

/// Messages that there is no room for are not followed, and the reason is told.
#[test]
fn the_newest_are_remembered_as_far_as_there_is_room() {
    let mut world = World::new();
    let (mut producer, mut consumer) = house(&mut world);
    for n in 0..20 {
        send(&mut world, &mut producer, 10 * n..10 * n + 10);
        world.now += SECOND;
    }
    world.now += 20 * SECOND;
    read(&mut world, &mut consumer, 0..200);
    let config = Config { max_messages: 400, ..Config::default() };
    let played = Played::new(config, &world.events);
    assert_eq!(played.counts(), [200, 200, 100, 100]);
    let note = GroupNote::ReadFromLog { messages: 100 };
    assert!(played.group().notes.contains(&note), "{:?}", played.group().notes);
}

/// A consumer reads from a follower, which had the records from the leader (KIP-392): the same offsets, at another broker.
#[test]
fn who_reads_from_a_follower_is_followed() {
    let mut world = World::new();
    let (mut producer, mut consumer) = house(&mut world);
    let follower = process(11, "java");
    let mut other =
        world.connect(process(31, "other"), "127.0.0.1:40031", follower, "127.0.0.1:9093");
    for n in 0..40 {
        send(&mut world, &mut producer, n..n + 1);
        read(&mut world, &mut consumer, n..n + 1);
        world.now += SECOND / 10;
        read(&mut world, &mut other, n..n + 1);
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [40, 80, 80, 0]);
    assert!(played.deliveries.iter().all(|delivery| delivery.legs.len() == 2));
}
