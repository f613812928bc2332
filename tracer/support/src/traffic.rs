//! Traffic of a host for benchmarks, as events, and when a session that takes such events has more to do. All traffic but that of DDS
//! goes through one broker; each message is a send of its own.

use crate::compose::{amqp, kafka, mqtt, nats, payload, rtps, stamp};
use crate::event::OwnedEvent;
use crate::world::{Connection, Process, STEP, Way, World, process, udp};
use wirelap_events::{Body, Nanos, OffCpuReason, SleepCall, TxState, Wake};

/// Makes traffic of so many messages.
pub type Maker = fn(u32) -> Vec<OwnedEvent>;

/// Every kind of traffic, by name.
pub const ALL: [(&str, Maker); 7] = [
    ("mqtt", healthy),
    ("acknowledged", acknowledged),
    ("slow", |messages| slow_subscriber(messages, 1_000)),
    ("blocked", blocked),
    ("nats", subscriptions),
    ("kafka", requests),
    ("dds", datagrams),
];

/// Interval, by the events' times, after which a session does something again while it takes events.
#[derive(Clone, Copy, Debug)]
pub struct Every {
    interval: Nanos,
    last: Nanos,
}

impl Every {
    /// A session lets its correlator tick.
    pub const TICK: Every = Every::millis(5);
    /// A session that somebody watches asks who holds messages, and has a snapshot made.
    pub const LOOK: Every = Every::millis(250);

    const fn millis(ms: u64) -> Every {
        Every { interval: Nanos::from_millis(ms), last: Nanos(0) }
    }

    /// True if the interval has passed before an event of this time since the last event for which it had.
    pub fn is_due(&mut self, at: Nanos) -> bool {
        let is_due = at > self.last + self.interval;
        if is_due {
            self.last = at;
        }
        is_due
    }
}

/// Nanoseconds between two messages, beside what the message itself takes: 20,000 messages a second.
const GAP: u64 = 36_000;

/// The process of the broker.
fn broker() -> Process {
    process(10, "broker")
}

/// A client's connection with what it says first.
fn client(world: &mut World, n: u32, to: &str, opening: &[u8]) -> Connection {
    let (high, low) = (n / 250, n % 250 + 1);
    let from = format!("127.1.{high}.{low}:40000");
    let mut connection = world.connect(process(1_000 + n, "client"), &from, broker(), to);
    world.message(&mut connection.up, opening);
    connection
}

/// A world in which sends tell of their connection's state.
fn observed() -> World {
    let mut world = World::new();
    world.state = Some(TxState { window: 65_535, mss: 32_768, cwnd: 10, ..TxState::default() });
    world
}

/// MQTT of `QoS` 0: one publisher, one subscriber, 20,000 messages a second with 64 B of payload each.
pub fn healthy(messages: u32) -> Vec<OwnedEvent> {
    let mut world = observed();
    let to = "127.0.0.1:1883";
    let mut publisher = world.connect_mqtt(process(20, "pub"), "127.0.0.1:41000", broker(), to);
    let mut subscriber = world.connect_mqtt(process(30, "sub"), "127.0.0.1:42000", broker(), to);
    for n in 0..messages {
        let bytes = mqtt::publish("wirelap/data", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscriber.down, &bytes);
        world.now += GAP;
    }
    world.events
}

/// MQTT of `QoS` 1: one publisher, one subscriber; each leg of a message is acknowledged before the next message.
pub fn acknowledged(messages: u32) -> Vec<OwnedEvent> {
    const PUBACK: &[u8] = b"\x40\x02\x00\x07";
    let mut world = observed();
    let to = "127.0.0.1:1883";
    let mut publisher = world.connect_mqtt(process(20, "pub"), "127.0.0.1:41000", broker(), to);
    let mut subscriber = world.connect_mqtt(process(30, "sub"), "127.0.0.1:42000", broker(), to);
    for n in 0..messages {
        let bytes = mqtt::publish_with(0x32, "wirelap/data", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut publisher.down, PUBACK);
        world.message(&mut subscriber.down, &bytes);
        world.message(&mut subscriber.up, PUBACK);
        world.now += GAP;
    }
    world.events
}

