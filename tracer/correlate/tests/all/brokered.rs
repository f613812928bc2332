//! Publisher → broker → subscriber.

use crate::played::{Played, seen};
use wirelap_correlate::{Config, Label};
use wirelap_events::{Body, Nanos, PacketHook, Pid, Segment, Stage, Stamp};
use wirelap_test_support::compose::mqtt::{CONNACK, CONNECT, publish, publish_with};
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{Connection, STEP, Way, World, process};

pub const BROKER: &str = "127.0.0.1:1883";

/// A broker, a publisher and subscribers, all connected.
pub fn house(world: &mut World, subscribers: u32) -> (Connection, Vec<Connection>) {
    let broker = process(10, "mosquitto");
    let join = |world: &mut World, pid: u32, name| {
        let from = format!("127.0.0.1:{}", 40_000 + pid);
        world.connect_mqtt(process(pid, name), &from, broker, BROKER)
    };
    let publisher = join(world, 20, "pub");
    let subscribers = (0..subscribers).map(|n| join(world, 30 + n, "sub")).collect();
    (publisher, subscribers)
}

#[test]
fn two_legs_with_every_stage() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let bytes = publish("t", &payload(stamp(0), 64));
    let (sent, read) = world.message(&mut publisher.up, &bytes);
    let (forwarded, arrived) = world.message(&mut subscribers[0].down, &bytes);
    let played = Played::of(&world);
    let [delivery] = played.deliveries.as_slice() else { panic!("{:?}", played.counts()) };
    let (s, h) = (sent.0, STEP / 2);
    let stages = |s: u64| {
        vec![
            (Stage::Send, s),
            (Stage::Sent, s),
            (Stage::Queue, s + h),
            (Stage::Xmit, s + STEP),
            (Stage::Rx, s + 2 * STEP),
            (Stage::Ready, s + 3 * STEP),
            (Stage::Wakeup, s + 3 * STEP + h),
            (Stage::Running, s + 4 * STEP),
            (Stage::Read, s + 6 * STEP),
        ]
    };
    assert_eq!(seen(delivery, 0), stages(s));
    assert_eq!(seen(delivery, 1), stages(forwarded.0));
    assert_eq!(delivery.one_way(), arrived.since(sent));
    let dwell = delivery.segments().nth(1).unwrap().1.get(Segment::BrokerDwell);
    assert_eq!(dwell, forwarded.since(read));
    assert_eq!(delivery.stamp, Some(stamp(0)));
    assert_eq!(delivery.payload_len, 64);
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    assert_eq!(delivery.legs[1].reader, Some(process(30, "").task));
}

/// A packet filter copies each packet (nftables' `dup` in an output chain): the copy has no socket and leaves before the packet itself.
#[test]
fn a_message_of_which_a_filter_makes_a_copy_is_one_message() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let pass = |world: &mut World, way: &mut Way, bytes: &[u8]| {
        let (start, len) = way.advance(bytes.len());
        let way = *way;
        world.send(&way, start, len);
        let mut copy = world.tcp_packet(&way, PacketHook::Xmit, start, len);
        copy.socket = None;
        world.tell(Body::Packet(copy), &[]);
        world.rx(&way, start, len);
        world.xmit(&way, start, bytes);
        world.rx(&way, start, len);
        world.ready(&way, way.next);
        world.wake(way.to.1.task, None);
        world.read(&way, way.next, len);
    };
    for n in 0..5 {
        let bytes = publish("t", &payload(stamp(n), 64));
        pass(&mut world, &mut publisher.up, &bytes);
        pass(&mut world, &mut subscribers[0].down, &bytes);
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [5, 5, 5, 0]);
    assert_eq!(played.deliveries.len(), 5);
}

#[test]
fn a_broker_may_pass_on_qos_2_once_it_has_read_the_pubrel() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let bytes = publish_with(0x34, "t", &payload(stamp(0), 64));
    world.message(&mut publisher.up, &bytes);
    let (confirmed, had) = world.message(&mut publisher.down, b"\x50\x02\x00\x07");
    let (given, read) = world.message(&mut publisher.up, b"\x62\x02\x00\x07");
    world.message(&mut subscribers[0].down, &bytes);
    // With QoS 1 there is nothing to wait for.
    let bytes = publish_with(0x32, "t", &payload(stamp(1), 64));
    world.message(&mut publisher.up, &bytes);
    world.message(&mut subscribers[0].down, &bytes);
    let played = Played::of(&world);
    let releases: Vec<_> =
        played.deliveries.iter().map(|all| all.legs[1].circumstances.permission.release).collect();
    let Some(release) = releases[0] else { panic!("it had to wait for the PUBREL") };
    assert_eq!((release.sent, release.read), (given, read));
    assert!(given < release.left && release.left < release.arrived && release.arrived < read);
    assert_eq!((release.nagle, release.resent), (false, false));
    let receipt = release.receipt.unwrap();
    assert_eq!((receipt.sent, receipt.lost), (confirmed, Nanos(0)));
    assert!(confirmed < receipt.left && receipt.arrived.is_some_and(|at| at < had));
    assert_eq!(releases[1], None);
}

