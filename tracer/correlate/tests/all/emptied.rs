//! Consumers of AMQP that begin again on their connection: what came to a queue before it was empty is not delivered from it, whatever
//! its content.

use crate::brokered::BROKER;
use crate::played::Played;
use wirelap_events::Seq;
use wirelap_test_support::compose::amqp;
use wirelap_test_support::world::{Connection, World, process};

const OPENING: [&[u8]; 2] =
    [b"AMQP\0\0\x09\x01", b"\x01\0\0\0\0\0\x12\0\x0a\0\x0a\0\x09\0\0\0\0\0\0\0\0\0\0\0\0\xce"];

const MS: u64 = 1_000_000;

struct Site {
    world: World,
    publisher: Connection,
    consumer: Connection,
    tag: u64,
}

impl Site {
    fn new() -> Site {
        Site::at([BROKER; 2])
    }

    /// The publisher and the consumer connect to one process, at these addresses.
    fn at(addresses: [&str; 2]) -> Site {
        let mut world = World::new();
        let [publisher, consumer] = [0, 1].map(|n| {
            let (pid, name) = [(20, "pub"), (30, "sub")][n];
            let (client, broker) = (process(pid, name), process(10, "server"));
            let (from, to) = (format!("127.0.0.1:{}", 40_000 + pid), addresses[n]);
            let mut connection = world.connect_at(client, &from, broker, to, Seq(pid << 20));
            let [own, servers] = OPENING;
            world.message(&mut connection.up, own);
            world.message(&mut connection.down, servers);
            connection
        });
        Site { world, publisher, consumer, tag: 0 }
    }

    /// A message of the same content as all others, ten milliseconds after what was before it.
    fn publish(&mut self) {
        self.world.now += 10 * MS;
        self.world.message(&mut self.publisher.up, &amqp::publish("ex", "k", b"the same"));
    }

    fn deliver(&mut self) {
        self.world.now += MS;
        self.tag += 1;
        let bytes = amqp::deliver("ex", "k", self.tag, b"the same");
        self.world.message(&mut self.consumer.down, &bytes);
    }

    fn pass(&mut self, messages: u32) {
        (0..messages).for_each(|_| {
            self.publish();
            self.deliver();
        });
    }

    fn says(&mut self, request: &[u8], answer: &[u8]) {
        self.world.message(&mut self.consumer.up, request);
        self.world.message(&mut self.consumer.down, answer);
    }

    /// All that came has long been handed out.
    fn declares(&mut self, messages: u32) {
        self.world.now += 200 * MS;
        self.says(&amqp::declare(1, "q"), &amqp::declare_ok(1, "q", messages));
    }

    fn binds(&mut self) {
        self.world.now += 200 * MS;
        self.says(&amqp::bind(1, "q", "ex"), &amqp::bind_ok(1));
    }

    fn consumes(&mut self) {
        self.says(&amqp::consume(1, "q", "tag", false), &amqp::consume_ok(1, "tag"));
    }

    /// Both clients open the same virtual host.
    fn opens(&mut self) {
        for connection in [&mut self.publisher, &mut self.consumer] {
            self.world.message(&mut connection.up, &amqp::frame(1, 0, b"\0\x0a\0\x28\x01/\0\0"));
            self.world.message(&mut connection.down, &amqp::frame(1, 0, b"\0\x0a\0\x29\0"));
        }
    }

    /// The publisher declares and binds an empty queue.
    fn publisher_declares(&mut self) {
        self.world.now += 200 * MS;
        for (request, answer) in [
            (amqp::declare(1, "q"), amqp::declare_ok(1, "q", 0)),
            (amqp::bind(1, "q", "ex"), amqp::bind_ok(1)),
        ] {
            self.world.message(&mut self.publisher.up, &request);
            self.world.message(&mut self.publisher.down, &answer);
        }
    }

    fn closes_channel(&mut self) {
        self.tag = 0;
        self.says(&amqp::close_channel(1), &amqp::frame(1, 1, &[0, 20, 0, 41]));
    }

