//! Requests and the replies that come back: to another host, and with both ends here.

use crate::one_side::host;
use crate::played::{Played, assert_all};
use wirelap_correlate::{
    Clause, Config, Group, LocalRequestFigures, RequestFigures, SegmentStat, Verdict, VerdictKind,
};
use wirelap_events::{Body, Nanos, Segment, SleepCall, SocketId, Wake};
use wirelap_test_support::compose::kafka::{batch, produce, record};
use wirelap_test_support::compose::mqtt::publish_with;
use wirelap_test_support::compose::{nats, zenoh, zmtp};
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{Connection, STEP, World, process};

const MESSAGES: u32 = 20;
const PUBACK: &[u8] = b"\x40\x02\x00\x07";
const PUBREC: &[u8] = b"\x50\x02\x00\x07";
const PUBREL: &[u8] = b"\x62\x02\x00\x07";
const PUBCOMP: &[u8] = b"\x70\x02\x00\x07";

/// A request of `World::message` takes 6 steps, of which the first is on the sender's host and the last 4 are on the reader's.
const HERE: Nanos = Nanos(5 * STEP);

fn client(world: &mut World) -> Connection {
    let broker = process(10, "mosquitto");
    world.connect_mqtt(process(20, "client"), "10.0.0.1:40000", broker, "10.0.0.2:1883")
}

fn seen_by(world: &World, own: SocketId) -> RequestFigures {
    let played = Played::new(Config::default(), &host(&world.events, |id| id == own));
    played.group().partial.as_deref().unwrap().requests
}

fn seen_here(played: &Played) -> LocalRequestFigures {
    played.group().requests.as_deref().cloned().unwrap()
}

/// Publishes with this `QoS`, and answers after `after` steps.
fn publish(world: &mut World, publisher: &mut Connection, n: u32, (qos, after): (u8, u64)) {
    let bytes = publish_with(0x30 | qos << 1, "t", &payload(stamp(n), 64));
    world.message(&mut publisher.up, &bytes);
    world.now += after * STEP;
    world.message(&mut publisher.down, if qos == 1 { PUBACK } else { PUBREC });
    if qos == 2 {
        world.message(&mut publisher.up, PUBREL);
        world.message(&mut publisher.down, PUBCOMP);
    }
}

#[test]
fn a_publisher_alone_shows_how_long_acknowledgements_take() {
    for qos in [1, 2] {
        let mut world = World::new();
        let mut publisher = client(&mut world);
        for n in 0..MESSAGES {
            publish(&mut world, &mut publisher, n, (qos, 100));
        }
        let requests = seen_by(&world, publisher.up.from.0);
        let counts = [requests.round_trip, requests.here, requests.away].map(|of| of.count);
        assert_eq!((counts, requests.unanswered), ([20; 3], 0), "QoS {qos}");
        // Six steps there, of which the reader's four are waited for, a hundred, and six back.
        let all = Nanos(113 * STEP);
        assert_all(requests.round_trip, all);
        assert_all(requests.here, HERE);
        assert_all(requests.away, all - HERE);
        let share = requests.here_share.unwrap();
        assert!((share - 5.0 / 113.0).abs() < 1e-9, "{share}");
        let whole = Played::of(&world);
        assert_eq!(whole.group().partial, None, "both ends are seen");
        let requests = seen_here(&whole);
        assert_all(requests.round_trip, all);
        assert_eq!((requests.round_trip.count, requests.unanswered), (20, 0), "QoS {qos}");
        assert_eq!(whole.group().messages.sent, 20, "acknowledgements are no messages");
        let answer = |one: &&SegmentStat| (one.leg, one.segment) == (2, Segment::BrokerDwell);
        let answer = requests.segments.iter().find(answer).unwrap();
        assert!(answer.p50.0.abs_diff(101 * STEP) < STEP, "{}", answer.p50);
        assert!((answer.share - 101.0 / 113.0).abs() < 1e-9, "{}", answer.share);
    }
}

