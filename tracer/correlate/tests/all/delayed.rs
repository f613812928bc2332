//! Messages that an exchange of AMQP keeps for a time, by their publisher's wish: while they have not come they are no losses, and they hide none.

use crate::played::Played;
use wirelap_correlate::{Clause, VerdictKind};
use wirelap_test_support::compose::{amqp, mqtt};
use wirelap_test_support::world::{Connection, World, process};

const MS: u64 = 1_000_000;

/// The losses that are told where 60 messages are delayed by so many milliseconds and come then, if `they_come`, and `lost` others that are not
/// delayed never come.
fn said(delay: i32, they_come: bool, lost: u32) -> Option<Vec<Clause>> {
    let mut world = World::new();
    let [mut publisher, mut consumer] = clients(&mut world);
    let (of, mut tag) = (["ex", "k"], 0);
    let text = |kind: &str, n: u32| format!("{kind} {n}").into_bytes();
    for n in 0..60 {
        world
            .message(&mut publisher.up, &amqp::publish_delayed("ex", "k", delay, &text("late", n)));
    }
    let mut pass = |world: &mut World, kind: &str, messages: u32, comes: bool| {
        for n in 0..messages {
            world.now += 10 * MS;
            world.message(&mut publisher.up, &amqp::publish("ex", "k", &text(kind, n)));
            if comes {
                tag += 1;
                world.message(&mut consumer.down, &amqp::deliver("ex", "k", tag, &text(kind, n)));
            }
        }
    };
    pass(&mut world, "before", 50, true);
    pass(&mut world, "lost", lost, false);
    pass(&mut world, "after", 50, true);
    world.now += u64::from(delay.unsigned_abs()) * MS;
    pass(&mut world, "still after", 50, true);
    for n in (0..60).filter(|_| they_come) {
        let bytes = amqp::deliver_delayed(of, 1_000 + u64::from(n), delay, &text("late", n));
        world.message(&mut consumer.down, &bytes);
    }
    world.now += 20_000 * MS;
    let played = Played::of(&world);
    let verdicts = &played.group().why.verdicts;
    let found = verdicts.iter().find(|one| one.kind == VerdictKind::NeverDelivered)?;
    Some(found.evidence.clone())
}

#[test]
fn what_is_delayed_is_no_loss() {
    assert_eq!(
        [(500, false), (500, true), (30_000, true)].map(|(ms, come)| said(ms, come, 0)),
        [const { None }; 3]
    );
}

/// One that comes after its message was forgotten is not joined to it, and that is no reason to doubt other losses.
#[test]
fn what_is_delayed_hides_no_loss() {
    for (delay, they_come) in [(500, true), (30_000, true), (500, false)] {
        let said = said(delay, they_come, 30).unwrap_or_default();
        let lost = said.iter().any(|one| matches!(one, Clause::Swallowed { messages: 30, .. }));
        assert!(lost, "{delay} {they_come}: {said:?}");
    }
}

/// A publisher and a consumer of a broker.
fn clients(world: &mut World) -> [Connection; 2] {
    let mut clients = [20, 30].map(|pid| {
        let from = format!("127.0.0.1:{}", 40_000 + pid);
        let broker = process(10, "broker");
        world.connect(process(pid, "client"), &from, broker, "127.0.0.1:5672")
    });
    for client in &mut clients {
        world.message(&mut client.up, b"AMQP\0\0\x09\x01");
    }
    clients
}

/// A client that publishes a message again leaves its headers as they are, and so does the server.
#[test]
fn what_is_published_again_was_kept_before_and_not_now() {
    let dead = ["amq.topic", "work"];
    for again in [false, true] {
        let mut world = World::new();
        let [mut publisher, mut consumer] = clients(&mut world);
        let delay = if again { -500 } else { 500 };
        for n in 0..10 {
            let [payload, other] =
                ["dead letter", "delayed"].map(|kind| format!("{kind} {n}").into_bytes());
            let published = if again {
                amqp::publish_dead_letter(dead, "parked", &payload)
            } else {
                amqp::publish("amq.topic", "work", &payload)
            };
            world.message(&mut publisher.up, &published);
            let delayed = amqp::publish_delayed("ex", "k", delay, &other);
            world.message(&mut publisher.up, &delayed);
            world.now += 200 * MS;
            let letter = amqp::deliver_dead_letter(dead, "parked", 2 * n + 1, &payload);
            world.message(&mut consumer.down, &letter);
            let delivered = amqp::deliver_delayed(["ex", "k"], 2 * n + 2, 500, &other);
            world.message(&mut consumer.down, &delivered);
        }
        let played = Played::of(&world);
        assert_eq!(played.counts(), [20, 20, 20, 0]);
        let last = played.deliveries.iter().filter_map(|one| one.legs.last());
        let expired = last.filter(|leg| leg.circumstances.subscription.has_expired).count();
        assert_eq!(expired, if again { 0 } else { 20 });
    }
}

/// EMQX publishes to the rest of the topic after the time that it names; a broker that has no use for such names leaves them.
#[test]
fn what_mqtt_delays_by_its_topic_is_followed_and_no_loss() {
    for (delivered, is_delayed) in [("t", true), ("$delayed/1/t", false)] {
        let mut world = World::new();
        let broker = process(10, "broker");
        let mut clients = [20, 30].map(|pid| {
            let from = format!("127.0.0.1:{}", 40_000 + pid);
            world.connect_mqtt(process(pid, "client"), &from, broker, "127.0.0.1:1883")
        });
        for n in 0..10_u8 {
            let [publisher, subscriber] = &mut clients;
            world.message(&mut publisher.up, &mqtt::publish("$delayed/1/t", &[b'v', n]));
            world.now += 1_000 * MS;
            world.message(&mut subscriber.down, &mqtt::publish(delivered, &[b'v', n]));
        }
        let [publisher, _] = &mut clients;
        world.message(&mut publisher.up, &mqtt::publish("$delayed/3600/t", b"later"));
        world.now += 20_000 * MS;
        let played = Played::of(&world);
        assert_eq!(played.counts(), [11, 10, 10, 0]);
        let last = played.deliveries.iter().filter_map(|one| one.legs.last());
        let expired = last.filter(|leg| leg.circumstances.subscription.has_expired).count();
        assert_eq!(expired, if is_delayed { 10 } else { 0 });
        let verdicts = &played.group().why.verdicts;
        assert!(verdicts.iter().all(|one| one.kind != VerdictKind::NeverDelivered));
    }
}

/// `LavinMQ` takes the header out, and an exchange that does not delay leaves it as it is.
#[test]
fn what_its_publisher_delays_is_known_by_the_header_that_changed() {
    let kept = |delay| amqp::deliver_delayed(["ex", "k"], 1, delay, b"one");
    let without = amqp::deliver("ex", "k", 1, b"one");
    for (delivered, is_delayed) in [(without, true), (kept(500), true), (kept(-500), false)] {
        let mut world = World::new();
        let [mut publisher, mut consumer] = clients(&mut world);
        world.message(&mut publisher.up, &amqp::publish_delayed("ex", "k", 500, b"one"));
        world.now += 500 * MS;
        world.message(&mut consumer.down, &delivered);
        let played = Played::of(&world);
        let last = played.deliveries.first().and_then(|one| one.legs.last()).unwrap();
        assert_eq!(last.circumstances.subscription.has_expired, is_delayed);
    }
}
