//! Streams of `JetStream` that remove messages before a consumer comes to them, or do not take any more.

use crate::audience::Watch;
use crate::words::words;
use wirelap_correlate::{Group, Severity, VerdictKind};
use wirelap_events::Nanos;
use wirelap_test_support::compose::nats::{connect, message, subscribe};
use wirelap_test_support::world::{Connection, World, process};

const SERVER: &str = "127.0.0.1:4222";

fn join(world: &mut World, pid: u32, name: &str) -> Connection {
    let from = format!("127.0.0.1:{}", 40_000 + pid);
    let server = process(10, "nats-server");
    let mut connection = world.connect(process(pid, name), &from, server, SERVER);
    world.message(&mut connection.down, b"INFO {\"server_id\":\"N\",\"headers\":true}\r\n");
    world.message(&mut connection.up, &connect("c"));
    world.message(&mut connection.up, &subscribe("_INBOX.me.* 1"));
    connection
}

/// Publishes message `n`, which the server gives this place, or does not take.
fn publish(world: &mut World, publisher: &mut Connection, n: u64, place: Option<u64>) {
    let bytes = message(&format!("PUB a _INBOX.me.{n}"), format!("content {n}").as_bytes());
    world.message(&mut publisher.up, &bytes);
    let answer = match place {
        Some(place) => format!("{{\"stream\":\"S\",\"seq\":{place}}}"),
        None => "{\"error\":{\"code\":503,\"err_code\":10077,\"description\":\"maximum messages exceeded\"},\"seq\":0}".into(),
    };
    world
        .message(&mut publisher.down, &message(&format!("MSG _INBOX.me.{n} 1"), answer.as_bytes()));
}

/// A consumer is sent message `n`, which has this place, as the message of this number that it is sent.
fn deliver(world: &mut World, consumer: &mut Connection, n: u64, place: u64, number: u64) {
    let line = format!("MSG a 1 $JS.ACK.S.C.1.{place}.{number}.1795903215592909819.0");
    world.message(&mut consumer.down, &message(&line, format!("content {n}").as_bytes()));
}

fn group(watch: &Watch) -> Group {
    let mut groups = watch.correlator.snapshot(Nanos(watch.world.now)).groups;
    assert_eq!(groups.len(), 1);
    groups.remove(0)
}

/// A hundred messages, of which a consumer is sent the first forty and the last ten. The last ones have numbers behind those of the
/// first, or so many later ones, because another client has the same consumer. The messages between are of this topic, or not.
fn jumped(numbers_missing: u64) -> Option<(Severity, String)> {
    let mut world = World::new();
    let mut publisher = join(&mut world, 20, "publisher");
    let mut consumer = join(&mut world, 30, "consumer");
    let mut watch = Watch::new(world);
    for n in 0..100 {
        publish(&mut watch.world, &mut publisher, n, Some(n + 1));
        if n < 40 {
            deliver(&mut watch.world, &mut consumer, n, n + 1, n + 1);
        }
    }
    for n in 90..100 {
        deliver(&mut watch.world, &mut consumer, n, n + 1, n - 50 + 1 + numbers_missing);
    }
    watch.take(3_000);
    let verdicts = group(&watch).why.verdicts;
    let said = verdicts.iter().find(|one| one.kind == VerdictKind::NeverDelivered)?;
    Some((said.severity, words(said)))
}

#[test]
fn what_a_stream_has_removed_is_counted_at_who_came_too_late() {
    let (severity, text) = jumped(0).unwrap();
    assert_eq!(severity, Severity::Problem);
    let whole = "50 messages were no more in the stream when consumer (pid 30) came to them";
    assert!(text.contains(whole), "{text}");
    let shared = jumped(50);
    assert!(shared.is_none_or(|(_, text)| !text.contains("in the stream")), "another has them");
}

/// Messages that the server does not take are awaited by nobody, and told as refused.
#[test]
fn what_a_full_stream_does_not_take_is_refused() {
    let mut world = World::new();
    let mut publisher = join(&mut world, 20, "publisher");
    let mut consumer = join(&mut world, 30, "consumer");
    let mut watch = Watch::new(world);
    let mut place = 0;
    for n in 0..300 {
        let is_taken = n < 60 || n % 50 == 0;
        place += u64::from(is_taken);
        publish(&mut watch.world, &mut publisher, n, is_taken.then_some(place));
        if is_taken {
            deliver(&mut watch.world, &mut consumer, n, place, place);
        }
        watch.take(100);
    }
    let slow = watch.take(3_000);
    let group = group(&watch);
    assert_eq!((slow.listed.len(), group.messages.delivered), (0, 64), "{slow:?}");
    let refused = &group.refusals.listed[0];
    assert_eq!((&*refused.reason, refused.times), ("maximum messages exceeded", 236));
    let is_never = |one: &&_| {
        matches!(one, wirelap_correlate::Verdict { kind: VerdictKind::NeverDelivered, .. })
    };
    assert_eq!(group.why.verdicts.iter().find(is_never), None);
}
