//! Room for more messages: sampling windows end when there is none.

use crate::brokered::house;
use crate::played::Played;
use wirelap_correlate::{Config, Correlator};
use wirelap_events::{Body, Delivery, Nanos};
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::compose::{payload, plain, stamp};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::{Connection, World, process};

const ROOM: usize = 100;

fn correlator() -> Correlator {
    Correlator::new(Config { max_messages: ROOM, ..Config::default() })
}

/// Takes events in until there is no room. Returns how many, and how many messages were given up until then.
fn take_while_there_is_room(correlator: &mut Correlator, events: &[OwnedEvent]) -> (usize, u64) {
    let fits = |event: &&OwnedEvent| {
        let has_room = correlator.make_room();
        if has_room {
            correlator.take(&event.event(), &mut |_: &Delivery| {});
        }
        has_room
    };
    let taken = events.iter().take_while(fits).count();
    (taken, correlator.snapshot(Nanos(0)).trust.evicted)
}

fn connected(world: &mut World) -> Connection {
    world.connect(process(1, "a"), "127.0.0.1:40000", process(2, "b"), "127.0.0.1:9000")
}

/// A message that its reader leaves in its socket.
fn unread(world: &mut World, pair: &mut Connection, number: u32) {
    let bytes = plain(stamp(number), 100);
    let (start, len) = pair.up.advance(bytes.len());
    world.send(&pair.up, start, len);
    world.xmit(&pair.up, start, &bytes);
    world.rx(&pair.up, start, len);
}

#[test]
fn there_is_room_as_long_as_messages_arrive() {
    let mut world = World::new();
    let mut pair = connected(&mut world);
    for n in 0..1_000 {
        world.message(&mut pair.up, &plain(stamp(n), 100));
        world.now += 1_000_000;
    }
    let all = (world.events.len(), 0);
    assert_eq!(take_while_there_is_room(&mut correlator(), &world.events), all);
}

#[test]
fn there_is_none_before_a_message_has_to_be_given_up_that_was_not_read() {
    let mut world = World::new();
    let mut pair = connected(&mut world);
    let before = world.events.len();
    (0..500).for_each(|n| unread(&mut world, &mut pair, n));
    let each = (world.events.len() - before) / 500;
    let (taken, evicted) = take_while_there_is_room(&mut correlator(), &world.events);
    let messages = (taken - before) / each;
    assert_eq!(evicted, 0);
    assert!((ROOM * 9 / 10..ROOM).contains(&messages), "{messages}");
}

/// A first leg is complete, and nothing more is expected of it: that alone is no reason to give it up.
#[test]
fn there_is_none_before_a_message_has_to_be_given_up_that_its_broker_keeps() {
    let mut world = World::new();
    let (mut publisher, _) = house(&mut world, 1);
    for n in 0..500 {
        world.message(&mut publisher.up, &publish("t", &payload(stamp(n), 64)));
        world.now += 1_000_000;
    }
    let mut correlator = correlator();
    let (taken, _) = take_while_there_is_room(&mut correlator, &world.events);
    let sent = correlator.snapshot(Nanos(0)).groups[0].messages.sent;
    assert!(taken < world.events.len() && sent < ROOM as u64, "{taken} events, {sent} messages");
}

#[test]
fn what_a_window_has_left_behind_takes_no_room_of_the_next() {
    let mut world = World::new();
    let mut pair = connected(&mut world);
    (0..500).for_each(|n| unread(&mut world, &mut pair, n));
    let mut correlator = correlator();
    take_while_there_is_room(&mut correlator, &world.events);
    assert!(!correlator.make_room());
    let mut next = World::new();
    next.now = world.now;
    next.tell(Body::Window(false), &[]);
    next.now += 1_000_000;
    next.tell(Body::Window(true), &[]);
    for told in &next.events {
        correlator.take(&told.event(), &mut |_: &Delivery| {});
    }
    assert!(correlator.make_room());
}

/// A sender's buffer of 4 MiB holds as many sends of 64 bytes as there are observations of other kinds.
#[test]
fn what_waits_in_its_senders_buffer_is_not_given_up() {
    const WAITING: u32 = 150_000;
    let mut world = World::new();
    let mut pair = connected(&mut world);
    let messages: Vec<_> = (0..WAITING)
        .map(|n| {
            let bytes = plain(stamp(n), 64);
            let (start, len) = pair.up.advance(bytes.len());
            world.send(&pair.up, start, len);
            (start, bytes)
        })
        .collect();
    for (start, bytes) in messages {
        world.now += 1_000;
        world.xmit(&pair.up, start, &bytes);
        let len = u32::try_from(bytes.len()).unwrap();
        world.rx(&pair.up, start, len);
        let end = start.plus(len);
        world.ready(&pair.up, end);
        world.read(&pair.up, end, len);
    }
    let played = Played::of(&world);
    let counts = &played.snapshot.groups[0].messages;
    assert_eq!((counts.matched, counts.uncovered), (u64::from(WAITING), 0));
    assert_eq!(played.snapshot.trust.evicted, 0);
}