/// The marks of the request are forgotten by then.
#[test]
fn a_reply_may_take_seconds() {
    let mut world = World::new();
    let mut publisher = client(&mut world);
    for n in 0..3 {
        publish(&mut world, &mut publisher, n, (1, 4_000_000));
    }
    let requests = seen_by(&world, publisher.up.from.0);
    assert_eq!(requests.round_trip.count, 3);
    assert_all(requests.here, HERE);
    assert_all(requests.round_trip, Nanos(4_000_013 * STEP));
}

#[test]
fn a_request_without_a_reply_is_counted_and_a_warm_up_is_not() {
    let mut world = World::new();
    let mut publisher = client(&mut world);
    let mut warm_up = stamp(0);
    warm_up.warmup = true;
    let bytes = publish_with(0x32, "t", &payload(warm_up, 64));
    world.message(&mut publisher.up, &bytes);
    world.message(&mut publisher.down, PUBACK);
    publish(&mut world, &mut publisher, 1, (1, 10));
    world.message(&mut publisher.up, &publish_with(0x32, "t", &payload(stamp(2), 64)));
    let requests = seen_by(&world, publisher.up.from.0);
    assert_eq!((requests.round_trip.count, requests.unanswered), (1, 1));
}

#[test]
fn a_broker_alone_shows_how_long_its_subscribers_take() {
    let mut world = World::new();
    let mut publisher = client(&mut world);
    let broker = process(10, "mosquitto");
    let mut subscriber =
        world.connect_mqtt(process(30, "client"), "10.0.0.3:40000", broker, "10.0.0.2:1883");
    for n in 0..MESSAGES {
        publish(&mut world, &mut publisher, n, (1, 1));
        let bytes = publish_with(0x32, "t", &payload(stamp(n), 64));
        world.message(&mut subscriber.down, &bytes);
        world.now += 50 * STEP;
        world.message(&mut subscriber.up, PUBACK);
    }
    let own = [publisher.down.from.0, subscriber.down.from.0];
    let events = host(&world.events, |id| own.contains(&id));
    let played = Played::new(Config::default(), &events);
    let requests = played.group().partial.as_deref().unwrap().requests;
    assert_eq!(requests.round_trip.count, 20, "the publisher's are not its own");
    assert_all(requests.round_trip, Nanos(63 * STEP));
}

/// The response to a Produce request: its length, its correlation id, and a body that nobody reads.
fn produced(id: u8) -> Vec<u8> {
    [&[0, 0, 0, 16, 0, 0, 0, id][..], &[0; 12]].concat()
}

/// A Produce request with one record, with or without an acknowledgement.
fn asked(id: u8, len: usize, acknowledged: bool) -> Vec<u8> {
    let mut bytes = produce(id.into(), "t", &batch(1, &record(&vec![b'x'; len])));
    if acknowledged {
        // `acks` comes after the length, the API, the number, the client's name, no tags and no transaction.
        bytes[21..23].fill(0xFF);
    }
    bytes
}

#[test]
fn kafka_answers_each_produce_request_by_its_number() {
    let mut world = World::new();
    let broker = process(10, "java");
    let mut producer =
        world.connect(process(20, "producer"), "10.0.0.1:40000", broker, "10.0.0.2:9092");
    // Two requests are open at a time. Nobody answers what is to be lost without a word.
    for n in 0..10_u8 {
        world.message(&mut producer.up, &asked(100 + n, 10, false));
        for (id, len) in [(2 * n, 100), (2 * n + 1, 70_000)] {
            world.message(&mut producer.up, &asked(id, len, true));
        }
        for id in [2 * n, 2 * n + 1] {
            world.message(&mut producer.down, &produced(id));
        }
    }
    let requests = seen_by(&world, producer.up.from.0);
    assert_eq!((requests.round_trip.count, requests.unanswered), (20, 0));
    assert_eq!(requests.here.count, 20);
    assert_all(requests.here, HERE);
    // Three messages of six steps, and one between each: of the first request until its reply, and of the second.
    assert_all(requests.round_trip, Nanos(20 * STEP));
}

