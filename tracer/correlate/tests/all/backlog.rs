//! Queues that had messages before the observation began: what is published now comes when these have been delivered.

use crate::audience::Watch;
use crate::brokered::BROKER;
use wirelap_correlate::{Config, Group};
use wirelap_events::{Nanos, Seq};
use wirelap_test_support::compose::kafka::{batch, fetch, fetched, produce, record};
use wirelap_test_support::compose::{amqp, mqtt, nats};
use wirelap_test_support::world::{Connection, World, process};

/// Between two messages.
const STEP: u64 = 100;

/// Messages that were in the queue: more than a message is waited for of which nothing is known.
const BEFORE: usize = 80;

/// Messages that are published.
const PUBLISHED: usize = 240;

/// The messages of a protocol.
struct Brokered {
    name: &'static str,
    at: &'static str,
    published: fn(usize) -> Vec<u8>,
    /// The consumer's request for a message.
    asked: Option<fn(usize) -> Vec<u8>>,
    delivered: fn(usize) -> Vec<u8>,
}

/// A content that is told apart by its first bytes, of which alone a message is known.
fn content(n: usize) -> Vec<u8> {
    format!("{n:06} is the number").into_bytes()
}

fn records(n: usize) -> Vec<u8> {
    batch(1, &record(&content(n)))
}

const ALL: [Brokered; 4] = [
    Brokered {
        name: "amqp",
        at: BROKER,
        published: |n| amqp::publish("", "t", &content(n)),
        asked: None,
        delivered: |n| amqp::deliver("", "t", n as u64 + 1, &content(n)),
    },
    Brokered {
        name: "mqtt",
        at: BROKER,
        published: |n| mqtt::publish("t", &content(n)),
        asked: None,
        delivered: |n| mqtt::publish("t", &content(n)),
    },
    Brokered {
        name: "nats",
        at: BROKER,
        published: |n| nats::message("PUB t", &content(n)),
        asked: None,
        delivered: |n| nats::message("MSG t 1", &content(n)),
    },
    Brokered {
        name: "kafka",
        at: "127.0.0.1:9092",
        published: |n| produce(n, "t", &records(n)),
        asked: Some(fetch),
        delivered: |n| fetched(n, "t", &records(n)),
    },
];

/// A queue whose messages were there before the observation began, and those that read from it by turns.
struct Queue {
    watch: Watch,
    broker: &'static Brokered,
    publisher: Connection,
    consumers: Vec<Connection>,
}

impl Queue {
    fn new(broker: &'static Brokered, consumers: u32, config: Config) -> Queue {
        let mut world = World::new();
        let mut joined = |pid: u32, name: &str| {
            let from = format!("127.0.0.1:{}", 40_000 + pid);
            let mut connection =
                world.existing(process(pid, name), &from, process(10, "server"), broker.at);
            connection.up.next = Seq(pid << 20);
            connection.down.next = Seq(pid << 21);
            connection
        };
        let publisher = joined(20, "pub");
        let consumers = (0..consumers).map(|n| joined(30 + n, "sub")).collect();
        Queue { watch: Watch::with(world, config), broker, publisher, consumers }
    }

    /// Publishes message `n`.
    fn publish(&mut self, n: usize) {
        let bytes = (self.broker.published)(n);
        self.watch.world.message(&mut self.publisher.up, &bytes);
    }

    /// A consumer gets message `n`.
    fn deliver(&mut self, n: usize) {
        let consumers = self.consumers.len();
        let consumer = &mut self.consumers[n % consumers];
        if let Some(asked) = self.broker.asked {
            self.watch.world.message(&mut consumer.up, &asked(n));
        }
        self.watch.world.message(&mut consumer.down, &(self.broker.delivered)(n));
    }

    fn row(&self) -> Group {
        let snapshot = self.watch.correlator.snapshot(Nanos(self.watch.world.now));
        let [row] = &snapshot.groups[..] else { panic!("{:?}", snapshot.groups) };
        row.clone()
    }
}

#[test]
fn what_comes_behind_a_backlog_is_followed() {
    for broker in &ALL {
        for consumers in [1, 2] {
            let case = format!("{}, {consumers}", broker.name);
            let mut queue = Queue::new(broker, consumers, Config::default());
            let mut slow = None;
            for n in 0..PUBLISHED {
                queue.publish(BEFORE + n);
                queue.deliver(n);
                slow = Some(queue.watch.take(STEP));
            }
            let row = queue.row();
            let counts = &row.messages;
            assert_eq!(row.middleware, broker.name);
            let whole = (PUBLISHED as u64, (PUBLISHED - BEFORE) as u64);
            // Of a connection that was there before, the first messages may be found late, or not.
            assert!(counts.sent <= whole.0 && counts.sent + 3 >= whole.0, "{case}: {counts:?}");
            assert!(counts.matched + 3 >= whole.1, "{case}: {counts:?}");
            let waited = Nanos::from_millis(BEFORE as u64 * STEP);
            let (min, max) = (row.one_way.min, row.one_way.max);
            assert!(min + Nanos::from_millis(200) > waited, "{case}: {min}");
            assert!(max < waited + Nanos::from_millis(200), "{case}: {max}");
            // One of several may get only a share.
            let behind: Vec<_> = slow.unwrap().listed.iter().map(|one| one.most.unsent).collect();
            if consumers == 1 {
                assert_eq!(behind, [BEFORE as u64], "{case}");
            }
        }
    }
}

/// Messages that a broker passes on may be changed, or come from publishers that are not seen: then they cannot be found, and nobody
/// is behind.
#[test]
fn who_gets_only_what_cannot_be_found_is_not_behind_and_keeps_little() {
    let config = || Config { max_messages: 160, ..Config::default() };
    for broker in &ALL {
        let mut queue = Queue::new(broker, 1, config());
        for n in 0..PUBLISHED {
            queue.publish(n);
            queue.deliver(1_000 + n);
            let slow = queue.watch.take(STEP);
            assert!(slow.listed.is_empty(), "{}, {n}: {slow:?}", broker.name);
        }
        let snapshot = queue.watch.correlator.snapshot(Nanos(queue.watch.world.now));
        assert_eq!(snapshot.trust.evicted, 0, "{}", broker.name);
        assert_eq!(snapshot.groups[0].messages.matched, 0);
    }
}
