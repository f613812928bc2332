//! Messages that a broker has and does not send: it was asked for them, or nobody asks.

use crate::audience::{AMQP, NATS, Watch};
use crate::brokered::BROKER;
use wirelap_correlate::{Severity, VerdictKind, Whereabouts};
use wirelap_events::{Body, Nanos, ThreadActivity, ThreadState};
use wirelap_test_support::compose::mqtt::{CONNACK, CONNECT, publish_with};
use wirelap_test_support::compose::{amqp, kafka, nats};
use wirelap_test_support::world::{Connection, World, process};

/// Problems with messages that are under way: where these are, whose process has them, and what is said.
#[derive(Debug, PartialEq)]
struct Found(Vec<(Whereabouts, Option<u32>, VerdictKind)>);

impl Found {
    /// The problems while the broker (10) is blocked and the consumer (30) sleeps.
    fn now(watch: &mut Watch) -> Found {
        for (pid, activity) in [(10, ThreadActivity::Blocked), (30, ThreadActivity::Asleep)] {
            let task = process(pid, "").task;
            let state = ThreadState { task, activity, ..ThreadState::default() };
            watch.world.tell(Body::State(state), &[]);
        }
        watch.take(100);
        let snapshot = watch.correlator.snapshot(Nanos(watch.world.now));
        let all = snapshot.groups.iter().flat_map(|group| &group.why.verdicts);
        let open = all.filter(|one| one.severity == Severity::Problem).filter_map(|one| {
            let pid = one.process.map(|(task, _)| task.pid.0);
            Some((one.open?.place, pid, one.kind))
        });
        Found(open.collect())
    }
}

