//! Equal records of producers that do not number them, told apart by their offsets.

use super::house;
use crate::played::Played;
use wirelap_events::{Delivery, Nanos, Stage};
use wirelap_test_support::compose::kafka::{
    at_offset, batch, fetch, fetched, produce, produce_acked, produced, record, record_at,
};
use wirelap_test_support::world::{Connection, World, process};

const MILLISECOND: u64 = 1_000_000;

/// A broker, two producers and a consumer.
fn two(world: &mut World) -> ([Connection; 2], Connection) {
    let (first, consumer) = house(world);
    let broker = process(10, "java");
    let second =
        world.connect(process(21, "producer"), "127.0.0.1:40021", broker, "127.0.0.1:9092");
    ([first, second], consumer)
}

/// Times at which the messages of deliveries were sent, after the start.
fn sent(deliveries: &[Delivery]) -> Vec<Nanos> {
    deliveries.iter().map(|delivery| delivery.legs[0].times.get(Stage::Send).unwrap()).collect()
}

fn one() -> Vec<u8> {
    batch(1, &record(b"the same"))
}

/// Both send at once, and the broker stores what the second sent first. The consumer comes a second later.
#[test]
fn equal_records_of_two_producers_are_told_apart() {
    let mut world = World::new();
    let ([mut first, mut second], mut consumer) = two(&mut world);
    let mut times = Vec::new();
    for n in 0..20 {
        let a = world.message(&mut first.up, &produce_acked(0, n, "t", &one())).0;
        world.now += 5 * MILLISECOND;
        let b = world.message(&mut second.up, &produce_acked(0, n, "t", &one())).0;
        world.message(&mut second.down, &produced(0, n, "t", Ok(2 * n)));
        world.message(&mut first.down, &produced(0, n, "t", Ok(2 * n + 1)));
        times.extend([b, a]);
    }
    world.now += 1000 * MILLISECOND;
    world.message(&mut consumer.up, &fetch(1));
    let all: Vec<u8> = (0..40).flat_map(|offset| at_offset(one(), offset)).collect();
    world.message(&mut consumer.down, &fetched(1, "t", &all));
    let played = Played::of(&world);
    assert_eq!(played.counts(), [40, 40, 40, 0]);
    assert_eq!(sent(&played.deliveries), times);
}

/// The records of a batch have successive offsets, each partition its own.
#[test]
fn partitions_and_places_in_a_batch_are_told_apart() {
    let mut world = World::new();
    let ([mut first, mut second], mut consumer) = two(&mut world);
    let records: Vec<u8> = (0..3).flat_map(|place| record_at(place, b"the same")).collect();
    let three = batch(3, &records);
    for n in 0..10 {
        world.message(&mut first.up, &produce_acked(n % 2, n, "t", &three));
        world.message(&mut second.up, &produce_acked(n % 2, n, "t", &three));
        world.message(&mut first.down, &produced(n % 2, n, "t", Ok(6 * (n / 2))));
        world.message(&mut second.down, &produced(n % 2, n, "t", Ok(6 * (n / 2) + 3)));
    }
    world.now += 1000 * MILLISECOND;
    world.message(&mut consumer.up, &fetch(1));
    let all: Vec<u8> = (0..10).flat_map(|n| at_offset(three.clone(), 3 * n)).collect();
    world.message(&mut consumer.down, &fetched(1, "t", &all));
    let played = Played::of(&world);
    assert_eq!(played.counts(), [60, 30, 30, 0], "one partition was fetched");
}

