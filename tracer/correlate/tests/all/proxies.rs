//! Proxies in a row between clients and their broker, and proxies that keep bytes for a time.

use crate::played::Played;
use wirelap_correlate::VerdictKind;
use wirelap_events::{Delivery, Pid};
use wirelap_test_support::compose::mqtt::{CONNACK, CONNECT, publish, publish_with};
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{Connection, Process, World, process};

const MS: u64 = 1_000_000;

/// The payload of all publishers, again and again.
const TOPIC: &str = "plant/line4/state";
const STATE: &[u8] = b"running, running";

/// The connections between a client and the broker, from the client's on.
struct Chain(Vec<Connection>);

/// The way in which the connections of a chain came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    /// Each proxy's listening process accepts, and a child of its own serves each client.
    Forking,
}

/// Addresses at which proxies and broker listen, and whether the connections are seen to be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ports {
    /// The broker at its usual port, each proxy one further. The connections are opened.
    Opened,
    /// The same. The connections were open before.
    Down,
    /// The first proxy at the broker's usual port.
    Up,
    /// All at others.
    Others,
}

impl Chain {
    /// Connects a client behind so many proxies. Its number is told apart from those of other
    /// clients.
    fn new(world: &mut World, client: Process, number: u32, proxies: u32, kind: Kind) -> Chain {
        let mut chain = Chain::open(world, client, number, proxies, (kind, Ports::Opened));
        chain.up(world, CONNECT);
        chain.down(world, CONNACK);
        chain
    }

    /// A path of a client whose connections are seen to be opened, or were open before.
    fn open(
        world: &mut World,
        client: Process,
        number: u32,
        proxies: u32,
        (kind, ports): (Kind, Ports),
    ) -> Chain {
        let mut all = Vec::new();
        let mut near = client;
        for hop in 0..=proxies {
            let is_broker = hop == proxies;
            let listener =
                if is_broker { process(10, "mosquitto") } else { process(100 + hop, "socat") };
            let server = match kind {
                Kind::Forking if !is_broker => process(200 + hop * 10 + number, "socat"),
                _ => listener,
            };
            let from = format!("127.0.0.1:{}", 40_000 + number * 100 + hop);
            // Who reaches the broker without a proxy does so at its own port.
            let place = if proxies == 0 { 1 } else { hop };
            let port = match ports {
                Ports::Opened | Ports::Down => 1883 + proxies - hop,
                Ports::Up => 1883 + place,
                Ports::Others => 7_000 + place,
            };
            let to = format!("127.0.0.1:{port}");
            let mut connection = if ports == Ports::Opened {
                world.connect(near, &from, listener, &to)
            } else {
                world.existing(near, &from, server, &to)
            };
            (connection.up.to.1, connection.down.from.1) = (server, server);
            all.push(connection);
            near = server;
        }
        Chain(all)
    }

    /// Bytes go from the client to the broker.
    fn up(&mut self, world: &mut World, bytes: &[u8]) {
        for connection in &mut self.0 {
            world.message(&mut connection.up, bytes);
        }
    }

    /// Bytes go from the broker to the client.
    fn down(&mut self, world: &mut World, bytes: &[u8]) {
        for connection in self.0.iter_mut().rev() {
            world.message(&mut connection.down, bytes);
        }
    }
}

/// Two publishers and two subscribers, who reach their broker through proxies in a row.
#[test]
fn proxies_in_a_row_pass_messages_on_and_are_no_brokers() {
    let kinds = [Kind::Plain, Kind::Forking];
    for (kind, proxies) in kinds.into_iter().flat_map(|kind| (1..6).map(move |n| (kind, n))) {
        let case = format!("{proxies} proxies, {kind:?}");
        let mut world = World::new();
        let mut publishers =
            [1, 2].map(|n| Chain::new(&mut world, process(20 + n, "pub"), n, proxies, kind));
        let mut subscribers =
            [3, 4].map(|n| Chain::new(&mut world, process(20 + n, "sub"), n, proxies, kind));
        for n in 0..60 {
            let bytes = publish("t", &payload(stamp(n), 64));
            publishers[n as usize % 2].up(&mut world, &bytes);
            for subscriber in &mut subscribers {
                subscriber.down(&mut world, &bytes);
            }
            world.now += 5 * MS;
        }
        let played = Played::of(&world);
        assert_eq!(played.snapshot.groups.len(), 1, "{case}");
        assert_eq!(played.counts(), [60, 120, 120, 0], "{case}");
        let group = played.group();
        assert_eq!(group.broker.as_deref(), Some("mosquitto"), "{case}");
        let role =
            |pid| group.processes.iter().find(|p| p.pid == Pid(pid)).map(|p| p.role.as_str());
        assert_eq!(
            (role(10), role(21), role(23)),
            (Some("broker"), Some("publisher"), Some("subscriber")),
            "{case}"
        );
        // Each connection takes 7 µs, and one subscriber gets it after the other.
        let time = u64::from(2 * (proxies + 1)) * 7_000;
        let mut all = played.deliveries;
        all.sort_by_key(|one| (one.message.0, one.one_way()));
        let first = all.iter().step_by(2);
        assert!(first.clone().all(|one| near(one, time)), "{case}");
        assert!(first.clone().all(|one| one.legs.len() == 4), "{case}");
    }
}

