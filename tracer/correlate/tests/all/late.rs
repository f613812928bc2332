//! Connections that were open before the observation began.

use crate::brokered::BROKER;
use crate::played::Played;
use wirelap_correlate::DoubtReason;
use wirelap_events::Nanos;
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{World, process};

#[test]
fn a_broker_found_open_is_joined_in_mid_stream() {
    let mut world = World::new();
    let broker = process(10, "mosquitto");
    let mut publisher = world.existing(process(20, "pub"), "127.0.0.1:41000", broker, BROKER);
    let mut subscriber = world.existing(process(30, "sub"), "127.0.0.1:42000", broker, BROKER);
    for n in 0..10 {
        let bytes = publish("topic", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscriber.down, &bytes);
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [10, 10, 10, 0]);
    assert!(played.deliveries.iter().all(|d| d.one_way() > Some(Nanos(0))));
}

/// A message that was sent before is neither sent nor followed: the counts agree without it.
#[test]
fn what_was_under_way_when_observation_began_is_told_apart() {
    let mut world = World::new();
    let broker = process(10, "mosquitto");
    let mut publisher = world.existing(process(20, "pub"), "127.0.0.1:41000", broker, BROKER);
    let mut subscriber = world.existing(process(30, "sub"), "127.0.0.1:42000", broker, BROKER);
    let bytes = |n| publish("topic", &payload(stamp(n), 64));
    for n in 0..5 {
        world.message(&mut subscriber.down, &bytes(n));
    }
    for n in 5..105 {
        world.message(&mut publisher.up, &bytes(n));
        world.message(&mut subscriber.down, &bytes(n));
    }
    let counts = Played::of(&world).group().messages;
    assert_eq!((counts.sent, counts.delivered, counts.matched), (100, 105, 100));
    assert_eq!((counts.cut, counts.uncovered), (5, 0));
}

/// A message of a connection that was open before is recognised only with later ones: long after it was passed on.
#[test]
fn what_is_recognised_late_is_not_the_origin_of_what_follows() {
    for pause in [200_000_000, 1_000_000_000, 10_000_000_000] {
        let mut world = World::new();
        let broker = process(10, "mosquitto");
        let mut subscriber = world.existing(process(30, "sub"), "127.0.0.1:42000", broker, BROKER);
        let mut publishers: Vec<_> = (0..8)
            .map(|n| {
                let from = format!("127.0.0.1:{}", 41_000 + n);
                world.existing(process(40 + n, "pub"), &from, broker, BROKER)
            })
            .collect();
        let mut true_time = None;
        for _ in 0..6 {
            for (n, publisher) in publishers.iter_mut().enumerate() {
                let bytes = publish(&format!("topic/{n}"), b"the same each time");
                let (sent, _) = world.message(&mut publisher.up, &bytes);
                let (_, read) = world.message(&mut subscriber.down, &bytes);
                true_time = true_time.or(read.since(sent));
                world.now += pause / 8;
            }
        }
        let played = Played::of(&world);
        let wrong = played.deliveries.iter().filter(|one| one.one_way() != true_time).count();
        assert_eq!(wrong, 0, "{pause}: {:?}", played.counts());
        let [sent, delivered, matched, _] = played.counts();
        assert_eq!((sent, delivered), (48, 48), "{pause}");
        assert!(matched >= 24, "{pause}: {matched}");
        let counts = played.group().messages;
        assert_eq!(counts.uncovered + counts.cut, delivered - matched, "{pause}");
    }
}

/// Some of the four connections that a message takes through a proxy are recognised before others. What is recognised
/// when all is over may count as not covered; nothing is sent twice.
#[test]
fn a_proxy_that_is_found_open_is_no_broker() {
    let pauses = [0, 20_000_000, 1_000_000_000];
    for (first, pause) in (0..16_u32).flat_map(|first| pauses.map(|pause| (first, pause))) {
        let mut world = World::new();
        let (broker, proxy) = (process(10, "mosquitto"), process(15, "haproxy"));
        let mut legs = [
            (process(20, "pub"), "127.0.0.1:40000", proxy, "127.0.0.1:1884"),
            (proxy, "127.0.0.1:40001", broker, BROKER),
            (proxy, "127.0.0.1:40003", broker, BROKER),
            (process(30, "sub"), "127.0.0.1:40002", proxy, "127.0.0.1:1884"),
        ]
        .map(|(client, from, server, to)| world.existing(client, from, server, to));
        for n in 0..40_u32 {
            let bytes = publish("topic", format!("the {n}th message").as_bytes());
            let [a, b, c, d] = &mut legs;
            let ways = [&mut a.up, &mut b.up, &mut c.down, &mut d.down];
            for (place, way) in ways.into_iter().enumerate() {
                if n == 0 && first & 1 << place != 0 {
                    let ping = if place < 2 { b"\xc0\x00" } else { b"\xd0\x00" };
                    world.message(way, &ping.repeat(8));
                }
                world.message(way, &bytes);
            }
            world.now += pause;
        }
        let played = Played::of(&world);
        let case = format!("{first:04b} first, {pause} ns between: {:?}", played.counts());
        let [sent, delivered, matched, _] = played.counts();
        assert_eq!((sent, played.snapshot.groups.len()), (40, 1), "{case}");
        let group = played.group();
        let roles: Vec<_> = group.processes.iter().map(|p| p.role.as_str()).collect();
        assert_eq!(roles, ["broker", "proxy", "publisher", "subscriber"], "{case}");
        let not_followed = group.messages.uncovered + group.messages.cut;
        assert!(matched >= 39 && delivered - matched == not_followed, "{case}");
        assert!(delivered <= 43, "{case}");
    }
}

