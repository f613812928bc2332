//! Packets as others write them, and as wirelap's probes tell them.

use std::net::SocketAddr;
use wirelap_events::{
    Body, Cpu, Event, FlowKey, IfIndex, Nanos, NetNs, Packet, PacketHook, PacketId, PacketKind,
    Seq, TaskId, TcpFields, Transport,
};
use wirelap_test_support::event::OwnedEvent;

/// The loopback device's packet with this payload: MQTT's port, seen at `hook`.
pub fn told(hook: PacketHook, at: u64, seq: u32, payload: &[u8]) -> OwnedEvent {
    let addr = |port| SocketAddr::from(([127, 0, 0, 1], port));
    let len = u32::try_from(payload.len()).unwrap();
    let packet = Packet {
        hook,
        flow: FlowKey::new(Transport::Tcp, addr(40_000), addr(1883), NetNs(4_026_531_840)),
        id: PacketId(0xFFFF_8880_1234_5600),
        socket: None,
        task: TaskId::default(),
        netns: NetNs(4_026_531_840),
        device: IfIndex(1),
        queued: None,
        queue: 0,
        wire_bytes: 52 + len,
        link_header: 0,
        ip_header: 20,
        transport_header: 32,
        payload_len: len,
        segments: 1,
        deferred: false,
        kind: PacketKind::Whole,
        tcp: Some(TcpFields { seq: Seq(seq), ack: Seq(1), flags: 0x18, window: 512 }),
        payload: &[],
    };
    OwnedEvent {
        event: Event { at: Nanos(at), cpu: Cpu(3), body: Body::Packet(packet) },
        payload: payload.to_vec(),
    }
}

/// An IPv4 packet of TCP with an MQTT ping.
pub fn raw() -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 42, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    bytes.extend([0x9C, 0x40, 0x07, 0x5B, 0, 0, 0, 9, 0, 0, 0, 7, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
    bytes.extend([0xC0, 0]);
    bytes
}

/// A classic file of these packets, in this byte order, with this magic, of this link type.
pub fn classic(packets: &[Vec<u8>], magic: u32, big: bool, link: u32) -> Vec<u8> {
    let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let mut out: Vec<u8> = [magic, if big { 0x0002_0004 } else { 0x0004_0002 }, 0, 0, 65_535, link]
        .into_iter()
        .flat_map(word)
        .collect();
    for (index, packet) in (0..).zip(packets) {
        let len = u32::try_from(packet.len()).unwrap();
        out.extend([1_700_000_000, index, len, len].into_iter().flat_map(word));
        out.extend_from_slice(packet);
    }
    out
}

/// A pcapng block.
pub fn block(kind: u32, body: &[u8], big: bool) -> Vec<u8> {
    let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let len = u32::try_from(body.len().next_multiple_of(4) + 12).unwrap();
    let mut out: Vec<u8> = [kind, len].into_iter().flat_map(word).collect();
    out.extend_from_slice(body);
    out.resize(out.len().next_multiple_of(4), 0);
    out.extend(word(len));
    out
}

/// A pcapng section with one interface of this link type and resolution, and packets.
pub fn section(packets: &[Vec<u8>], big: bool, link: u16, resolution: u8, time: u64) -> Vec<u8> {
    let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let half = |n: u16| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let version = [half(1), half(0)].concat();
    let head = [&word(0x1A2B_3C4D)[..], &version, &[0xFF; 8]].concat();
    let mut out = block(0x0A0D_0D0A, &head, big);
    let option = [&half(9)[..], &half(1), &[resolution, 0, 0, 0], &[0; 4]].concat();
    out.extend(block(1, &[&half(link)[..], &[0; 6], &option].concat(), big));
    let halves = [time >> 32, time & 0xFFFF_FFFF];
    let times = halves.map(|half| word(u32::try_from(half).unwrap())).concat();
    for packet in packets {
        let len = word(u32::try_from(packet.len()).unwrap());
        let body = [&word(0)[..], &times, &len, &len, packet].concat();
        out.extend(block(6, &body, big));
    }
    out
}
