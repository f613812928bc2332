//! Traffic that is observed in windows: what a pause cuts says nothing of who holds up messages.

use crate::audience::{Watch, join};
use crate::words::words;
use wirelap_correlate::{Severity, VerdictKind, Whereabouts};
use wirelap_events::{Body, Nanos};
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{Connection, Way, World};

/// A publisher and two subscribers of a broker, observed in windows.
struct Sampled {
    watch: Watch,
    publisher: Connection,
    subscribers: [Connection; 2],
    sent: u32,
}

/// The place of the last message before a pause.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// In the broker's socket.
    Unread,
    /// In the broker, which has read it.
    Read,
    /// In a subscriber's socket; the other one has it.
    Forwarded,
}

impl Sampled {
    fn new() -> Sampled {
        let mut world = World::new();
        let publisher = join(&mut world, 20, "pub");
        let subscribers = [30, 31].map(|pid| join(&mut world, pid, "sub"));
        Sampled { watch: Watch::new(world), publisher, subscribers, sent: 0 }
    }

    fn message(&mut self) {
        let bytes = publish("t", &payload(stamp(self.sent), 64));
        self.sent += 1;
        let world = &mut self.watch.world;
        world.message(&mut self.publisher.up, &bytes);
        for subscriber in &mut self.subscribers {
            world.message(&mut subscriber.down, &bytes);
        }
    }

    fn messages(&mut self, count: u32) {
        for _ in 0..count {
            self.message();
            self.watch.take(50);
            self.assert_quiet();
        }
    }

    /// A message that is under way when the observation pauses, and comes where it is to in the pause.
    fn cut_message(&mut self, cut: Cut) {
        let bytes = publish("t", &payload(stamp(self.sent), 64));
        self.sent += 1;
        let [first, second] = &mut self.subscribers;
        let world = &mut self.watch.world;
        match cut {
            Cut::Unread => come(world, &mut self.publisher.up, &bytes),
            Cut::Read => {
                world.message(&mut self.publisher.up, &bytes);
            }
            Cut::Forwarded => {
                world.message(&mut self.publisher.up, &bytes);
                world.message(&mut first.down, &bytes);
                come(world, &mut second.down, &bytes);
            }
        }
        world.tell(Body::Window(false), &[]);
        if !matches!(cut, Cut::Forwarded) {
            first.down.advance(bytes.len());
            second.down.advance(bytes.len());
        }
    }

    /// Sends messages in a pause, of which nobody is told.
    fn pause(&mut self, messages: u32) {
        for _ in 0..messages {
            let told = self.watch.world.events.len();
            self.message();
            self.watch.world.events.truncate(told);
            self.watch.take(200);
            self.assert_quiet();
        }
    }

    fn messages_unwatched(&mut self, count: u32) {
        (0..count).for_each(|_| self.message());
    }

    /// A message that the broker reads and passes on to nobody.
    fn swallowed(&mut self) {
        let bytes = publish("t", &payload(stamp(self.sent), 64));
        self.sent += 1;
        self.watch.world.message(&mut self.publisher.up, &bytes);
    }

    fn assert_quiet(&mut self) {
        let snapshot = self.watch.correlator.snapshot(Nanos(self.watch.world.now));
        assert_eq!(snapshot.slow.behind, 0, "{:?}", snapshot.slow);
        assert!(snapshot.slow.listed.is_empty(), "{:?}", snapshot.slow);
        for group in &snapshot.groups {
            assert!(group.why.open.is_empty(), "{:?}", group.why.open);
            let is_problem = |kind| kind != Severity::Note;
            let problems = group.why.verdicts.iter().filter(|one| is_problem(one.severity));
            assert_eq!(problems.count(), 0, "{:?}", group.why.verdicts);
        }
    }
}

/// A message arrives at a socket, and nobody reads it.
fn come(world: &mut World, way: &mut Way, bytes: &[u8]) {
    let (start, len) = way.advance(bytes.len());
    world.send(way, start, len);
    world.xmit(way, start, bytes);
    world.rx(way, start, len);
    world.ready(way, way.next);
}

#[test]
fn what_a_pause_cuts_is_not_held_up_by_anybody() {
    for cut in [Cut::Unread, Cut::Read, Cut::Forwarded] {
        let mut sampled = Sampled::new();
        sampled.messages(30);
        for _ in 0..3 {
            sampled.cut_message(cut);
            sampled.pause(20);
            sampled.watch.world.tell(Body::Window(true), &[]);
            sampled.messages(30);
        }
        let snapshot = sampled.watch.correlator.snapshot(Nanos(sampled.watch.world.now));
        let counts = &snapshot.groups[0].messages;
        assert_eq!(
            (counts.uncovered, snapshot.groups[0].coverage),
            (0, 1.0),
            "{cut:?}: {counts:?}"
        );
    }
}

#[test]
fn who_does_not_read_is_seen_in_a_window_as_well() {
    let mut sampled = Sampled::new();
    sampled.messages(30);
    sampled.cut_message(Cut::Read);
    sampled.pause(5);
    sampled.watch.world.tell(Body::Window(true), &[]);
    sampled.messages(5);
    let bytes = publish("t", &payload(stamp(1_000), 64));
    come(&mut sampled.watch.world, &mut sampled.publisher.up, &bytes);
    sampled.watch.take(2_000);
    let snapshot = sampled.watch.correlator.snapshot(Nanos(sampled.watch.world.now));
    let open = &snapshot.groups[0].why.open;
    assert_eq!(open.iter().map(|one| one.place).collect::<Vec<_>>(), [Whereabouts::BrokerQueue]);
}

/// Before the first pause, nobody notes what it would be known by.
#[test]
fn a_loss_within_a_window_is_told() {
    for lost in [0, 1] {
        let mut sampled = Sampled::new();
        for _ in 0..3 {
            for n in 0..20 {
                sampled.message();
                (0..lost).filter(|_| n == 10).for_each(|_| sampled.swallowed());
                sampled.watch.take(10);
            }
            // A message that is under way when the window ends may come in the pause.
            sampled.cut_message(Cut::Read);
            let told = sampled.watch.world.events.len();
            (0..20).for_each(|_| sampled.message());
            sampled.watch.world.events.truncate(told);
            sampled.watch.take(2_000);
            sampled.watch.world.tell(Body::Window(true), &[]);
        }
        sampled.messages_unwatched(20);
        sampled.watch.take(6_000);
        let snapshot = sampled.watch.correlator.snapshot(Nanos(sampled.watch.world.now));
        let verdicts = &snapshot.groups[0].why.verdicts;
        let never = verdicts.iter().find(|verdict| verdict.kind == VerdictKind::NeverDelivered);
        let said = never.map(words);
        let told = said.as_deref().map(|said| said.starts_with("2 of "));
        assert_eq!(told, (lost > 0).then_some(true), "{said:?}");
    }
}