fn near(delivery: &Delivery, time: u64) -> bool {
    delivery.one_way().is_some_and(|one_way| one_way.0.abs_diff(time) <= 2_000)
}

/// Many subscribers behind the same proxies.
#[test]
fn many_subscribers_behind_proxies_in_a_row_get_each_message_once() {
    for (proxies, is_equal) in [(1, false), (2, false), (2, true)] {
        let mut world = World::new();
        let kind = Kind::Plain;
        let mut publisher = Chain::new(&mut world, process(21, "pub"), 1, proxies, kind);
        let mut subscribers: Vec<Chain> = (2..42)
            .map(|n| Chain::new(&mut world, process(1_000 + n, "sub"), n, proxies, kind))
            .collect();
        for n in 0..30 {
            let bytes =
                if is_equal { publish("t", b"ON") } else { publish("t", &payload(stamp(n), 64)) };
            publisher.up(&mut world, &bytes);
            for subscriber in &mut subscribers {
                subscriber.down(&mut world, &bytes);
            }
            world.now += 5 * MS;
        }
        let played = Played::of(&world);
        assert_eq!(played.snapshot.groups.len(), 1, "{proxies}");
        assert_eq!(played.counts(), [30, 1_200, 1_200, 0], "{proxies} {is_equal}");
    }
}

/// The connections were open before anybody looked. At which of their messages it is found out what they speak depends on the ports.
#[test]
fn messages_through_proxies_that_were_there_before_count_once() {
    let kinds = [Kind::Plain, Kind::Forking];
    let all = kinds.into_iter().flat_map(|kind| (1..6).map(move |proxies| (kind, proxies)));
    for (ports, (kind, proxies)) in [Ports::Down, Ports::Up, Ports::Others]
        .into_iter()
        .flat_map(|p| all.clone().map(move |one| (p, one)))
    {
        for pace in [1, 5, 40] {
            let mut world = World::new();
            let open = (kind, ports);
            let mut publisher = Chain::open(&mut world, process(21, "pub"), 1, proxies, open);
            let mut subscriber = Chain::open(&mut world, process(23, "sub"), 3, proxies, open);
            world.now += 300 * MS;
            for n in 0..60 {
                let bytes = publish("plant/line", format!("{n:064}").as_bytes());
                publisher.up(&mut world, &bytes);
                subscriber.down(&mut world, &bytes);
                world.now += pace * MS;
            }
            let played = Played::of(&world);
            let case = format!("{proxies} proxies, {kind:?}, {ports:?}, every {pace} ms");
            assert_eq!(played.snapshot.groups.len(), 1, "{case}");
            assert_eq!(played.counts(), [60, 60, 60, 0], "{case}");
        }
    }
}

/// A proxy before the broker that keeps what it gets for a time, and passes it on in one write.
struct Keeping {
    world: World,
    publishers: Vec<Chain>,
    subscriber: Chain,
    /// Time in milliseconds for which it keeps what comes back.
    back: u64,
    /// By time: a publisher and the number of its message, and on which of its connections it is sent.
    plan: Vec<(u64, usize, Step)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Send,
    PassOn,
    /// From the broker, and from its proxy to a subscriber behind one.
    Deliver,
    PassBack,
}