/// The requests and answers of a consumer, in the words of a protocol.
struct Asking {
    /// The address of its server.
    server: &'static str,
    hello: [&'static [u8]; 2],
    publish: fn(usize) -> Vec<u8>,
    ask: fn(usize) -> Vec<u8>,
    deliver: fn(usize) -> Vec<u8>,
    /// The answer that there is nothing.
    nothing: fn(usize) -> Vec<u8>,
}

/// A publisher and a consumer at a server of this address, after their first words.
fn join(world: &mut World, server: &str, hello: [&[u8]; 2]) -> [Connection; 2] {
    let broker = process(10, "server");
    [(20, "127.0.0.1:41000"), (30, "127.0.0.1:42000")].map(|(pid, from)| {
        let mut client = world.connect(process(pid, "client"), from, broker, server);
        for (way, hello) in [&mut client.up, &mut client.down].into_iter().zip(hello) {
            if !hello.is_empty() {
                world.message(way, hello);
            }
        }
        client
    })
}

/// The findings two seconds after messages that come once the consumer has got forty, and then `asks` again, and `is_answered` with nothing.
fn found(of: &Asking, asks: bool, is_answered: bool) -> Found {
    let mut world = World::new();
    let [mut publisher, mut consumer] = join(&mut world, of.server, of.hello);
    for n in 0..40 {
        world.message(&mut consumer.up, &(of.ask)(n));
        world.message(&mut publisher.up, &(of.publish)(n));
        world.message(&mut consumer.down, &(of.deliver)(n));
    }
    let mut watch = Watch::new(world);
    watch.take(100);
    if asks {
        watch.world.message(&mut consumer.up, &(of.ask)(40));
    }
    if is_answered {
        watch.world.message(&mut consumer.down, &(of.nothing)(40));
    }
    for n in 40..43 {
        watch.world.message(&mut publisher.up, &(of.publish)(n));
        watch.take(20);
    }
    watch.take(2_000);
    Found::now(&mut watch)
}

fn check(of: &Asking) {
    let consumer = Found(vec![(Whereabouts::Unasked, Some(30), VerdictKind::FetchWait)]);
    let broker = Found(vec![(Whereabouts::Broker, Some(10), VerdictKind::BrokerStalled)]);
    assert_eq!(found(of, true, false), broker, "it was asked");
    assert_eq!(found(of, true, true), consumer, "there was nothing, and it did not ask again");
    assert_eq!(found(of, false, false), consumer, "it got all that it had asked for");
}

/// A batch of one record, which is like no other's.
fn record(n: usize) -> Vec<u8> {
    kafka::at_offset(kafka::batch(1, &kafka::record(format!("value {n}").as_bytes())), n)
}

#[test]
fn a_broker_of_kafka_that_hangs_with_a_fetch_is_named() {
    // At the second port the protocol is not known before there is an answer.
    for server in ["127.0.0.1:9092", "127.0.0.1:7831"] {
        check(&kafka_at(server));
    }
}

fn kafka_at(server: &'static str) -> Asking {
    Asking {
        server,
        hello: [b"", b""],
        publish: |n| kafka::produce(n, "t", &record(n)),
        ask: |n| kafka::fetch_from(n, "t", n),
        deliver: |n| kafka::fetched(n, "t", &record(n)),
        nothing: |n| kafka::fetched(n, "t", &[]),
    }
}

#[test]
fn a_server_of_jetstream_that_hangs_with_a_pull_is_named() {
    check(&Asking {
        server: "127.0.0.1:4222",
        hello: NATS.hello,
        publish: |n| nats::message("PUB t", format!("value {n}").as_bytes()),
        ask: |_| {
            let next = "PUB $JS.API.CONSUMER.MSG.NEXT.S.pull _INBOX.a";
            nats::message(next, br#"{"batch":1,"expires":30000000000}"#)
        },
        deliver: |n| {
            let line = format!("MSG t 1 $JS.ACK.S.pull.1.{n}.{n}.1700000000.0");
            nats::message(&line, format!("value {n}").as_bytes())
        },
        nothing: |_| b"HMSG _INBOX.a 2 26 26\r\nNATS/1.0 408 Timed Out\r\n\r\n\r\n".to_vec(),
    });
}

#[test]
fn a_broker_of_amqp_that_hangs_with_a_get_is_named() {
    check(&Asking {
        server: "127.0.0.1:5672",
        hello: AMQP.hello,
        publish: |n| amqp::publish("", "t", format!("value {n}").as_bytes()),
        ask: |_| amqp::get("t"),
        deliver: |n| amqp::got("t", n as u64 + 1, format!("value {n}").as_bytes()),
        nothing: |_| amqp::frame(1, 1, &[0, 60, 0, 72, 0]),
    });
}

/// The findings two seconds after messages that come once the consumer, which is sent one before it has acknowledged the last, has got forty,
/// and read and acknowledged so many.
fn found_after(read: u64, acknowledged: u64) -> Found {
    let mut world = World::new();
    let [mut publisher, mut consumer] = join(&mut world, "127.0.0.1:5672", AMQP.hello);
    let content = |n| format!("value {n}").into_bytes();
    for tag in 1..=40 {
        world.message(&mut publisher.up, &amqp::publish("", "t", &content(tag)));
        let delivered = amqp::deliver("", "t", tag, &content(tag));
        if tag <= read {
            world.message(&mut consumer.down, &delivered);
        } else {
            let (start, len) = consumer.down.advance(delivered.len());
            world.send(&consumer.down, start, len);
            world.xmit(&consumer.down, start, &delivered);
            world.rx(&consumer.down, start, len);
            world.ready(&consumer.down, consumer.down.next);
        }
        if tag <= acknowledged {
            world.message(&mut consumer.up, &amqp::ack(1, tag, false));
        }
    }
    let mut watch = Watch::new(world);
    watch.take(100);
    for tag in 41..80 {
        watch.world.message(&mut publisher.up, &amqp::publish("", "t", &content(tag)));
        watch.take(20);
    }
    watch.take(2_000);
    Found::now(&mut watch)
}

#[test]
fn a_consumer_that_does_not_acknowledge_is_named() {
    let consumer = (Whereabouts::Unacknowledged, Some(30), VerdictKind::FetchWait);
    assert_eq!(found_after(40, 39), Found(vec![consumer]));
    let unread = (Whereabouts::ReaderQueue, Some(30), VerdictKind::ClientStalled);
    assert_eq!(found_after(39, 39), Found(vec![unread]), "what it has not read comes first");
    assert_eq!(found_after(40, 40), Found(vec![]), "most of what is published has not gone on");
}

/// The findings on a broker of MQTT one of whose subscribers gets a topic with `QoS` 1, which it acknowledges but for the last message if it
/// is `silent`, and one with `QoS` 0. After forty of each, what comes of the first topic is not passed on, and of the other one neither
/// if the broker `hangs`.
fn found_of_both(silent: bool, hangs: bool) -> Found {
    let mut world = World::new();
    let [mut publisher, mut consumer] = join(&mut world, BROKER, [CONNECT, CONNACK]);
    let confirmed = |n: u32| publish_with(0x32, "a", format!("value {n}").as_bytes());
    let unconfirmed = |n: u32| publish_with(0x30, "b", format!("number {n}").as_bytes());
    let receipt: &[u8] = &[0x40, 2, 0, 7];
    for n in 0..40 {
        for bytes in [confirmed(n), unconfirmed(n)] {
            world.message(&mut publisher.up, &bytes);
            world.message(&mut consumer.down, &bytes);
            if bytes[0] == 0x32 && !(silent && n == 39) {
                world.message(&mut consumer.up, receipt);
            }
        }
    }
    let mut watch = Watch::new(world);
    watch.take(100);
    for n in 40..43 {
        for bytes in [confirmed(n), unconfirmed(n)] {
            watch.world.message(&mut publisher.up, &bytes);
            if bytes[0] == 0x30 && !hangs {
                watch.world.message(&mut consumer.down, &bytes);
            }
        }
        watch.take(20);
    }
    watch.take(2_000);
    Found::now(&mut watch)
}

#[test]
fn what_needs_no_acknowledgement_does_not_wait_for_one() {
    let hangs = (Whereabouts::Broker, Some(10), VerdictKind::BrokerStalled);
    let silent = (Whereabouts::Unacknowledged, Some(30), VerdictKind::FetchWait);
    assert_eq!(found_of_both(false, true), Found(vec![hangs]));
    assert_eq!(found_of_both(true, false), Found(vec![silent]));
}
