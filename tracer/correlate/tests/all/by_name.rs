//! Rows by topic, client and so on, also when they are asked for while time passes.

use crate::audience::join;
use wirelap_correlate::{
    Breakdown, BreakdownQuery, BreakdownRow, Config, Correlator, Dimension, RowFigure,
};
use wirelap_events::{Delivery, Nanos};
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{Connection, World};

/// Sends so many messages of a topic to all subscribers.
fn talk(
    world: &mut World,
    (publisher, subscribers): (&mut Connection, &mut [Connection]),
    topic: &str,
    numbers: std::ops::Range<u32>,
) {
    for n in numbers {
        let bytes = publish(topic, &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        for subscriber in &mut *subscribers {
            world.message(&mut subscriber.down, &bytes);
        }
    }
}

/// Takes what is new, and lets time pass.
fn take(correlator: &mut Correlator, world: &mut World, taken: &mut usize) -> Option<Breakdown> {
    let mut ignore = |_: &Delivery| ();
    for told in &world.events[*taken..] {
        correlator.take(&told.event(), &mut ignore);
    }
    *taken = world.events.len();
    world.now += 200_000_000;
    correlator.tick(Nanos(world.now), &mut ignore);
    correlator.snapshot(Nanos(world.now)).breakdown
}

/// The names of each row, and how many messages were sent and read.
fn counts(rows: &[BreakdownRow]) -> Vec<(Vec<&str>, u64, u64)> {
    let counts = |row: &'_ BreakdownRow| (row.sent, row.delivered);
    let names = rows.iter().map(|row| row.names.iter().map(|name| name.as_deref().unwrap_or("?")));
    let all = names.zip(rows.iter().map(counts));
    all.map(|(names, (sent, delivered))| (names.collect(), sent, delivered)).collect()
}

#[test]
fn rows_that_are_asked_for_later_count_from_then_on() {
    let mut world = World::new();
    let mut publisher = join(&mut world, 20, "pub");
    let mut subscribers = [30, 31].map(|pid| join(&mut world, pid, "sub"));
    let (mut correlator, mut taken) = (Correlator::new(Config::default()), 0);
    talk(&mut world, (&mut publisher, &mut subscribers), "a", 0..10);
    assert_eq!(take(&mut correlator, &mut world, &mut taken), None);
    let asked = world.now;
    correlator.ask_breakdown(BreakdownQuery::by(&[Dimension::Topic, Dimension::Process]));
    talk(&mut world, (&mut publisher, &mut subscribers), "a", 10..15);
    talk(&mut world, (&mut publisher, &mut subscribers[..1]), "b", 15..18);
    let shown = take(&mut correlator, &mut world, &mut taken).unwrap();
    assert!(shown.since >= Nanos(asked) && shown.since < Nanos(world.now));
    let mut rows = counts(&shown.rows);
    rows.sort();
    assert_eq!(
        rows,
        [
            (vec!["a", "pub (20)"], 5, 0),
            (vec!["a", "sub (30)"], 0, 5),
            (vec!["a", "sub (31)"], 0, 5),
            (vec!["b", "pub (20)"], 3, 0),
            (vec!["b", "sub (30)"], 0, 3),
        ]
    );
}

#[test]
fn order_and_text_choose_what_is_listed_and_change_no_count() {
    let mut world = World::new();
    let mut publisher = join(&mut world, 20, "pub");
    let mut subscribers = [join(&mut world, 30, "sub")];
    let query = BreakdownQuery::by(&[Dimension::Topic]);
    let config = Config { breakdown: query.clone(), ..Config::default() };
    let (mut correlator, mut taken) = (Correlator::new(config), 0);
    for (topic, numbers) in [("plant/a", 0..5), ("plant/b", 5..25), ("office", 25..28)] {
        talk(&mut world, (&mut publisher, &mut subscribers), topic, numbers);
    }
    let shown = take(&mut correlator, &mut world, &mut taken).unwrap();
    assert_eq!(counts(&shown.rows)[0], (vec!["plant/b"], 20, 20));
    assert_eq!((shown.rows.len(), shown.rest_rows), (3, 0));
    correlator.ask_breakdown(BreakdownQuery {
        order: RowFigure::P99,
        text: "PLANT".into(),
        ..query.clone()
    });
    let shown = take(&mut correlator, &mut world, &mut taken).unwrap();
    assert_eq!((shown.rows.len(), shown.rest_rows, shown.rest.sent), (2, 1, 3));
    assert!(shown.rows[0].one_way.p99 >= shown.rows[1].one_way.p99);
    // At the end everything is listed, whatever was looked for.
    correlator.finish(&mut |_: &Delivery| ());
    let shown = correlator.snapshot(Nanos(world.now)).breakdown.unwrap();
    assert_eq!((shown.rows.len(), shown.rest_rows), (3, 0));
}

/// A broker tells something of itself, which nobody published.
#[test]
fn a_delivery_that_is_not_followed_has_a_row_for_its_topic() {
    let mut world = World::new();
    let mut publisher = join(&mut world, 20, "pub");
    let mut subscribers = [join(&mut world, 30, "sub")];
    talk(&mut world, (&mut publisher, &mut subscribers), "plant/a", 0..5);
    for n in 0..3_u8 {
        let bytes = publish("broker/own", &[b'n', b'u', b'm', n]);
        world.message(&mut subscribers[0].down, &bytes);
    }
    let breakdown = BreakdownQuery::by(&[Dimension::Topic, Dimension::Process]);
    let config = Config { breakdown, ..Config::default() };
    let mut correlator = Correlator::new(config);
    for told in &world.events {
        correlator.take(&told.event(), &mut |_: &Delivery| ());
    }
    correlator.finish(&mut |_: &Delivery| ());
    let snapshot = correlator.snapshot(Nanos(world.now));
    let [group] = snapshot.groups.as_slice() else { panic!("{:#?}", snapshot.groups) };
    assert_eq!((group.messages.delivered, group.messages.uncovered), (8, 3));
    let shown = snapshot.breakdown.unwrap();
    let mut rows = counts(&shown.rows);
    rows.sort();
    assert_eq!(
        rows,
        [
            (vec!["broker/own", "sub (30)"], 0, 3),
            (vec!["plant/a", "pub (20)"], 5, 0),
            (vec!["plant/a", "sub (30)"], 0, 5),
        ]
    );
    let own = shown.rows.iter().find(|row| row.names[0].as_deref() == Some("broker/own"));
    assert_eq!(own.map(|row| row.matched), Some(0));
}