impl Keeping {
    /// So many publishers behind the proxy, and a subscriber behind none or the same.
    fn new(publishers: u32, kind: Kind, ports: Ports, is_subscriber_behind: bool) -> Keeping {
        let mut world = World::new();
        let mut open = |number: u32, proxies| {
            let (name, pid) = if number > 9 { ("sub", 60) } else { ("pub", 20 + number) };
            let client = process(pid, name);
            let mut chain = Chain::open(&mut world, client, number, proxies, (kind, ports));
            if ports == Ports::Opened {
                let name = format!("\x10\x10\0\x04MQTT\x04\x02\0\x3c\0\x04cl{number:02}");
                chain.up(&mut world, name.as_bytes());
                chain.down(&mut world, CONNACK);
            }
            chain
        };
        let all = (1..=publishers).map(|n| open(n, 1)).collect();
        let subscriber = open(10, u32::from(is_subscriber_behind));
        world.now += 300 * MS;
        Keeping { world, publishers: all, subscriber, back: 0, plan: Vec::new() }
    }

    /// A message of a publisher, which the proxy keeps for a time.
    fn pass(&mut self, publisher: usize, ms: u64, held: u64) {
        let at = ms * MS + publisher as u64 * 20_000;
        self.plan.push((at, publisher, Step::Send));
        self.plan.push((at + held * MS, publisher, Step::PassOn));
        let sent = at + held * MS + 100_000;
        self.plan.push((sent, publisher, Step::Deliver));
        if self.subscriber.0.len() > 1 {
            self.plan.push((sent + self.back * MS + 10_000, publisher, Step::PassBack));
        }
    }

    fn play(mut self, first: u8) -> Played {
        self.plan.sort_by_key(|(at, ..)| *at);
        let began = self.world.now;
        let mut ids = vec![[0_u16; 2]; self.publishers.len()];
        let sent = self.plan.iter().filter(|(.., step)| *step == Step::Send).count();
        for (at, publisher, step) in std::mem::take(&mut self.plan) {
            self.world.now = self.world.now.max(began + at);
            let next = &mut ids[publisher];
            let mut message = |place: usize| {
                next[place] += 1;
                message(first, next[place])
            };
            let connections = &mut self.publishers[publisher].0;
            match step {
                Step::Send => _ = self.world.message(&mut connections[0].up, &message(0)),
                Step::PassOn => _ = self.world.message(&mut connections[1].up, &message(1)),
                Step::Deliver => {
                    let last = self.subscriber.0.last_mut().unwrap();
                    self.world.message(&mut last.down, &publish(TOPIC, STATE));
                }
                Step::PassBack => {
                    self.world.message(&mut self.subscriber.0[0].down, &publish(TOPIC, STATE));
                }
            }
        }
        let played = Played::of(&self.world);
        let sent = sent as u64;
        assert_eq!(played.snapshot.groups.len(), 1);
        assert_eq!(played.counts(), [sent, sent, sent, 0]);
        let verdicts: Vec<_> = played.group().why.verdicts.iter().map(|one| one.kind).collect();
        assert!(!verdicts.contains(&VerdictKind::NeverDelivered), "{verdicts:?}");
        played
    }

    /// The latencies in milliseconds.
    fn latencies(self, first: u8) -> Vec<u64> {
        let mut all = self.play(first).deliveries;
        all.sort_by_key(|one| one.message.0);
        all.iter().map(|one| one.one_way().unwrap().0 / MS).collect()
    }
}

/// A PUBLISH of equal content, with its packet identifier if it has one.
fn message(first: u8, id: u16) -> Vec<u8> {
    let mut bytes = publish_with(first, TOPIC, STATE);
    if first & 0x06 != 0 {
        let at = bytes.len() - STATE.len() - 2;
        bytes[at..at + 2].copy_from_slice(&id.to_be_bytes());
    }
    bytes
}

/// Each is kept for so long; two hundred a second.
#[test]
fn a_proxy_that_keeps_each_message_for_a_time_passes_them_on_in_turn() {
    for (kind, first) in [(Kind::Plain, 0x30), (Kind::Forking, 0x32)] {
        let were_there = [Ports::Opened, Ports::Down, Ports::Up];
        let count = if kind == Kind::Forking { 1 } else { were_there.len() };
        for &ports in were_there.iter().take(count) {
            for (held, behind) in [(50_u64, false), (120, true), (300, false)] {
                let mut keeping = Keeping::new(1, kind, ports, behind);
                (0..200).for_each(|n| keeping.pass(0, n * 5, held));
                let found = keeping.latencies(first);
                assert_eq!(found, vec![held; 200], "{kind:?} {ports:?} {held}");
            }
        }
    }
}

