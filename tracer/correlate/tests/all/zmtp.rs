//! `ZeroMQ`: the type of a socket tells whether it sends a message to many.

use crate::played::Played;
use wirelap_test_support::compose::zmtp::{introduction, part};
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{Connection, World, process};

const SENDER: &str = "127.0.0.1:5555";

const MESSAGES: u32 = 30;

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

/// A publisher, a proxy that serves at two ports, and a subscriber. The proxy passes on message `n` after so many milliseconds, and its
/// subscriber leaves at the end.
fn through_proxy(is_joined_late: bool, keeps_ms: impl Fn(u32) -> u64) -> Played {
    let mut world = World::new();
    let proxy = process(10, "proxy");
    let [mut publisher, mut subscriber] =
        [(20, "127.0.0.1:40020", SENDER), (30, "127.0.0.1:40030", "127.0.0.1:5556")].map(
            |(pid, from, to)| {
                let open = if is_joined_late { World::existing } else { World::connect };
                open(&mut world, process(pid, "client"), from, proxy, to)
            },
        );
    if !is_joined_late {
        world.message(&mut publisher.up, &introduction("PUB"));
        world.message(&mut publisher.down, &introduction("XSUB"));
        world.message(&mut subscriber.up, &introduction("SUB"));
        world.message(&mut subscriber.down, &introduction("XPUB"));
        world.message(&mut subscriber.up, &part(false, b"\x01t"));
        world.message(&mut publisher.down, &part(false, b"\x01t"));
    }
    for n in 0..MESSAGES {
        let bytes = part(false, &[b"t", &payload(stamp(n), 300)[..]].concat());
        world.message(&mut publisher.up, &bytes);
        world.now += keeps_ms(n) * 1_000_000;
        world.message(&mut subscriber.down, &bytes);
        world.now += 10_000_000;
    }
    world.message(&mut subscriber.up, &part(false, b"\x00t"));
    world.message(&mut publisher.down, &part(false, b"\x00t"));
    Played::of(&world)
}

#[test]
fn what_a_proxy_keeps_at_first_is_delivered_once() {
    let all = u64::from(MESSAGES);
    let played = through_proxy(false, |n| if n == 0 { 300 } else { 0 });
    assert_eq!(played.counts(), [all, all, all, 0]);
    assert_eq!(played.snapshot.groups.len(), 1, "a row for both ports");
}

#[test]
fn a_subscription_is_no_message_though_the_sockets_are_not_known() {
    let all = u64::from(MESSAGES);
    assert_eq!(through_proxy(true, |_| 0).counts(), [all, all, all, 0]);
}

/// A publisher with a quick receiver, and a slow one for which its socket keeps each message, or every third of them, for two seconds.
fn with_slow_receiver(is_kept: impl Fn(u8) -> bool) -> Played {
    const INTERVAL_NS: u64 = 100_000_000;
    const DELAY: u8 = 20;
    let mut world = World::new();
    let [mut quick, mut slow] = [1, 2].map(|n| {
        let address = format!("127.0.0.1:{}", 20_000 + n);
        let receiver = process(100 + n, "receiver");
        let mut connection = world.connect(receiver, &address, process(10, "sender"), SENDER);
        world.message(&mut connection.up, &introduction("SUB"));
        world.message(&mut connection.down, &introduction("PUB"));
        world.message(&mut connection.up, &part(false, b"\x01"));
        connection
    });
    let bytes = |n: u8| [0, 2, b'n', n];
    let mut written = Vec::new();
    for n in 0..100 + DELAY {
        if n < 100 {
            world.message(&mut quick.down, &bytes(n));
            if is_kept(n) {
                let (start, len) = slow.down.advance(4);
                world.send(&slow.down, start, len);
                written.push((n, start));
            }
        }
        if let Some(&(of, start)) = written.first().filter(|(of, _)| of + DELAY <= n) {
            world.xmit(&slow.down, start, &bytes(of));
            world.rx(&slow.down, start, 4);
            world.ready(&slow.down, start.plus(4));
            world.read(&slow.down, start.plus(4), 4);
            written.remove(0);
        }
        world.now += INTERVAL_NS;
    }
    Played::of(&world)
}

#[test]
fn what_waits_for_a_slow_receiver_was_sent_once() {
    assert_eq!(with_slow_receiver(|_| true).counts(), [100, 200, 200, 0]);
    assert_eq!(with_slow_receiver(|n| n % 3 == 0).counts(), [100, 134, 134, 0]);
}
