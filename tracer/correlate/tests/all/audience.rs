//! Subscribers of one broker, watched by a correlator while messages come to them or do not.

use crate::brokered::BROKER;
use wirelap_correlate::{Config, Correlator, SlowSubscriber, SlowSubscribers};
use wirelap_events::{Delivery, Nanos, Seq};
use wirelap_test_support::compose::mqtt::{CONNACK, CONNECT, publish};
use wirelap_test_support::compose::{amqp, nats, payload, stamp};
use wirelap_test_support::world::{Connection, Way, World, process};

/// Connects a process to a server at [`BROKER`]. Each connection has sequence numbers of its own, as on a host. `hello` is what the client
/// says first, and what the server answers.
fn connect(
    world: &mut World,
    (pid, name): (u32, &str),
    server: &str,
    hello: [&[u8]; 2],
) -> Connection {
    let from = format!("127.0.0.1:{}", 40_000 + pid);
    let (client, server) = (process(pid, name), process(10, server));
    let mut connection = world.connect_at(client, &from, server, BROKER, Seq(pid << 20));
    let [own, answer] = hello;
    world.message(&mut connection.up, own);
    world.message(&mut connection.down, answer);
    connection
}

/// A client of the MQTT broker.
pub fn join(world: &mut World, pid: u32, name: &str) -> Connection {
    connect(world, (pid, name), "mosquitto", [CONNECT, CONNACK])
}

/// The way in which clients of another server talk to it.
pub struct Dialect {
    /// The first words of a client, and the server's answer.
    pub hello: [&'static [u8]; 2],
    /// Publishes message `n` to the topic `t`.
    pub published: fn(u32) -> Vec<u8>,
    /// Hands message `n` of the topic `t` to a subscriber.
    pub delivered: fn(u32) -> Vec<u8>,
}

impl Dialect {
    /// A client of the server.
    pub fn join(&self, world: &mut World, pid: u32, name: &str) -> Connection {
        connect(world, (pid, name), "server", self.hello)
    }
}

/// AMQP 0-9-1.
pub const AMQP: Dialect = Dialect {
    hello: [
        b"AMQP\0\0\x09\x01",
        b"\x01\0\0\0\0\0\x12\0\x0a\0\x0a\0\x09\0\0\0\0\0\0\0\0\0\0\0\0\xce",
    ],
    published: |n| amqp::publish("", "t", &payload(stamp(n), 64)),
    delivered: |n| amqp::deliver("", "t", u64::from(n) + 1, &payload(stamp(n), 64)),
};

/// NATS.
pub const NATS: Dialect = Dialect {
    hello: [b"CONNECT {\"verbose\":false}\r\n", b"INFO {\"server_id\":\"N\"}\r\n"],
    published: |n| nats::message("PUB t", &payload(stamp(n), 64)),
    delivered: |n| nats::message("MSG t 1", &payload(stamp(n), 64)),
};

/// The fate of a message that the broker sends, or does not.
#[derive(Clone, Copy, PartialEq)]
pub enum Fate {
    /// The subscriber reads it.
    Read,
    /// The message lies in the subscriber's socket.
    Unread,
    /// The message has left the broker's socket, and has not arrived.
    OnTheWay,
    /// The broker has written it, and nothing of it has left the socket.
    Written,
    /// The broker keeps it.
    Unsent,
}

/// Sends a message on, as far as its fate says.
pub fn pass(world: &mut World, way: &mut Way, bytes: &[u8], fate: Fate) {
    match fate {
        Fate::Read => {
            world.message(way, bytes);
        }
        Fate::Unsent => {}
        Fate::Written => {
            // The socket takes nothing of what the call wrote.
            let len = u32::try_from(bytes.len()).unwrap();
            world.send(way, way.next, len);
        }
        Fate::Unread | Fate::OnTheWay => {
            let (start, len) = way.advance(bytes.len());
            world.send(way, start, len);
            world.xmit(way, start, bytes);
            if fate == Fate::Unread {
                world.rx(way, start, len);
                world.ready(way, way.next);
            }
        }
    }
}

/// A host whose events are given to a correlator as they happen.
pub struct Watch {
    pub world: World,
    pub correlator: Correlator,
    taken: usize,
}

impl Watch {
    pub fn new(world: World) -> Watch {
        Watch::with(world, Config::default())
    }

