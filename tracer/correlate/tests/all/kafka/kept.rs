//! Records that say when they were made, and that their producer keeps before it sends them.

use super::house;
use crate::played::Played;
use wirelap_correlate::{Config, Severity, VerdictKind};
use wirelap_events::Nanos;
use wirelap_test_support::compose::kafka::{
    batch, fetch, fetched, made_at, produce, produce_acked, produced, record_after,
};
use wirelap_test_support::world::World;

/// From the events' clock to the wall clock, in milliseconds.
const WALL: usize = 1_700_000_000_000;

const BATCHES: usize = 20;

/// Milliseconds between two records, of which a batch has five.
const STEP: usize = 30;

/// The verdict on batches of records, of which the first was made so many milliseconds before all are sent. The broker answers, as `is_slow`
/// says, just before it is sent the next batch.
fn said(age: usize, step: usize, is_slow: bool, wall: Option<i64>) -> Option<Severity> {
    let steps = std::array::from_fn(|n| n * step);
    said_of(age, steps, Nanos(0), (is_slow, wall))
}

/// The same of records that were made so many milliseconds after the first one, and are sent so long after the producer has connected.
fn said_of(
    age: usize,
    steps: [usize; 5],
    later: Nanos,
    (is_slow, wall): (bool, Option<i64>),
) -> Option<Severity> {
    let mut world = World::new();
    world.now += 1_000_000_000;
    let (mut producer, mut consumer) = house(&mut world);
    world.now += later.0;
    for n in 0..BATCHES {
        world.message(&mut consumer.up, &fetch(n));
        world.now += 200_000_000;
        if is_slow && n > 0 {
            world.message(&mut producer.down, &produced(0, n - 1, "t", Ok(n)));
        }
        let now = usize::try_from(world.now / 1_000_000).unwrap();
        let records: Vec<u8> = (0..5_u8)
            .flat_map(|at| record_after(at.into(), steps[usize::from(at)], &[at; 8]))
            .collect();
        let records = made_at(batch(5, &records), WALL + now - age);
        let request =
            if is_slow { produce_acked(0, n, "t", &records) } else { produce(n, "t", &records) };
        world.message(&mut producer.up, &request);
        world.message(&mut consumer.down, &fetched(n, "t", &records));
    }
    let played = Played::new(Config { wall, ..Config::default() }, &world.events);
    assert_eq!(played.counts(), [100, 100, 100, 0]);
    let verdicts = &played.group().why.verdicts;
    let found = verdicts.iter().find(|verdict| verdict.kind == VerdictKind::SenderBatching);
    found.map(|verdict| verdict.severity)
}

#[test]
fn a_producer_that_gathers_records_is_told() {
    let wall = i64::try_from(WALL * 1_000_000).ok();
    assert_eq!(said(4 * STEP, STEP, false, wall), Some(Severity::Problem));
    assert_eq!(said(4 * STEP, STEP, false, None), None, "the wall clock is not known");
    assert_eq!(said(4 * STEP, STEP, true, wall), Some(Severity::Problem), "it waits for a reply");
    assert_eq!(said(4 * 2, 2, false, wall), Some(Severity::Note), "as libraries do by default");
    assert_eq!(said(4 * STEP, 0, false, wall), Some(Severity::Note), "all have one age");
    assert_eq!(said(0, 0, false, wall), None, "it sends at once");
    assert_eq!(said(3_600_000, STEP, false, wall), None, "the application has its own times");
    assert_eq!(said(0, STEP, false, wall), None, "they are from the future");
}

#[test]
fn events_of_another_time_were_not_kept_since_then() {
    let wall = i64::try_from(WALL * 1_000_000).ok();
    let said = |steps, later| said_of(5_000, steps, Nanos::from_millis(later), (false, wall));
    let in_order = [0, STEP, 2 * STEP, 3 * STEP, 4 * STEP];
    assert_eq!(said(in_order, 10_000), Some(Severity::Note), "all have one age");
    assert_eq!(said(in_order, 0), None, "its connection was not there yet");
    assert_eq!(said([0, 4_000, 100, 3_000, 500], 10_000), None, "they go back");
}
