//! Sockets that need not be observed any more: those of conversations whose bytes are only counted.

use wirelap_correlate::{Config, Correlator};
use wirelap_events::{Body, Delivery, Nanos, SocketId};
use wirelap_test_support::compose::mqtt;
use wirelap_test_support::world::{Connection, World, process};

/// Enough bytes to be worth it.
const LEAST: u64 = 64 << 10;

/// A request and its answer in a protocol that wirelap only names.
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n";

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn both(connection: &Connection) -> [SocketId; 2] {
    [connection.up.from.0, connection.up.to.0]
}

/// The sockets after everything that happened.
fn only_counted(world: &World) -> Vec<SocketId> {
    let mut correlator = Correlator::new(Config::default());
    for event in &world.events {
        correlator.event(&event.event());
    }
    correlator.tick(Nanos(world.now), &mut |_: &Delivery| {});
    let mut sockets = correlator.only_counted(LEAST);
    sockets.sort();
    sockets.dedup();
    sockets
}

#[test]
fn sockets_of_a_protocol_that_is_only_named_are_muted_once_they_carried_enough() {
    let mut world = World::new();
    let mut pair = world.connect(
        process(10, "client"),
        "127.0.0.1:40000",
        process(20, "server"),
        "127.0.0.1:80",
    );
    let both = both(&pair);
    for _ in 0..8 {
        world.message(&mut pair.up, REQUEST);
        world.message(&mut pair.down, ANSWER);
    }
    assert_eq!(only_counted(&world), [], "few bytes");
    for _ in 0..1_000 {
        world.message(&mut pair.down, &[7; 1_000]);
    }
    assert_eq!(only_counted(&world), both);
    world.tell(Body::Closed(both[0]), &[]);
    assert_eq!(only_counted(&world), [both[1]], "what is closed needs no muting");
}

#[test]
fn what_is_followed_or_may_yet_be_is_not_muted() {
    let mut world = World::new();
    let (client, broker) = (process(10, "client"), process(20, "broker"));
    let mut followed = world.connect_mqtt(client, "127.0.0.1:40000", broker, "127.0.0.1:1883");
    // Joined in mid-stream: a pause may show where a message begins.
    let mut joined = world.existing(client, "127.0.0.1:40001", broker, "127.0.0.1:5000");
    for n in 0..1_000_u32 {
        let payload = n.to_be_bytes().repeat(200);
        world.message(&mut followed.up, &mqtt::publish("t", &payload));
        world.message(&mut joined.up, &payload);
    }
    assert_eq!(only_counted(&world), []);
}
