//! Refusals of servers, in their own words.

use crate::played::Played;
use wirelap_test_support::compose::{mqtt, nats};
use wirelap_test_support::world::{World, process};

/// The reasons of all rows, and how often each was given.
fn reasons(world: &World) -> Vec<(String, u64)> {
    let snapshot = Played::of(world).snapshot;
    let all = snapshot.groups.iter().flat_map(|group| &group.refusals.listed);
    all.map(|one| (one.reason.to_string(), one.times)).collect()
}

#[test]
fn errors_of_nats_are_counted_by_their_words() {
    let mut world = World::new();
    let server = || process(10, "nats-server");
    let at = "127.0.0.1:4222";
    let mut publisher = world.connect(process(11, "publisher"), "127.0.0.1:40011", server(), at);
    let mut consumer = world.connect(process(12, "consumer"), "127.0.0.1:40012", server(), at);
    for connection in [&mut publisher, &mut consumer] {
        world.message(&mut connection.down, b"INFO {\"server_id\":\"N\",\"headers\":true}\r\n");
        world.message(&mut connection.up, &nats::connect("c"));
    }
    world.message(&mut consumer.up, &nats::subscribe("a.b 1"));
    for n in 0..5 {
        let text = format!("content {n}");
        world.message(&mut publisher.up, &nats::message("PUB a.b", text.as_bytes()));
        world.message(&mut consumer.down, &nats::message("MSG a.b 1", text.as_bytes()));
        world.message(&mut publisher.up, &nats::message("PUB b.x", text.as_bytes()));
        world.message(
            &mut publisher.down,
            b"-ERR 'Permissions Violation for Publish to \"b.x\"'\r\n",
        );
    }
    let expected = ("Permissions Violation for Publish to \"b.x\"".to_owned(), 5);
    assert_eq!(reasons(&world), [expected]);
}

#[test]
fn a_subscription_that_mqtt_refuses_is_told() {
    let mut world = World::new();
    let broker = || process(10, "mosquitto");
    let mut client =
        world.connect(process(11, "client"), "127.0.0.1:40011", broker(), "127.0.0.1:1883");
    world.message(&mut client.up, &mqtt::connect("c"));
    world.message(&mut client.down, mqtt::CONNACK);
    world.message(&mut client.up, &mqtt::subscribe("secret/#"));
    // SUBACK of version 3.1.1 with the failure 0x80.
    world.message(&mut client.down, &[0x90, 3, 0, 1, 0x80]);
    world.message(&mut client.up, &mqtt::publish("a/b", b"content"));
    assert_eq!(reasons(&world), [("subscription refused".to_owned(), 1)]);
}
