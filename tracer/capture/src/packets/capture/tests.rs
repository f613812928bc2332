use super::*;
use std::net::SocketAddr;
use wirelap_events::{Packet, Transport};

const WALL: u64 = 5_000;

/// A UDP packet of IPv4 with this payload.
fn bytes(payload: &[u8]) -> Vec<u8> {
    let len = |headers: usize| u16::try_from(headers + payload.len()).unwrap().to_be_bytes();
    let mut out = vec![0; 28];
    out[0] = 0x45;
    out[2..4].copy_from_slice(&len(28));
    out[9] = 17;
    out[12..16].copy_from_slice(&[10, 0, 0, 1]);
    out[16..20].copy_from_slice(&[10, 0, 0, 2]);
    out[20..24].copy_from_slice(&[0, 7, 0, 9]);
    out[24..26].copy_from_slice(&len(8));
    out.extend_from_slice(payload);
    out
}

fn frame(bytes: &[u8]) -> RingPacket<'_> {
    RingPacket {
        wall: WALL,
        original: u32::try_from(bytes.len()).unwrap(),
        has_vlan: false,
        protocol: 0x0800,
        device: 3,
        hardware: ETHERNET,
        is_outgoing: true,
        bytes,
    }
}

fn packet<'a>(frame: &RingPacket<'a>, snap: usize) -> Result<Packet<'a>, UnreadablePacket> {
    let place = (NetNs(4), Wall::default(), snap);
    let event = event(frame, place, &mut PacketNumbering::default(), Box::leak(Box::default()))?;
    assert_eq!(event.at, Nanos(WALL));
    let Body::Packet(packet) = event.body else { panic!("{event:?}") };
    Ok(packet)
}

#[test]
fn a_packet_is_what_its_headers_and_its_device_say() {
    let bytes = bytes(b"payload");
    let seen = packet(&frame(&bytes), 100).unwrap();
    let [src, dst] = ["10.0.0.1:7", "10.0.0.2:9"].map(|a| a.parse::<SocketAddr>().unwrap());
    assert_eq!((seen.flow.transport, seen.flow.src, seen.flow.dst), (Transport::Udp, src, dst));
    assert_eq!((seen.hook, seen.netns, seen.device), (PacketHook::Xmit, NetNs(4), IfIndex(3)));
    assert_eq!((seen.link_header, seen.wire_bytes), (14, 49));
    assert_eq!((seen.payload, seen.payload_len), (&b"payload"[..], 7));
    let received = RingPacket { is_outgoing: false, ..frame(&bytes) };
    assert_eq!(packet(&received, 100).unwrap().hook, PacketHook::Rx);
}

#[test]
fn a_tag_counts_and_devices_without_a_header_have_none() {
    let bytes = bytes(b"payload");
    let tagged = packet(&RingPacket { has_vlan: true, ..frame(&bytes) }, 100).unwrap();
    assert_eq!((tagged.link_header, tagged.wire_bytes), (18, 53));
    // ARPHRD_NONE, as tunnels have.
    for hardware in [LOOPBACK, 0xfffe] {
        let seen = packet(&RingPacket { hardware, ..frame(&bytes) }, 100).unwrap();
        assert_eq!((seen.link_header, seen.wire_bytes), (0, 35));
    }
}

#[test]
fn payload_is_cut_at_the_snap_length_and_left_out_where_it_is_a_copy() {
    let bytes = bytes(b"payload");
    assert_eq!(packet(&frame(&bytes), 3).unwrap().payload, b"pay");
    let sent = RingPacket { hardware: LOOPBACK, ..frame(&bytes) };
    assert_eq!(packet(&sent, 100).unwrap().payload, b"payload");
    let copy = packet(&RingPacket { is_outgoing: false, ..sent }, 100).unwrap();
    assert_eq!((copy.payload, copy.payload_len), (&b""[..], 7));
}

#[test]
fn a_datagram_on_loopback_has_one_number_when_sent_and_received() {
    let bytes = bytes(&[7; 500]);
    let place = (NetNs(4), Wall::default(), 65_536);
    let (mut sightings, mut fragments) = (PacketNumbering::default(), LiveFragments::default());
    let mut id = |frame: &RingPacket<'_>| match event(frame, place, &mut sightings, &mut fragments)
        .unwrap()
        .body
    {
        Body::Packet(packet) => packet.id,
        other => panic!("{other:?}"),
    };
    let sent = RingPacket { hardware: LOOPBACK, ..frame(&bytes) };
    let copy = RingPacket { is_outgoing: false, bytes: &bytes[..256], ..sent };
    let [first, second] = [id(&sent), id(&sent)];
    assert_ne!(first, second);
    assert_eq!([id(&copy), id(&copy)], [first, second]);
}

#[test]
fn what_cannot_be_read_is_told_apart() {
    let whole = bytes(b"payload");
    let of = |frame: &RingPacket<'_>| packet(frame, 100).err();
    assert_eq!(
        of(&RingPacket { protocol: 0x0806, ..frame(&whole) }),
        Some(UnreadablePacket::Protocol)
    );
    assert_eq!(
        of(&RingPacket { original: 27, ..frame(&whole[..27]) }),
        Some(UnreadablePacket::Cut)
    );
    let mut fragment = whole.clone();
    fragment[7] = 1;
    assert!(matches!(of(&frame(&fragment)), Some(UnreadablePacket::Fragment(_))));
    for len in 0..whole.len() {
        let _ = of(&frame(&whole[..len]));
    }
}

#[test]
fn fragments_of_a_datagram_are_one_packet() {
    let whole = bytes(&[7; 500]);
    let part = |from: usize, to: usize, place: u16| {
        let mut part = [&whole[..20], &whole[20 + from..20 + to]].concat();
        part[2..4].copy_from_slice(&u16::try_from(20 + to - from).unwrap().to_be_bytes());
        part[6..8].copy_from_slice(&place.to_be_bytes());
        part
    };
    let place = (NetNs(4), Wall::default(), 65_536);
    let (mut sightings, mut fragments) = (PacketNumbering::default(), LiveFragments::default());
    let later = part(256, 508, 32);
    let waits = event(&frame(&later), place, &mut sightings, &mut fragments).err();
    assert!(matches!(waits, Some(UnreadablePacket::Fragment(_))));
    let first = part(0, 256, 0x2000);
    let event = event(&frame(&first), place, &mut sightings, &mut fragments).unwrap();
    let Body::Packet(packet) = event.body else { panic!("{event:?}") };
    assert_eq!((packet.flow.src.port(), packet.payload_len), (7, 500));
    assert_eq!((packet.payload, packet.wire_bytes), (&[7; 500][..], 528 + 20 + 2 * 14));
}

#[test]
fn only_wanted_ports_are_let_through() {
    let bytes = bytes(b"payload");
    let place = (NetNs(4), Wall::default(), 100);
    let (mut sightings, mut fragments) = (PacketNumbering::default(), LiveFragments::default());
    let event = event(&frame(&bytes), place, &mut sightings, &mut fragments).unwrap();
    for (ports, wanted) in [(&[][..], true), (&[7], true), (&[1, 9], true), (&[8], false)] {
        assert_eq!(is_wanted(ports, &event), wanted, "{ports:?}");
    }
}
