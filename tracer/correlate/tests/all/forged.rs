//! Packets with the addresses of others: what a socket would not take does not count.

use crate::played::Played;
use wirelap_correlate::Config;
use wirelap_events::{Body, IfIndex, NetNs, PacketHook, Seq, TcpFields, tcp_flags};
use wirelap_test_support::compose::mqtt::{CONNACK, CONNECT, publish};
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::{Connection, Way, World, process};

const ACK: u8 = tcp_flags::ACK;

/// The place of a forger.
#[derive(Clone, Copy, Debug)]
enum Forger {
    /// On a device of another network namespace that leads nowhere.
    Elsewhere,
    /// On the same network: its packets come in here.
    OnTheWire,
}

/// The sockets that are on this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Here {
    Both,
    Broker,
    /// Packets are all that there is.
    Neither,
}

fn forge(world: &mut World, way: &Way, forger: Forger, tcp: TcpFields, bytes: &[u8]) {
    let len = u32::try_from(bytes.len()).unwrap();
    let hook = match forger {
        Forger::Elsewhere => PacketHook::Xmit,
        Forger::OnTheWire => PacketHook::Rx,
    };
    let mut packet = world.tcp_packet(way, hook, tcp.seq, len);
    packet.socket = None;
    packet.tcp = Some(tcp);
    packet.device = IfIndex(77);
    if matches!(forger, Forger::Elsewhere) {
        packet.netns = NetNs(4_000);
    }
    world.tell(Body::Packet(packet), bytes);
}

/// Segments as somebody sends them who knows the addresses, and no numbers.
fn blindly(world: &mut World, connection: &Connection, forger: Forger, syns: u32) {
    for way in [connection.up, connection.down] {
        let mut send = |flags: u8, seq: u32, bytes: &[u8]| {
            // Numbers that the sockets do not have, by far.
            let seq = Seq(seq).plus(0x4000_0000);
            let tcp = TcpFields { seq, ack: Seq(0x5000_0000), flags, window: 1_000 };
            forge(world, &way, forger, tcp, bytes);
        };
        for isn in 0..syns {
            send(tcp_flags::SYN, isn * 7_000_000 + 12_345, &[]);
        }
        send(tcp_flags::SYN | ACK, 2_012_345, &[]);
        send(tcp_flags::RST, 812_345, &[]);
        send(tcp_flags::RST | ACK, 712_345, &[]);
        send(tcp_flags::FIN | ACK, 912_345, &[]);
        for step in 0..16 {
            send(tcp_flags::PSH | ACK, step << 28 | 0x0812_3456, &b"garbage!".repeat(10));
        }
    }
}

/// One more message, as far as it is seen here. Its receiver acknowledges it.
fn message(world: &mut World, way: &mut Way, back: &Way, bytes: &[u8], here: [bool; 2]) {
    let [sender, receiver] = here;
    let (start, len) = way.advance(bytes.len());
    let way = *way;
    let next = |world: &mut World, way: &Way, hook, seq, ack, bytes: &[u8]| {
        let len = u32::try_from(bytes.len()).unwrap();
        let mut packet = world.tcp_packet(way, hook, seq, len);
        packet.tcp = Some(TcpFields { seq, ack, flags: ACK, window: 500 });
        packet.payload_len = len;
        world.tell(Body::Packet(packet), bytes);
    };
    if sender {
        world.send(&way, start, len);
        next(world, &way, PacketHook::Xmit, start, back.next, bytes);
    }
    if receiver || !sender {
        next(world, &way, PacketHook::Rx, start, back.next, bytes);
    }
    if receiver {
        world.ready(&way, way.next);
        world.read(&way, way.next, len);
        next(world, back, PacketHook::Xmit, back.next, way.next, &[]);
    }
    if sender || !receiver {
        next(world, back, PacketHook::Rx, back.next, way.next, &[]);
    }
}

