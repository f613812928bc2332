//! Messages inside TLS, whose text is known from the sender, from the reader, or from both.

use crate::brokered::{BROKER, house};
use crate::played::{Played, seen};
use wirelap_correlate::{Config, Correlator, DeliverySink, DoubtReason, Nondelivery};
use wirelap_events::{Body, Delivery, GroupId, PlainText, Stage, TaskId, TextPlace, TopicId};
use wirelap_test_support::compose::mqtt::{CONNACK, CONNECT, publish};
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::random::Random;
use wirelap_test_support::world::{Way, World, process};

/// The end whose text is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Sender,
    Reader,
    /// The reader's, a few bytes at a time.
    InParts,
    Both,
    Nobody,
}

/// A world whose messages are in records of TLS 1.3.
struct Encrypted {
    world: World,
    told: Told,
    random: Random,
}

/// One direction, and how many bytes of its text were told.
type Lane = (Way, u32);

impl Encrypted {
    fn record(&mut self, kind: u8, body: usize) -> Vec<u8> {
        let [high, low] = u16::try_from(body).unwrap().to_be_bytes();
        [vec![kind, 3, 3, high, low], self.random.bytes(body)].concat()
    }

    fn plain(
        &mut self,
        at: (TaskId, wirelap_events::SocketId),
        place: TextPlace,
        start: u32,
        text: &[u8],
    ) {
        let plain = PlainText {
            socket: at.1,
            task: at.0,
            place,
            text_start: start,
            len: u32::try_from(text.len()).unwrap(),
            text: &[],
        };
        self.world.tell(Body::Plain(plain), text);
    }

    /// A message in a record of its own.
    fn message(&mut self, (way, told): &mut Lane, text: &[u8]) {
        let record = self.record(23, text.len() + 17);
        let record_len = u32::try_from(record.len()).unwrap();
        if matches!(self.told, Told::Sender | Told::Both) {
            let place = TextPlace::Sent { start: way.next, record_len };
            self.plain((way.from.1.task, way.from.0), place, *told, text);
        }
        self.world.message(way, &record);
        if !matches!(self.told, Told::Sender | Told::Nobody) {
            let size = if self.told == Told::InParts { 3 } else { text.len() };
            for (n, part) in text.chunks(size).enumerate() {
                let taken = if n == 0 { record_len } else { 0 };
                let place = TextPlace::Read { end: way.next, taken, ahead: false };
                let start = *told + u32::try_from(n * size).unwrap();
                self.plain((way.to.1.task, way.to.0), place, start, part);
            }
        }
        *told += u32::try_from(text.len()).unwrap();
    }

    /// A connection of an MQTT client: up, down.
    fn connect(&mut self, pid: u32, name: &str) -> (Lane, Lane) {
        let from = format!("127.0.0.1:{}", 40_000 + pid);
        let mut all =
            self.world.connect(process(pid, name), &from, process(10, "mosquitto"), BROKER);
        // The handshake, and what the server says at its end.
        for body in [300, 60] {
            let hello = self.record(22, body);
            self.world.message(&mut all.up, &hello);
            let ticket = self.record(23, body);
            self.world.message(&mut all.down, &ticket);
        }
        let (mut up, mut down) = ((all.up, 0), (all.down, 0));
        self.message(&mut up, CONNECT);
        self.message(&mut down, CONNACK);
        (up, down)
    }
}

fn played(told: Told) -> Played {
    let mut all = Encrypted { world: World::new(), told, random: Random::new(7) };
    let (mut publisher, _) = all.connect(20, "pub");
    let (_, mut subscriber) = all.connect(30, "sub");
    for n in 0..5 {
        let bytes = publish("t", &payload(stamp(n), 64));
        all.message(&mut publisher, &bytes);
        all.message(&mut subscriber, &bytes);
    }
    Played::of(&all.world)
}

/// The stages of each message's legs, as if the first one was sent at 0.
fn stages(told: Told) -> Vec<Vec<(Stage, u64)>> {
    let played = played(told);
    assert_eq!(played.counts(), [5, 5, 5, 0], "{told:?}");
    assert_eq!(played.snapshot.unknown.rows, [], "{told:?}");
    let legs = played.deliveries.iter().flat_map(|delivery| [seen(delivery, 0), seen(delivery, 1)]);
    let since = |leg: Vec<(Stage, u64)>| {
        let first = leg.first().map_or(0, |(_, at)| *at);
        leg.into_iter().map(|(stage, at)| (stage, at - first)).collect()
    };
    legs.map(since).collect()
}

