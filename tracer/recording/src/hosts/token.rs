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
    let flow = packet.flow;
    let [src, dst] = [flow.src.ip(), flow.dst.ip()];
    if src == dst || src.is_loopback() || dst.is_loopback() || packet.kind != PacketKind::Whole {
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
