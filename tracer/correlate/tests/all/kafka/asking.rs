//! Requests of a consumer: what they await, and when they are made.

use super::{connected_before, house};
use crate::played::Played;
use wirelap_correlate::Clause;
use wirelap_events::{Nanos, Stage};
use wirelap_test_support::compose::kafka::{batch, fetch, fetched, produce, record};
use wirelap_test_support::world::World;

/// A batch of one record, which is like no other's.
fn batch_of(n: usize) -> Vec<u8> {
    batch(1, &record(format!("value {n}").as_bytes()))
}

/// A consumer that has its last answer and does not ask for more keeps the messages waiting, not the broker.
#[test]
fn a_consumer_that_asks_late_is_seen_to_have_been_free() {
    let mut world = World::new();
    let (mut producer, mut consumer) = house(&mut world);
    let mut free = Vec::new();
    for n in 0..20 {
        let records = batch_of(n);
        world.message(&mut producer.up, &produce(n, "t", &records));
        // Long enough that what came before is not remembered byte by byte.
        world.now += if n % 5 == 4 { 3_000_000_000 } else { 30_000_000 };
        world.message(&mut consumer.up, &fetch(n));
        let (_, read) = world.message(&mut consumer.down, &fetched(n, "t", &records));
        free.push(read);
    }
    let played = Played::of(&world);
    for (delivery, before) in played.deliveries.iter().skip(1).zip(free) {
        let seen = &delivery.legs[1].circumstances;
        assert!(
            seen.request
                .free_since
                .is_some_and(|free| free <= before && before - free < Nanos(100_000))
        );
        assert!(seen.request.made > Some(before + Nanos(30_000_000)));
        assert!(seen.request.between < Nanos(200_000), "{:?}", seen.request.between);
    }
}

/// Messages that the broker had before `wirelap` came are in the answers that the consumer awaits
/// first.
#[test]
fn answers_with_what_came_before_are_awaited_too() {
    let mut world = World::new();
    let (mut producer, mut consumer) = connected_before(&mut world);
    let mut requests = 0..;
    let mut answered = |world: &mut World, n| {
        let request = requests.next().unwrap();
        world.message(&mut consumer.up, &fetch(request));
        world.now += 50_000_000;
        world.message(&mut consumer.down, &fetched(request, "t", &batch_of(n)));
    };
    for n in 0..10 {
        answered(&mut world, n);
    }
    for n in 100..103 {
        world.message(&mut producer.up, &produce(n, "t", &batch_of(n)));
    }
    for n in (10..20).chain(100..103) {
        answered(&mut world, n);
    }
    let played = Played::of(&world);
    assert_eq!(played.deliveries.len(), 3);
    for (n, delivery) in played.deliveries.iter().enumerate() {
        let seen = &delivery.legs[1].circumstances;
        let waited = seen.request.made.unwrap() - delivery.legs[0].times.get(Stage::Read).unwrap();
        assert!(waited > Nanos((10 + n as u64) * 50_000_000), "{waited}");
        assert!(seen.request.between < Nanos(1_000_000), "{:?}", seen.request.between);
    }
}

/// Hundreds of requests are made before a message is handed out.
#[test]
fn answers_are_awaited_at_a_high_rate_of_requests() {
    let mut world = World::new();
    let (mut producer, mut consumer) = house(&mut world);
    for n in 0..500 {
        world.message(&mut producer.up, &produce(n, "t", &batch_of(n)));
    }
    for n in 0..500 {
        world.message(&mut consumer.up, &fetch(n));
        world.now += 100_000;
        world.message(&mut consumer.down, &fetched(n, "t", &batch_of(n)));
    }
    let played = Played::of(&world);
    assert_eq!(played.deliveries.len(), 500);
    for (n, delivery) in played.deliveries.iter().enumerate() {
        let between = delivery.legs[1].circumstances.request.between.0;
        let answers = n as u64 * 100_000;
        // It asked first when all had been published.
        assert!(between <= answers / 5 + 5_000_000, "{n}: {between}");
    }
}

/// A broker that is long in answering keeps waiting what comes meanwhile, too. The consumer asks again at once, or pauses before.
#[test]
fn a_consumer_that_awaits_an_answer_is_not_late() {
    for pause in [0, 300_000_000] {
        let mut world = World::new();
        let (mut producer, mut consumer) = house(&mut world);
        let mut publish = |world: &mut World, n| {
            world.message(&mut producer.up, &produce(n, "t", &batch_of(n)));
        };
        world.message(&mut consumer.up, &fetch(0));
        publish(&mut world, 0);
        for n in 0..20 {
            if n > 0 {
                world.message(&mut consumer.up, &fetch(n));
            }
            world.now += 50_000_000;
            publish(&mut world, n + 1);
            world.now += 200_000_000;
            world.message(&mut consumer.down, &fetched(n, "t", &batch_of(n)));
            world.now += pause;
        }
        let played = Played::of(&world);
        assert_eq!(played.deliveries.len(), 20);
        for delivery in &played.deliveries[1..] {
            let between = delivery.legs[1].circumstances.request.between;
            assert!(between < Nanos(1_000_000), "{between:?}");
        }
        let verdicts = &played.group().why.verdicts;
        let said = |clause| verdicts.iter().any(|one| one.evidence.contains(&clause));
        let late = [Clause::AskedLate, Clause::ConsumerAskedLate].map(said);
        assert_eq!((said(Clause::AnswerAwaited), late), (true, [pause > 0, false]), "{verdicts:?}");
    }
}