/// The consumer gets records before the producer is told that they are stored.
#[test]
fn records_that_are_fetched_before_the_response_are_followed() {
    let mut world = World::new();
    let ([mut first, mut second], mut consumer) = two(&mut world);
    for n in 0..20 {
        world.message(&mut consumer.up, &fetch(n));
        world.message(&mut first.up, &produce_acked(0, n, "t", &one()));
        world.message(&mut second.up, &produce_acked(0, n, "t", &one()));
        let all = [at_offset(one(), 2 * n), at_offset(one(), 2 * n + 1)].concat();
        world.message(&mut consumer.down, &fetched(n, "t", &all));
        world.message(&mut first.down, &produced(0, n, "t", Ok(2 * n)));
        world.message(&mut second.down, &produced(0, n, "t", Ok(2 * n + 1)));
    }
    assert_eq!(Played::of(&world).counts(), [40, 40, 40, 0]);
}

/// A producer that got no answer, or an error, sends the record again. The broker stored it both times, or once.
#[test]
fn a_record_that_is_sent_again_is_another() {
    for (stored, delivered) in [(Ok(0), 2), (Err(7), 1)] {
        let mut world = World::new();
        let ([mut first, _], mut consumer) = two(&mut world);
        world.message(&mut first.up, &produce_acked(0, 1, "t", &one()));
        world.message(&mut first.down, &produced(0, 1, "t", stored));
        world.now += 100 * MILLISECOND;
        let again = world.message(&mut first.up, &produce_acked(0, 2, "t", &one())).0;
        let offset = usize::from(stored.is_ok());
        world.message(&mut first.down, &produced(0, 2, "t", Ok(offset)));
        world.now += 100 * MILLISECOND;
        world.message(&mut consumer.up, &fetch(1));
        let all: Vec<u8> = (0..=offset).flat_map(|n| at_offset(one(), n)).collect();
        world.message(&mut consumer.down, &fetched(1, "t", &all));
        let played = Played::of(&world);
        assert_eq!(played.counts(), [2, delivered, delivered, 0]);
        assert_eq!(sent(&played.deliveries).last(), Some(&again));
    }
}

/// Without acknowledgement no offset is known: the order decides, however late they are fetched.
#[test]
fn records_without_acknowledgement_are_followed_in_order() {
    let mut world = World::new();
    let ([mut first, mut second], mut consumer) = two(&mut world);
    world.message(&mut consumer.up, &fetch(0));
    world.message(&mut first.up, &produce(0, "t", &one()));
    world.message(&mut consumer.down, &fetched(0, "t", &at_offset(one(), 0)));
    for n in 1..20 {
        world.message(&mut first.up, &produce(n, "t", &one()));
        world.message(&mut second.up, &produce(n, "t", &one()));
    }
    world.now += 500 * MILLISECOND;
    world.message(&mut consumer.up, &fetch(1));
    let all: Vec<u8> = (1..39).flat_map(|offset| at_offset(one(), offset)).collect();
    world.message(&mut consumer.down, &fetched(1, "t", &all));
    assert_eq!(Played::of(&world).counts(), [39, 39, 39, 0]);
}

/// Two groups read the same, one of them much later.
#[test]
fn a_second_group_gets_the_same_records() {
    let mut world = World::new();
    let ([mut first, mut second], mut consumer) = two(&mut world);
    let broker = process(10, "java");
    let mut other =
        world.connect(process(31, "other"), "127.0.0.1:40031", broker, "127.0.0.1:9092");
    let mut all = Vec::new();
    for n in 0..20 {
        world.message(&mut first.up, &produce_acked(0, n, "t", &one()));
        world.message(&mut second.up, &produce_acked(0, n, "t", &one()));
        world.message(&mut first.down, &produced(0, n, "t", Ok(2 * n)));
        world.message(&mut second.down, &produced(0, n, "t", Ok(2 * n + 1)));
        all.extend([at_offset(one(), 2 * n), at_offset(one(), 2 * n + 1)].concat());
    }
    for reader in [&mut consumer, &mut other] {
        world.message(&mut reader.up, &fetch(1));
        world.message(&mut reader.down, &fetched(1, "t", &all));
        world.now += 200 * MILLISECOND;
    }
    assert_eq!(Played::of(&world).counts(), [40, 80, 80, 0]);
}