#[test]
fn each_message_counts_once_with_the_same_stages_whoever_tells_its_text() {
    let by_sender = stages(Told::Sender);
    for told in [Told::Reader, Told::InParts, Told::Both] {
        assert_eq!(stages(told), by_sender, "{told:?}");
    }
}

/// Names of topics that were told: public ones, secret ones.
#[derive(Default)]
struct Names {
    told: [Vec<Vec<u8>>; 2],
    takes_given_up: bool,
}

impl DeliverySink for Names {
    fn delivery(&mut self, _: &Delivery) {}

    fn needs_topic(&self, _: TopicId) -> bool {
        true
    }

    fn topic(&mut self, _: TopicId, name: &[u8]) {
        self.told[0].push(name.into());
    }

    fn secret_topic(&mut self, _: TopicId, name: &[u8]) {
        self.told[1].push(name.into());
    }

    fn takes_given_up(&self, _: GroupId, _: Option<Nondelivery>) -> bool {
        self.takes_given_up
    }
}

/// The names of topics that a sink is told, public ones and secret ones.
pub fn named(events: &[OwnedEvent], takes_given_up: bool) -> [Vec<Vec<u8>>; 2] {
    let mut names = Names { takes_given_up, ..Names::default() };
    let mut correlator = Correlator::new(Config { topics: true, ..Config::default() });
    for told in events {
        correlator.take(&told.event(), &mut names);
    }
    correlator.finish(&mut names);
    names.told.map(|mut names| {
        names.dedup();
        names
    })
}

#[test]
fn a_topic_that_was_encrypted_is_told_as_a_secret() {
    let mut all = Encrypted { world: World::new(), told: Told::Both, random: Random::new(7) };
    let (mut publisher, _) = all.connect(20, "pub");
    let (_, mut subscriber) = all.connect(30, "sub");
    let bytes = publish("t", &payload(stamp(0), 64));
    all.message(&mut publisher, &bytes);
    all.message(&mut subscriber, &bytes);
    assert_eq!(named(&all.world.events, false), [vec![], vec![b"t".to_vec()]]);
}

#[test]
fn the_topic_of_a_message_that_nobody_got_is_told_too() {
    let mut all = Encrypted { world: World::new(), told: Told::Both, random: Random::new(7) };
    let (mut publisher, _) = all.connect(20, "pub");
    all.message(&mut publisher, &publish("t", &payload(stamp(0), 64)));
    assert_eq!(named(&all.world.events, true), [vec![], vec![b"t".to_vec()]]);
    let mut world = World::new();
    let (mut publisher, _) = house(&mut world, 0);
    world.message(&mut publisher.up, &publish("u", &payload(stamp(0), 8)));
    assert_eq!(named(&world.events, true), [vec![b"u".to_vec()], vec![]]);
}

/// Doubts about a row whose publisher's text is read, and of its subscriber's connection that of `told`, besides the client's first
/// message.
fn doubts_with(told: Told, count: u32) -> Vec<DoubtReason> {
    let mut all = Encrypted { world: World::new(), told: Told::Sender, random: Random::new(7) };
    let (mut publisher, _) = all.connect(20, "pub");
    all.told = Told::Nobody;
    let (mut up, mut subscriber) = all.connect(30, "sub");
    all.told = Told::Sender;
    all.message(&mut up, CONNECT);
    for n in 0..count {
        let bytes = publish("t", &payload(stamp(n), 64));
        all.told = Told::Sender;
        all.message(&mut publisher, &bytes);
        all.told = told;
        all.message(&mut subscriber, &bytes);
    }
    let played = Played::of(&all.world);
    let doubts = played.group().doubts(&played.snapshot.trust);
    doubts.into_iter().map(|doubt| doubt.reason).collect()
}

/// Some libraries are read only where a program writes.
#[test]
fn a_direction_of_which_no_text_is_known_is_a_doubt() {
    let half = [DoubtReason::EncryptedConnections { connections: 1 }];
    assert_eq!(doubts_with(Told::Nobody, 40), half);
    assert_eq!(doubts_with(Told::Sender, 40), []);
    assert_eq!(doubts_with(Told::Nobody, 2), [], "the end of a handshake");
}