/// Sends bytes to a socket whose reader does not read them.
fn unread(world: &mut World, way: &mut Way, bytes: &[u8]) {
    let (start, len) = way.advance(bytes.len());
    let way = *way;
    world.send(&way, start, len);
    world.xmit(&way, start, bytes);
    world.rx(&way, start, len);
    world.ready(&way, way.next);
}

/// Sends bytes to a socket whose reader slept in `epoll_wait` until then, and reads them.
fn polled(world: &mut World, way: &mut Way, bytes: &[u8]) {
    let left = Nanos(world.now);
    unread(world, way, bytes);
    let wake = Wake {
        task: way.to.1.task,
        woken: Nanos(world.now + STEP / 2),
        waker: way.from.1.task,
        left: Some(left),
        reason: OffCpuReason::Asleep,
        sleep: SleepCall::Poll,
        ..Wake::default()
    };
    world.tell(Body::Wake(wake), &[]);
    let len = u32::try_from(bytes.len()).unwrap();
    world.read(&*way, way.next, len);
}

/// MQTT with so many `clients`, 43 at least, and 1,000 messages a second on 20 topics. Each message goes to one subscriber that reads
/// it, and to one that stops reading after the first eighth of the messages. From then on the broker leaves unread what one of its
/// clients publishes.
pub fn slow_subscriber(messages: u32, clients: u32) -> Vec<OwnedEvent> {
    const MS: u64 = 1_000_000;
    let to = "127.0.0.1:1883";
    let mut world = observed();
    let mut join = |n: u32| {
        let mut joined = client(&mut world, n, to, &mqtt::connect(&format!("client-{n}")));
        world.message(&mut joined.down, mqtt::CONNACK);
        joined
    };
    let mut all: Vec<Connection> = (0..clients.max(43)).map(&mut join).collect();
    for n in 0..messages {
        let topic = n % 20;
        let bytes = mqtt::publish(&format!("wirelap/{topic}"), &payload(stamp(n), 64));
        polled(&mut world, &mut all[topic as usize].up, &bytes);
        polled(&mut world, &mut all[20 + topic as usize].down, &bytes);
        // The second subscriber stops reading after a while.
        if n < messages / 8 {
            polled(&mut world, &mut all[40].down, &bytes);
        } else {
            unread(&mut world, &mut all[40].down, &bytes);
        }
        let other = mqtt::publish("wirelap/other", &payload(stamp(messages + n), 64));
        if n < messages / 8 {
            polled(&mut world, &mut all[41].up, &other);
            polled(&mut world, &mut all[42].down, &other);
        } else {
            unread(&mut world, &mut all[41].up, &other);
        }
        let index = n as usize % all.len();
        if index > 42 {
            polled(&mut world, &mut all[index].up, b"\xc0\x00");
            polled(&mut world, &mut all[index].down, b"\xd0\x00");
        }
        world.now = world.now.next_multiple_of(MS);
    }
    world.events
}

