//! Permissions for a broker to send: requests and acknowledgements, of several consumers on one
//! connection.

use crate::played::Played;
use wirelap_events::{Circumstances, Nanos, TaskId, Tid};
use wirelap_test_support::compose::{amqp, nats};
use wirelap_test_support::world::{Connection, World, process};

/// A publisher and a consumer at a broker.
struct House {
    world: World,
    publisher: Connection,
    consumer: Connection,
}

impl House {
    fn new(port: u16, opening: &[u8]) -> House {
        let mut world = World::new();
        let at = format!("127.0.0.1:{port}");
        let [publisher, consumer] =
            [(20, "127.0.0.1:41000"), (30, "127.0.0.1:42000")].map(|(pid, from)| {
                let broker = process(10, "broker");
                let mut client = world.connect(process(pid, "client"), from, broker, &at);
                world.message(&mut client.up, opening);
                client
            });
        House { world, publisher, consumer }
    }

    fn published(&mut self, bytes: &[u8]) {
        self.world.message(&mut self.publisher.up, bytes);
    }

    fn delivered(&mut self, bytes: &[u8]) {
        self.world.message(&mut self.consumer.down, bytes);
    }

    /// The consumer says something. Returns when, and when the broker had it.
    fn said(&mut self, bytes: &[u8]) -> (Nanos, Nanos) {
        self.world.message(&mut self.consumer.up, bytes)
    }

    /// The same, by this thread of the consumer.
    fn said_by(&mut self, tid: Tid, bytes: &[u8]) {
        let reads = std::mem::replace(&mut self.consumer.up.from.1.task.tid, tid);
        self.said(bytes);
        self.consumer.up.from.1.task.tid = reads;
    }

    /// The facts about the second leg of each message, in order.
    fn facts(&self) -> Vec<Circumstances> {
        let played = Played::of(&self.world);
        let [sent, delivered, matched, _] = played.counts();
        assert_eq!((delivered, matched), (sent, sent));
        played.deliveries.iter().map(|delivery| delivery.legs[1].circumstances).collect()
    }
}

/// True if a permission was the one that was said then.
fn is_of(at: Option<Nanos>, (said, had): (Nanos, Nanos)) -> bool {
    at.is_some_and(|at| said <= at && at <= had)
}

#[test]
fn each_channel_of_amqp_has_a_limit_of_its_own() {
    let mut house = House::new(5672, b"AMQP\0\0\x09\x01");
    let pass = |house: &mut House, channel, tag, text: &str| {
        house.published(&amqp::publish("", text, text.as_bytes()));
        house.delivered(&amqp::deliver_on(channel, ["", text], tag, text.as_bytes()));
    };
    pass(&mut house, 1, 1, "a1");
    pass(&mut house, 2, 1, "b1");
    pass(&mut house, 2, 2, "b2");
    let first = house.said(&amqp::ack(1, 1, false));
    let second = house.said(&amqp::ack(2, 2, true));
    pass(&mut house, 1, 2, "a2");
    pass(&mut house, 2, 3, "b3");
    pass(&mut house, 3, 1, "c1");
    let rooms: Vec<_> =
        house.facts().iter().map(|seen| seen.permission.credit.map(|room| room.at)).collect();
    assert_eq!(rooms[..3], [None; 3]);
    assert!(is_of(rooms[3], first) && is_of(rooms[4], second), "{rooms:?}");
    assert_eq!(rooms[5], None, "nobody acknowledged there");
}

/// A broker is late to read an acknowledgement that it has: what it waited for ended when that came in.
#[test]
fn an_acknowledgement_that_lies_unread_has_arrived() {
    let mut house = House::new(5672, b"AMQP\0\0\x09\x01");
    for (tag, text) in [(1, "first"), (2, "second")] {
        house.published(&amqp::publish("", text, text.as_bytes()));
        if tag == 1 {
            house.delivered(&amqp::deliver("", text, tag, text.as_bytes()));
        }
    }
    let ack = amqp::ack(1, 1, false);
    let (world, way) = (&mut house.world, &mut house.consumer.up);
    let (start, len) = way.advance(ack.len());
    world.send(way, start, len);
    world.xmit(way, start, &ack);
    world.rx(way, start, len);
    world.ready(way, way.next);
    // The broker is busy with others, who tell that time passes.
    for text in ["a", "b", "c"] {
        house.world.now += 40_000_000;
        house.published(&amqp::publish("", text, text.as_bytes()));
    }
    house.world.read(&house.consumer.up, house.consumer.up.next, len);
    for (tag, text) in [(2, "second"), (3, "a"), (4, "b"), (5, "c")] {
        house.delivered(&amqp::deliver("", text, tag, text.as_bytes()));
        house.said(&amqp::ack(1, tag, false));
    }
    let credit = house.facts()[1].permission.credit.unwrap();
    assert!(credit.full < Nanos::from_millis(1), "{credit:?}");
}

