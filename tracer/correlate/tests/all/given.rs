//! Messages that say when their sender's library was given them.

use crate::played::Played;
use wirelap_correlate::Config;
use wirelap_events::{Body, Delivery, Nanos, OffCpuReason, Segment, Stage, Wake};
use wirelap_test_support::world::udp::{ALL, End, datagram, end, flow};
use wirelap_test_support::world::{World, process};

const PREFIX: [u8; 12] = [1, 0x10, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

/// From the events' clock to the wall clock.
const WALL: i64 = 1_700_000_000_123_456_789;

/// An `INFO_TS` for a time of the events' clock, little-endian.
fn info_ts(at: Nanos) -> Vec<u8> {
    let wall = at.0.checked_add_signed(WALL).unwrap();
    let seconds = u32::try_from(wall / 1_000_000_000).unwrap();
    let fraction = u32::try_from(((wall % 1_000_000_000) << 32) / 1_000_000_000).unwrap();
    [&[0x09, 1, 8, 0][..], &seconds.to_le_bytes(), &fraction.to_le_bytes()].concat()
}

fn data(number: u32) -> Vec<u8> {
    let mut bytes = vec![0x15, 5, 32, 0, 0, 0, 16, 0, 0, 0, 0, 0];
    bytes.extend(0x0000_0b02_u32.to_be_bytes());
    bytes.extend(0u32.to_le_bytes());
    bytes.extend(number.to_le_bytes());
    bytes.extend([0, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    bytes
}

/// A publisher whose thread is given messages, and sends them.
struct Publisher {
    world: World,
    from: End,
    to: End,
    number: u32,
}

impl Publisher {
    fn new() -> Publisher {
        let mut world = World::new();
        let from = end(&mut world, process(1, "pub"), "127.0.0.1:7411");
        let to = end(&mut world, process(2, "sub"), "127.0.0.1:7413");
        let mut publisher = Publisher { world, from, to, number: 0 };
        publisher.sleeps(10);
        publisher
    }

    fn runs(&mut self, micros: u64) -> Nanos {
        self.world.now += micros * 1_000;
        Nanos(self.world.now)
    }

    /// Lets the publisher's thread sleep for so many milliseconds.
    fn sleeps(&mut self, millis: u64) {
        let left = Nanos(self.world.now);
        let woken = self.runs(millis * 1_000);
        let (task, rest) = (self.from.owner.task, OffCpuReason::Asleep);
        let wake =
            Wake { task, woken, left: Some(left), reason: rest, from_irq: true, ..Wake::default() };
        self.world.tell(Body::Wake(wake), &[]);
    }

    /// The next message, of which it says that it was given at that moment, is sent and read.
    fn sends(&mut self, given: Nanos) {
        self.number += 1;
        let mut bytes = b"RTPS\x02\x05\x01\x10".to_vec();
        bytes.extend(PREFIX);
        bytes.extend([info_ts(given), data(self.number)].concat());
        let way = flow("127.0.0.1:7411", "127.0.0.1:7413");
        datagram(&mut self.world, way, self.number.into(), self.from, &[self.to], &bytes, ALL);
    }

    /// Gives the publisher a message, which it sends at once.
    fn publishes(&mut self) {
        self.sleeps(10);
        let given = self.runs(20);
        self.runs(30);
        self.sends(given);
    }

    fn play(&self, wall: Option<i64>) -> Played {
        Played::new(Config { wall, ..Config::default() }, &self.world.events)
    }
}

/// The times for which the library is said to have kept each message, in whole milliseconds.
fn kept(played: &Played) -> Vec<Option<u64>> {
    let kept = |delivery: &Delivery| {
        let times = delivery.legs[0].times;
        let kept = times.get(Stage::Send)?.since(times.get(Stage::Publish)?)?;
        assert_eq!(delivery.legs[0].segments().get(Segment::ClientTx), Some(kept));
        assert!(delivery.one_way() > Some(kept));
        Some(kept.0 / 1_000_000)
    };
    played.deliveries.iter().map(kept).collect()
}

/// Two messages that are sent at once, and one whose sender sleeps before it sends it.
fn throttled() -> Publisher {
    let mut publisher = Publisher::new();
    publisher.publishes();
    publisher.publishes();
    let given = publisher.runs(100);
    publisher.runs(20);
    publisher.sleeps(150);
    publisher.sends(given);
    publisher
}

#[test]
fn a_message_that_the_library_kept_begins_when_it_was_given() {
    let played = throttled().play(Some(WALL));
    assert_eq!(played.counts(), [3, 3, 3, 0]);
    assert_eq!(kept(&played), [None, None, Some(150)]);
}

#[test]
fn without_the_wall_clock_nothing_is_known() {
    assert_eq!(kept(&throttled().play(None)), [None; 3]);
}

#[test]
fn what_the_sender_cannot_have_said_is_not_believed_again() {
    // Of another clock, or handed on for somebody else: the thread slept at that moment.
    let mut publisher = throttled();
    let asleep = Nanos(publisher.world.now) + Nanos::from_millis(5);
    publisher.sleeps(10);
    publisher.sends(asleep);
    let given = publisher.runs(100);
    publisher.sleeps(150);
    publisher.sends(given);
    assert_eq!(kept(&publisher.play(Some(WALL))), [None, None, Some(150), None, None]);
}

#[test]
fn a_time_to_come_is_not_believed() {
    let mut publisher = Publisher::new();
    let to_come = Nanos(publisher.world.now) + Nanos::from_millis(1_000);
    publisher.sends(to_come);
    publisher.publishes();
    let given = publisher.runs(100);
    publisher.sleeps(150);
    publisher.sends(given);
    assert_eq!(kept(&publisher.play(Some(WALL))), [None; 3]);
}

#[test]
fn a_claim_alone_proves_nothing() {
    // Messages of another one are handed on: each waited before it got here.
    let mut publisher = Publisher::new();
    for _ in 0..3 {
        let given = publisher.runs(100);
        publisher.sleeps(7);
        publisher.sends(given);
    }
    assert_eq!(kept(&publisher.play(Some(WALL))), [None; 3]);
}

#[test]
fn a_thread_that_sends_again_refutes_nobody_else() {
    let mut publisher = Publisher::new();
    publisher.publishes();
    let asleep = Nanos(publisher.world.now) + Nanos::from_millis(5);
    publisher.sleeps(10);
    // The library's own thread sends what nobody has seen of the first one.
    let writer = publisher.from;
    publisher.from.owner = process(1, "pub");
    publisher.from.owner.task.tid = wirelap_events::Tid(7);
    publisher.sleeps(10);
    publisher.sends(asleep);
    publisher.from = writer;
    publisher.publishes();
    let given = publisher.runs(100);
    publisher.sleeps(150);
    publisher.sends(given);
    assert_eq!(kept(&publisher.play(Some(WALL))), [None, None, None, Some(150)]);
}