/// A message that its broker has before a subscriber connects waits until that has said what it wants.
#[test]
fn a_subscriber_that_comes_later_was_away() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let message = |n| publish_with(0x32, "t", &payload(stamp(n), 64));
    world.message(&mut publisher.up, &message(0));
    world.message(&mut subscribers[0].down, &message(0));
    let (broker, late) = (process(10, "mosquitto"), process(31, "late"));
    let mut late = world.connect_mqtt(late, "127.0.0.1:40200", broker, BROKER);
    let (asked, _) = world.message(&mut late.up, b"\x82\x06\x00\x01\x00\x01t\x01");
    world.message(&mut late.down, &message(0));
    world.message(&mut publisher.up, &message(1));
    world.message(&mut late.down, &message(1));
    let played = Played::of(&world);
    let ready: Vec<_> =
        played.deliveries.iter().map(|all| all.legs[1].circumstances.subscription.ready).collect();
    assert_eq!((ready.len(), ready[0], ready[2]), (3, None, None));
    assert!(ready[1].is_some_and(|at| at >= asked), "{ready:?}, {asked:?}");
    assert!(!played.deliveries[1].legs[1].circumstances.start_up);
}

/// One of as many messages as ever were under way is acknowledged: the broker may have waited for that.
#[test]
fn an_acknowledgement_makes_room_for_the_next_message() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let mut asked = Vec::new();
    for n in 0..3 {
        world.message(&mut publisher.up, &publish("t", &payload(stamp(n), 64)));
        if n > 0 {
            asked.push(world.message(&mut subscribers[0].up, b"\x40\x02\x00\x07"));
        }
        let passed_on = publish_with(0x32, "t", &payload(stamp(n), 64));
        world.message(&mut subscribers[0].down, &passed_on);
    }
    let played = Played::of(&world);
    let rooms: Vec<Option<Nanos>> = played
        .deliveries
        .iter()
        .map(|all| all.legs[1].circumstances.permission.credit.map(|room| room.at))
        .collect();
    assert_eq!(rooms[0], None);
    // It had the first message until it acknowledged it, and that was read at once.
    let first = played.deliveries[1].legs[1].circumstances.permission.credit.unwrap();
    assert!(first.own > Nanos(0) && first.unknown == Nanos(0), "{first:?}");
    for (room, (given, taken)) in rooms[1..].iter().zip(asked) {
        assert!(room.is_some_and(|at| given < at && at < taken), "{room:?}: {given:?}, {taken:?}");
    }
}

#[test]
fn the_row_names_the_broker_and_its_processes() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    for n in 0..10 {
        let bytes = publish("t", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscribers[0].down, &bytes);
    }
    let played = Played::of(&world);
    let group = played.group();
    assert_eq!((group.middleware.as_str(), group.broker.as_deref()), ("mqtt", Some("mosquitto")));
    assert_eq!(group.endpoint, Some(BROKER.parse().unwrap()));
    let roles: Vec<_> = group.processes.iter().map(|p| (p.pid.0, p.role.as_str())).collect();
    assert_eq!(roles, [(10, "broker"), (20, "publisher"), (30, "subscriber")]);
    assert_eq!(group.payload_bytes, 64);
    assert_eq!(group.one_way.count, 10);
    assert!((played.snapshot.trust.coverage - 1.0).abs() < 1e-9);
    // 10 deliveries, 13 steps apart each.
    let rate = 1e9 / (14 * STEP) as f64;
    assert!((group.rate_active.msg_per_s - rate).abs() < 1.0, "{:?}", group.rate_active);
    let seconds = (played.snapshot.at - played.snapshot.since).as_secs_f64();
    assert!((group.rate.msg_per_s - 10.0 / seconds).abs() < 1e-9, "{:?}", group.rate);
}

