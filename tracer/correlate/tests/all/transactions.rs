//! AMQP's transactions: what a publisher has not committed waits, and what it rolls back is for nobody.

use crate::played::Played;
use wirelap_correlate::{Clause, VerdictKind};
use wirelap_events::Body;
use wirelap_test_support::compose::amqp;
use wirelap_test_support::world::{Connection, World, process};

const SECOND: u64 = 1_000_000_000;

/// A publisher and a consumer of a queue.
struct Site {
    world: World,
    publisher: Connection,
    consumer: Connection,
    delivered: u64,
}

impl Site {
    /// The publisher has begun transactions, perhaps before anyone looked.
    fn new(is_late: bool) -> Site {
        let mut world = World::new();
        let (at, broker) = ("127.0.0.1:5672", process(10, "broker"));
        let (from, client) = ("127.0.0.1:41000", process(20, "publisher"));
        let publisher = if is_late {
            world.existing(client, from, broker, at)
        } else {
            let mut publisher = world.connect(client, from, broker, at);
            world.message(&mut publisher.up, b"AMQP\0\0\x09\x01");
            world.message(&mut publisher.up, &amqp::tx("select"));
            publisher
        };
        let mut consumer = world.connect(process(30, "consumer"), "127.0.0.1:42000", broker, at);
        world.message(&mut consumer.up, b"AMQP\0\0\x09\x01");
        Site { world, publisher, consumer, delivered: 0 }
    }

    /// Publishes ten messages, and ends their transaction after 100 ms.
    fn publish(&mut self, number: u64, end: &str) {
        let texts = (0..10).map(|n| format!("reading {number} {n}"));
        for text in texts.clone() {
            let bytes = amqp::publish("", "q", text.as_bytes());
            self.world.message(&mut self.publisher.up, &bytes);
        }
        self.world.now += SECOND / 10;
        if !end.is_empty() {
            self.world.message(&mut self.publisher.up, &amqp::tx(end));
        }
        for text in texts.filter(|_| end == "commit") {
            self.delivered += 1;
            let bytes = amqp::deliver("", "q", self.delivered, text.as_bytes());
            self.world.message(&mut self.consumer.down, &bytes);
        }
    }
}

#[test]
fn a_message_waits_for_its_commit_also_if_its_transaction_began_before() {
    for is_late in [false, true] {
        let mut site = Site::new(is_late);
        (0..3).for_each(|number| site.publish(number, "commit"));
        let played = Played::of(&site.world);
        assert_eq!(played.counts(), [30, 30, 30, 0], "{is_late}");
        for delivery in &played.deliveries {
            let release = delivery.legs[1].circumstances.permission.release;
            assert!(release.is_some(), "{is_late}: {delivery:#?}");
        }
    }
}

#[test]
fn what_is_rolled_back_or_never_committed_is_said_to_be_discarded() {
    for is_late in [false, true] {
        let mut site = Site::new(is_late);
        for (number, end) in ["commit", "rollback", "commit", "commit", ""].iter().enumerate() {
            site.publish(number as u64, end);
        }
        for socket in [site.publisher.up.from.0, site.publisher.down.from.0] {
            site.world.tell(Body::Closed(socket), &[]);
        }
        // Others go on.
        let bytes = amqp::deliver("", "other", 1, b"of somebody else");
        site.world.message(&mut site.consumer.down, &bytes);
        let played = Played::of(&site.world);
        let verdicts = &played.group().why.verdicts;
        let lost = verdicts.iter().find(|one| one.kind == VerdictKind::NeverDelivered).unwrap();
        assert_eq!(lost.evidence, [Clause::RolledBack(20)], "{is_late}");
    }
}
