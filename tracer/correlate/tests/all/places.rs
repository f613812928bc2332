//! One broker at several addresses, one address in several namespaces, translated addresses, proxies: each message is counted once.

use crate::brokered::house;
use crate::played::Played;
use std::net::IpAddr;
use wirelap_correlate::{Config, UnobservedHost};
use wirelap_events::{
    Body, FlowKey, IfIndex, Nanos, NetNs, Packet, PacketHook, PacketId, Seq, SocketId, tcp_flags,
};
use wirelap_test_support::compose::mqtt::{CONNACK, CONNECT, publish};
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::{LO, World, process};

/// Ten messages to a subscriber at another address of the broker's host, and to one at `local`.
fn at_three_addresses(local: &str) -> World {
    let mut world = World::new();
    let broker = process(10, "mosquitto");
    let (from, to) = ("10.0.1.2:40000", "10.0.1.1:1883");
    let mut publisher = world.connect_mqtt(process(20, "pub"), from, broker, to);
    let (from, to) = ("10.0.2.2:40000", "10.0.2.1:1883");
    let mut subscriber = world.connect_mqtt(process(30, "sub"), from, broker, to);
    let mut other = world.connect_mqtt(process(31, "sub"), "127.0.0.1:40000", broker, local);
    for n in 0..10 {
        let bytes = publish("t", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscriber.down, &bytes);
        world.message(&mut other.down, &bytes);
    }
    world
}

#[test]
fn one_broker_is_one_row_at_whatever_address() {
    let world = at_three_addresses("127.0.0.1:8883");
    let played = Played::of(&world);
    assert_eq!(played.counts(), [10, 20, 20, 0]);
    assert_eq!(played.group().broker.as_deref(), Some("mosquitto"));
}

/// The addresses of a host, where its processes are not known, are told by the caller.
#[test]
fn a_hosts_addresses_are_one_servers_in_packets_alone() {
    let world = at_three_addresses("127.0.0.1:1883");
    let packets: Vec<OwnedEvent> = world
        .events
        .into_iter()
        .filter(|told| matches!(told.event.body, Body::Packet(_)))
        .collect();
    let addresses = ["10.0.1.1", "10.0.2.1"].map(|ip| ip.parse::<IpAddr>().unwrap()).to_vec();
    let hosts = vec![UnobservedHost { netns: LO.0, addresses }];
    let told = Played::new(Config { packets_only: true, hosts, ..Config::default() }, &packets);
    assert_eq!(told.counts(), [10, 20, 20, 0]);
    let untold = Played::new(Config { packets_only: true, ..Config::default() }, &packets);
    assert_eq!(untold.snapshot.groups.len(), 3);
}

/// A namespace for each end, told from the address; `island` makes all numbers another one's.
fn on_island(told: &mut OwnedEvent, island: u32, client: &str) {
    let base = u64::from(island) * 1_000;
    let client: IpAddr = client.parse().unwrap();
    let place = |ip: IpAddr| NetNs(100 * island + if ip == client { 1 } else { 2 });
    let socket = |id: &mut SocketId| id.0 += base;
    match &mut told.event.body {
        Body::Socket(new) => {
            socket(&mut new.id);
            new.netns = place(new.local.ip());
        }
        Body::Packet(packet) => {
            packet.id.0 += base * 1_000;
            packet.socket.iter_mut().for_each(socket);
            let here = match packet.hook {
                PacketHook::Xmit => packet.flow.src,
                PacketHook::Rx => packet.flow.dst,
            };
            packet.netns = place(here.ip());
            packet.device = IfIndex(2);
        }
        Body::Send(send) => socket(&mut send.socket),
        Body::Read(read) => socket(&mut read.socket),
        Body::Ready(ready) => socket(&mut ready.socket),
        _ => {}
    }
}

/// A publisher and a subscriber of one broker, with the same addresses on each island. The first numbers of connections with
/// the same addresses are near each other, as the kernel's are.
fn island(number: u32, existing: bool) -> Vec<OwnedEvent> {
    let mut world = World::new();
    world.now += u64::from(number) * 100;
    let broker = process(10 * number, if number == 1 { "mosquitto" } else { "nanomq" });
    let isn = Seq(0x1000_0000).plus(number * 9_000_000);
    // Who publishes on the one island has the address of who subscribes on the other.
    let ports = if number == 1 { ["40000", "40001"] } else { ["40001", "40000"] };
    let mut connections = [(ports[0], 1, "pub"), (ports[1], 2, "sub")].map(|(port, pid, name)| {
        let from = format!("10.0.0.2:{port}");
        let client = process(10 * number + pid, name);
        let isn = isn.plus(if port == "40000" { 0 } else { 1 << 26 });
        let mut connection = world.connect_at(client, &from, broker, "10.0.0.1:1883", isn);
        world.message(&mut connection.up, CONNECT);
        world.message(&mut connection.down, CONNACK);
        connection
    });
    if existing {
        // Attached late: the first thing that is seen are the sockets.
        world.events.retain(|told| !is_syn(told));
    }
    for n in 0..10 {
        let bytes = publish("t", &payload(stamp(n), 64));
        let [publisher, subscriber] = &mut connections;
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscriber.down, &bytes);
    }
    world.events.iter_mut().for_each(|told| {
        on_island(told, number, "10.0.0.2");
        answering(told, isn);
    });
    world.events
}

