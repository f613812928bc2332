//! Subscribers that are behind: by how much, and what holds up their messages.

use crate::brokered::BROKER;
use std::collections::VecDeque;
use wirelap_correlate::{Config, Correlator, LagHolder, SlowSubscriber, SlowSubscribers};
use wirelap_events::{Body, Delivery, Nanos, Seq};
use wirelap_test_support::compose::kafka::{batch, fetch, fetched, produce, record};
use wirelap_test_support::compose::mqtt::{CONNACK, CONNECT, publish};
use wirelap_test_support::compose::{amqp, nats, payload, stamp};
use wirelap_test_support::world::{Connection, Way, World, process};

/// A client of the broker. Each connection has sequence numbers of its own, as they have.
pub fn join(world: &mut World, pid: u32, name: &str) -> Connection {
    let from = format!("127.0.0.1:{}", 40_000 + pid);
    let (client, broker) = (process(pid, name), process(10, "mosquitto"));
    let mut connection = world.connect_at(client, &from, broker, BROKER, Seq(pid << 20));
    world.message(&mut connection.up, CONNECT);
    world.message(&mut connection.down, CONNACK);
    connection
}

/// What becomes of a message that the broker sends, or does not.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Read,
    Unread,
    OnTheWay,
    Written,
    Unsent,
}