/// Counts with a forger in the middle of things, or without: [sent, delivered, matched].
fn counts(here: Here, is_late: bool, forger: Option<Forger>) -> [u64; 3] {
    let mut world = World::new();
    let (client, broker) = (process(20, "pub"), process(10, "mosquitto"));
    let (from, to) = ("10.9.0.2:40000", "10.9.0.1:1899");
    let mut up = if is_late {
        world.existing(client, from, broker, to)
    } else {
        world.connect(client, from, broker, to)
    };
    let (from, to) = ("10.9.0.2:40001", "10.9.0.1:1899");
    let mut down = world.existing(process(30, "sub"), from, broker, to);
    let clients = here == Here::Both;
    let brokers = here != Here::Neither;
    let hear = [clients, brokers];
    let tell = [brokers, clients];
    if !is_late {
        message(&mut world, &mut up.up, &up.down, CONNECT, hear);
        message(&mut world, &mut up.down, &up.up, CONNACK, tell);
    }
    for n in 0..40 {
        if n == 15
            && let Some(forger) = forger
        {
            let syns = if here == Here::Neither { 3 } else { 70 };
            blindly(&mut world, &up, forger, syns);
            blindly(&mut world, &down, forger, syns);
        }
        let bytes = publish("t", &payload(stamp(n), 64));
        message(&mut world, &mut up.up, &up.down, &bytes, hear);
        message(&mut world, &mut down.down, &down.up, &bytes, tell);
    }
    let is_seen = |told: &OwnedEvent| match &told.event.body {
        Body::Socket(socket) => brokers && (clients || socket.comm.as_str() == "mosquitto"),
        Body::Packet(packet) => {
            // What a socket that is not here sends is not seen to leave it.
            let is_far = packet.hook == PacketHook::Xmit && packet.socket.is_some();
            !is_far || (brokers && (clients || packet.flow.src.port() == 1899))
        }
        _ => brokers,
    };
    let told: Vec<OwnedEvent> = world.events.into_iter().filter(is_seen).collect();
    let packets_only = here == Here::Neither;
    let played = Played::new(Config { packets_only, ..Config::default() }, &told);
    let rows = played.snapshot.groups.iter().filter(|row| row.messages.sent > 0);
    let [row] = rows.collect::<Vec<_>>()[..] else {
        panic!("{here:?} {is_late} {forger:?}: {:#?}", played.snapshot.groups)
    };
    assert_eq!(row.holes.sent.bytes + row.holes.received.bytes, 0, "{here:?} {is_late} {forger:?}");
    [row.messages.sent, row.messages.delivered, row.messages.matched]
}

#[test]
fn what_no_socket_would_take_changes_nothing() {
    for here in [Here::Both, Here::Broker, Here::Neither] {
        for is_late in [false, true] {
            let quiet = counts(here, is_late, None);
            assert!(quiet[0] >= 38, "{here:?} {is_late}: {quiet:?}");
            for forger in [Forger::Elsewhere, Forger::OnTheWire] {
                // Where no socket says which one is open, a SYN on the same network may be a new one.
                if here == Here::Neither && matches!(forger, Forger::OnTheWire) {
                    continue;
                }
                let forged = counts(here, is_late, Some(forger));
                assert_eq!(forged, quiet, "{here:?} {is_late} {forger:?}");
            }
        }
    }
}

/// Whoever looks again after a long time, or lost much, goes on where the sockets are.
#[test]
fn sockets_are_believed_wherever_they_are() {
    for gap in [1_u32 << 25, 1 << 28, 1 << 31] {
        let mut world = World::new();
        let (client, broker) = (process(20, "pub"), process(10, "mosquitto"));
        let mut up = world.connect(client, "10.9.0.2:40000", broker, "10.9.0.1:1899");
        let mut down =
            world.existing(process(30, "sub"), "10.9.0.2:40001", broker, "10.9.0.1:1899");
        world.message(&mut up.up, CONNECT);
        for n in 0..40 {
            if n == 20 {
                up.up.next = up.up.next.plus(gap);
                down.down.next = down.down.next.plus(gap);
            }
            let bytes = publish("t", &payload(stamp(n), 64));
            world.message(&mut up.up, &bytes);
            world.message(&mut down.down, &bytes);
        }
        let counts = Played::new(Config::default(), &world.events).group().messages;
        assert!(counts.matched >= 38, "{gap}: {counts:?}");
    }
}
