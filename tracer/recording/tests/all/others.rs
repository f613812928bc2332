//! Captures that others made.

use crate::packets::{block, classic, raw, section};
use crate::round_trip::{Held, encoder, read};
use wirelap_events::{Body, Count, Event, Nanos, Packet, PacketHook, Seq};
use wirelap_recording::{EncoderSettings, Entry, FileCounts, NotACapture, Problems, Recording};

fn packets(bytes: &[u8]) -> (Vec<(Event<'static>, Vec<u8>)>, Problems, FileCounts) {
    let (held, problems, counts) = read(bytes);
    let events = held.into_iter().map(|held| match held {
        Held::Event(told) => (told.event, told.payload),
        other => panic!("{other:?}"),
    });
    (events.collect(), problems, counts)
}

fn packet(event: &Event<'static>) -> Packet<'static> {
    match event.body {
        Body::Packet(packet) => packet,
        other => panic!("{other:?}"),
    }
}

#[test]
fn either_byte_order_and_either_unit_say_the_same() {
    let times = [(0xA1B2_C3D4, 1000), (0xA1B2_3C4D, 1)];
    for (magic, unit) in times {
        for big in [false, true] {
            let (events, problems, _) = packets(&classic(&[raw(), raw()], magic, big, 101));
            assert!(problems.is_empty(), "{problems:?}");
            let at: Vec<u64> = events.iter().map(|(event, _)| event.at.0).collect();
            assert_eq!(at, [1_700_000_000_000_000_000, 1_700_000_000_000_000_000 + unit]);
            assert_eq!(events[0].1, [0xC0, 0]);
            let packet = packet(&events[0].0);
            assert_eq!((packet.flow.src.port(), packet.flow.dst.port()), (40_000, 1883));
            assert_eq!((packet.ip_header, packet.transport_header), (20, 20));
            let tcp = packet.tcp.unwrap();
            assert_eq!((tcp.seq, tcp.ack, tcp.flags, tcp.window), (Seq(9), Seq(7), 0x18, 256));
        }
    }
}

#[test]
fn resolutions_of_pcapng_become_nanoseconds() {
    let cases = [(6, 1_000_001, 1_000_001_000), (9, 5, 5), (0, 3, 3_000_000_000), (12, 7000, 7)];
    let binary = [(0x94, 3 << 19, 1_500_000_000), (0x81, 3, 1_500_000_000)];
    for (resolution, time, expected) in cases.into_iter().chain(binary) {
        for big in [false, true] {
            let (events, ..) = packets(&section(&[raw()], big, 101, resolution, time));
            assert_eq!(events[0].0.at.0, expected, "{resolution}");
        }
    }
}

#[test]
fn link_headers_are_taken_off() {
    let ethernet = [&[0; 12][..], &[8, 0], &raw()].concat();
    // A frame of at least 60 bytes, filled up with what is no payload.
    let padded = [&ethernet[..], &[0xEE; 4]].concat();
    let vlan = [&[0; 12][..], &[0x81, 0, 0, 7, 8, 0], &raw()].concat();
    let null = [&[2, 0, 0, 0][..], &raw()].concat();
    let cooked = [&[0, 4, 3, 4, 0, 6], &[0; 8][..], &[8, 0], &raw()].concat();
    let cooked_2 = [&[8, 0, 0, 0, 0, 0, 0, 1, 3, 4, 0, 6], &[0; 8][..], &raw()].concat();
    let snap = [&[0; 12][..], &[0, 50, 0xAA, 0xAA, 3, 0, 0, 0, 8, 0], &raw()].concat();
    let labels = [&[0, 6, 0x40, 9, 0, 12, 0x81, 9][..], &raw()].concat();
    let labelled = [&[0; 12][..], &[0x88, 0x47], &labels].concat();
    let wire = [&[0, 6, 0x41, 9, 0, 0, 0, 0][..], &ethernet].concat();
    let session = [&[0x11, 0, 0, 7, 0, 44, 0, 0x21][..], &raw()].concat();
    let dialled = [&[0; 12][..], &[0x88, 0x64], &session].concat();
    let ppp = [&[0xFF, 3, 0, 0x21][..], &raw()].concat();
    let compressed = [&[0x21][..], &raw()].concat();
    let cisco = [&[0x0F, 0, 8, 0][..], &raw()].concat();
    let infiniband = [&[8, 0, 0, 0][..], &raw()].concat();
    let log = [
        &[2, 0, 0, 0, 8, 0, 1, 0, 8, 0, 3, 0, 5, 0, 10, 0, b'x', 0, 0, 0],
        &[46, 0, 9, 0][..],
        &raw(),
    ]
    .concat();
    let big_log = [&[2, 0, 0, 0, 0, 8, 0, 1, 8, 0, 3, 0], &[0, 46, 0, 9][..], &raw()].concat();
    let pktap = |flags: u8, link: u8, packet: &[u8]| {
        let fields = [[44, 0, 0, 0], [1, 0, 0, 0], [link, 0, 0, 0]].concat();
        [&fields[..], &[0; 24], &[flags, 0, 0, 0], &[0; 4], packet].concat()
    };
    let cases = [
        (1, snap, 22, PacketHook::Rx),
        (1, labelled, 22, PacketHook::Rx),
        (219, labels, 8, PacketHook::Rx),
        (219, wire, 22, PacketHook::Rx),
        (1, dialled, 22, PacketHook::Rx),
        (51, session, 8, PacketHook::Rx),
        (9, ppp.clone(), 4, PacketHook::Rx),
        (50, ppp, 4, PacketHook::Rx),
        (9, compressed, 1, PacketHook::Rx),
        (104, cisco, 4, PacketHook::Rx),
        (242, infiniband, 4, PacketHook::Rx),
        (239, log, 24, PacketHook::Rx),
        (239, big_log, 16, PacketHook::Rx),
        (258, pktap(2, 1, &ethernet), 58, PacketHook::Xmit),
        (258, pktap(1, 101, &raw()), 44, PacketHook::Rx),
        (1, ethernet, 14, PacketHook::Rx),
        (1, padded, 14, PacketHook::Rx),
        (1, vlan, 18, PacketHook::Rx),
        (0, null, 4, PacketHook::Rx),
        (113, cooked, 16, PacketHook::Xmit),
        (276, cooked_2, 20, PacketHook::Rx),
        (228, raw(), 0, PacketHook::Rx),
    ];
    for (link, bytes, header, hook) in cases {
        let len = u32::try_from(bytes.len()).unwrap();
        let (events, ..) = packets(&classic(&[bytes], 0xA1B2_C3D4, false, link));
        let (event, payload) = &events[0];
        let packet = packet(event);
        assert_eq!((packet.link_header, packet.hook), (header, hook), "{link}");
        assert_eq!((packet.wire_bytes, packet.payload_len), (len, 2), "{link}");
        assert_eq!(payload, &[0xC0, 0], "{link}");
    }
}

/// A header of IPv4, from its length on the wire.
fn ipv4(protocol: u8, inside: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(20 + inside.len()).unwrap().to_be_bytes();
    let addresses = [192, 168, 0, 1, 192, 168, 0, 2];
    [&[0x45, 0, high, low, 0, 0, 0x40, 0, 64, protocol, 0, 0], &addresses[..], inside].concat()
}

fn ipv6(next: u8, inside: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(inside.len()).unwrap().to_be_bytes();
    [&[0x60, 0, 0, 0, high, low, next, 64][..], &[0xFD; 32], inside].concat()
}

fn udp(port: u16, inside: &[u8]) -> Vec<u8> {
    let [[ph, pl], [high, low]] =
        [port, u16::try_from(8 + inside.len()).unwrap()].map(u16::to_be_bytes);
    ipv4(17, &[&[0xC0, 1, ph, pl, high, low, 0, 0], inside].concat())
}

#[test]
fn what_a_tunnel_carries_is_read() {
    let frame = |inside: &[u8]| [&[2; 12][..], &[8, 0], inside].concat();
    let with = |header: &[u8], inside: &[u8]| [header, inside].concat();
    let (raw, vxlan) = (raw(), [8, 0, 0, 0, 0, 0, 42, 0]);
    let erspan_3 =
        |more: u8| [16, 0, 0x22, 0xEB, 0, 0, 0, 1, 32, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, more];
    let geneve = |kind: [u8; 2]| [1, 0, kind[0], kind[1], 0, 0, 42, 0, 1, 2, 0, 0];
    let cases = [
        ("IP in IP", 20, ipv4(4, &raw)),
        ("4in6", 40, ipv6(4, &raw)),
        ("GRE", 24, ipv4(47, &with(&[0, 0, 8, 0], &raw))),
        ("GRE, all fields", 36, ipv4(47, &with(&[&[0xB0, 0, 8, 0][..], &[7; 12]].concat(), &raw))),
        ("GRE of Ethernet", 38, ipv4(47, &with(&[0, 0, 0x65, 0x58], &frame(&raw)))),
        ("VXLAN", 50, udp(4789, &with(&vxlan, &frame(&raw)))),
        ("VXLAN, former port", 50, udp(8472, &with(&vxlan, &frame(&raw)))),
        ("Geneve", 54, udp(6081, &with(&geneve([0x65, 0x58]), &frame(&raw)))),
        ("MPLS in GRE", 28, ipv4(47, &with(&[0, 0, 0x88, 0x47, 0, 6, 0x41, 9], &raw))),
        (
            "PPTP",
            37,
            ipv4(
                47,
                &with(&[0x30, 0x81, 0x88, 0x0B, 0, 43, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0x21], &raw),
            ),
        ),
        ("ERSPAN I", 38, ipv4(47, &with(&[0, 0, 0x88, 0xBE], &frame(&raw)))),
        (
            "ERSPAN II",
            50,
            ipv4(
                47,
                &with(&[0x10, 0, 0x88, 0xBE, 0, 0, 0, 1, 16, 1, 0, 1, 0, 0, 0, 0], &frame(&raw)),
            ),
        ),
        ("ERSPAN III", 54, ipv4(47, &with(&erspan_3(0), &frame(&raw)))),
        (
            "ERSPAN III, more",
            62,
            ipv4(47, &with(&[&erspan_3(1)[..], &[0; 8]].concat(), &frame(&raw))),
        ),
        ("VXLAN-GPE", 36, udp(4790, &with(&[12, 0, 0, 1, 0, 0, 7, 0], &raw))),
        ("VXLAN-GPE of Ethernet", 50, udp(4790, &with(&[12, 0, 0, 3, 0, 0, 7, 0], &frame(&raw)))),
        ("MPLS in UDP", 32, udp(6635, &with(&[0, 6, 0x41, 9], &raw))),
        ("L2TP", 38, udp(1701, &with(&[0, 2, 0, 1, 0, 1, 0xFF, 3, 0, 0x21], &raw))),
        (
            "L2TP, all fields",
            48,
            udp(
                1701,
                &with(
                    &[0x4A, 2, 0, 62, 0, 1, 0, 1, 0, 1, 0, 1, 0, 2, 9, 9, 0xFF, 3, 0, 0x21],
                    &raw,
                ),
            ),
        ),
        ("GTP-U", 36, udp(2152, &with(&[0x30, 255, 0, 42, 0, 0, 0, 1], &raw))),
        (
            "GTP-U, extended",
            44,
            udp(2152, &with(&[0x34, 255, 0, 50, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 16, 1, 0], &raw)),
        ),
        ("Geneve of IP", 40, udp(6081, &with(&geneve([8, 0]), &raw))),
        ("two", 74, ipv4(47, &with(&[0, 0, 8, 0], &udp(4789, &with(&vxlan, &frame(&raw)))))),
    ];
    for (name, outer, bytes) in cases {
        let len = u32::try_from(bytes.len()).unwrap();
        let (events, _, counts) = packets(&classic(&[bytes], 0xA1B2_C3D4, false, 101));
        assert_eq!(counts, FileCounts { packets: Count(1), ..FileCounts::default() }, "{name}");
        let (event, payload) = &events[0];
        let packet = packet(event);
        assert_eq!((packet.flow.src.port(), packet.flow.dst.port()), (40_000, 1883), "{name}");
        let headers = (packet.link_header, packet.ip_header, packet.transport_header);
        assert_eq!(headers, (outer, 20, 20), "{name}");
        assert_eq!((packet.wire_bytes, packet.payload_len), (len, 2), "{name}");
        assert_eq!(payload, &[0xC0, 0], "{name}");
    }
    let six = ipv4(41, &ipv6(6, &raw[20..]));
    let (events, ..) = packets(&classic(&[six], 0xA1B2_C3D4, false, 101));
    assert!(packet(&events[0].0).flow.src.is_ipv6());
}

#[test]
fn what_only_looks_like_a_tunnel_stays_as_it_is() {
    // No VXLAN header, and one that is cut.
    let ports = [4789, 4790, 6081, 1701, 2152];
    for (port, inside) in ports
        .into_iter()
        .flat_map(|port| [&b"abcdefghijklmnop"[..], b"\x08\0\0"].map(|bytes| (port, bytes)))
    {
        let (events, ..) = packets(&classic(&[udp(port, inside)], 0xA1B2_C3D4, false, 101));
        let packet = packet(&events[0].0);
        assert_eq!((packet.flow.dst.port(), packet.link_header), (port, 0));
        assert_eq!(events[0].1, inside);
    }
    // PPTP of another protocol than IP; ARP in VXLAN; what ends in the middle; tunnels without end.
    let pptp = ipv4(47, &[0x20, 1, 0x88, 0x0B, 0, 4, 0, 1, 0xC0, 0x21, 1, 1]);
    let arp = udp(4789, &[&[8, 0, 0, 0, 0, 0, 42, 0][..], &[2; 12], &[8, 6], &[0; 28]].concat());
    let cut = ipv4(47, &[0xB0, 0, 8, 0, 0]);
    let mut deep = raw();
    (0..20).for_each(|_| deep = ipv4(4, &deep));
    let (events, problems, counts) =
        packets(&classic(&[pptp, arp, cut, deep], 0xA1B2_C3D4, false, 101));
    assert!(events.is_empty() && problems.is_empty());
    assert_eq!(counts, FileCounts { other: Count(3), cut: Count(1), ..FileCounts::default() });
}

/// A packet of IPv4 in fragments of at most so many bytes of its datagram each.
fn in_fragments(packet: &[u8], most: usize) -> Vec<Vec<u8>> {
    let (header, datagram) = packet.split_at(20);
    let count = datagram.chunks(most).count();
    let part = |(index, bytes): (usize, &[u8])| {
        let mut out = [header, bytes].concat();
        let len = u16::try_from(out.len()).unwrap().to_be_bytes();
        out[2..4].copy_from_slice(&len);
        let more = if index + 1 < count { 0x2000 } else { 0 };
        let place = u16::try_from(index * most / 8).unwrap() | more;
        out[4..8].copy_from_slice(&[&[0, 42][..], &place.to_be_bytes()].concat());
        out
    };
    datagram.chunks(most).enumerate().map(part).collect()
}

/// A file of these packets at one time, between two others that are far from it.
fn between_others(packets: &[Vec<u8>]) -> Vec<u8> {
    let all = [&[raw()][..], packets, &[raw()]].concat();
    let mut file = classic(&all, 0xA1B2_C3D4, false, 101);
    let mut place = 24;
    for (index, packet) in all.iter().enumerate() {
        let seconds = match index {
            0 => 1_700_000_000_u32,
            index if index + 1 == all.len() => 1_700_000_020,
            _ => 1_700_000_010,
        };
        file[place..place + 4].copy_from_slice(&seconds.to_le_bytes());
        place += 16 + packet.len();
    }
    file
}

/// The same for IPv6, which has a header for that.
fn in_fragments_6(packet: &[u8], most: usize) -> Vec<Vec<u8>> {
    let (header, datagram) = packet.split_at(40);
    let count = datagram.chunks(most).count();
    let part = |(index, bytes): (usize, &[u8])| {
        let place = u16::try_from(index * most).unwrap() | u16::from(index + 1 < count);
        let fragment = [&[header[6], 0][..], &place.to_be_bytes(), &[0, 0, 0, 42]].concat();
        let mut out = [header, &fragment, bytes].concat();
        out[6] = 44;
        out[4..6].copy_from_slice(&u16::try_from(8 + bytes.len()).unwrap().to_be_bytes());
        out
    };
    datagram.chunks(most).enumerate().map(part).collect()
}

/// A datagram to this port, as [`udp`] has it, in IPv6.
fn udp_6(port: u16, inside: &[u8]) -> Vec<u8> {
    ipv6(17, &udp(port, inside)[20..])
}

#[test]
fn a_datagram_in_fragments_is_one_packet() {
    let payload: Vec<u8> = (0..3_000_u16).map(|at| at.to_be_bytes()[1]).collect();
    let frame = |inside: &[u8]| [&[2; 12][..], &[8, 0], inside].concat();
    let vxlan =
        |inside: &[u8]| udp(4789, &[&[8, 0, 0, 0, 0, 0, 42, 0][..], &frame(inside)].concat());
    let gre = |inside: &[u8]| ipv4(47, &[&[0, 0, 8, 0][..], inside].concat());
    let whole = udp(7, &payload);
    let each = |all: Vec<Vec<u8>>, with: &dyn Fn(&[u8]) -> Vec<u8>| -> Vec<Vec<u8>> {
        all.iter().map(|part| with(part)).collect()
    };
    let cases = [
        ("IPv4", in_fragments(&whole, 1_480)),
        ("IPv6", in_fragments_6(&udp_6(7, &payload), 1_448)),
        ("VXLAN of fragments", each(in_fragments(&whole, 1_480), &vxlan)),
        ("fragments of VXLAN", in_fragments(&vxlan(&whole), 1_480)),
        ("fragments of GRE", in_fragments(&gre(&whole), 1_480)),
        ("fragments of IP in IP", in_fragments(&ipv4(4, &whole), 1_480)),
    ];
    for (name, parts) in cases {
        let wire: usize = parts.iter().map(Vec::len).sum();
        let reversed: Vec<_> = parts.iter().rev().cloned().collect();
        for parts in [parts, reversed] {
            let (events, _, counts) = packets(&classic(&parts, 0xA1B2_C3D4, false, 101));
            assert_eq!(counts, FileCounts { packets: Count(1), ..FileCounts::default() }, "{name}");
            let packet = packet(&events[0].0);
            assert_eq!((packet.flow.src.port(), packet.flow.dst.port()), (0xC001, 7), "{name}");
            assert_eq!((packet.payload_len, packet.wire_bytes as usize), (3_000, wire), "{name}");
            assert_eq!(events[0].1, payload, "{name}");
            // Without any one of them, there is no datagram, and that is said.
            for missing in 0..parts.len() {
                let mut rest = parts.clone();
                rest.remove(missing);
                let (events, _, counts) = packets(&between_others(&rest));
                let expected =
                    FileCounts { packets: Count(2), fragments: Count(1), ..FileCounts::default() };
                assert_eq!(counts, expected, "{name}");
                assert!(matches!(events[2].0.body, Body::Lost(lost) if lost.count == 1), "{name}");
                // At the end of a capture, the rest may come behind it.
                let (_, _, counts) = packets(&classic(&rest, 0xA1B2_C3D4, false, 101));
                assert_eq!(counts, FileCounts::default(), "{name}");
            }
        }
    }
}

/// A datagram is the same whether it is read in steps or on a thread of its own.
#[test]
fn a_datagram_in_fragments_is_handed_out_by_all_ways_of_reading() {
    let parts = in_fragments(&udp(7, &[3; 3_000]), 1_480);
    let file = classic(&parts, 0xA1B2_C3D4, false, 101);
    let mut ahead = Vec::new();
    let mut recording = Recording::new(&file[..]).unwrap();
    let read = recording.read_ahead(|entry| {
        if let Entry::Event(Event { body: Body::Packet(packet), .. }) = entry {
            ahead.push(packet.payload.to_vec());
        }
        Ok::<_, ()>(())
    });
    assert_eq!((read, ahead), (Ok(()), vec![vec![3; 3_000]]));
    let mut recording = Recording::new(&file[..]).unwrap();
    let event = recording.next_packet().unwrap();
    assert!(matches!(event.body, Body::Packet(packet) if packet.payload == [3; 3_000]));
    assert!(recording.next_packet().is_none());
}

/// The same packet on the tunnel's own interface and on the one below.
#[test]
fn what_a_tunnel_carries_is_seen_at_another_place_than_what_is_beside_it() {
    let both = [raw(), ipv4(4, &raw())];
    let (events, ..) = packets(&classic(&both, 0xA1B2_C3D4, false, 101));
    let [beside, inside] = [0, 1].map(|index| packet(&events[index].0));
    assert_eq!(beside.flow, inside.flow);
    assert_ne!(beside.device, inside.device);
}

#[test]
fn packets_of_no_use_are_counted_by_what_they_are() {
    let arp = [&[0; 12][..], &[8, 6], &[0; 28]].concat();
    let with = |at: usize, byte: u8| {
        let mut packet = [&[0; 12][..], &[8, 0], &raw()].concat();
        packet[14 + at] = byte;
        packet
    };
    let cut = with(0, 0x45)[..40].to_vec();
    let all = [arp, with(9, 1), with(7, 1), cut, with(0, 0x45)];
    let (events, problems, counts) = packets(&classic(&all, 0xA1B2_C3D4, false, 1));
    assert_eq!(events.len(), 1);
    let expected =
        FileCounts { packets: Count(1), other: Count(2), cut: Count(1), ..FileCounts::default() };
    assert_eq!(counts, expected);
    assert!(problems.is_empty());
    let (_, _, counts) = packets(&classic(&all, 0xA1B2_C3D4, false, 105));
    assert_eq!(counts, FileCounts { unknown_link: Count(5), ..FileCounts::default() });
}

#[test]
fn a_snap_length_cuts_payload_and_not_its_length() {
    let body = [&[0; 12][..], &[40, 0, 0, 0, 42, 0, 0, 0], &raw()[..40]].concat();
    let bytes = [section(&[], false, 101, 9, 0), block(6, &body, false)].concat();
    let (events, ..) = packets(&bytes);
    let packet = packet(&events[0].0);
    assert_eq!((packet.payload_len, events[0].1.len(), packet.wire_bytes), (2, 0, 42));
}

#[test]
fn simple_and_old_packet_blocks_are_read() {
    let simple = [&42u32.to_le_bytes()[..], &raw()].concat();
    let old = [&[0; 4][..], &[0; 8], &[42, 0, 0, 0, 42, 0, 0, 0], &raw()].concat();
    let bytes =
        [section(&[], false, 101, 9, 0), block(3, &simple, false), block(2, &old, false)].concat();
    assert_eq!(packets(&bytes).2.packets, 2);
}

#[test]
fn keys_of_tls_are_an_entry() {
    let text = b"CLIENT_RANDOM 00 11\n.";
    for big in [false, true] {
        let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let keys = |kind, len| [&word(kind)[..], &word(len), text, &[0; 3]].concat();
        let before = section(&[], big, 101, 9, 0);
        let blocks = [(0x544C_534B, 21), (0x5747_4B4C, 21), (0x544C_534B, 99)];
        let blocks = blocks.map(|(kind, len)| block(10, &keys(kind, len), big));
        let (held, problems, _) = read(&[before, blocks.concat()].concat());
        // The last one says that it is longer than its block.
        let rest = [text, &[0; 3][..]].concat();
        assert_eq!(held, [Held::TlsKeys(text.to_vec()), Held::TlsKeys(rest)]);
        assert!(problems.is_empty(), "{problems:?}");
    }
    let mut encoder = encoder(EncoderSettings::default());
    encoder.entry(&Entry::TlsKeys(text));
    encoder.tick(Nanos(5));
    encoder.complete();
    let (held, problems, _) = read(encoder.bytes());
    assert_eq!(held, [Held::TlsKeys(text.to_vec()), Held::Tick(Nanos(5))]);
    assert!(problems.is_empty());
}

#[test]
fn what_is_no_capture_is_refused() {
    assert!(matches!(Recording::new(&b""[..]), Err(NotACapture::Empty)));
    assert!(matches!(Recording::new(&b"abc"[..]), Err(NotACapture::Empty)));
    let error = Recording::new(&b"#!/bin/sh"[..]).err().unwrap();
    assert_eq!(error.to_string(), "is neither pcapng nor pcap: it begins with [23, 21, 2f, 62]");
}