/// Sends a message on, so far.
fn pass(world: &mut World, way: &mut Way, bytes: &[u8], fate: Fate) {
    match fate {
        Fate::Read => {
            world.message(way, bytes);
        }
        Fate::Unsent => {}
        Fate::Written => {
            // The call says more than the socket takes.
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

pub struct Watch {
    pub world: World,
    pub correlator: Correlator,
    taken: usize,
}

impl Watch {
    pub fn new(world: World) -> Watch {
        Watch::with(world, Config::default())
    }

    fn with(world: World, config: Config) -> Watch {
        let correlator = Correlator::new(Config { topics: true, ..config });
        Watch { world, correlator, taken: 0 }
    }

    /// Takes in what has happened, and then as much time as that without anything.
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

    fn with(config: Config) -> Audience {
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

    /// The second subscriber gets this, too.
    pub fn second_gets(&mut self, bytes: &[u8]) {
        self.watch.world.message(&mut self.subscribers[1].down, bytes);
    }
}

/// Sixty messages to two subscribers, of which the second gets the last thirty like this.
fn watched(fate: Fate) -> (Watch, SlowSubscribers) {
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

/// UNSUBSCRIBE from `t`.
const UNSUBSCRIBE: &[u8] = &[0xa2, 5, 0, 1, 0, 1, b't'];

#[test]
fn who_unsubscribes_is_not_behind() {
    let mut all = Audience::new();
    for n in 0..60 {
        let bytes = all.publish_number(n);
        if n < 30 {
            all.second_gets(&bytes);
        } else if n == 30 {
            all.watch.world.message(&mut all.subscribers[1].up, UNSUBSCRIBE);
        }
        let slow = all.watch.take(100);
        assert!(slow.listed.is_empty(), "{n}: {slow:?}");
    }
}

/// What ends, after thirty messages, what a client subscribed to without the client's saying so then.
struct Ending {
    hello: [&'static [u8]; 2],
    subscription: &'static [u8],
    published: fn(u32) -> Vec<u8>,
    delivered: fn(u32) -> Vec<u8>,
    /// What the server says.
    end: &'static [u8],
}

/// `RabbitMQ` cancels a consumer whose queue is gone: `basic.cancel` with no-wait.
const CANCELLED: Ending = Ending {
    hello: [
        b"AMQP\0\0\x09\x01",
        b"\x01\0\0\0\0\0\x12\0\x0a\0\x0a\0\x09\0\0\0\0\0\0\0\0\0\0\0\0\xce",
    ],
    subscription: b"\x01\0\x01\0\0\0\x05\0\x14\0\x0a\0\xce",
    published: |n| amqp::publish("", "t", &payload(stamp(n), 64)),
    delivered: |n| amqp::deliver("", "t", u64::from(n) + 1, &payload(stamp(n), 64)),
    end: b"\x01\0\x01\0\0\0\x09\0\x3c\0\x1e\x03tag\x01\xce",
};

/// A maximum was named with the subscription.
const AT_MAXIMUM: Ending = Ending {
    hello: [b"CONNECT {\"verbose\":false}\r\n", b"INFO {\"server_id\":\"N\"}\r\n"],
    subscription: b"SUB t 1\r\nUNSUB 1 30\r\n",
    published: |n| nats::message("PUB t", &payload(stamp(n), 64)),
    delivered: |n| nats::message("MSG t 1", &payload(stamp(n), 64)),
    end: b"PING\r\n",
};

#[test]
fn whose_subscription_the_server_ends_is_not_behind() {
    for (which, ending) in [CANCELLED, AT_MAXIMUM].iter().enumerate() {
        let mut world = World::new();
        let mut clients = [(20, "pub"), (30, "sub"), (31, "sub")].map(|(pid, name)| {
            let (client, broker) = (process(pid, name), process(10, "server"));
            let from = format!("127.0.0.1:{}", 40_000 + pid);
            let mut connection = world.connect_at(client, &from, broker, BROKER, Seq(pid << 20));
            let [own, servers] = ending.hello;
            world.message(&mut connection.up, own);
            world.message(&mut connection.down, servers);
            connection
        });
        world.message(&mut clients[2].up, ending.subscription);
        let mut watch = Watch::new(world);
        for n in 0..60 {
            let [publisher, other, ended] = &mut clients;
            watch.world.message(&mut publisher.up, &(ending.published)(n));
            watch.world.message(&mut other.down, &(ending.delivered)(n));
            if n < 30 {
                watch.world.message(&mut ended.down, &(ending.delivered)(n));
            } else if n == 30 {
                watch.world.message(&mut ended.down, ending.end);
            }
            let slow = watch.take(100);
            assert!(slow.listed.is_empty(), "{which} {n}: {slow:?}");
        }
    }
}

/// A consumer that has acknowledged all it got, one message less than it may have, and the next message: what holds that up, if the broker
/// lacks memory or if it does not.
fn kept_by_the_broker(lacks_memory: bool) -> LagHolder {
    let mut world = World::new();
    let mut clients = [(20, "pub"), (31, "sub")].map(|(pid, name)| {
        let (client, broker) = (process(pid, name), process(10, "server"));
        let from = format!("127.0.0.1:{}", 40_000 + pid);
        let mut connection = world.connect_at(client, &from, broker, BROKER, Seq(pid << 20));
        let [own, servers] = CANCELLED.hello;
        world.message(&mut connection.up, own);
        world.message(&mut connection.down, servers);
        connection
    });
    let [publisher, consumer] = &mut clients;
    let mut watch = Watch::new(world);
    for n in 0..21 {
        // Two at once, but for the last one.
        let both = 2 * n..(2 * n + 2).min(41);
        let world = &mut watch.world;
        both.clone().for_each(|n| _ = world.message(&mut publisher.up, &(CANCELLED.published)(n)));
        both.clone().for_each(|n| _ = world.message(&mut consumer.down, &(CANCELLED.delivered)(n)));
        both.for_each(|n| {
            _ = world.message(&mut consumer.up, &amqp::ack(1, u64::from(n) + 1, false));
        });
        watch.take(100);
    }
    watch.world.message(&mut publisher.up, &(CANCELLED.published)(41));
    if lacks_memory {
        let blocked = amqp::frame(1, 0, b"\0\x0a\0\x3c\x03low");
        watch.world.message(&mut publisher.down, &blocked);
    }
    // How old a message is, is known by those after it: these lie unread at the broker.
    for n in 42..52 {
        watch.take(100);
        pass(&mut watch.world, &mut publisher.up, &(CANCELLED.published)(n), Fate::Unread);
    }
    let slow = watch.take(3_000);
    let lag = only(&slow).now.unwrap();
    assert_eq!((lag.unsent, lag.unread), (1, 0));
    lag.holder
}

#[test]
fn what_a_broker_without_memory_keeps_is_its_own_doing() {
    assert_eq!(kept_by_the_broker(true), LagHolder::Broker);
    // That nothing was to be acknowledged is not known.
    assert_eq!(kept_by_the_broker(false), LagHolder::Subscriber);
}

fn only(slow: &SlowSubscribers) -> &SlowSubscriber {
    let [one] = &slow.listed[..] else { panic!("{slow:?}") };
    assert_eq!((one.topic.as_deref(), one.process.as_deref()), (Some("t"), Some("sub (31)")));
    one
}

#[test]
fn nobody_is_behind_who_reads() {
    let (_, slow) = watched(Fate::Read);
    assert_eq!(slow, SlowSubscribers::default());
}

#[test]
fn what_lies_in_a_socket_is_the_subscribers_doing() {
    let (mut watch, slow) = watched(Fate::Unread);
    let lag = only(&slow).now.unwrap();
    assert_eq!((lag.unread, lag.in_network, lag.unsent), (30, 0, 0));
    assert_eq!(lag.holder, LagHolder::Subscriber);
    assert!(lag.oldest >= Nanos::from_millis(2_500) && lag.oldest <= Nanos::from_millis(3_100));
    assert_eq!(slow.behind, 1);
    // Its process has ended: there is nobody who is behind.
    let socket = watch.world.events.iter().rev().find_map(|told| match told.event.body {
        Body::Ready(ready) => Some(ready.socket),
        _ => None,
    });
    watch.world.tell(Body::Closed(socket.unwrap()), &[]);
    let slow = watch.take(1_000);
    assert_eq!((only(&slow).now, slow.behind), (None, 0));
    assert_eq!(only(&slow).most.unread, 30);
}

#[test]
fn what_was_sent_and_has_not_arrived_is_the_networks_doing() {
    let (_, slow) = watched(Fate::OnTheWay);
    let lag = only(&slow).now.unwrap();
    assert_eq!((lag.unread, lag.in_network, lag.unsent), (0, 30, 0));
    assert_eq!(lag.holder, LagHolder::Network);
}

#[test]
fn what_the_broker_does_not_send_is_its_own_doing_unless_it_cannot() {
    let (_, slow) = watched(Fate::Unsent);
    let lag = only(&slow).now.unwrap();
    assert_eq!((lag.unread, lag.in_network, lag.unsent), (0, 0, 30));
    assert_eq!(lag.holder, LagHolder::Broker);
    assert!(lag.oldest >= Nanos::from_millis(2_000) && lag.oldest <= Nanos::from_millis(3_100));
    let (_, slow) = watched(Fate::Written);
    let lag = only(&slow).now.unwrap();
    assert_eq!((lag.unsent, lag.holder), (30, LagHolder::Network));
}

/// A message that the broker wrote and that has not left: where it begins, and its bytes.
type Waiting = (Seq, Vec<u8>);

/// Lets a message that was written long ago pass a slow link.
fn arrive(world: &mut World, way: &Way, (start, bytes): &Waiting) {
    let len = u32::try_from(bytes.len()).unwrap();
    world.xmit(way, *start, bytes);
    world.rx(way, *start, len);
    world.ready(way, start.plus(len));
    world.read(way, start.plus(len), len);
}

/// So many messages ten times a second, with this content, to two subscribers. The second is behind a link that carries half of them
/// after the first twenty, in the order in which the broker wrote them. How many wait in the end.
fn behind_a_slow_link(
    messages: u32,
    content: impl Fn(u32) -> Vec<u8>,
    config: Config,
) -> (Watch, u64) {
    let mut all = Audience::with(config);
    let mut waiting: VecDeque<Waiting> = VecDeque::new();
    for n in 0..messages {
        let bytes = all.publish(&content(n));
        let (watch, way) = (&mut all.watch, &mut all.subscribers[1].down);
        let (start, len) = way.advance(bytes.len());
        watch.world.send(way, start, len);
        waiting.push_back((start, bytes));
        if (n < 20 || n % 2 == 0)
            && let Some(next) = waiting.pop_front()
        {
            arrive(&mut watch.world, way, &next);
        }
        watch.take(100);
    }
    (all.watch, waiting.len() as u64)
}

/// However long a message waits in the broker's socket, and whether its content is its own or that of all.
#[test]
fn what_leaves_long_after_it_was_written_is_joined() {
    let its_own = |n: u32| format!("{n:064}").into_bytes();
    let that_of_all = |_: u32| b"21.5".repeat(16);
    let contents: [&dyn Fn(u32) -> Vec<u8>; 2] = [&its_own, &that_of_all];
    for content in contents {
        let (mut watch, waiting) = behind_a_slow_link(200, content, Config::default());
        assert_eq!(waiting, 90);
        let slow = watch.take(0);
        let lag = only(&slow).now.unwrap();
        assert_eq!((lag.unread, lag.in_network, lag.unsent), (0, 0, waiting));
        assert_eq!(lag.holder, LagHolder::Network);
        assert!(lag.oldest >= Nanos::from_millis(7_000), "{}", lag.oldest);
        let snapshot = watch.correlator.snapshot(Nanos(watch.world.now));
        let [group] = &snapshot.groups[..] else { panic!("{:?}", snapshot.groups) };
        let counts = &group.messages;
        assert_eq!((counts.sent, counts.delivered, counts.matched), (200, 310, 310));
        let max = group.one_way.max;
        assert!(max > Nanos::from_millis(8_500) && max < Nanos::from_millis(9_500), "{max}");
    }
}

/// Where there is no room for messages that others have had long ago, those that come are counted in their order.
#[test]
fn messages_kept_for_those_who_are_behind_are_bounded() {
    let config = Config { max_messages: 160, ..Config::default() };
    let (mut watch, waiting) = behind_a_slow_link(600, |n| format!("{n:064}").into_bytes(), config);
    assert_eq!(only(&watch.take(0)).now.unwrap().unsent, waiting);
    let snapshot = watch.correlator.snapshot(Nanos(watch.world.now));
    let counts = &snapshot.groups[0].messages;
    // The publisher's way of each message, and 40 that are kept of those that the slow subscriber has not.
    assert!(counts.matched > 690 && counts.matched < 900, "{counts:?}");
    assert_eq!((counts.sent, snapshot.trust.evicted), (600, 0));
}

/// What came in behind a lost packet is in nobody's receive queue, and comes when the packet was sent again, however late that is.
#[test]
fn what_is_behind_a_lost_packet_is_in_the_network() {
    let mut all = Audience::new();
    let mut lost = None;
    let mut slow = SlowSubscribers::default();
    for n in 0..100 {
        let bytes = all.publish(format!("{n:064}").as_bytes());
        let (watch, way) = (&mut all.watch, &mut all.subscribers[1].down);
        if n < 20 {
            watch.world.message(way, &bytes);
        } else {
            let (start, len) = way.advance(bytes.len());
            watch.world.send(way, start, len);
            if n == 20 {
                lost = Some((start, bytes));
            } else {
                watch.world.xmit(way, start, &bytes);
                watch.world.rx(way, start, len);
            }
        }
        slow = watch.take(100);
    }
    let lag = only(&slow).now.unwrap();
    assert_eq!((lag.unread, lag.messages(), lag.holder), (0, 80, LagHolder::Network));
    let (start, bytes) = lost.unwrap();
    let (watch, way) = (&mut all.watch, &all.subscribers[1].down);
    let len = u32::try_from(bytes.len()).unwrap();
    watch.world.xmit(way, start, &bytes);
    watch.world.rx(way, start, len);
    watch.world.ready(way, way.next);
    watch.world.read(way, way.next, len * 80);
    let slow = watch.take(1_000);
    assert_eq!(slow.behind, 0, "{slow:?}");
    let snapshot = watch.correlator.snapshot(Nanos(watch.world.now));
    let counts = &snapshot.groups[0].messages;
    assert_eq!((counts.sent, counts.delivered, counts.matched), (100, 200, 200));
}

/// While others get what it does not, and nothing hinders the broker, it has unsubscribed.
#[test]
fn who_gets_nothing_for_long_has_unsubscribed() {
    let (mut watch, _) = watched(Fate::Unsent);
    let slow = watch.take(12_000);
    assert_eq!(slow.behind, 0, "{slow:?}");
}

/// So many steps of 100 ms, in each of which a producer sends to two topics. `gets` says in which the consumer asks, and for what.
fn asked(
    steps: usize,
    gets: impl Fn(usize) -> Option<(&'static str, usize)>,
) -> Vec<SlowSubscribers> {
    let mut world = World::new();
    let mut client = |pid: u32, name: &str| {
        let from = format!("127.0.0.1:{}", 40_000 + pid);
        let broker = process(10, "java");
        world.connect_at(process(pid, name), &from, broker, "127.0.0.1:9092", Seq(pid << 20))
    };
    let (mut producer, mut consumer) = (client(20, "producer"), client(30, "consumer"));
    let mut watch = Watch::new(world);
    let content = |topic: &str, n: usize| batch(1, &record(format!("{topic}{n:060}").as_bytes()));
    let step = |n: usize| {
        let what = gets(n);
        if what.is_some() {
            watch.world.message(&mut consumer.up, &fetch(n));
        }
        for (id, topic) in [(2 * n, "t"), (2 * n + 1, "u")] {
            let bytes = produce(id, topic, &content(topic, n));
            watch.world.message(&mut producer.up, &bytes);
        }
        if let Some((topic, number)) = what {
            let bytes = fetched(n, topic, &content(topic, number));
            watch.world.message(&mut consumer.down, &bytes);
        }
        watch.take(100)
    };
    (0..steps).map(step).collect()
}

#[test]
fn who_asks_and_no_longer_gets_a_topic_is_not_behind() {
    let seen = asked(150, |n| Some((if n < 30 { "t" } else { "u" }, n)));
    let is_behind = |slow: &SlowSubscribers| {
        slow.listed.iter().any(|one| one.topic.as_deref() == Some("t-0") && one.now.is_some())
    };
    assert!(!is_behind(seen.last().unwrap()));
    assert!(is_behind(&seen[100]), "that takes ten seconds");
}

/// It was at work for twelve seconds, and gets messages that are as old.
#[test]
fn who_gets_old_messages_is_behind() {
    let seen = asked(180, |n| match n {
        0..20 => Some(("t", n)),
        20..140 => None,
        _ => Some(("t", n - 120)),
    });
    assert!(seen[150..].iter().all(|slow| slow.behind == 1), "{:?}", &seen[150..]);
}
