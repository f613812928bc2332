//! Reports of messages that were not seen to be delivered.

use crate::brokered::house;
use wirelap_correlate::{Config, Correlator, DeliverySink, Nondelivery};
use wirelap_events::{Body, Delivery, GroupId, LossCause, LostEvents, Nanos, Probe, Stage};
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::compose::{payload, plain, stamp};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::{World, process};

#[derive(Default)]
struct Heard {
    delivered: Vec<Delivery>,
    aside: Vec<Delivery>,
    undelivered: Vec<(Delivery, Nondelivery)>,
    takes: bool,
}

impl DeliverySink for Heard {
    fn delivery(&mut self, delivery: &Delivery) {
        self.delivered.push(delivery.clone());
    }

    fn aside(&mut self, delivery: &Delivery) {
        self.aside.push(delivery.clone());
    }

    fn takes_given_up(&self, _: GroupId, _: Option<Nondelivery>) -> bool {
        self.takes
    }

    fn undelivered(&mut self, so_far: &Delivery, why: Nondelivery) {
        self.undelivered.push((so_far.clone(), why));
    }
}

/// Collects what is told of these events, and of time that passes after them.
fn hear<'a>(told: impl Iterator<Item = &'a OwnedEvent>, packets_only: bool, rest: Nanos) -> Heard {
    let mut correlator = Correlator::new(Config { packets_only, ..Config::default() });
    let mut heard = Heard { takes: true, ..Heard::default() };
    let mut now = Nanos(0);
    for told in told {
        let event = told.event();
        now = now.max(event.at);
        correlator.take(&event, &mut heard);
    }
    correlator.tick(now + rest, &mut heard);
    correlator.tick(now + rest + rest, &mut heard);
    correlator.finish(&mut heard);
    heard
}

const LONG: Nanos = Nanos::from_millis(6_000);
const SHORT: Nanos = Nanos::from_millis(100);

fn last(so_far: &Delivery) -> (usize, Stage) {
    (so_far.legs.len(), so_far.legs.last().unwrap().times.seen().last().unwrap().0)
}

#[test]
fn what_nobody_subscribed_to_was_last_read_by_the_broker() {
    let mut world = World::new();
    let (mut publisher, _) = house(&mut world, 0);
    world.message(&mut publisher.up, &publish("t", &payload(stamp(0), 8)));
    for (rest, expected) in [(LONG, Nondelivery::ForNobody), (SHORT, Nondelivery::UnderWay)] {
        let heard = hear(world.events.iter(), false, rest);
        let [(so_far, why)] = &heard.undelivered[..] else { panic!("{:?}", heard.undelivered) };
        assert_eq!((last(so_far), *why), ((1, Stage::Read), expected));
        assert_eq!((so_far.payload_len, so_far.stamp.unwrap().seq), (8, 0));
        assert!(heard.delivered.is_empty() && heard.aside.is_empty());
    }
}

/// One of two subscribers does not read: its copy waits in the socket's queue, however long.
#[test]
fn a_copy_that_nobody_reads_is_told_beside_one_that_was_read() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 2);
    let bytes = publish("t", &payload(stamp(0), 8));
    world.message(&mut publisher.up, &bytes);
    world.message(&mut subscribers[0].down, &bytes);
    world.message(&mut subscribers[1].down, &bytes);
    let mut reads = 0;
    let kept = world.events.iter().filter(|told| {
        let of_second = subscribers[1].down.to.0;
        let is_read =
            |body: &Body<'_>| matches!(body, Body::Read(read) if read.socket == of_second);
        // The first is of the answer to its CONNECT.
        reads += usize::from(is_read(&told.event.body));
        let is_second = is_read(&told.event.body) && reads == 2;
        !is_second && !matches!(told.event.body, Body::Wake(_))
    });
    let heard = hear(kept, false, LONG);
    assert_eq!(heard.delivered.len(), 1);
    let [(so_far, Nondelivery::UnderWay)] = &heard.undelivered[..] else {
        panic!("{:?}", heard.undelivered)
    };
    assert_eq!(last(so_far), (2, Stage::Ready));
    assert_eq!(so_far.message, heard.delivered[0].message);
    assert_eq!(so_far.legs[0], heard.delivered[0].legs[0]);
}

#[test]
fn what_came_from_nowhere_was_delivered_without_an_end() {
    let mut world = World::new();
    let (_, mut subscribers) = house(&mut world, 1);
    world.message(&mut subscribers[0].down, &publish("t", &payload(stamp(0), 8)));
    let heard = hear(world.events.iter(), false, LONG);
    assert!(heard.undelivered.is_empty() && heard.delivered.is_empty());
    assert_eq!(heard.aside.iter().map(last).collect::<Vec<_>>(), [(1, Stage::Read)]);
}

/// Packets alone: what reaches a peer was delivered, what reaches a server must go on.
#[test]
fn of_packets_alone_only_a_server_keeps_a_message() {
    let mut world = World::new();
    let (mut publisher, _) = house(&mut world, 0);
    world.message(&mut publisher.up, &publish("t", &payload(stamp(0), 8)));
    let mut peers =
        world.connect(process(1, "a"), "127.0.0.1:41000", process(2, "b"), "127.0.0.1:9000");
    world.message(&mut peers.up, &plain(stamp(0), 100));
    let packets = world.events.iter().filter(|told| matches!(told.event.body, Body::Packet(_)));
    let heard = hear(packets, true, LONG);
    assert_eq!((heard.delivered.len(), heard.aside.len(), heard.undelivered.len()), (1, 0, 1));
}

#[test]
fn whoever_does_not_ask_is_told_nothing() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    world.message(&mut publisher.up, &publish("t", &payload(stamp(0), 8)));
    world.message(&mut subscribers[0].down, &publish("u", &payload(stamp(7), 9)));
    let mut correlator = Correlator::new(Config::default());
    let mut heard = Heard::default();
    for told in &world.events {
        correlator.take(&told.event(), &mut heard);
    }
    correlator.finish(&mut heard);
    assert!(heard.aside.is_empty() && heard.undelivered.is_empty());
}

/// A broker passes on each message but this one, after which `happens` takes place.
fn without_one(missing: u32, happens: Option<Body<'static>>) -> Vec<Nondelivery> {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    for n in 0..9 {
        let bytes = publish("t", &payload(stamp(n), 8));
        world.message(&mut publisher.up, &bytes);
        if n == missing {
            if let Some(body) = happens {
                world.tell(body, &[]);
            }
        } else {
            world.message(&mut subscribers[0].down, &bytes);
        }
    }
    let heard = hear(world.events.iter(), false, LONG);
    heard.undelivered.iter().map(|&(_, why)| why).collect()
}

#[test]
fn only_what_others_got_before_and_after_is_lost() {
    assert_eq!(without_one(4, None), [Nondelivery::Lost]);
    assert_eq!(without_one(0, None), [Nondelivery::ForNobody]);
}

#[test]
fn what_a_pause_or_a_lost_event_hides_is_not_lost() {
    let lost = LostEvents { probe: Probe::Send, count: 1, cause: LossCause::RingFull };
    assert_eq!(without_one(8, Some(Body::Lost(lost))), [Nondelivery::NotFollowed]);
    assert_eq!(without_one(8, Some(Body::Window(false))), [Nondelivery::NotFollowed]);
}