#[test]
fn foreign_messages_are_matched_by_content_in_order() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let mut expected = Vec::new();
    // The same content again and again, up to three under way at once.
    for _ in 0..20 {
        let bytes = publish("t", b"same");
        let sent: Vec<_> = (0..3).map(|_| world.message(&mut publisher.up, &bytes).0).collect();
        for sent in sent {
            let (_, read) = world.message(&mut subscribers[0].down, &bytes);
            expected.push(read.since(sent));
        }
    }
    let played = Played::of(&world);
    let found: Vec<_> = played.deliveries.iter().map(wirelap_events::Delivery::one_way).collect();
    assert_eq!(found, expected);
    assert_eq!(played.counts(), [60, 60, 60, 0]);
}

#[test]
fn a_late_subscriber_gets_the_message_of_now_not_an_old_one() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let bytes = publish("t", b"same");
    for _ in 0..3 {
        world.message(&mut publisher.up, &bytes);
        world.now += 500_000_000;
    }
    let (sent, _) = world.message(&mut publisher.up, &bytes);
    let (_, read) = world.message(&mut subscribers[0].down, &bytes);
    let played = Played::of(&world);
    assert_eq!(played.deliveries[0].one_way(), read.since(sent));
    assert_eq!(played.counts(), [4, 1, 1, 0]);
}

#[test]
fn fan_out_to_a_hundred() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 100);
    for n in 0..5 {
        let bytes = publish("t", &payload(stamp(n), 8));
        world.message(&mut publisher.up, &bytes);
        for subscriber in &mut subscribers {
            world.message(&mut subscriber.down, &bytes);
        }
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [5, 500, 500, 0]);
    let mut ids: Vec<_> = played.deliveries.iter().map(|d| d.message).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 5, "a message's deliveries share its id");
    assert_eq!(played.group().overhead.deliveries, 500);
}

#[test]
fn fan_in_of_two_publishers_with_the_same_stamps() {
    let mut world = World::new();
    let (mut first, mut subscribers) = house(&mut world, 1);
    let broker = process(10, "mosquitto");
    let mut second = world.connect(process(21, "pub"), "127.0.0.1:50000", broker, BROKER);
    world.message(&mut second.up, CONNECT);
    let mut expected = Vec::new();
    for n in 0..10 {
        for (publisher, topic) in [(&mut first, "a"), (&mut second, "b")] {
            let bytes = publish(topic, &payload(stamp(n), 8));
            let (sent, _) = world.message(&mut publisher.up, &bytes);
            let (_, read) = world.message(&mut subscribers[0].down, &bytes);
            expected.push(read.since(sent));
        }
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [20, 20, 20, 0]);
    assert!(played.deliveries.iter().map(wirelap_events::Delivery::one_way).eq(expected));
}

#[test]
fn copies_and_stored_messages_are_not_matched() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let bytes = publish("t", &payload(stamp(0), 8));
    world.message(&mut publisher.up, &bytes);
    world.message(&mut subscribers[0].down, &bytes);
    let retained = publish_with(0x31, "t", &payload(stamp(7), 8));
    world.message(&mut subscribers[0].down, &retained);
    // The stamp again on the same way.
    world.message(&mut publisher.up, &bytes);
    let played = Played::of(&world);
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    let counts = played.group().messages;
    assert_eq!((counts.duplicates, counts.retained), (1, 1));
}

#[test]
fn warm_up_is_only_counted() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let warm = Stamp { warmup: true, ..stamp(0) };
    for stamp in [warm, stamp(0)] {
        let bytes = publish("t", &payload(stamp, 8));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscribers[0].down, &bytes);
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    assert_eq!(played.group().messages.warmup, 1);
    assert_eq!(played.group().one_way.count, 1);
    assert_eq!(played.group().overhead.deliveries, 2, "its bytes are counted");
}

#[test]
fn a_delivery_whose_first_leg_was_not_seen_is_uncovered() {
    let mut world = World::new();
    let (_, mut subscribers) = house(&mut world, 1);
    world.message(&mut subscribers[0].down, &publish("t", &payload(stamp(0), 8)));
    let played = Played::of(&world);
    assert_eq!(played.counts(), [0, 1, 0, 1]);
    assert!(played.group().rate.msg_per_s > 0.0);
}

#[test]
fn a_message_that_nobody_subscribed_to_is_sent_and_not_uncovered() {
    let mut world = World::new();
    let (mut publisher, _) = house(&mut world, 0);
    world.message(&mut publisher.up, &publish("t", &payload(stamp(0), 8)));
    assert_eq!(Played::of(&world).counts(), [1, 0, 0, 0]);
}