    pub fn with(world: World, config: Config) -> Watch {
        let correlator = Correlator::new(Config { topics: true, ..config });
        Watch { world, correlator, taken: 0 }
    }

    /// Gives the correlator what has happened, and then so many milliseconds in which nothing does. Returns who is behind then.
    pub fn take(&mut self, rest_ms: u64) -> SlowSubscribers {
        let mut ignore = |_: &Delivery| ();
        for told in &self.world.events[self.taken..] {
            self.correlator.take(&told.event(), &mut ignore);
        }
        self.taken = self.world.events.len();
        for _ in 0..rest_ms / 10 {
            self.world.now += 10_000_000;
            self.correlator.tick(Nanos(self.world.now), &mut ignore);
        }
        self.correlator.snapshot(Nanos(self.world.now)).slow
    }
}

/// A publisher and two subscribers of a broker, watched.
pub struct Audience {
    pub watch: Watch,
    pub publisher: Connection,
    pub subscribers: [Connection; 2],
}

impl Audience {
    pub fn new() -> Audience {
        Audience::with(Config::default())
    }

    pub fn with(config: Config) -> Audience {
        let mut world = World::new();
        let publisher = join(&mut world, 20, "pub");
        let subscribers = [30, 31].map(|pid| join(&mut world, pid, "sub"));
        Audience { watch: Watch::with(world, config), publisher, subscribers }
    }

    /// Publishes something that the first subscriber gets. Returns its bytes.
    pub fn publish(&mut self, content: &[u8]) -> Vec<u8> {
        let bytes = publish("t", content);
        self.watch.world.message(&mut self.publisher.up, &bytes);
        self.watch.world.message(&mut self.subscribers[0].down, &bytes);
        bytes
    }

    /// Publishes message `n`, which the first subscriber gets. Returns its bytes.
    pub fn publish_number(&mut self, n: u32) -> Vec<u8> {
        self.publish(&payload(stamp(n), 64))
    }

    /// The second subscriber gets these bytes, too.
    pub fn second_gets(&mut self, bytes: &[u8]) {
        self.watch.world.message(&mut self.subscribers[1].down, bytes);
    }

    /// Publishes sixty messages, one each 100 ms, of which the second subscriber gets the first thirty.
    pub fn second_gets_half_of_sixty(&mut self) {
        for n in 0..60 {
            let bytes = self.publish_number(n);
            if n < 30 {
                self.second_gets(&bytes);
            }
            self.watch.take(100);
        }
    }
}

/// Sixty messages to two subscribers, of which the second reads the first thirty; the others have this fate. Also returns who is behind
/// in the end.
pub fn watched(fate: Fate) -> (Watch, SlowSubscribers) {
    let mut all = Audience::new();
    let mut slow = SlowSubscribers::default();
    for n in 0..60 {
        let bytes = all.publish_number(n);
        let its = if n < 30 { Fate::Read } else { fate };
        pass(&mut all.watch.world, &mut all.subscribers[1].down, &bytes, its);
        slow = all.watch.take(100);
    }
    (all.watch, slow)
}

/// The subscriber that is behind, which is the second one on the topic `t`.
pub fn only(slow: &SlowSubscribers) -> &SlowSubscriber {
    let [one] = &slow.listed[..] else { panic!("{slow:?}") };
    assert_eq!((one.topic.as_deref(), one.process.as_deref()), (Some("t"), Some("sub (31)")));
    one
}