/// Requests that a client publishes with an inbox are answered there; one that the server keeps waiting is left
/// out.
#[test]
fn nats_answers_at_the_inbox_of_the_request() {
    let mut world = World::new();
    let server = process(10, "nats-server");
    let mut client =
        world.connect(process(20, "client"), "10.0.0.1:40000", server, "10.0.0.2:4222");
    world.message(&mut client.up, b"CONNECT {\"verbose\":false}\r\n");
    for n in 0..MESSAGES {
        let asks = |subject: &str| nats::message(&format!("PUB {subject} _INBOX.x.{n}"), b"text");
        let next = "$JS.API.CONSUMER.MSG.NEXT.stream.consumer";
        world.message(&mut client.up, &nats::message(&format!("PUB {next} _INBOX.y.{n}"), b"1"));
        world.message(&mut client.up, &asks("orders"));
        let ack = nats::message(&format!("MSG _INBOX.x.{n} 1"), br#"{"stream":"S","seq":1}"#);
        world.message(&mut client.down, &ack);
    }
    let requests = seen_by(&world, client.up.from.0);
    assert_eq!((requests.round_trip.count, requests.unanswered), (20, 0));
    assert_all(requests.round_trip, Nanos(13 * STEP));
}

/// The figures of requests that a NATS server hands on to two clients, of which one answers after it has slept 20 ms in this call until an interrupt
/// ended that. If `by_another`, these clients are connected to another server of its cluster.
fn answered_late(
    sleep: SleepCall,
    by_another: bool,
) -> (Vec<(VerdictKind, Option<u8>, u32)>, LocalRequestFigures) {
    let mut world = World::new();
    let servers = [10, 11].map(|pid| process(pid, "nats-server"));
    let mut route = world.connect(servers[1], "10.0.0.1:39000", servers[0], "10.0.0.1:6222");
    world.message(
        &mut route.up,
        b"CONNECT {\"name\":\"NA\",\"cluster\":\"C\"}\r\nRS+ $G orders\r\n",
    );
    let [mut asks, mut answers, mut listens] = [20, 30, 40].map(|pid| {
        let from = format!("10.0.0.1:{}", 40_000 + pid);
        let (server, at) = if by_another && pid > 20 {
            (servers[1], "10.0.0.1:4322")
        } else {
            (servers[0], "10.0.0.1:4222")
        };
        world.connect(process(pid, "client"), &from, server, at)
    });
    for client in [&mut asks, &mut answers, &mut listens] {
        world.message(&mut client.up, b"CONNECT {\"verbose\":false}\r\n");
    }
    for client in [&mut answers, &mut listens] {
        world.message(&mut client.up, b"SUB orders 1\r\n");
    }
    for n in 0..100 {
        world.now += 30_000_000;
        let text = format!("request {n}");
        let said = |line: String| nats::message(&line, text.as_bytes());
        world.message(&mut asks.up, &said(format!("PUB orders _INBOX.x.{n}")));
        if by_another {
            world.message(&mut route.down, &said(format!("RMSG $G orders _INBOX.x.{n}")));
        }
        world.message(&mut listens.down, &said(format!("MSG orders 1 _INBOX.x.{n}")));
        world.message(&mut answers.down, &said(format!("MSG orders 1 _INBOX.x.{n}")));
        let (task, left) = (answers.down.to.1.task, Some(Nanos(world.now)));
        world.now += 20_000_000;
        let woken = Nanos(world.now);
        let wake = Wake { task, left, woken, sleep, from_irq: true, ..Wake::default() };
        world.tell(Body::Wake(wake), &[]);
        world.message(&mut answers.up, &said(format!("PUB _INBOX.x.{n}")));
        if by_another {
            world.message(&mut route.up, &said(format!("RMSG $G _INBOX.x.{n}")));
        }
        world.message(&mut asks.down, &said(format!("MSG _INBOX.x.{n} 2")));
    }
    let played = Played::of(&world);
    let told = |one: &Verdict| (one.kind, one.leg, one.process.map_or(0, |(task, _)| task.pid.0));
    // Each server has a row of its own.
    let asked = |group: &&Group| group.requests.is_some();
    let group = played.snapshot.groups.iter().find(asked).unwrap();
    let verdicts = group.why.verdicts.iter().map(told).collect();
    (verdicts, group.requests.as_deref().cloned().unwrap())
}

#[test]
fn who_answers_what_a_server_hands_on_is_told() {
    let asleep = [SleepCall::Timer, SleepCall::TimedPoll];
    for (sleep, by_another) in asleep.into_iter().flat_map(|sleep| [(sleep, false), (sleep, true)])
    {
        let (told, requests) = answered_late(sleep, by_another);
        assert_eq!(told, [(VerdictKind::ClientStalled, Some(3), 30)], "{sleep:?} {by_another}");
        assert_eq!((requests.round_trip.count, requests.unanswered), (100, 0), "counted once");
        let answer = |one: &&SegmentStat| (one.leg, one.segment) == (2, Segment::BrokerDwell);
        let answer = requests.segments.iter().find(answer).unwrap();
        assert!(answer.p50.0.abs_diff(20_000_000) < 100 * STEP, "all behind the server");
    }
}

/// A client on the broker's host publishes, and nobody subscribes; its thread waits for a CPU when a reply is there.
#[test]
fn why_requests_take_long_is_told_where_both_ends_are_here() {
    let mut world = World::new();
    let mut publisher = client(&mut world);
    for n in 0..100 {
        world.now += 20_000_000;
        world.message(&mut publisher.up, &publish_with(0x32, "t", &payload(stamp(n), 64)));
        let (start, len) = publisher.down.advance(PUBACK.len());
        let down = publisher.down;
        world.send(&down, start, len);
        world.xmit(&down, start, PUBACK);
        world.rx(&down, start, len);
        world.ready(&down, down.next);
        let (task, woken) = (down.to.1.task, Nanos(world.now));
        world.now += 15_000_000;
        world.tell(Body::Wake(Wake { task, woken, from_irq: true, ..Wake::default() }), &[]);
        world.read(&down, down.next, len);
    }
    let played = Played::of(&world);
    let why = &played.group().why;
    let found = why.verdicts.iter().find(|one| one.kind == VerdictKind::RunQueueContention);
    let found = found.unwrap_or_else(|| panic!("{:?}", why.verdicts));
    assert_eq!(found.leg, Some(2));
    let Some(Clause::OfRequests { requests, middle }) = found.evidence.first() else {
        panic!("{:?}", found.evidence);
    };
    assert!(*requests >= 50 && *middle > Nanos::from_millis(15), "{requests} {middle}");
}

/// A REQ socket asks, whichever end listens.
#[test]
fn a_request_of_zmq_is_answered_by_the_next_message_of_the_other_end() {
    for asks_from_below in [true, false] {
        let (mut world, types) = (World::new(), ["REQ", "REP"]);
        let [client, server] = [process(20, "client"), process(10, "server")];
        let mut connection = world.connect(client, "10.0.0.1:40000", server, "10.0.0.2:5555");
        let (asks, answers) = if asks_from_below {
            (&mut connection.up, &mut connection.down)
        } else {
            (&mut connection.down, &mut connection.up)
        };
        world.message(asks, &zmtp::introduction(types[0]));
        world.message(answers, &zmtp::introduction(types[1]));
        let whole = |body: &[u8]| [zmtp::part(true, b""), zmtp::part(false, body)].concat();
        for n in 0..MESSAGES {
            world.message(asks, &whole(format!("request {n}").as_bytes()));
            world.now += 50 * STEP;
            world.message(answers, &whole(format!("reply {n}").as_bytes()));
        }
        let played = Played::of(&world);
        let requests = seen_here(&played);
        assert_eq!((requests.round_trip.count, requests.unanswered), (20, 0));
        assert_all(requests.round_trip, Nanos(63 * STEP));
        assert_eq!(played.group().messages.sent, 40, "requests and replies are messages");
    }
}

/// The verdict on requests whose server's thread sleeps in this call until an interrupt ends that.
fn stalled(sleep: SleepCall) -> Option<VerdictKind> {
    let mut world = World::new();
    let mut publisher = client(&mut world);
    for n in 0..100 {
        world.now += 20_000_000;
        world.message(&mut publisher.up, &publish_with(0x32, "t", &payload(stamp(n), 64)));
        let task = publisher.down.from.1.task;
        let left = Some(Nanos(world.now));
        world.now += 15_000_000;
        let woken = Nanos(world.now);
        let wake = Wake { task, left, woken, sleep, from_irq: true, ..Wake::default() };
        world.tell(Body::Wake(wake), &[]);
        world.message(&mut publisher.down, PUBACK);
    }
    let played = Played::of(&world);
    let found = played.group().why.verdicts.iter().find(|one| one.leg == Some(2));
    assert_eq!(seen_here(&played).round_trip.count, 100);
    found.map(|one| one.kind)
}

/// A server that waits for data of others may ask them first.
#[test]
fn a_server_that_sleeps_for_a_time_of_its_own_is_told() {
    assert_eq!(stalled(SleepCall::Timer), Some(VerdictKind::BrokerStalled));
    assert_eq!(stalled(SleepCall::Poll), None);
}

/// A client of Zenoh asks a peer, which hands the query on to another one of its clients, and so does the answer. If `asks_itself`, the
/// peer asks the same afterwards. While the first query waits, a client of NATS on the same host makes so many requests that nobody answers.
fn through_peer(asks_itself: bool, requests_of_nats: u32) -> LocalRequestFigures {
    let mut world = World::new();
    let peer = process(10, "peer");
    let mut nats = (requests_of_nats > 0).then(|| {
        let [client, server] = [process(40, "client"), process(50, "nats-server")];
        let mut connection = world.connect(client, "10.0.0.1:41000", server, "10.0.0.1:4222");
        world.message(&mut connection.up, b"CONNECT {\"verbose\":false}\r\n");
        connection
    });
    let [mut asking, mut answering] = [20, 30].map(|pid| {
        let from = format!("10.0.0.1:{}", 40_000 + pid);
        world.connect(process(pid, "client"), &from, peer, "10.0.0.1:7447")
    });
    let query = |number: u8| [&[0x3C, number, 0, 3][..], b"a/b", &[3]].concat();
    let end = |number: u8| vec![0x1A, number];
    let said = |n: u32, message: &[u8]| zenoh::batch(&zenoh::frame(n, message));
    for connection in [&mut asking, &mut answering] {
        // The role is in the lowest two bits behind the version.
        let [own, theirs] = [(false, b"\xa1", 2), (true, b"\xb1", 1)].map(|(ack, id, role)| {
            let mut init = zenoh::init(ack, id);
            init[4] |= role;
            init
        });
        world.message(&mut connection.up, &own);
        world.message(&mut connection.down, &theirs);
    }
    for n in 0..MESSAGES {
        let (id, other) = (u8::try_from(n).unwrap(), u8::try_from(n + 50).unwrap());
        world.message(&mut asking.up, &said(n, &query(id)));
        for number in (0..requests_of_nats).filter(|_| n == 0) {
            let bytes = nats::message(&format!("PUB orders _INBOX.x.{number}"), b"text");
            world.message(&mut nats.as_mut().unwrap().up, &bytes);
        }
        world.message(&mut answering.down, &said(2 * n, &query(other)));
        world.now += 50 * STEP;
        world.message(&mut answering.up, &said(2 * n, &end(other)));
        world.message(&mut asking.down, &said(n, &end(id)));
        world.now += 100_000_000;
        if asks_itself {
            world.message(&mut answering.down, &said(2 * n + 1, &query(id)));
            world.message(&mut answering.up, &said(2 * n + 1, &end(id)));
            world.now += 100_000_000;
        }
    }
    let played = Played::of(&world);
    let mut rows = played.snapshot.groups.iter().filter_map(|row| row.requests.as_deref());
    rows.find(|requests| requests.round_trip.count > 0).cloned().unwrap()
}

#[test]
fn what_a_peer_hands_on_is_one_request() {
    let handed_on = through_peer(false, 0);
    assert_eq!((handed_on.round_trip.count, handed_on.unanswered), (20, 0));
    let with_its_own = through_peer(true, 0);
    assert_eq!((with_its_own.round_trip.count, with_its_own.unanswered), (40, 0));
}

#[test]
fn what_a_peer_hands_on_is_one_request_beside_many_of_a_broker() {
    let handed_on = through_peer(false, 5_000);
    assert_eq!((handed_on.round_trip.count, handed_on.unanswered), (20, 0));
}