fn is_syn(told: &OwnedEvent) -> bool {
    matches!(&told.event.body, Body::Packet(packet)
        if packet.tcp.is_some_and(|tcp| tcp.flags & tcp_flags::SYN != 0))
}

/// Packets that acknowledge what the other side has begun with.
fn answering(told: &mut OwnedEvent, isn: Seq) {
    let Body::Packet(packet) = &mut told.event.body else { return };
    let Some(tcp) = &mut packet.tcp else { return };
    if tcp.flags & tcp_flags::SYN == 0 {
        tcp.flags |= tcp_flags::ACK;
        tcp.ack = isn.plus(100);
    }
}

#[test]
fn the_same_addresses_on_two_islands_are_two_brokers() {
    for existing in [false, true] {
        let mut told = [island(1, existing), island(2, existing)].concat();
        told.sort_by_key(|told| told.event.at);
        let played = Played::new(Config::default(), &told);
        let mut rows: Vec<_> = played
            .snapshot
            .groups
            .iter()
            .map(|group| (group.broker.clone().unwrap_or_default(), group.messages))
            .collect();
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(rows.len(), 2, "{rows:?}");
        for (row, name) in rows.iter().zip(["mosquitto", "nanomq"]) {
            assert_eq!(row.0, name);
            let counts = row.1;
            assert_eq!(
                [counts.sent, counts.delivered, counts.matched, counts.uncovered],
                [10, 10, 10, 0]
            );
        }
        assert_eq!(played.snapshot.trust.undecoded_bytes, 0);
    }
}

/// The client's packets behind a router: forwarded with other addresses, whose bytes were captured before.
fn translated(told: &[OwnedEvent], isn: Seq, socket_knows: bool) -> Vec<OwnedEvent> {
    let [public, inside, gate]: [std::net::SocketAddr; 3] =
        ["10.0.9.9:9999", "172.29.0.2:1883", "172.29.0.1:61000"].map(|addr| addr.parse().unwrap());
    let behind = |key: FlowKey| {
        let map = |addr: std::net::SocketAddr| {
            if addr == public { inside } else { std::net::SocketAddr::new(gate.ip(), addr.port()) }
        };
        FlowKey::new(key.transport, map(key.src), map(key.dst), NetNs(0))
    };
    let mut out = Vec::new();
    for one in told {
        let mut one = one.clone();
        on_island(&mut one, 1, "10.0.1.2");
        answering(&mut one, isn);
        match one.event.body {
            Body::Socket(mut socket) if socket.local == public => {
                socket.local = inside;
                socket.remote = socket.remote.map(|remote| {
                    behind(FlowKey::new(socket.transport, remote, public, NetNs(0))).src
                });
                one.event.body = Body::Socket(socket);
                out.push(one);
            }
            Body::Packet(packet) => {
                let from_client = packet.flow.dst == public;
                let at = |hook, near_client: bool, netns| {
                    let flow = if near_client { packet.flow } else { behind(packet.flow) };
                    Packet {
                        hook,
                        flow,
                        netns: NetNs(netns),
                        id: PacketId(0),
                        socket: None,
                        ..packet
                    }
                };
                let mut push = |body, later: u64, payload: &[u8]| {
                    let mut event = one.event;
                    event.at += Nanos(later);
                    event.body = Body::Packet(body);
                    out.push(OwnedEvent { event, payload: payload.to_vec() });
                };
                let (here, there) = if from_client { (101, 102) } else { (102, 101) };
                if packet.hook == PacketHook::Xmit {
                    let mut own = at(PacketHook::Xmit, from_client && !socket_knows, here);
                    own.socket = packet.socket;
                    push(own, 0, &one.payload);
                    if !socket_knows {
                        push(at(PacketHook::Rx, from_client, 103), 10, &[]);
                        push(at(PacketHook::Xmit, !from_client, 103), 20, &[]);
                    }
                } else {
                    push(at(PacketHook::Rx, !from_client, there), 0, &[]);
                }
            }
            _ => out.push(one),
        }
    }
    out
}