#[test]
fn a_delivery_waits_for_its_hold_but_not_for_patience() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let bytes = publish("t", &payload(stamp(0), 8));
    world.message(&mut publisher.up, &bytes);
    world.message(&mut subscribers[0].down, &bytes);
    assert_eq!(Played::of(&world).early.groups[0].messages.matched, 1);
}

#[test]
fn labels_name_rows_by_process_and_port() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let bytes = publish("t", &payload(stamp(0), 8));
    world.message(&mut publisher.up, &bytes);
    world.message(&mut subscribers[0].down, &bytes);
    let label = |pids: &[u32], ports: &[u16]| Label {
        name: "ours".into(),
        broker: Some("rumqttd".into()),
        ports: ports.to_vec(),
        pids: pids.iter().copied().map(Pid).collect(),
    };
    for label in [label(&[10], &[]), label(&[], &[1883])] {
        let config = Config { labels: vec![label], ..Config::default() };
        let played = Played::new(config, &world.events);
        let group = played.group();
        assert_eq!(group.middleware, "ours");
        assert_eq!(group.broker.as_deref(), Some("rumqttd"));
        assert_eq!(played.counts(), [1, 1, 1, 0]);
    }
}

/// A packet that was lost before it was captured leaves a flow that seems to begin in its middle. By itself it could be
/// anything; but others at this address have shown what is spoken here.
#[test]
fn a_missed_start_is_made_up_for_by_what_the_server_is_known_to_speak() {
    let followed = |greeted: bool| {
        let mut world = World::new();
        let broker = process(10, "broker");
        let server = "127.0.0.1:5555";
        let mut subscriber = world.connect(process(30, "sub"), "127.0.0.1:40030", broker, server);
        if greeted {
            world.message(&mut subscriber.up, CONNECT);
            world.message(&mut subscriber.down, CONNACK);
        }
        let mut publisher = world.connect(process(20, "pub"), "127.0.0.1:40020", broker, server);
        for n in 0..10 {
            let bytes = publish("t", &payload(stamp(n), 64));
            world.message(&mut publisher.up, &bytes);
            world.message(&mut subscriber.down, &bytes);
        }
        Played::of(&world).deliveries.len()
    };
    assert_eq!(followed(true), 10);
    assert_eq!(followed(false), 0, "nobody has said that this is MQTT");
}

#[test]
fn rows_of_two_brokers_of_one_name_are_told_apart() {
    let mut world = World::new();
    for (pid, port) in [(10, 1883), (11, 1884)] {
        let broker = process(pid, "mosquitto");
        let to = format!("127.0.0.1:{port}");
        let from = [pid + 40_000, pid + 50_000].map(|port| format!("127.0.0.1:{port}"));
        let mut up = world.connect(process(pid + 10, "pub"), &from[0], broker, &to);
        let mut down = world.connect(process(pid + 20, "sub"), &from[1], broker, &to);
        for client in [&mut up, &mut down] {
            world.message(&mut client.up, CONNECT);
        }
        for n in 0..3 {
            let bytes = publish("t", &payload(stamp(n), 64));
            world.message(&mut up.up, &bytes);
            world.message(&mut down.down, &bytes);
        }
    }
    let played = Played::of(&world);
    let brokers: Vec<_> =
        played.snapshot.groups.iter().filter_map(|g| g.broker.as_deref()).collect();
    assert_eq!(brokers, ["mosquitto:1883", "mosquitto:1884"]);
}

/// Joined late, a zero before the payload may be the length of the properties of version 5, or the payload's first byte.
#[test]
fn a_payload_that_may_start_a_byte_earlier_is_found_by_its_content() {
    let mut world = World::new();
    let broker = process(10, "mosquitto");
    let mut subscriber = world.existing(process(30, "sub"), "127.0.0.1:40030", broker, BROKER);
    let mut publisher = world.connect(process(20, "pub"), "127.0.0.1:40020", broker, BROKER);
    world.message(&mut publisher.up, CONNECT);
    for n in 0..30_u8 {
        let bytes = publish("sensors/t1", &[0, 0, 0, 0, 0xC1, 0xD2, 0xE3, 0xF4, n]);
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscriber.down, &bytes);
    }
    assert_eq!(Played::of(&world).counts(), [30, 30, 30, 0]);
}