/// Replies are kept, too, from before the proxy has passed on enough to be known as one.
#[test]
fn a_proxy_that_keeps_what_comes_back_counts_each_message_once() {
    for (ports, first) in [(Ports::Opened, 0x30), (Ports::Opened, 0x32), (Ports::Up, 0x32)] {
        for pace in [5, 50, 400] {
            let mut keeping = Keeping::new(1, Kind::Plain, ports, true);
            keeping.back = 180;
            (0..60).for_each(|n| keeping.pass(0, n * pace, 200));
            let found = keeping.latencies(first);
            if ports == Ports::Opened {
                assert_eq!(found, vec![380; 60], "{first:x} {pace}");
            }
        }
    }
}

/// Messages that come while a proxy sleeps are passed on when it has slept once more.
#[test]
fn a_proxy_that_sleeps_between_reads_passes_on_what_came_meanwhile() {
    for first in [0x30, 0x32] {
        let mut keeping = Keeping::new(1, Kind::Plain, Ports::Opened, false);
        // It reads at these times, and writes what it read at the next one.
        let reads = [0_u64, 200, 300, 600, 650, 900, 1_200];
        let mut expected = Vec::new();
        for n in 0..200_u64 {
            let at = n * 5;
            let read = reads.iter().position(|&read| read >= at).unwrap();
            let until = reads[read] + reads.get(read + 1).map_or(100, |next| next - reads[read]);
            keeping.pass(0, at, until - at);
            expected.push(until - at);
        }
        let found = keeping.latencies(first);
        let is_near = |(a, b): (&u64, &u64)| a.abs_diff(*b) <= 3;
        assert!(found.iter().zip(&expected).all(is_near), "{found:?}");
    }
}

/// A proxy that becomes slower by a multiple of the time between two messages drops none.
#[test]
fn a_proxy_that_becomes_slower_passes_all_on() {
    for ports in [Ports::Opened, Ports::Down] {
        for held in [10_u64, 20, 50, 100] {
            let mut keeping = Keeping::new(1, Kind::Plain, ports, true);
            (0..200).for_each(|n| keeping.pass(0, n * 10, if n < 60 { 0 } else { held }));
            let expected: Vec<u64> = (0..200).map(|n| if n < 60 { 0 } else { held }).collect();
            assert_eq!(keeping.latencies(0x30), expected, "{ports:?} {held}");
        }
    }
}

/// For how long the proxy keeps what each publisher sends: from 50 to 300 ms, in its order.
fn held(publisher: usize, n: u64) -> u64 {
    [50 + n * 37 % 250, 300 - n * 23 % 250, 60 + n * 91 % 200][publisher % 3]
}

/// Three publishers of the same, at their own paces.
#[test]
fn equal_publishers_behind_one_proxy_are_told_apart_by_their_connections() {
    for (kind, first, behind) in
        [(Kind::Plain, 0x30, false), (Kind::Plain, 0x32, true), (Kind::Forking, 0x30, true)]
    {
        let mut keeping = Keeping::new(3, kind, Ports::Opened, behind);
        let mut expected = keep_each(&mut keeping);
        let mut found = keeping.latencies(first);
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{kind:?} {behind}");
    }
}

/// The connections were open before: each message counts once, whichever it is.
#[test]
fn equal_publishers_behind_a_proxy_that_was_there_before_count_each_message_once() {
    for (kind, first, behind) in [
        (Kind::Plain, 0x30, false),
        (Kind::Plain, 0x32, true),
        (Kind::Plain, 0x32, false),
        (Kind::Forking, 0x30, true),
    ] {
        let mut keeping = Keeping::new(3, kind, Ports::Down, behind);
        keep_each(&mut keeping);
        let found = keeping.latencies(first);
        assert!(found.iter().all(|ms| (20..=340).contains(ms)), "{found:?}");
    }
}

/// Messages of three publishers, and how long each is kept. What comes on one connection goes on in its order.
fn keep_each(keeping: &mut Keeping) -> Vec<u64> {
    let mut expected = Vec::new();
    for publisher in 0..3 {
        let mut last = 0;
        for n in 0..100 {
            let at = n * 30 + publisher as u64 * 9;
            let out = (at + held(publisher, n)).max(last);
            last = out;
            keeping.pass(publisher, at, out - at);
            expected.push(out - at);
        }
    }
    expected
}