#[test]
fn translated_addresses_are_one_connection() {
    // Translated by a router on the way; or by the client's own host, whose packets never have the socket's addresses.
    for socket_knows in [false, true] {
        let mut world = World::new();
        let broker = process(10, "mosquitto");
        let isn = Seq(0x3000_0000);
        let mut connections =
            [("40000", 20, "pub"), ("40001", 30, "sub")].map(|(port, pid, name)| {
                let from = format!("10.0.1.2:{port}");
                let mut connection = world.connect_at(
                    process(pid, name),
                    &from,
                    broker,
                    "10.0.9.9:9999",
                    isn.plus(pid << 16),
                );
                world.message(&mut connection.up, CONNECT);
                world.message(&mut connection.down, CONNACK);
                connection
            });
        for n in 0..10 {
            let bytes = publish("t", &payload(stamp(n), 64));
            let [publisher, subscriber] = &mut connections;
            world.message(&mut publisher.up, &bytes);
            world.message(&mut subscriber.down, &bytes);
        }
        let plain = Played::of(&world);
        let played = Played::new(Config::default(), &translated(&world.events, isn, socket_knows));
        assert_eq!(played.counts(), [10, 10, 10, 0], "{socket_knows}");
        let group = played.group();
        assert_eq!(group.broker.as_deref(), Some("mosquitto"));
        assert_eq!(group.overhead.payload, plain.group().overhead.payload);
        assert_eq!(group.overhead.packets, plain.group().overhead.packets, "{socket_knows}");
        assert_eq!(played.snapshot.trust.uncaptured_bytes, 0);
        for delivery in &played.deliveries {
            assert_eq!(delivery.legs.len(), 2);
            let ends = delivery.legs.iter().map(|leg| (leg.sender, leg.reader));
            assert!(ends.into_iter().all(|(sender, reader)| sender.is_some() && reader.is_some()));
        }
    }
}

#[test]
fn a_proxy_passes_messages_on_and_is_no_broker() {
    let mut world = World::new();
    let (broker, proxy) = (process(10, "mosquitto"), process(15, "haproxy"));
    let (publisher, subscriber) = (process(20, "pub"), process(30, "sub"));
    let mut legs = [
        (publisher, "127.0.0.1:40000", proxy, "127.0.0.1:1884"),
        (proxy, "127.0.0.1:40001", broker, "127.0.0.1:1883"),
        (subscriber, "127.0.0.1:40002", proxy, "127.0.0.1:1884"),
        (proxy, "127.0.0.1:40003", broker, "127.0.0.1:1883"),
    ]
    .map(|(client, from, server, to)| world.connect_mqtt(client, from, server, to));
    for n in 0..20 {
        let bytes = publish("t", &payload(stamp(n), 64));
        world.message(&mut legs[0].up, &bytes);
        world.message(&mut legs[1].up, &bytes);
        world.message(&mut legs[3].down, &bytes);
        world.message(&mut legs[2].down, &bytes);
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [20, 20, 20, 0]);
    assert!(played.deliveries.iter().all(|delivery| delivery.legs.len() == 4));
    let group = played.group();
    assert_eq!(group.broker.as_deref(), Some("mosquitto"));
    let roles: Vec<_> = group.processes.iter().map(|p| (p.pid.0, p.role.as_str())).collect();
    assert_eq!(roles, [(10, "broker"), (15, "proxy"), (20, "publisher"), (30, "subscriber")]);
}

/// A proxy that forks: its listening process accepts, and a child of its own serves each client.
#[test]
fn a_proxy_that_forks_is_one_as_well() {
    let mut world = World::new();
    let (broker, listener) = (process(10, "mosquitto"), process(15, "socat"));
    let children = [process(16, "socat"), process(17, "socat")];
    let clients = [process(20, "pub"), process(30, "sub")];
    let mut ways = Vec::new();
    for (index, port) in (0..2).zip([40_000, 40_010]) {
        let from = format!("127.0.0.1:{port}");
        let mut near = world.connect(clients[index], &from, listener, "127.0.0.1:1884");
        (near.up.to.1, near.down.from.1) = (children[index], children[index]);
        let from = format!("127.0.0.1:{}", port + 1);
        let mut far = world.connect(children[index], &from, broker, "127.0.0.1:1883");
        for (connection, bytes) in [(&mut near.up, CONNECT), (&mut far.up, CONNECT)] {
            world.message(connection, bytes);
        }
        for (connection, bytes) in [(&mut far.down, CONNACK), (&mut near.down, CONNACK)] {
            world.message(connection, bytes);
        }
        ways.push((near, far));
    }
    for n in 0..20 {
        let bytes = publish("t", &payload(stamp(n), 64));
        world.message(&mut ways[0].0.up, &bytes);
        world.message(&mut ways[0].1.up, &bytes);
        world.message(&mut ways[1].1.down, &bytes);
        world.message(&mut ways[1].0.down, &bytes);
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [20, 20, 20, 0]);
    assert_eq!(played.group().broker.as_deref(), Some("mosquitto"));
}

/// A broker that passes messages on to another one, and to clients of its own, stays a row of its own.
#[test]
fn a_bridge_with_clients_of_its_own_is_a_broker() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let (near, far) = (process(10, "mosquitto"), process(11, "nanomq"));
    let mut bridge = world.connect_mqtt(near, "127.0.0.1:40101", far, "127.0.0.1:1999");
    let mut distant =
        world.connect_mqtt(process(40, "sub"), "127.0.0.1:40102", far, "127.0.0.1:1999");
    for n in 0..10 {
        let bytes = publish("t", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscribers[0].down, &bytes);
        world.message(&mut bridge.up, &bytes);
        world.message(&mut distant.down, &bytes);
    }
    let played = Played::of(&world);
    assert_eq!(played.snapshot.groups.len(), 2);
    let first = &played.snapshot.groups[0];
    assert_eq!(first.broker.as_deref(), Some("mosquitto"));
    assert_eq!([first.messages.sent, first.messages.matched], [10, 20]);
}