#[test]
fn the_thread_that_asks_or_acknowledges_is_known() {
    let mut house = House::new(5672, b"AMQP\0\0\x09\x01");
    let (worker, asker) = (Tid(77), Tid(78));
    for (tag, text) in [(1, "first"), (2, "second")] {
        house.published(&amqp::publish("", text, text.as_bytes()));
        house.delivered(&amqp::deliver("", text, tag, text.as_bytes()));
        house.said_by(worker, &amqp::ack(1, tag, false));
    }
    house.published(&amqp::publish("", "third", b"third"));
    house.said_by(asker, &amqp::get("third"));
    house.delivered(&amqp::got("third", 3, b"third"));
    let facts = house.facts();
    let tid = |by: Option<TaskId>| by.map(|task| task.tid);
    assert_eq!(tid(facts[1].permission.credit.unwrap().by), Some(worker));
    assert_eq!((facts[1].request.by, tid(facts[2].request.by)), (None, Some(asker)));
}

#[test]
fn a_message_that_is_asked_for_waits_for_nothing_else() {
    let mut house = House::new(5672, b"AMQP\0\0\x09\x01");
    for text in ["pushed", "asked for"] {
        house.published(&amqp::publish("", text, text.as_bytes()));
    }
    let asked = house.said(&amqp::get("asked for"));
    house.delivered(&amqp::deliver("", "pushed", 1, b"pushed"));
    house.delivered(&amqp::got("asked for", 2, b"asked for"));
    let requests: Vec<_> = house.facts().iter().map(|seen| seen.request.made).collect();
    assert_eq!(requests[0], None);
    assert!(is_of(requests[1], asked), "{requests:?}");
}

#[test]
fn consumers_of_jetstream_are_asked_and_acknowledged_one_by_one() {
    let mut house = House::new(4222, &nats::connect("client"));
    let ack = |consumer: &str, n| format!("$JS.ACK.S.{consumer}.1.{n}.{n}.1700000000.0");
    let pass = |house: &mut House, consumer: &str, n: u32| {
        let text = format!("{consumer}{n}");
        house.published(&nats::message(&format!("PUB {text}"), text.as_bytes()));
        let line = format!("MSG {text} 1 {}", ack(consumer, n));
        house.delivered(&nats::message(&line, text.as_bytes()));
    };
    let next = "PUB $JS.API.CONSUMER.MSG.NEXT.S.pull _INBOX.a.1";
    let asked = house.said(&nats::message(next, br#"{"batch":2,"expires":1000000000}"#));
    pass(&mut house, "pull", 1);
    pass(&mut house, "push", 1);
    let again = house.said(&nats::message(next, b"1"));
    let made = house.said(&nats::message(&format!("PUB {}", ack("push", 1)), b"+ACK"));
    pass(&mut house, "pull", 2);
    pass(&mut house, "push", 2);
    house.published(&nats::message("PUB core", b"core"));
    house.delivered(&nats::message("MSG core 2", b"core"));
    let facts = house.facts();
    let requests: Vec<_> = facts.iter().map(|seen| seen.request.made).collect();
    // The second request came while a message of the first was still to come.
    assert!(is_of(requests[0], asked) && requests[2] == requests[0], "{requests:?} {again:?}");
    assert_eq!([requests[1], requests[3], requests[4]], [None; 3]);
    assert_eq!(facts[0].request.limits.map(|ask| ask.longest), Some(Nanos(1_000_000_000)));
    let rooms: Vec<_> =
        facts.iter().map(|seen| seen.permission.credit.map(|room| room.at)).collect();
    assert!(is_of(rooms[3], made), "{rooms:?}");
    assert_eq!([rooms[0], rooms[1], rooms[2], rooms[4]], [None; 4]);
}
