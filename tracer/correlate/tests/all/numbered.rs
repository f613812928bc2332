//! Topics that are named by a number which was agreed on before the observation began.

use crate::brokered::BROKER;
use crate::played::Played;
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::compose::zenoh;
use wirelap_test_support::world::{Connection, World, process};

/// A publisher and a subscriber whose connections were there before the observation began.
fn connected_before(world: &mut World) -> (Connection, Connection) {
    let broker = process(10, "mosquitto");
    let publisher = world.existing(process(20, "pub"), "127.0.0.1:40020", broker, BROKER);
    let subscriber = world.existing(process(30, "sub"), "127.0.0.1:40030", broker, BROKER);
    (publisher, subscriber)
}

/// A message of MQTT 5 that names its topic by an alias that was set before anyone looked.
fn aliased(alias: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x30, u8::try_from(6 + payload.len()).unwrap(), 0, 0, 3, 0x23, 0, alias];
    bytes.extend(payload);
    bytes
}

/// A message of MQTT 5 without properties.
fn fifth(topic: &str, payload: &[u8]) -> Vec<u8> {
    publish(topic, &[&[0], payload].concat())
}

#[test]
fn a_topic_that_is_named_by_a_number_is_found_by_its_content() {
    let mut world = World::new();
    let (mut publisher, mut subscriber) = connected_before(&mut world);
    for n in 0..30 {
        let payload = format!("reading number {n}");
        world.message(&mut publisher.up, &aliased(3, payload.as_bytes()));
        world.message(&mut subscriber.down, &fifth("sensors/t1", payload.as_bytes()));
    }
    assert_eq!(Played::of(&world).counts(), [30, 30, 30, 0]);
}

/// A publisher says the whole key expression; the router has given the subscriber a number for it before anyone looked.
#[test]
fn a_key_expression_that_is_named_by_a_number_is_found_by_its_content() {
    let mut world = World::new();
    let (router, at) = (process(10, "router"), "127.0.0.1:7447");
    let mut publisher = world.existing(process(20, "pub"), "127.0.0.1:41000", router, at);
    let mut subscriber = world.existing(process(30, "sub"), "127.0.0.1:42000", router, at);
    for n in 0..30_u8 {
        let payload = format!("reading number {n:02}");
        let named = [&[0x25, n, 0x7d, 0, 8][..], b"sensor/t", &[1, 17], payload.as_bytes()];
        world.message(&mut publisher.up, &zenoh::batch(&named.concat()));
        world.message(&mut subscriber.down, &zenoh::put(u32::from(n), payload.as_bytes()));
    }
    assert_eq!(Played::of(&world).counts(), [30, 30, 30, 0]);
}

/// A message that says too little to be found by may count twice, and that is told.
#[test]
fn a_number_and_next_to_no_payload_are_told() {
    for tells in [true, false] {
        let mut world = World::new();
        let (router, at) = (process(10, "router"), "127.0.0.1:7447");
        let mut publisher = world.existing(process(20, "pub"), "127.0.0.1:41000", router, at);
        let mut subscriber = world.existing(process(30, "sub"), "127.0.0.1:42000", router, at);
        for n in 0..30_u8 {
            let short = if n < 20 || tells { "reading" } else { "" };
            let payload = format!("{short}{:02}", n % 100);
            let len = u8::try_from(payload.len()).unwrap();
            let named = [&[0x25, n, 0x7d, 0, 8][..], b"sensor/t", &[1, len], payload.as_bytes()];
            world.message(&mut publisher.up, &zenoh::batch(&named.concat()));
            world.message(&mut subscriber.down, &zenoh::put(u32::from(n), payload.as_bytes()));
        }
        let played = Played::of(&world);
        // What begins at the router looks as if it was the router's own.
        let [sent, nameless] = if tells { [30, 0] } else { [40, 10] };
        assert_eq!(
            (played.counts(), played.group().uncertain.nameless),
            ([sent, 30, 30, 0], nameless)
        );
    }
}

#[test]
fn a_content_that_two_topics_have_does_not_tell_which_one_a_number_means() {
    let mut world = World::new();
    let (mut publisher, mut subscriber) = connected_before(&mut world);
    world.message(&mut publisher.up, &fifth("sensors/t3", b"the first"));
    // What is read in the first second may have been sent before observation began.
    world.now += 1_500_000_000;
    for n in 0..30 {
        let payload = format!("reading number {n}");
        for topic in ["sensors/t1", "sensors/t2"] {
            world.message(&mut publisher.up, &fifth(topic, payload.as_bytes()));
        }
        world.message(&mut subscriber.down, &aliased(3, payload.as_bytes()));
    }
    assert_eq!(Played::of(&world).counts(), [61, 30, 0, 30]);
}

#[test]
fn a_topic_by_number_and_a_payload_that_may_start_earlier_are_joined() {
    let mut world = World::new();
    let (mut publisher, mut subscriber) = connected_before(&mut world);
    for n in 0..30_u8 {
        let payload = [0, 0, 0, 0, 0xC1, 0xD2, 0xE3, 0xF4, n];
        world.message(&mut publisher.up, &aliased(3, &payload));
        world.message(&mut subscriber.down, &fifth("sensors/t1", &payload));
    }
    assert_eq!(Played::of(&world).counts(), [30, 30, 30, 0]);
}
