//! Messages of equal content that wait at their broker, and some that never come.

use crate::brokered::{BROKER, house};
use crate::played::Played;
use wirelap_correlate::Config;
use wirelap_events::{Body, Delivery, Nanos, PacketHook};
use wirelap_test_support::compose::mqtt::{publish, subscribe};
use wirelap_test_support::world::{Connection, Way, World, process};

const MS: u64 = 1_000_000;

/// The messages of a publisher at a fixed pace, each at its time, and what a broker sends of them.
struct Site {
    world: World,
    publishers: Vec<Connection>,
    subscribers: Vec<Connection>,
    /// Acts that are still to be told, by time.
    plan: Vec<(u64, Act)>,
}

/// An act: one of the publishers sends a message, the broker reads what it has of one, or sends a message to a subscriber.
#[derive(Clone, Copy, Debug)]
enum Act {
    Publish(usize),
    Take(usize),
    Deliver(usize),
    /// The broker's thread is woken by data, or by a timer.
    Wake,
}

impl Site {
    fn new(publishers: u32, subscribers: u32) -> Site {
        let mut world = World::new();
        let (first, all) = house(&mut world, subscribers);
        let mut site = Site { world, publishers: vec![first], subscribers: all, plan: Vec::new() };
        for n in 1..publishers {
            let from = format!("127.0.0.1:{}", 41_000 + n);
            let (client, broker) = (process(50 + n, "pub"), process(10, "mosquitto"));
            site.publishers.push(site.world.connect_mqtt(client, &from, broker, BROKER));
        }
        site
    }

    /// They subscribe.
    fn subscribed(mut self) -> Site {
        for subscriber in &mut self.subscribers {
            self.world.message(&mut subscriber.up, &subscribe("t"));
            self.world.message(&mut subscriber.down, b"\x90\x03\x00\x01\x00");
        }
        self
    }

    /// At a time in milliseconds, and `later` in microseconds.
    fn at(&mut self, ms: u64, later: u64, act: Act) {
        self.plan.push((ms * MS + later * 1_000, act));
    }

    /// A message is published, read by the broker at once, and sent `dwell` milliseconds later to each subscriber.
    fn pass(&mut self, ms: u64, dwell: u64) {
        self.at(ms, 0, Act::Publish(0));
        self.at(ms, 50, Act::Take(0));
        for subscriber in 0..self.subscribers.len() {
            self.at(ms + dwell, 150 + subscriber as u64 * 20, Act::Deliver(subscriber));
        }
    }

    fn tell(&mut self) {
        self.plan.sort_by_key(|(at, _)| *at);
        let began = self.world.now;
        let bytes = publish("t", b"ON");
        for (at, act) in std::mem::take(&mut self.plan) {
            self.world.now = self.world.now.max(began + at);
            match act {
                Act::Publish(n) => _ = arrive(&mut self.world, &mut self.publishers[n].up, &bytes),
                Act::Take(n) => take(&mut self.world, &self.publishers[n].up),
                Act::Deliver(n) => _ = self.world.message(&mut self.subscribers[n].down, &bytes),
                Act::Wake => _ = self.world.wake(process(10, "mosquitto").task, None),
            }
        }
    }

    /// The latencies in milliseconds, as they were observed live and in a capture, of which all deliveries were followed.
    fn latencies(&mut self) -> [Vec<u64>; 2] {
        self.tell();
        let live = Played::of(&self.world);
        let packets: Vec<_> = self
            .world
            .events
            .iter()
            .filter(|event| match &event.event.body {
                Body::Packet(packet) => packet.hook == PacketHook::Xmit,
                _ => false,
            })
            .cloned()
            .collect();
        let config = Config { packets_only: true, ..Config::default() };
        let captured = Played::new(config, &packets);
        [live, captured].map(|played| {
            let [_, delivered, followed, uncovered] = played.counts();
            assert_eq!((followed, uncovered), (delivered, 0), "{:?}", played.counts());
            let mut all = played.deliveries;
            all.sort_by_key(|one| one.message.0);
            all.iter().map(in_ms).collect()
        })
    }
}

fn in_ms(delivery: &Delivery) -> u64 {
    delivery.one_way().unwrap_or_default().0 / MS
}

/// Bytes that arrive and are not read yet.
fn arrive(world: &mut World, way: &mut Way, bytes: &[u8]) -> Nanos {
    let (start, len) = way.advance(bytes.len());
    let sent = world.send(way, start, len);
    world.xmit(way, start, bytes);
    world.rx(way, start, len);
    world.ready(way, way.next);
    sent
}

/// Everything that has arrived is read.
fn take(world: &mut World, way: &Way) {
    world.read(way, way.next, 1);
}

/// Two hundred a second, and a broker that stands still for 400 ms.
#[test]
fn a_broker_that_stands_still_sends_all_that_came_meanwhile() {
    for start in [100_u64, 0] {
        let mut site = Site::new(1, 2).subscribed();
        let mut expected = Vec::new();
        for n in 0..300 {
            let ms = n * 5;
            let is_held = (start * 5..start * 5 + 400).contains(&ms);
            if is_held {
                let until = start * 5 + 400;
                site.at(ms, 0, Act::Publish(0));
                site.at(until, 10, Act::Take(0));
                for subscriber in 0..2 {
                    site.at(until, 20 + (n - start) * 14, Act::Deliver(subscriber));
                }
                expected.extend([until - ms; 2]);
            } else {
                site.pass(ms, if ms == start * 5 + 400 { 2 } else { 0 });
                expected.extend([if ms == start * 5 + 400 { 2 } else { 0 }; 2]);
            }
        }
        for found in site.latencies() {
            let near = |(a, b): (&u64, &u64)| a.abs_diff(*b) <= 2;
            assert!(found.iter().zip(&expected).all(near), "{found:?}\n{expected:?}");
            assert_eq!(found.len(), expected.len());
        }
    }
}