/// AMQP with 20 publishers and a consumer that acknowledges each message while 16 are open. For one second of ten the broker says that
/// it does not read its publishers, and does not. 2,000 messages a second.
pub fn blocked(messages: u32) -> Vec<OwnedEvent> {
    const OPEN: u64 = 16;
    const SECOND: u64 = 1_000_000_000;
    let to = "127.0.0.1:5672";
    let mut world = observed();
    let mut all: Vec<Connection> =
        (0..21).map(|n| client(&mut world, n, to, b"AMQP\0\0\x09\x01")).collect();
    let mut consumer = all.pop().unwrap();
    let said = |method| amqp::frame(1, 0, &[&[0, 10, 0, method][..], b"\x03low"].concat());
    let (mut tag, mut is_unread, mut waiting) = (0, false, Vec::new());
    for n in 0..messages {
        let of = n as usize % all.len();
        let sent = amqp::publish("", &format!("key-{n}"), &payload(stamp(n), 64));
        let is_blocked = world.now / SECOND % 10 == 9;
        if is_blocked && !is_unread {
            is_unread = true;
            for publisher in &mut all {
                world.message(&mut publisher.down, &said(60));
            }
        }
        let publisher = &mut all[of];
        if is_blocked {
            unread(&mut world, &mut publisher.up, &sent);
            waiting.push((publisher.up, sent.len(), n));
            world.now = world.now.next_multiple_of(SECOND / 2_000);
            continue;
        }
        if std::mem::take(&mut is_unread) {
            for publisher in &mut all {
                world.message(&mut publisher.down, &said(61));
            }
        }
        for &(way, len, _) in &waiting {
            world.read(&way, way.next, u32::try_from(len).unwrap());
        }
        polled(&mut world, &mut all[of].up, &sent);
        for n in waiting.drain(..).map(|(_, _, n)| n).chain([n]) {
            tag += 1;
            let down = amqp::deliver("", &format!("key-{n}"), tag, &payload(stamp(n), 64));
            polled(&mut world, &mut consumer.down, &down);
            if tag > OPEN {
                polled(&mut world, &mut consumer.up, &amqp::ack(1, tag - OPEN, false));
            }
        }
        world.now = world.now.next_multiple_of(SECOND / 2_000);
    }
    world.events
}

/// NATS with 20 subscribers that have 40 subscriptions each; each message goes to one of them.
pub fn subscriptions(messages: u32) -> Vec<OwnedEvent> {
    let to = "127.0.0.1:4222";
    let mut world = observed();
    let mut all: Vec<Connection> = (0..21)
        .map(|n| client(&mut world, n, to, &nats::connect(&format!("client-{n}"))))
        .collect();
    let mut publisher = all.pop().unwrap();
    for (n, subscriber) in all.iter_mut().enumerate() {
        for sid in 1..=40 {
            let line = nats::subscribe(&format!("wirelap.{n}.{sid} {sid}"));
            world.message(&mut subscriber.up, &line);
        }
    }
    for n in 0..messages {
        let (to, sid) = (n % 20, n / 20 % 40 + 1);
        let bytes = payload(stamp(n), 64);
        let subject = format!("wirelap.{to}.{sid}");
        world.message(&mut publisher.up, &nats::message(&format!("PUB {subject}"), &bytes));
        let down = nats::message(&format!("MSG {subject} {sid}"), &bytes);
        world.message(&mut all[to as usize].down, &down);
        world.now += GAP;
    }
    world.events
}

/// Kafka: a batch with one record a request, and a consumer that asks for each.
pub fn requests(messages: u32) -> Vec<OwnedEvent> {
    let to = "127.0.0.1:9092";
    let mut world = observed();
    let mut producer = client(&mut world, 0, to, &kafka::metadata_of("maker", 1));
    let mut consumer = client(&mut world, 1, to, &kafka::metadata_of("taker", 1));
    for n in 0..messages {
        let id = n as usize + 2;
        let batch = kafka::batch(1, &kafka::record(&payload(stamp(n), 64)));
        world.message(&mut consumer.up, &kafka::fetch(id));
        world.message(&mut producer.up, &kafka::produce(id, "topic-0", &batch));
        world.message(&mut consumer.down, &kafka::fetched(id, "topic-0", &batch));
        world.now += GAP;
    }
    world.events
}

/// DDS: one writer, two readers at one address.
pub fn datagrams(messages: u32) -> Vec<OwnedEvent> {
    let mut world = World::new();
    let writer = udp::end(&mut world, process(20, "writer"), "127.0.0.1:7410");
    let reader = udp::end(&mut world, process(30, "reader"), "127.0.0.1:7411");
    let flow = udp::flow("127.0.0.1:7410", "127.0.0.1:7411");
    for n in 0..messages {
        let bytes = payload(stamp(n), 64);
        let sample = [&[0, 1, 0, 0][..], &bytes].concat();
        let sent = rtps::Message::new(true).info_ts();
        let sent = sent.data(rtps::USER_WRITER, u64::from(n) + 1, &sample);
        let id = 1_000_000 + u64::from(n);
        udp::datagram(&mut world, flow, id, writer, &[reader], &sent.bytes, udp::ALL);
        world.now += GAP;
    }
    world.events
}
