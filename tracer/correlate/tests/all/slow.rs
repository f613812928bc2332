//! Subscribers that are behind: by how much, and what holds up their messages.

use crate::audience::{Audience, Fate, Watch, only, watched};
use std::collections::VecDeque;
use wirelap_correlate::{Config, LagHolder, SlowSubscribers};
use wirelap_events::{Body, Nanos, Seq};
use wirelap_test_support::world::{Way, World};

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
    // The process of a subscriber has ended: nobody is behind any more.
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

/// A message that the broker wrote and that has not left: where it begins, and its bytes.
type Waiting = (Seq, Vec<u8>);

/// Lets a message that was written long ago pass a slow link.
fn arrive(world: &mut World, way: &Way, (start, bytes): &Waiting) {
    let len = u32::try_from(bytes.len()).unwrap();
    world.xmit(way, *start, bytes);
    world.rx(way, *start, len);
    world.ready(way, start.plus(len));
    world.read(way, start.plus(len), len);
}

/// So many messages, ten a second, with this content, to two subscribers. The second is behind a link that carries half of the messages
/// after the first twenty, in the order in which the broker wrote them. Also returns how many messages wait in the end.
fn behind_a_slow_link(
    messages: u32,
    content: impl Fn(u32) -> Vec<u8>,
    config: Config,
) -> (Watch, u64) {
    let mut all = Audience::with(config);
    let mut waiting: VecDeque<Waiting> = VecDeque::new();
    for n in 0..messages {
        let bytes = all.publish(&content(n));
        let (watch, way) = (&mut all.watch, &mut all.subscribers[1].down);
        let (start, len) = way.advance(bytes.len());
        watch.world.send(way, start, len);
        waiting.push_back((start, bytes));
        if (n < 20 || n % 2 == 0)
            && let Some(next) = waiting.pop_front()
        {
            arrive(&mut watch.world, way, &next);
        }
        watch.take(100);
    }
    (all.watch, waiting.len() as u64)
}

/// A message is joined however long it waits in the broker's socket, and whether its content is its own or that of all.
#[test]
fn what_leaves_long_after_it_was_written_is_joined() {
    let its_own = |n: u32| format!("{n:064}").into_bytes();
    let that_of_all = |_: u32| b"21.5".repeat(16);
    let contents: [&dyn Fn(u32) -> Vec<u8>; 2] = [&its_own, &that_of_all];
    for content in contents {
        let (mut watch, waiting) = behind_a_slow_link(200, content, Config::default());
        assert_eq!(waiting, 90);
        let slow = watch.take(0);
        let lag = only(&slow).now.unwrap();
        assert_eq!((lag.unread, lag.in_network, lag.unsent), (0, 0, waiting));
        assert_eq!(lag.holder, LagHolder::Network);
        assert!(lag.oldest >= Nanos::from_millis(7_000), "{}", lag.oldest);
        let snapshot = watch.correlator.snapshot(Nanos(watch.world.now));
        let [group] = &snapshot.groups[..] else { panic!("{:?}", snapshot.groups) };
        let counts = &group.messages;
        assert_eq!((counts.sent, counts.delivered, counts.matched), (200, 310, 310));
        let max = group.one_way.max;
        assert!(max > Nanos::from_millis(8_500) && max < Nanos::from_millis(9_500), "{max}");
    }
}

/// Messages that come to the only subscriber that lacks them are counted in their order, where there is no room for
/// those that all others have had.
#[test]
fn messages_kept_for_those_who_are_behind_are_bounded() {
    let config = Config { max_messages: 160, ..Config::default() };
    let (mut watch, waiting) = behind_a_slow_link(600, |n| format!("{n:064}").into_bytes(), config);
    assert_eq!(only(&watch.take(0)).now.unwrap().unsent, waiting);
    let snapshot = watch.correlator.snapshot(Nanos(watch.world.now));
    let counts = &snapshot.groups[0].messages;
    // The legs of each message to the broker, and of the 40 messages that are kept because the slow subscriber has not got them.
    assert!(counts.matched > 690 && counts.matched < 900, "{counts:?}");
    assert_eq!((counts.sent, snapshot.trust.evicted), (600, 0));
}

/// Bytes that came in behind a lost packet are in nobody's receive queue, and come when the packet was sent again, however late
/// that is.
#[test]
fn what_is_behind_a_lost_packet_is_in_the_network() {
    let mut all = Audience::new();
    let mut lost = None;
    let mut slow = SlowSubscribers::default();
    for n in 0..100 {
        let bytes = all.publish(format!("{n:064}").as_bytes());
        let (watch, way) = (&mut all.watch, &mut all.subscribers[1].down);
        if n < 20 {
            watch.world.message(way, &bytes);
        } else {
            let (start, len) = way.advance(bytes.len());
            watch.world.send(way, start, len);
            if n == 20 {
                lost = Some((start, bytes));
            } else {
                watch.world.xmit(way, start, &bytes);
                watch.world.rx(way, start, len);
            }
        }
        slow = watch.take(100);
    }
    let lag = only(&slow).now.unwrap();
    assert_eq!((lag.unread, lag.messages(), lag.holder), (0, 80, LagHolder::Network));
    let (start, bytes) = lost.unwrap();
    let (watch, way) = (&mut all.watch, &all.subscribers[1].down);
    let len = u32::try_from(bytes.len()).unwrap();
    watch.world.xmit(way, start, &bytes);
    watch.world.rx(way, start, len);
    watch.world.ready(way, way.next);
    watch.world.read(way, way.next, len * 80);
    let slow = watch.take(1_000);
    assert_eq!(slow.behind, 0, "{slow:?}");
    let snapshot = watch.correlator.snapshot(Nanos(watch.world.now));
    let counts = &snapshot.groups[0].messages;
    assert_eq!((counts.sent, counts.delivered, counts.matched), (100, 200, 200));
}