/// Each waits for 300 ms, thirty of them at a time.
#[test]
fn a_broker_that_keeps_each_for_a_time_sends_them_in_turn() {
    let mut site = Site::new(1, 1).subscribed();
    (0..200).for_each(|n| site.pass(n * 10, 300));
    for found in site.latencies() {
        assert_eq!(found, [300; 200]);
    }
}

/// A message that comes late because its broker was slow is not one that was dropped.
#[test]
fn a_broker_that_becomes_slower_sends_them_in_turn() {
    let mut site = Site::new(1, 1).subscribed();
    (0..50).for_each(|n| site.pass(n * 10, 0));
    (50..200).for_each(|n| site.pass(n * 10, (n - 50).min(47)));
    let expected: Vec<u64> = (0..200_u64).map(|n| n.saturating_sub(50).min(47)).collect();
    for found in site.latencies() {
        assert_eq!(found, expected);
    }
}

/// Messages that are published about every 10 ms, of which the broker drops some, or keeps each for a time from then on. `is_seen` says
/// whether its thread is.
fn slower_or_dropped(dropped: u64, held: u64, is_seen: bool) -> Site {
    let mut site = Site::new(1, 1).subscribed();
    for n in 0..200 {
        let is_dropped = (60..60 + dropped).contains(&n);
        let (ms, late) = (n * 10, n * 37 % 190);
        let held = if n < 60 { 0 } else { held };
        site.at(ms, late, Act::Publish(0));
        if is_seen {
            site.at(ms, late + 40, Act::Wake);
        }
        site.at(ms, late + 50, Act::Take(0));
        if is_seen && held > 0 {
            site.at(ms + held, late + 240, Act::Wake);
        }
        if !is_dropped {
            site.at(ms + held, late + if held > 0 { 250 } else { 100 }, Act::Deliver(0));
        }
    }
    site
}

/// A broker that is slower from some time on by a multiple of the messages' interval looks as quick as before, and as if it had dropped
/// some.
#[test]
fn a_broker_that_is_slower_by_some_intervals_drops_none() {
    for (intervals, is_seen) in [(1, true), (2, false), (3, true), (4, false), (4, true)] {
        let expected: Vec<u64> =
            (0..200).map(|n| if n < 60 { 0 } else { intervals * 10 }).collect();
        for found in slower_or_dropped(0, intervals * 10, is_seen).latencies() {
            assert_eq!(found, expected, "{intervals} {is_seen}");
        }
        for found in slower_or_dropped(intervals, 0, is_seen).latencies() {
            assert_eq!(
                found,
                vec![0; 200 - usize::try_from(intervals).unwrap()],
                "{intervals} {is_seen}"
            );
        }
    }
}

/// One is dropped, and later three more: those that follow are as quick as those before.
#[test]
fn a_dropped_message_moves_no_other() {
    for pace in [1_u64, 10, 30, 100, 1_000] {
        let mut site = Site::new(1, 2).subscribed();
        for n in 0..150 {
            if n == 40 || (90..93).contains(&n) {
                site.at(n * pace, 0, Act::Publish(0));
                site.at(n * pace, 50, Act::Take(0));
            } else {
                site.pass(n * pace, 0);
            }
        }
        for found in site.latencies() {
            assert_eq!(found, [0; 292], "every {pace} ms");
        }
    }
}

/// The subscriber of a connection that was open before anybody looked: what it did not get was not for it.
#[test]
fn who_gets_nothing_at_first_gets_the_newest() {
    let mut site = Site::new(1, 1);
    for n in 0..300 {
        if n < 100 {
            site.at(n * 10, 0, Act::Publish(0));
            site.at(n * 10, 50, Act::Take(0));
        } else {
            site.pass(n * 10, 0);
        }
    }
    for found in site.latencies() {
        assert_eq!(found, [0; 200]);
    }
}

/// Three publishers of the same, each at its own time.
#[test]
fn several_publishers_are_told_apart_by_when_their_messages_came() {
    let mut site = Site::new(3, 2).subscribed();
    for n in 0..200_u64 {
        let publisher = (n % 3) as usize;
        let held = if (60..100).contains(&n) { 100 - n } else { 0 };
        site.at(n * 5, 0, Act::Publish(publisher));
        site.at((n + held) * 5, 50, Act::Take(publisher));
        for subscriber in 0..2 {
            let later = if held > 0 { n - 60 } else { 0 };
            site.at((n + held) * 5, 100 + later * 14, Act::Deliver(subscriber));
        }
    }
    let expected: Vec<u64> = (0..200_u64)
        .flat_map(|n| [if (60..100).contains(&n) { (100 - n) * 5 } else { 0 }; 2])
        .collect();
    for found in site.latencies() {
        let near = |(a, b): (&u64, &u64)| a.abs_diff(*b) <= 1;
        assert!(found.iter().zip(&expected).all(near), "{found:?}");
        assert_eq!(found.len(), expected.len());
    }
}