/// Bytes to its server in which no message is found are missing in the row's counts: at whichever of the addresses that the
/// server has, and whether or not their beginning was seen.
#[test]
fn a_row_whose_server_has_an_unrecognised_connection_is_not_to_be_trusted() {
    let port = BROKER.rsplit_once(':').unwrap().1;
    for (at, is_open) in [(BROKER, true), (BROKER, false), ("10.0.0.1", true), ("[fd00::1]", true)]
    {
        let at = if at == BROKER { at.to_owned() } else { format!("{at}:{port}") };
        let from = if at.starts_with('[') { "[fd00::2]:43000" } else { "127.0.0.1:43000" };
        let mut world = World::new();
        let broker = process(10, "mosquitto");
        let mut publisher = world.existing(process(20, "pub"), "127.0.0.1:41000", broker, BROKER);
        let mut other = world.existing(process(30, "sub"), "127.0.0.1:42000", broker, BROKER);
        let client = process(40, "behind");
        let mut behind = if is_open {
            world.existing(client, from, broker, &at)
        } else {
            world.connect(client, from, broker, &at)
        };
        let long = publish("topic", &payload(stamp(0), 200_000));
        for (n, part) in (0..40).zip(long[100..].chunks(1_000)) {
            let bytes = publish("topic", &payload(stamp(n), 64));
            world.message(&mut publisher.up, &bytes);
            world.message(&mut other.down, &bytes);
            // The middle of a long message.
            world.message(&mut behind.down, part);
        }
        let played = Played::of(&world);
        assert_eq!(played.counts(), [40, 40, 40, 0], "{at}");
        assert_eq!(played.group().holes.undecoded_bytes, 40_000, "{at}");
        let doubts = played.group().doubts(&played.snapshot.trust);
        let [doubt] = doubts.as_slice() else { panic!("{at}: {doubts:?}") };
        let is_undecoded = matches!(doubt.reason, DoubtReason::Undecoded { undecoded: 40_000, .. });
        assert!(is_undecoded, "{at}: {doubt:?}");
    }
}

/// Another process at the same port of another address is another server.
#[test]
fn what_another_server_gets_at_the_same_port_is_no_doubt() {
    let port = BROKER.rsplit_once(':').unwrap().1;
    let mut world = World::new();
    let broker = process(10, "mosquitto");
    let mut publisher = world.existing(process(20, "pub"), "127.0.0.1:41000", broker, BROKER);
    let to = format!("10.0.0.1:{port}");
    let mut other =
        world.existing(process(40, "client"), "10.0.0.2:43000", process(50, "server"), &to);
    for n in 0..40 {
        world.message(&mut publisher.up, &publish("topic", &payload(stamp(n), 64)));
        world.message(&mut other.down, &[0xEE; 1_000]);
    }
    let played = Played::of(&world);
    assert_eq!(played.group().holes.undecoded_bytes, 0);
}

/// The socket of a subscriber that is behind is always full: no packet and no write begins with a message.
#[test]
fn a_full_connection_is_recognised_by_what_its_server_speaks() {
    for topic in ["t/a", "sensors/kitchen"] {
        let mut world = World::new();
        let broker = process(10, "mosquitto");
        let at = "127.0.0.1:23830";
        let join =
            |world: &mut World, pid, from| world.existing(process(pid, "client"), from, broker, at);
        let mut publisher = join(&mut world, 20, "127.0.0.1:41000");
        let mut other = join(&mut world, 30, "127.0.0.1:42000");
        let mut behind = join(&mut world, 40, "127.0.0.1:43000");
        let all: Vec<Vec<u8>> =
            (0..60).map(|n| publish(topic, &payload(stamp(n), 1_500))).collect();
        let stream: Vec<u8> = all.concat();
        let mut chunks = stream[700..].chunks(1_152);
        // The broker's last write is far behind what is still in its socket.
        let last = behind.down.next.plus(2_500_000);
        world.send(&behind.down, last, 1_500);
        for bytes in &all {
            world.message(&mut publisher.up, bytes);
            world.message(&mut other.down, bytes);
            if let Some(chunk) = chunks.next() {
                world.message(&mut behind.down, chunk);
            }
        }
        let [sent, delivered, matched, _] = Played::of(&world).counts();
        assert_eq!(sent, 60, "{topic}");
        // It got 45 whole messages; one that is recognised late may not be joined.
        assert!(
            delivered >= 60 + 40 && matched + 1 >= delivered,
            "{topic}: {delivered}, {matched}"
        );
    }
}
