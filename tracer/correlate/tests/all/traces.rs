//! The trace that a message names, and its number among those that begin at one place.

use crate::played::Played;
use wirelap_correlate::Config;
use wirelap_events::{Delivery, TraceContext};
use wirelap_test_support::compose::{kafka, mqtt, varint};
use wirelap_test_support::world::{Connection, World, process};

const FIRST: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const SECOND: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// A PUBLISH of version 5 that names a trace, or none.
fn publish(traceparent: Option<&str>, payload: &[u8]) -> Vec<u8> {
    let text =
        |text: &str| [&u16::try_from(text.len()).unwrap().to_be_bytes(), text.as_bytes()].concat();
    let named = |value| [&[38][..], &text("traceparent"), &text(value)].concat();
    let properties = traceparent.map(named).unwrap_or_default();
    let body = [text("t"), varint(properties.len()), properties, payload.to_vec()].concat();
    [vec![0x30], varint(body.len()), body].concat()
}

/// The connections of a publisher and a subscriber to a server on this port.
fn house(world: &mut World, port: u16) -> [Connection; 2] {
    let server = process(10, "server");
    [(20, "publisher"), (30, "subscriber")].map(|(pid, name)| {
        let from = format!("127.0.0.1:{}", 40_000 + pid);
        world.connect(process(pid, name), &from, server, &format!("127.0.0.1:{port}"))
    })
}

/// The traces of messages that go through a broker, of which both legs name these.
fn traces(config: Config, legs: &[[Option<&str>; 2]]) -> Vec<Option<TraceContext>> {
    let mut world = World::new();
    let [mut publisher, mut subscriber] = house(&mut world, 1_883);
    for one in [&mut publisher, &mut subscriber] {
        world.message(&mut one.up, mqtt::CONNECT_V5);
        world.message(&mut one.down, b"\x20\x03\0\0\0");
    }
    world.message(&mut subscriber.up, b"\x82\x07\0\x01\0\0\x01t\0");
    for (number, [first, second]) in (0_u8..).zip(legs) {
        world.message(&mut publisher.up, &publish(*first, &[number; 40]));
        world.message(&mut subscriber.down, &publish(*second, &[number; 40]));
    }
    let played = Played::new(config, &world.events);
    assert_eq!(played.deliveries.len(), legs.len());
    assert!(played.deliveries.iter().all(|delivery| delivery.legs.len() == 2));
    played.deliveries.iter().map(|delivery| delivery.trace.context).collect()
}

#[test]
fn a_delivery_is_of_the_trace_that_its_first_leg_names() {
    let legs = [
        [Some(FIRST), Some(FIRST)],
        [None, None],
        // A forwarder that takes part in the trace names its own span, and one that begins a trace is the first to name it.
        [Some(FIRST), Some(SECOND)],
        [None, Some(SECOND)],
        [Some("00-malformed"), Some(SECOND)],
    ];
    let expected = [Some(FIRST), None, Some(FIRST), Some(SECOND), Some(SECOND)];
    let expected = expected.map(|value| TraceContext::read(value?.as_bytes()));
    let asked = Config { trace_contexts: true, ..Config::default() };
    assert_eq!(traces(asked, &legs), expected);
    assert_eq!(traces(Config::default(), &legs), [None; 5], "nobody has asked");
}

#[test]
fn messages_that_begin_at_one_place_are_numbered_in_their_order() {
    let mut world = World::new();
    let [mut producer, mut consumer] = house(&mut world, 9_092);
    for n in 0..4_u8 {
        let id = usize::from(n);
        world.message(&mut consumer.up, &kafka::fetch(id));
        let records = [kafka::record(&[n; 7]), kafka::record(&[n; 9]), kafka::record(&[n; 8])];
        let records = records.concat();
        let len = u8::try_from(records.len()).unwrap();
        // Snappy, of what it cannot make shorter.
        let mut batch = kafka::batch(3, &[&[len, (len - 1) << 2], &records[..]].concat());
        batch[22] = 2;
        world.message(&mut producer.up, &kafka::produce(id, "t", &batch));
        world.message(&mut consumer.down, &kafka::fetched(id, "t", &batch));
    }
    let played = Played::of(&world);
    let number = |delivery: &Delivery| (delivery.payload_len, delivery.trace.ordinal);
    let mut numbers: Vec<_> = played.deliveries.iter().map(number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers, [(7, 0), (8, 2), (9, 1)]);
}