    /// The latencies in milliseconds, and how many deliveries were not followed.
    fn latencies(&self) -> (Vec<u64>, u64) {
        let played = Played::of(&self.world);
        let [_, delivered, followed, uncovered] = played.counts();
        assert_eq!(delivered, followed + uncovered);
        let all = played.deliveries.iter();
        (all.map(|one| one.one_way().unwrap_or_default().0 / MS).collect(), uncovered)
    }
}

#[test]
fn what_came_before_a_queue_was_empty_is_not_delivered_from_it() {
    let mut site = Site::new();
    for round in 0..5 {
        site.declares(0);
        site.binds();
        site.consumes();
        site.pass(20);
        site.closes_channel();
        // So many that no guess by their times would pass over all of them, then many at once.
        (0..if round < 2 { 7 } else { 300 }).for_each(|_| site.publish());
    }
    let (latencies, uncovered) = site.latencies();
    assert_eq!((latencies, uncovered), (vec![1; 100], 0));
}

#[test]
fn what_came_before_a_new_queue_was_bound_is_not_delivered_from_it() {
    let mut site = Site::new();
    site.declares(0);
    (0..7).for_each(|_| site.publish());
    site.binds();
    site.consumes();
    site.pass(20);
    assert_eq!(site.latencies(), (vec![1; 20], 0));
}

/// The queue was declared and bound on the publisher's connection; its consumer comes later.
#[test]
fn what_came_before_a_queue_was_empty_is_not_delivered_to_who_has_not_declared_it() {
    let mut site = Site::new();
    site.opens();
    (0..7).for_each(|_| site.publish());
    site.publisher_declares();
    site.consumes();
    site.pass(20);
    assert_eq!(site.latencies(), (vec![1; 20], 0));
}

/// The queue that was empty may be another one of the same name: the virtual hosts of the two connections are not known, or the process serves at
/// two ports, which may be those of two brokers.
#[test]
fn what_came_before_perhaps_another_queue_was_empty_is_delivered() {
    for (addresses, opens) in [([BROKER; 2], false), ([BROKER, "127.0.0.1:5673"], true)] {
        let mut site = Site::at(addresses);
        if opens {
            site.opens();
        }
        (0..3).for_each(|_| site.publish());
        site.publisher_declares();
        site.consumes();
        (0..3).for_each(|_| site.deliver());
        let (latencies, uncovered) = site.latencies();
        assert!(latencies.len() == 3 && latencies.iter().all(|is| *is >= 200), "{latencies:?}");
        assert_eq!(uncovered, 0);
    }
}

/// A transaction is committed after the queue was found empty: its messages come into the queue then. Others with the same content came before,
/// on the publisher's own connection or on another one.
#[test]
fn what_is_committed_after_a_queue_was_empty_is_delivered() {
    for others in [0, 3] {
        let mut site = Site::new();
        (0..others).for_each(|_| site.publish());
        site.world.message(&mut site.publisher.up, &amqp::tx("select"));
        (0..3).for_each(|_| site.publish());
        site.declares(0);
        site.binds();
        site.consumes();
        site.world.message(&mut site.publisher.up, &amqp::tx("commit"));
        (0..3).for_each(|_| site.deliver());
        let (latencies, uncovered) = site.latencies();
        assert!(latencies.len() == 3 && latencies.iter().all(|is| *is >= 400), "{latencies:?}");
        assert_eq!(uncovered, 0);
    }
}

#[test]
fn what_a_queue_holds_is_delivered_when_its_consumer_begins_again() {
    for says_how_many in [false, true] {
        let mut site = Site::new();
        site.declares(0);
        site.binds();
        site.consumes();
        site.pass(20);
        site.closes_channel();
        (0..3).for_each(|_| site.publish());
        if says_how_many {
            site.declares(3);
        }
        site.consumes();
        (0..3).for_each(|_| site.deliver());
        let (latencies, uncovered) = site.latencies();
        assert_eq!((&latencies[..20], uncovered), (&[1; 20][..], 0));
        assert!(
            latencies[20..].iter().zip([21, 12, 3]).all(|(is, least)| *is >= least),
            "{latencies:?}"
        );
    }
}
