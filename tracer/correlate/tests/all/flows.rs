//! Connections that come and go, and packets that pass several devices.

use crate::played::Played;
use wirelap_correlate::{Config, GroupNote, PartialView};
use wirelap_events::{Body, IfIndex, NetNs, PacketHook, Seq, SocketId, Stage};
use wirelap_test_support::compose::{payload, plain, stamp};
use wirelap_test_support::world::udp::{ALL, datagram, end, flow};
use wirelap_test_support::world::{IP, LINK, TCP, World, process};

const SERVER: &str = "127.0.0.1:9000";
const CLIENT: &str = "127.0.0.1:40000";

#[test]
fn sequence_numbers_wrap_within_a_connection() {
    let mut world = World::new();
    let mut pair = world.connect(process(1, "a"), CLIENT, process(2, "b"), SERVER);
    (0..20).for_each(|n| {
        world.message(&mut pair.up, &plain(stamp(n), 100));
    });
    assert!(pair.up.next.0 < 0x1000, "the scenario must wrap");
    assert_eq!(Played::of(&world).counts(), [20, 20, 20, 0]);
}

#[test]
fn the_same_addresses_again_are_another_connection() {
    let mut world = World::new();
    for round in 0..3u32 {
        // Linux chooses a slightly larger initial sequence number for the same addresses.
        let isn = Seq(1000 + round * 50);
        let mut pair = world.connect_at(process(1, "a"), CLIENT, process(2, "b"), SERVER, isn);
        (0..5).for_each(|n| {
            world.message(&mut pair.up, &plain(stamp(round * 5 + n), 100));
        });
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [15, 15, 15, 0]);
    assert_eq!(played.group().overhead.retransmitted, 0);
}

/// Threads that use a socket first at the same time, or a thread and the softirq that interrupts it, announce it twice.
#[test]
fn a_socket_that_is_announced_again_is_the_same_socket() {
    let mut world = World::new();
    let mut pair = world.connect(process(1, "a"), CLIENT, process(2, "b"), SERVER);
    (0..5).for_each(|n| {
        world.message(&mut pair.up, &plain(stamp(n), 100));
    });
    let a = end(&mut world, process(1, "a"), "127.0.0.1:5000");
    let b = end(&mut world, process(2, "b"), "127.0.0.1:6000");
    let way = flow("127.0.0.1:5000", "127.0.0.1:6000");
    (5..10).for_each(|n| {
        datagram(&mut world, way, u64::from(n), a, &[b], &payload(stamp(n), 64), ALL);
    });
    let once = Played::of(&world);
    assert_eq!(once.deliveries.len(), 10);

    let mut sockets = Vec::new();
    let mut events = Vec::new();
    for event in &world.events {
        events.push(event.clone());
        if matches!(event.event.body, Body::Socket(_)) {
            sockets.push(event.clone());
        }
        let at = event.event.at;
        events.extend(sockets.iter().cloned().map(|mut again| {
            again.event.at = at;
            again
        }));
    }
    let again = Played::new(Config::default(), &events);
    assert_eq!(again.snapshot.groups, once.snapshot.groups);
    let times = |played: &Played| -> Vec<_> {
        played.deliveries.iter().map(|one| (one.stamp, one.one_way())).collect()
    };
    assert_eq!(times(&again), times(&once));
}

#[test]
fn messages_of_the_old_connection_are_still_read_from_it() {
    let mut world = World::new();
    let (a, b) = (process(1, "a"), process(2, "b"));
    let mut old = world.connect_at(a, CLIENT, b, SERVER, Seq(1000));
    let bytes = plain(stamp(0), 100);
    let (start, len) = old.up.advance(bytes.len());
    let sent = world.send(&old.up, start, len);
    world.xmit(&old.up, start, &bytes);
    world.rx(&old.up, start, len);
    world.ready(&old.up, old.up.next);
    let mut new = world.connect_at(a, CLIENT, b, SERVER, Seq(9000));
    world.message(&mut new.up, &plain(stamp(1), 100));
    let read = world.read(&old.up, old.up.next, len);
    let played = Played::of(&world);
    assert_eq!(played.counts(), [2, 2, 2, 0]);
    assert!(played.deliveries.iter().any(|d| d.one_way() == read.since(sent)));
}

