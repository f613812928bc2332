//! Values that an OPC UA server publishes later than it gets them, and again.

use crate::played::Played;
use wirelap_test_support::compose::opcua::{
    chunk, monitor, publish_numbered, republish, republished, write,
};
use wirelap_test_support::world::{Connection, World, process};

const SERVER: &str = "127.0.0.1:4840";
const HELLO: &[u8] = b"HELF\x20\0\0\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0";
const SUBSCRIPTION: u32 = 1;
/// The handle of the first item that is monitored.
const HANDLE: u32 = 100;
const EACH: u64 = 20_000_000;

/// A server, a client that writes and, once it has come, one that subscribes.
struct Plant {
    world: World,
    writer: Connection,
    subscriber: Connection,
    request: u32,
    number: u32,
}

impl Plant {
    fn new() -> Plant {
        let mut world = World::new();
        let server = process(10, "server");
        let connect = |world: &mut World, pid, from: &str| {
            let mut connection = world.connect(process(pid, "client"), from, server, SERVER);
            world.message(&mut connection.up, HELLO);
            connection
        };
        let writer = connect(&mut world, 20, "127.0.0.1:40020");
        let subscriber = connect(&mut world, 30, "127.0.0.1:40030");
        Plant { world, writer, subscriber, request: 0, number: 0 }
    }

    fn next_request(&mut self) -> u32 {
        self.request += 1;
        self.request
    }

    /// The subscriber subscribes, and gets what is there.
    fn subscribe(&mut self) {
        let bytes = chunk('F', self.next_request(), &monitor(SUBSCRIPTION, 1));
        self.world.message(&mut self.subscriber.up, &bytes);
        self.publish(&["at the start".to_string()]);
    }

    fn write(&mut self, value: &str) {
        let bytes = chunk('F', self.next_request(), &write(&[value.as_bytes()]));
        self.world.message(&mut self.writer.up, &bytes);
        self.world.now += EACH;
    }

    /// One notification message with these values.
    fn publish(&mut self, values: &[String]) {
        self.number += 1;
        let changes: Vec<_> = values.iter().map(|value| (HANDLE, value.as_bytes())).collect();
        let body = publish_numbered(SUBSCRIPTION, self.number, &[&changes]);
        let bytes = chunk('F', self.next_request(), &body);
        self.world.message(&mut self.subscriber.down, &bytes);
    }

    /// The subscriber asks for a notification message again, and gets it.
    fn publish_again(&mut self, number: u32, values: &[String]) {
        let request = self.next_request();
        let asks = chunk('F', request, &republish(SUBSCRIPTION, number));
        self.world.message(&mut self.subscriber.up, &asks);
        let changes: Vec<_> = values.iter().map(|value| (HANDLE, value.as_bytes())).collect();
        let bytes = chunk('F', request, &republished(number, &[&changes]));
        self.world.message(&mut self.subscriber.down, &bytes);
    }

    /// Writes these values and publishes all of them at the end.
    fn interval(&mut self, numbers: std::ops::Range<u32>) -> Vec<String> {
        let values: Vec<String> = numbers.map(|n| format!("value {n:04}")).collect();
        for value in &values {
            self.write(value);
        }
        self.publish(&values);
        values
    }
}

#[test]
fn what_waits_for_the_first_publishing_interval_is_delivered_once() {
    let mut plant = Plant::new();
    plant.subscribe();
    plant.interval(0..50);
    plant.interval(50..60);
    assert_eq!(Played::of(&plant.world).counts(), [60, 60, 60, 0]);
}

#[test]
fn what_nobody_subscribes_to_ends_at_the_server() {
    let mut plant = Plant::new();
    for n in 0..400 {
        plant.write(&format!("value {n:04}"));
    }
    let played = Played::of(&plant.world);
    assert_eq!(played.counts(), [400, 400, 400, 0]);
    // What comes to a server that is known to pass nothing on does not wait.
    assert!(played.early.groups[0].messages.delivered >= 399);
}

#[test]
fn a_server_that_kept_all_may_pass_on_once_somebody_subscribes() {
    let mut plant = Plant::new();
    for n in 0..250 {
        plant.write(&format!("before {n:04}"));
    }
    // What was written is settled by then.
    plant.world.now += 4 * EACH;
    plant.world.message(&mut plant.writer.up, HELLO);
    plant.subscribe();
    plant.interval(0..50);
    plant.interval(50..60);
    assert_eq!(Played::of(&plant.world).counts(), [310, 310, 310, 0]);
}

#[test]
fn what_is_published_again_is_a_repetition_if_it_was_published_before() {
    let mut plant = Plant::new();
    plant.subscribe();
    let first = plant.interval(0..10);
    let second = plant.interval(10..20);
    plant.publish_again(2, &first);
    plant.publish_again(3, &second);
    // This one was never sent.
    let lost = vec!["value 0020".to_string()];
    plant.write(&lost[0]);
    plant.number += 1;
    plant.interval(21..30);
    plant.publish_again(4, &lost);
    let played = Played::of(&plant.world);
    assert_eq!((played.counts(), played.group().messages.duplicates), ([30, 30, 30, 0], 20));
}
