//! Subscribers that are behind: by how much, and what holds up their messages.

use crate::brokered::BROKER;
use wirelap_correlate::{Config, Correlator, LagHolder, SlowSubscriber, SlowSubscribers};
use wirelap_events::{Body, Delivery, Nanos, Seq};
use wirelap_test_support::compose::mqtt::{CONNACK, CONNECT, publish};
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{Connection, Way, World, process};

/// A client of the broker. Each connection has sequence numbers of its own, as they have.
pub fn join(world: &mut World, pid: u32, name: &str) -> Connection {
    let from = format!("127.0.0.1:{}", 40_000 + pid);
    let (client, broker) = (process(pid, name), process(10, "mosquitto"));
    let mut connection = world.connect_at(client, &from, broker, BROKER, Seq(pid << 20));
    world.message(&mut connection.up, CONNECT);
    world.message(&mut connection.down, CONNACK);
    connection
}

/// What becomes of a message that the broker sends, or does not.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Read,
    Unread,
    OnTheWay,
    Written,
    Unsent,
}

/// Sends a message on, so far.
fn pass(world: &mut World, way: &mut Way, bytes: &[u8], fate: Fate) {
    match fate {
        Fate::Read => {
            world.message(way, bytes);
        }
        Fate::Unsent => {}
        Fate::Written => {
            // The call says more than the socket takes.
            let len = u32::try_from(bytes.len()).unwrap();
            world.send(way, way.next, len);
        }
        Fate::Unread | Fate::OnTheWay => {
            let (start, len) = way.advance(bytes.len());
            world.send(way, start, len);
            world.xmit(way, start, bytes);
            if fate == Fate::Unread {
                world.rx(way, start, len);
                world.ready(way, way.next);
            }
        }
    }
}

struct Watch {
    world: World,
    correlator: Correlator,
    taken: usize,
}

impl Watch {
    fn new(world: World) -> Watch {
        let correlator = Correlator::new(Config { topics: true, ..Config::default() });
        Watch { world, correlator, taken: 0 }
    }

    fn take(&mut self, rest_ms: u64) -> SlowSubscribers {
        let mut ignore = |_: &Delivery| ();
        for told in &self.world.events[self.taken..] {
            self.correlator.take(&told.event(), &mut ignore);
        }
        self.taken = self.world.events.len();
        for _ in 0..rest_ms / 10 {
            self.world.now += 10_000_000;
            self.correlator.tick(Nanos(self.world.now), &mut ignore);
        }
        self.correlator.snapshot(Nanos(self.world.now)).slow
    }
}

/// Sixty messages to two subscribers, of which the second gets the last thirty like this.
fn watched(fate: Fate) -> (Watch, SlowSubscribers) {
    let mut world = World::new();
    let mut publisher = join(&mut world, 20, "pub");
    let mut subscribers = [30, 31].map(|pid| join(&mut world, pid, "sub"));
    let mut watch = Watch::new(world);
    let mut slow = SlowSubscribers::default();
    for n in 0..60 {
        let bytes = publish("t", &payload(stamp(n), 64));
        watch.world.message(&mut publisher.up, &bytes);
        watch.world.message(&mut subscribers[0].down, &bytes);
        let its = if n < 30 { Fate::Read } else { fate };
        pass(&mut watch.world, &mut subscribers[1].down, &bytes, its);
        slow = watch.take(100);
    }
    (watch, slow)
}

fn only(slow: &SlowSubscribers) -> &SlowSubscriber {
    let [one] = &slow.listed[..] else { panic!("{slow:?}") };
    assert_eq!((one.topic.as_deref(), one.process.as_deref()), (Some("t"), Some("sub (31)")));
    one
}

#[test]
fn nobody_is_behind_who_reads() {
    let (_, slow) = watched(Fate::Read);
    assert_eq!(slow, SlowSubscribers::default());
}

#[test]
fn what_lies_in_a_socket_is_the_subscribers_doing() {
    let (mut watch, slow) = watched(Fate::Unread);
    let lag = only(&slow).now.unwrap();
    assert_eq!((lag.unread, lag.in_network, lag.unsent), (30, 0, 0));
    assert_eq!(lag.holder, LagHolder::Subscriber);
    assert!(lag.oldest >= Nanos::from_millis(2_500) && lag.oldest <= Nanos::from_millis(3_100));
    assert_eq!(slow.behind, 1);
    // Its process has ended: there is nobody who is behind.
    let socket = watch.world.events.iter().rev().find_map(|told| match told.event.body {
        Body::Ready(ready) => Some(ready.socket),
        _ => None,
    });
    watch.world.tell(Body::Closed(socket.unwrap()), &[]);
    let slow = watch.take(1_000);
    assert_eq!((only(&slow).now, slow.behind), (None, 0));
    assert_eq!(only(&slow).most.unread, 30);
}

#[test]
fn what_was_sent_and_has_not_arrived_is_the_networks_doing() {
    let (_, slow) = watched(Fate::OnTheWay);
    let lag = only(&slow).now.unwrap();
    assert_eq!((lag.unread, lag.in_network, lag.unsent), (0, 30, 0));
    assert_eq!(lag.holder, LagHolder::Network);
}

#[test]
fn what_the_broker_does_not_send_is_its_own_doing_unless_it_cannot() {
    let (_, slow) = watched(Fate::Unsent);
    let lag = only(&slow).now.unwrap();
    assert_eq!((lag.unread, lag.in_network, lag.unsent), (0, 0, 30));
    assert_eq!(lag.holder, LagHolder::Broker);
    assert!(lag.oldest >= Nanos::from_millis(2_000) && lag.oldest <= Nanos::from_millis(3_100));
    let (_, slow) = watched(Fate::Written);
    let lag = only(&slow).now.unwrap();
    assert_eq!((lag.unsent, lag.holder), (30, LagHolder::Network));
}

/// While others get what it does not, and nothing hinders the broker, it has unsubscribed.
#[test]
fn who_gets_nothing_for_long_has_unsubscribed() {
    let (mut watch, _) = watched(Fate::Unsent);
    let slow = watch.take(12_000);
    assert_eq!(slow.behind, 0, "{slow:?}");
}
