//! Messages that a broker sends to a client that comes back: those that it had sent before, or those
//! that came in between.

use crate::brokered::BROKER;
use crate::played::Played;
use wirelap_events::Body;
use wirelap_test_support::compose::mqtt::{
    CONNACK, connect, connect_v5, publish_by_alias, publish_with, subscribe,
};
use wirelap_test_support::world::{Connection, World, process};

const MESSAGES: u64 = 10;

/// A PUBLISH of `QoS` 1, and the same with DUP.
const FIRST: u8 = 0x32;
const DUP: u8 = 0x3A;

/// A publisher and a subscriber of a broker, and the next port of a client.
struct Site {
    world: World,
    publisher: Connection,
    subscriber: Connection,
    port: u16,
}

impl Site {
    fn new() -> Site {
        let mut world = World::new();
        let publisher = client(&mut world, "pub", 40_000);
        let subscriber = client(&mut world, "sub", 40_001);
        Site { world, publisher, subscriber, port: 40_001 }
    }

    fn publish(&mut self, payload: &str) {
        let bytes = publish_with(FIRST, "t", payload.as_bytes());
        self.world.message(&mut self.publisher.up, &bytes);
    }

    fn deliver(&mut self, first: u8, payload: &str) {
        let bytes = publish_with(first, "t", payload.as_bytes());
        self.world.message(&mut self.subscriber.down, &bytes);
    }

    /// A message whose topic is named by an alias that this connection has not set.
    fn deliver_unnamed(&mut self, payload: &str) {
        let bytes = publish_by_alias(DUP, 1, payload.as_bytes());
        self.world.message(&mut self.subscriber.down, &bytes);
    }

    /// The subscriber comes back with version 5.
    fn come_back_with_aliases(&mut self) {
        self.world.now += 500_000_000;
        self.port += 1;
        let from = format!("127.0.0.1:{}", self.port);
        let (client, broker) = (process(u32::from(self.port), "sub"), process(10, "broker"));
        self.subscriber = self.world.connect(client, &from, broker, BROKER);
        self.world.message(&mut self.subscriber.up, &connect_v5("sub"));
        self.world.message(&mut self.subscriber.down, b"\x20\x03\x01\x00\x00");
    }

    fn close(&mut self) {
        self.world.now += 100_000_000;
        for socket in [self.subscriber.up.from.0, self.subscriber.down.from.0] {
            self.world.tell(Body::Closed(socket), &[]);
        }
    }

    fn come_back(&mut self, name: &str) {
        self.world.now += 500_000_000;
        self.port += 1;
        self.subscriber = client(&mut self.world, name, self.port);
    }

    /// Messages sent, delivered, followed and uncovered, and duplicates.
    fn counts(&self) -> ([u64; 4], u64) {
        let played = Played::of(&self.world);
        (played.counts(), played.group().messages.duplicates)
    }
}

fn client(world: &mut World, name: &str, port: u16) -> Connection {
    let from = format!("127.0.0.1:{port}");
    let (client, broker) = (process(u32::from(port), name), process(10, "broker"));
    let mut connection = world.connect(client, &from, broker, BROKER);
    world.message(&mut connection.up, &connect(name));
    world.message(&mut connection.down, CONNACK);
    if name != "pub" {
        world.message(&mut connection.up, &subscribe("t"));
        world.message(&mut connection.down, b"\x90\x03\x00\x01\x01");
    }
    connection
}

fn payload(n: u64) -> String {
    format!("reading {n:04}")
}

/// mochi marks as DUP whatever waited for a session, in any order.
#[test]
fn what_came_while_a_client_was_away_is_sent_for_the_first_time() {
    for first in [FIRST, DUP] {
        let mut site = Site::new();
        site.close();
        for n in 0..MESSAGES {
            site.publish(&payload(n));
        }
        site.come_back("sub");
        for n in (0..MESSAGES).rev() {
            site.deliver(first, &payload(n));
        }
        assert_eq!(site.counts(), ([MESSAGES, MESSAGES, MESSAGES, 0], 0), "{first:x}");
    }
}

