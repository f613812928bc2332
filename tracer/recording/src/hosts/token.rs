//! Hash by which a packet is recognised in two captures.

use std::hash::{DefaultHasher, Hash, Hasher};
use wirelap_events::{Packet, PacketKind, tcp_flags};

/// Bytes of a datagram's payload that are looked at. They must be in both captures, whatever their snap lengths.
const PREFIX: usize = 64;

/// A packet's identity; `None` if it has none, or none that another capture could have.
///
/// TCP: the number of its last byte, as offloading may have cut it elsewhere, and what it acknowledges; of one without bytes,
/// all its numbers. Its addresses may have been translated between the captures, and the numbers do without. UDP: its
/// addresses and its content. A packet that is repeated is noticed, as its identity is seen twice.
pub fn token(packet: &Packet<'_>) -> Option<u64> {
    if is_local(packet) { None } else { content(packet) }
}

/// The identity of a packet that stays on its host; only another recording of the same host can have it.
pub fn local_token(packet: &Packet<'_>) -> Option<u64> {
    if is_local(packet) { content(packet) } else { None }
}

fn is_local(packet: &Packet<'_>) -> bool {
    let [src, dst] = [packet.flow.src.ip(), packet.flow.dst.ip()];
    src == dst || src.is_loopback() || dst.is_loopback()
}

fn content(packet: &Packet<'_>) -> Option<u64> {
    let flow = packet.flow;
    if packet.kind != PacketKind::Whole {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    if let Some(tcp) = packet.tcp {
        if tcp.flags & tcp_flags::RST != 0 {
            return None;
        }
        let counted = tcp.flags & (tcp_flags::SYN | tcp_flags::FIN);
        if packet.payload_len > 0 || counted != 0 {
            (1_u8, tcp.seq.plus(packet.payload_len), tcp.ack, counted).hash(&mut hasher);
        } else {
            (2_u8, tcp.seq, tcp.ack, tcp.window).hash(&mut hasher);
        }
    } else {
        let len = usize::try_from(packet.payload_len).ok()?.min(PREFIX);
        (3_u8, flow.src, flow.dst).hash(&mut hasher);
        (packet.payload_len, packet.payload.get(..len)?).hash(&mut hasher);
    }
    Some(hasher.finish())
}
