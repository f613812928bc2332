//! Messages of NATS that are known by their places in a stream of `JetStream`.

use crate::played::Played;
use wirelap_test_support::compose::nats::{connect, message, subscribe};
use wirelap_test_support::world::{Connection, World, process};

const MILLISECOND: u64 = 1_000_000;

/// A publisher and a consumer of one server, which have said who they are.
fn house(world: &mut World) -> (Connection, Connection) {
    let at = "127.0.0.1:4222";
    let server = || process(10, "nats-server");
    let mut publisher = world.connect(process(11, "publisher"), "127.0.0.1:40011", server(), at);
    let mut consumer = world.connect(process(12, "consumer"), "127.0.0.1:40012", server(), at);
    for connection in [&mut publisher, &mut consumer] {
        world.message(&mut connection.down, b"INFO {\"server_id\":\"N\",\"headers\":true}\r\n");
        world.message(&mut connection.up, &connect("c"));
        world.message(&mut connection.up, &subscribe("_INBOX.me.* 1"));
    }
    (publisher, consumer)
}

fn published(n: u64) -> Vec<u8> {
    message(&format!("PUB a.b _INBOX.me.{n}"), format!("content {n}").as_bytes())
}

fn stored(n: u64) -> Vec<u8> {
    let answer = format!("{{\"stream\":\"S\",\"seq\":{}}}", n + 1);
    message(&format!("MSG _INBOX.me.{n} 1"), answer.as_bytes())
}

/// A message with a header.
fn with_header(line: &str, header: &str, payload: &[u8]) -> Vec<u8> {
    let header = format!("NATS/1.0\r\n{header}\r\n\r\n");
    let (head, all) = (header.len(), header.len() + payload.len());
    [format!("{line} {head} {all}\r\n").as_bytes(), header.as_bytes(), payload, b"\r\n"].concat()
}

fn size_only(n: u64) -> Vec<u8> {
    let line = format!("HMSG a.b 1 $JS.ACK.S.C.1.{}.{}.1795903215592909819.0", n + 1, n + 1);
    with_header(&line, "Nats-Msg-Size: 9", b"")
}

fn republished(n: u64) -> Vec<u8> {
    let header = format!("Nats-Stream: S\r\nNats-Subject: a.b\r\nNats-Sequence: {}", n + 1);
    with_header("HMSG again.a.b 1", &header, format!("content {n}").as_bytes())
}

/// Sends messages, of which the consumer gets `delivered`, before or after the publisher's answer.
fn play(delivered: fn(u64) -> Vec<u8>) -> Played {
    let mut world = World::new();
    let (mut publisher, mut consumer) = house(&mut world);
    for n in 0..30 {
        world.message(&mut publisher.up, &published(n));
        if n % 3 == 0 {
            world.message(&mut consumer.down, &delivered(n));
        }
        world.message(&mut publisher.down, &stored(n));
        if n % 3 != 0 {
            world.message(&mut consumer.down, &delivered(n));
        }
        world.now += MILLISECOND;
    }
    Played::of(&world)
}

#[test]
fn consumers_of_headers_only_are_followed() {
    assert_eq!(play(size_only).counts(), [30, 30, 30, 0]);
}

#[test]
fn what_a_stream_republishes_is_followed() {
    assert_eq!(play(republished).counts(), [30, 30, 30, 0]);
}

/// The publisher's answers are not seen: nobody says what is where.
#[test]
fn without_answers_they_are_delivered_and_not_followed() {
    let mut world = World::new();
    let (mut publisher, mut consumer) = house(&mut world);
    for n in 0..30 {
        world.message(&mut publisher.up, &published(n));
        world.message(&mut consumer.down, &size_only(n));
        world.now += MILLISECOND;
    }
    assert_eq!(Played::of(&world).counts(), [30, 30, 0, 30]);
}