#[test]
fn loopback_exists_once_in_every_namespace() {
    let mut world = World::new();
    let mut here = world.connect(process(1, "a"), CLIENT, process(2, "b"), SERVER);
    let first = world.events.len();
    let mut there = world.connect(process(3, "c"), CLIENT, process(4, "d"), SERVER);
    (0..5).for_each(|n| {
        world.message(&mut there.up, &plain(stamp(n), 100));
    });
    for told in &mut world.events[first..] {
        match &mut told.event.body {
            Body::Packet(packet) => {
                packet.netns = NetNs(2);
                packet.flow.scope = NetNs(2);
            }
            Body::Socket(socket) => socket.netns = NetNs(2),
            _ => {}
        }
    }
    (0..5).for_each(|n| {
        world.message(&mut here.up, &plain(stamp(n), 100));
    });
    let played = Played::of(&world);
    let matched: Vec<_> = played.snapshot.groups.iter().map(|g| g.messages.matched).collect();
    assert_eq!(matched, [5, 5]);
}

/// A container sends through veth and a bridge to another one: three transmissions, three receptions.
#[test]
fn a_packet_on_several_devices_is_one_packet() {
    let mut world = World::new();
    let (a, b) = (process(1, "a"), process(2, "b"));
    let mut pair = world.connect(a, "10.0.0.1:40000", b, "10.0.0.2:9000");
    let bytes = plain(stamp(0), 100);
    let (start, len) = pair.up.advance(bytes.len());
    let way = pair.up;
    world.send(&way, start, len);
    let mut marks = Vec::new();
    let hops = [
        (2, 5, PacketHook::Xmit),
        (1, 6, PacketHook::Rx),
        (1, 7, PacketHook::Xmit),
        (1, 8, PacketHook::Xmit),
        (3, 9, PacketHook::Rx),
    ];
    for (ns, device, hook) in hops {
        let mut packet = world.tcp_packet(&way, hook, start, len);
        packet.netns = NetNs(ns);
        packet.device = IfIndex(device);
        marks.push(world.tell(Body::Packet(packet), &bytes));
    }
    world.ready(&way, way.next);
    world.read(&way, way.next, len);
    // The handshake was on another device: this one takes over with the first new bytes.
    let played = Played::of(&world);
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    let times = &played.deliveries[0].legs[0].times;
    assert_eq!(times.get(Stage::Xmit), Some(marks[0]), "the sender's own device");
    assert_eq!(times.get(Stage::Rx), Some(marks[4]), "the receiver's own device");
    let overhead = played.group().overhead;
    let header = u64::from(LINK + IP + TCP);
    assert_eq!(overhead.total(), 3 * header + u64::from(len), "two SYNs and one packet");
    assert_eq!(overhead.packets, 3);
}

#[test]
fn a_sender_on_another_host_is_seen_from_its_reception_on() {
    let mut world = World::new();
    let mut pair =
        world.connect(process(1, "a"), "10.0.0.1:40000", process(2, "b"), "10.0.0.2:9000");
    for n in 0..3 {
        world.message(&mut pair.up, &plain(stamp(n), 100));
    }
    let up = pair.up.key;
    let client = pair.up.from.0;
    // What the other host's probes would have told is not there; payload comes with the reception.
    let mut bytes = Vec::new();
    let mut told = world.events.clone();
    told.retain_mut(|told| match &mut told.event.body {
        Body::Packet(packet) if packet.flow == up && packet.hook == PacketHook::Xmit => {
            bytes.clone_from(&told.payload);
            false
        }
        Body::Packet(packet) if packet.flow == up => {
            told.payload.clone_from(&bytes);
            true
        }
        Body::Packet(packet) => packet.hook == PacketHook::Xmit,
        Body::Send(send) => send.socket != client,
        Body::Socket(socket) => socket.id != client,
        _ => true,
    });
    let played = Played::new(Config::default(), &told);
    assert_eq!(played.counts(), [3, 3, 0, 0], "how long they were on their way is not known");
    let partial = played.group().partial.as_deref().unwrap();
    assert_eq!((partial.by_receiver, partial.ingress.count), (3, 3));
    assert_eq!(played.group().partial_view(), Some(PartialView::Receiver));
    assert_eq!(played.group().overhead.payload, 300);
}

