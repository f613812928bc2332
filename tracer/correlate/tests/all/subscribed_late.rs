//! Messages that a broker kept until somebody subscribed on a connection that had been open for long.

use crate::brokered::BROKER;
use crate::played::Played;
use crate::words::clauses;
use wirelap_correlate::{Severity, VerdictKind};
use wirelap_events::{Body, Nanos, Seq};
use wirelap_test_support::compose::{amqp, nats, payload, stamp};
use wirelap_test_support::world::{Connection, World, process};

/// A publisher and a subscriber of a server that have said these words, each on a connection of its own.
fn clients(world: &mut World, opening: [&[u8]; 2]) -> [Connection; 2] {
    [(20, "pub"), (30, "sub")].map(|(pid, name)| {
        let (client, broker) = (process(pid, name), process(10, "server"));
        let from = format!("127.0.0.1:{}", 40_000 + pid);
        let mut connection = world.connect_at(client, &from, broker, BROKER, Seq(pid << 20));
        let [own, servers] = opening;
        world.message(&mut connection.up, own);
        world.message(&mut connection.down, servers);
        connection
    })
}

/// Since when the subscriber of each message was there, where that was only after the broker had it.
fn ready(world: &World) -> Vec<Option<Nanos>> {
    let played = Played::of(world);
    played.deliveries.iter().map(|all| all.legs[1].circumstances.subscription.ready).collect()
}

const AMQP: [&[u8]; 2] =
    [b"AMQP\0\0\x09\x01", b"\x01\0\0\0\0\0\x12\0\x0a\0\x0a\0\x09\0\0\0\0\0\0\0\0\0\0\0\0\xce"];

fn published(n: u32) -> Vec<u8> {
    amqp::publish("", "t", &payload(stamp(n), 64))
}

fn delivered(n: u32) -> Vec<u8> {
    amqp::deliver("", "t", u64::from(n) + 1, &payload(stamp(n), 64))
}

#[test]
fn a_consumer_that_was_cancelled_and_begins_again_was_away() {
    for chosen_by_server in [false, true] {
        let mut world = World::new();
        let [mut publisher, mut consumer] = clients(&mut world, AMQP);
        let asked = if chosen_by_server { "" } else { "tag" };
        let consume = |world: &mut World, consumer: &mut Connection| {
            let consume = amqp::consume(1, "t", asked, false);
            let (begun, _) = world.message(&mut consumer.up, &consume);
            world.message(&mut consumer.down, &amqp::consume_ok(1, "tag"));
            begun
        };
        consume(&mut world, &mut consumer);
        world.message(&mut publisher.up, &published(0));
        world.message(&mut consumer.down, &delivered(0));
        world.message(&mut consumer.up, &amqp::cancel(1, "tag"));
        world.message(&mut publisher.up, &published(1));
        let begun = consume(&mut world, &mut consumer);
        world.message(&mut consumer.down, &delivered(1));
        world.message(&mut publisher.up, &published(2));
        world.message(&mut consumer.down, &delivered(2));
        let [None, Some(ready), None] = ready(&world)[..] else { panic!("{:?}", ready(&world)) };
        assert!((begun..begun + Nanos(10_000)).contains(&ready), "{ready:?} {begun:?}");
    }
}

/// A slow broker has the message, and its subscriber something else in mind.
#[test]
fn who_subscribes_to_something_else_meanwhile_was_there() {
    let mut world = World::new();
    let [mut publisher, mut consumer] = clients(&mut world, AMQP);
    world.message(&mut consumer.up, &amqp::consume(1, "t", "tag", true));
    world.message(&mut publisher.up, &published(0));
    world.message(&mut consumer.up, &amqp::consume(1, "other", "another", true));
    world.message(&mut consumer.up, &amqp::consume(2, "t", "tag", true));
    world.message(&mut consumer.down, &delivered(0));
    assert_eq!(ready(&world), [None]);

    let hello: [&[u8]; 2] = [b"CONNECT {\"verbose\":false}\r\n", b"INFO {\"server_id\":\"N\"}\r\n"];
    let mut world = World::new();
    let [mut publisher, mut subscriber] = clients(&mut world, hello);
    world.message(&mut subscriber.up, &nats::subscribe("t 1"));
    for n in 0..100 {
        world.message(&mut publisher.up, &nats::message("PUB t", &payload(stamp(n), 64)));
        // One for the answer to each request.
        let inbox = format!("SUB _INBOX.a{n} {}\r\nUNSUB {0} 1\r\n", n + 2);
        world.message(&mut subscriber.up, inbox.as_bytes());
        world.message(&mut subscriber.down, &nats::message("MSG t 1", &payload(stamp(n), 64)));
    }
    assert_eq!(ready(&world), [None; 100]);
}

/// A queue keeps what comes when its consumer is gone, whose connection may still be open.
#[test]
fn what_comes_after_the_last_consumer_was_cancelled_is_kept() {
    for closes in [false, true] {
        let mut world = World::new();
        let [mut publisher, mut consumer] = clients(&mut world, AMQP);
        world.message(&mut consumer.up, &amqp::consume(1, "t", "tag", true));
        for n in 0..20 {
            world.message(&mut publisher.up, &published(n));
            world.message(&mut consumer.down, &delivered(n));
        }
        world.message(&mut consumer.up, &amqp::cancel(1, "tag"));
        for n in 20..60 {
            world.message(&mut publisher.up, &published(n));
        }
        if closes {
            world.tell(Body::Closed(consumer.down.to.0), &[]);
        }
        let played = Played::of(&world);
        let verdicts = &played.group().why.verdicts;
        let never = verdicts.iter().find(|one| one.kind == VerdictKind::NeverDelivered).unwrap();
        assert_eq!(never.severity, Severity::Note);
        let said = clauses(never);
        assert_eq!(said[0], "sub (pid 30), which had got those before, unsubscribed");
        assert!(
            said[1].starts_with("40 of 60 messages were read by the broker after that: it keeps")
        );
    }
}
