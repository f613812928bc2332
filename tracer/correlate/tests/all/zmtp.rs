//! `ZeroMQ`: the type of a socket tells whether it sends a message to many.

use crate::played::Played;
use wirelap_test_support::compose::zmtp::introduction;
use wirelap_test_support::world::{Connection, World, process};

const SENDER: &str = "127.0.0.1:5555";

/// The same 100 messages to each of three receivers of one socket.
fn played(sends: &str, receives: &str) -> Played {
    let mut world = World::new();
    let mut receivers: Vec<Connection> = (0..3)
        .map(|n| {
            let receiver = process(100 + n, "receiver");
            let address = format!("127.0.0.1:{}", 20_000 + n);
            let mut connection = world.connect(receiver, &address, process(10, "sender"), SENDER);
            world.message(&mut connection.up, &introduction(receives));
            world.message(&mut connection.down, &introduction(sends));
            connection
        })
        .collect();
    for n in 0..100 {
        for receiver in &mut receivers {
            world.message(&mut receiver.down, &[0, 2, b'n', n]);
        }
    }
    Played::of(&world)
}

#[test]
fn what_is_published_is_one_message_to_many() {
    assert_eq!(played("PUB", "SUB").counts(), [100, 300, 300, 0]);
}

#[test]
fn what_is_queued_is_a_message_each() {
    for (sends, receives) in [("PUSH", "PULL"), ("DEALER", "REP"), ("ROUTER", "DEALER")] {
        assert_eq!(played(sends, receives).counts(), [300, 300, 300, 0], "{sends}");
    }
}