#[test]
fn a_receiver_on_another_host_leaves_the_message_sent() {
    let mut world = World::new();
    let mut pair =
        world.connect(process(1, "a"), "10.0.0.1:40000", process(2, "b"), "10.0.0.2:9000");
    world.message(&mut pair.up, &plain(stamp(0), 100));
    let server = pair.up.to.0;
    let mut told = world.events.clone();
    let is_there = |id: SocketId| id == server;
    told.retain(|told| match &told.event.body {
        Body::Packet(packet) => (packet.flow == pair.up.key) == (packet.hook == PacketHook::Xmit),
        Body::Ready(ready) => !is_there(ready.socket),
        Body::Read(read) => !is_there(read.socket),
        Body::Socket(socket) => !is_there(socket.id),
        _ => true,
    });
    let played = Played::new(Config::default(), &told);
    assert_eq!(played.counts(), [1, 0, 0, 0]);
    assert!(played.group().notes.contains(&GroupNote::ReaderNotSeen { legs: 1 }));
}

#[test]
fn what_comes_by_mptcp_is_delivered_with_its_packets() {
    let mut world = World::new();
    let mut pair = world.connect(process(1, "a"), CLIENT, process(2, "b"), SERVER);
    for n in 0..3 {
        world.message(&mut pair.up, &plain(stamp(n), 100));
    }
    let mut told = world.events.clone();
    told.retain(|told| matches!(told.event.body, Body::Packet(_) | Body::Socket(_)));
    for told in &mut told {
        if let Body::Socket(socket) = &mut told.event.body {
            socket.is_subflow = true;
        }
    }
    let played = Played::new(Config::default(), &told);
    assert_eq!(played.counts(), [3, 3, 3, 0]);
    assert!(played.group().notes.contains(&GroupNote::Subflows { legs: 3 }));
    assert_eq!(played.group().uncertain.without_send, 3, "a reason to doubt");
}

#[test]
fn conversations_beyond_the_limit_are_given_up_and_counted() {
    let mut world = World::new();
    for n in 0..64u32 {
        let from = format!("127.0.0.1:{}", 40_000 + n);
        let mut pair = world.connect(process(1, "a"), &from, process(2, "b"), SERVER);
        world.message(&mut pair.up, &plain(stamp(n), 100));
        world.now += 100_000_000;
    }
    let config = Config { max_flows: 8, ..Config::default() };
    let played = Played::new(config, &world.events);
    assert_eq!(played.counts(), [64, 64, 64, 0]);
    assert!(played.snapshot.trust.evicted >= 56, "{:?}", played.snapshot.trust);
    let whole = 64 * (3 * u64::from(LINK + IP + TCP) + 104);
    assert_eq!(played.group().overhead.total(), whole, "what was given up stays in the sum");
}

#[test]
fn a_protocol_that_nobody_knows_costs_no_row() {
    let mut world = World::new();
    let mut pair = world.connect(process(1, "a"), CLIENT, process(2, "b"), SERVER);
    for _ in 0..50 {
        world.message(&mut pair.up, &[0xEE; 500]);
        world.message(&mut pair.down, &[0xEF; 500]);
    }
    let played = Played::of(&world);
    assert!(played.snapshot.groups.is_empty());
    assert_eq!(played.snapshot.unknown.rows[0].protocol, None);
    assert!(played.deliveries.is_empty());
}