/// aedes and rumqttd leave the DUP flag out.
#[test]
fn what_a_client_had_before_it_came_back_is_sent_again() {
    for again in [FIRST, DUP] {
        let mut site = Site::new();
        for n in 0..MESSAGES {
            site.publish(&payload(n));
            site.deliver(FIRST, &payload(n));
        }
        site.close();
        // This one comes while it is away.
        site.publish(&payload(MESSAGES));
        site.come_back("sub");
        for n in 0..=MESSAGES {
            site.deliver(again, &payload(n));
        }
        let all = MESSAGES + 1;
        assert_eq!(site.counts(), ([all, all, all, 0], MESSAGES), "{again:x}");
    }
}

/// mochi stores messages with the alias of the connection that they were first meant for, and marks them as DUP.
#[test]
fn what_waited_with_an_alias_of_an_earlier_connection_is_known_by_its_content() {
    let mut site = Site::new();
    site.close();
    for n in 0..MESSAGES {
        site.publish(&payload(n));
    }
    site.come_back_with_aliases();
    for n in 0..MESSAGES {
        site.deliver_unnamed(&payload(n));
    }
    assert_eq!(site.counts(), ([MESSAGES, MESSAGES, MESSAGES, 0], 0));
}

#[test]
fn what_a_client_had_is_sent_again_by_whatever_name() {
    let mut site = Site::new();
    for n in 0..MESSAGES {
        site.publish(&payload(n));
        site.deliver(FIRST, &payload(n));
    }
    site.close();
    site.come_back_with_aliases();
    for n in 0..MESSAGES {
        site.deliver_unnamed(&payload(n));
    }
    assert_eq!(site.counts(), ([MESSAGES, MESSAGES, MESSAGES, 0], MESSAGES));
}

/// Two topics have the same content, so which of them a number means is not known, and whether it is sent again is not either.
#[test]
fn what_nothing_identifies_is_no_repetition_and_said() {
    let mut site = Site::new();
    site.close();
    for n in 0..MESSAGES {
        site.publish(&payload(n));
        let other = publish_with(FIRST, "u", payload(n).as_bytes());
        site.world.message(&mut site.publisher.up, &other);
    }
    site.come_back_with_aliases();
    for n in 0..MESSAGES {
        site.deliver_unnamed(&payload(n));
    }
    assert_eq!(site.counts(), ([2 * MESSAGES, MESSAGES, 0, MESSAGES], 0));
    assert_eq!(Played::of(&site.world).group().uncertain.nameless, MESSAGES);
}

#[test]
fn another_client_gets_it_for_the_first_time() {
    let mut site = Site::new();
    site.publish(&payload(0));
    site.deliver(FIRST, &payload(0));
    site.close();
    site.come_back("another");
    site.deliver(FIRST, &payload(0));
    assert_eq!(site.counts(), ([1, 2, 2, 0], 0));
}

#[test]
fn an_equal_message_that_came_later_is_no_repetition() {
    let mut site = Site::new();
    site.publish("on");
    site.deliver(FIRST, "on");
    site.close();
    site.come_back("sub");
    site.publish("on");
    site.deliver(FIRST, "on");
    assert_eq!(site.counts(), ([2, 2, 2, 0], 0));
}

/// A client that has no name may be the same one.
#[test]
fn what_a_client_without_a_name_had_may_be_a_repetition() {
    let mut site = Site::new();
    let (unnamed, broker) = (process(50, "sub"), process(10, "broker"));
    let mut unnamed = site.world.connect(unnamed, "127.0.0.1:41000", broker, BROKER);
    site.world.message(&mut unnamed.up, &subscribe("t"));
    site.world.message(&mut unnamed.down, b"\x90\x03\x00\x01\x01");
    site.publish(&payload(0));
    site.world.message(&mut unnamed.down, &publish_with(FIRST, "t", payload(0).as_bytes()));
    site.close();
    site.come_back("sub");
    site.deliver(DUP, &payload(0));
    assert_eq!(site.counts(), ([1, 1, 1, 0], 1));
}
