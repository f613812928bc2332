//! IP, TCP and UDP headers, made anew for a packet that was seen.
//!
//! The probes hand up what the headers say, not their bytes. What the probes do not hand up is written as follows:
//! IPv4 identification 0, don't fragment; time to live 64 (1 for link-local multicast); traffic class 0;
//! urgent pointer 0; options are as long as the packet's own were, and say nothing: an end-of-list and zeros (TCP, IPv4),
//! padding (IPv6). The options of a SYN are left out as if they had not been captured: a SYN without options would say that
//! windows are not scaled. IPv4's checksum is right; TCP's and UDP's is the sum over the pseudo-header, as
//! the kernel leaves it for a device that completes it.

use super::protocol::{IPV4_HEADER, IPV6_HEADER, TCP, UDP};
use std::net::{IpAddr, SocketAddr};
use wirelap_events::{Packet, PacketKind, Transport, tcp_flags};
use wirelap_events::{Saturate, Total};

/// Appends the headers of a packet. False, and nothing is appended, if no headers can be what the packet says.
pub fn build(packet: &Packet<'_>, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let built = packet.kind == PacketKind::Whole
        && ip(packet, out).is_some()
        && transport(packet, out).is_some();
    if !built {
        out.truncate(start);
    }
    built
}

/// Bytes of a packet from its IP header on, on the wire; `None` if they are more than fit.
pub fn original_len(packet: &Packet<'_>) -> Option<u32> {
    let headers = u32::from(packet.ip_header).saturating_add(u32::from(packet.transport_header));
    headers.checked_add(packet.payload_len)
}

/// Bytes of a packet's headers that are written: all, except for the options of a SYN without data.
pub fn known_len(packet: &Packet<'_>) -> usize {
    let is_syn = packet.tcp.is_some_and(|tcp| tcp.flags & tcp_flags::SYN != 0);
    let transport = if is_syn && packet.payload_len == 0 { 20 } else { packet.transport_header };
    usize::from(packet.ip_header).saturating_add(usize::from(transport))
}

/// RFC 791 §3.1, RFC 8200 §3. A length that does not fit is 0, as the kernel has it for large offloads.
fn ip(packet: &Packet<'_>, out: &mut Vec<u8>) -> Option<()> {
    let (len, header) = (original_len(packet)?, usize::from(packet.ip_header));
    let protocol = number(packet.flow.transport);
    let start = out.len();
    match (packet.flow.src.ip(), packet.flow.dst.ip()) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            if !(IPV4_HEADER..=60).contains(&header) || header % 4 != 0 {
                return None;
            }
            let words = u8::try_from(header / 4).ok()?;
            let total = u16::try_from(len).unwrap_or(0).to_be_bytes();
            let ttl = if dst.octets()[..3] == [224, 0, 0] { 1 } else { 64 };
            out.extend([0x40 | words, 0, total[0], total[1], 0, 0, 0x40, 0, ttl, protocol, 0, 0]);
            out.extend(src.octets().into_iter().chain(dst.octets()));
            out.resize(start.saturating_add(header), 0);
            let sum = (!fold(sum_of(&out[start..]))).to_be_bytes();
            out[start.saturating_add(10)..start.saturating_add(12)].copy_from_slice(&sum);
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let extension = header.checked_sub(IPV6_HEADER).filter(|bytes| bytes % 8 == 0)?;
            let words = (extension / 8).checked_sub(1).map(u8::try_from).transpose().ok()?;
            let payload = len.saturating_sub(40);
            let [high, low] = u16::try_from(payload).unwrap_or(0).to_be_bytes();
            let next = if words.is_some() { 0 } else { protocol };
            out.extend([0x60, 0, 0, 0, high, low, next, 64]);
            out.extend(src.octets().into_iter().chain(dst.octets()));
            if let Some(words) = words {
                hop_by_hop(protocol, words, payload, out);
            }
        }
        _ => return None,
    }
    Some(())
}

/// Hop-by-hop options (RFC 8200 §4.2, §4.3): the length, if it does not fit into the header (RFC 2675 §2), and
/// padding.
fn hop_by_hop(next: u8, words: u8, payload: u32, out: &mut Vec<u8>) {
    out.extend([next, words]);
    let mut left = usize::from(words).saturating_mul(8).saturating_add(6);
    if payload > u16::MAX.into() {
        out.extend([0xC2, 4]);
        out.extend(payload.to_be_bytes());
        left.shrink(6);
    }
    while left > 0 {
        // PadN has at most 255 bytes; one byte is Pad1.
        let len = left.min(257);
        match u8::try_from(len.saturating_sub(2)) {
            Ok(zeros) if len >= 2 => {
                out.extend([1, zeros]);
                out.resize(out.len().saturating_add(usize::from(zeros)), 0);
            }
            _ => out.push(0),
        }
        left.shrink(len);
    }
}

/// RFC 9293 §3.1, RFC 768.
fn transport(packet: &Packet<'_>, out: &mut Vec<u8>) -> Option<()> {
    let header = usize::from(packet.transport_header);
    let len = u32::try_from(header).ok()?.checked_add(packet.payload_len)?;
    let [sum_high, sum_low] = pseudo(packet, len);
    out.extend(packet.flow.src.port().to_be_bytes());
    out.extend(packet.flow.dst.port().to_be_bytes());
    match (packet.flow.transport, packet.tcp) {
        (Transport::Tcp, Some(tcp)) if (20..=60).contains(&header) && header % 4 == 0 => {
            out.extend(tcp.seq.0.to_be_bytes());
            out.extend(tcp.ack.0.to_be_bytes());
            out.extend([u8::try_from(header / 4).ok()? << 4, tcp.flags]);
            out.extend(tcp.window.to_be_bytes());
            out.extend([sum_high, sum_low, 0, 0]);
            out.resize(out.len().saturating_add(header).saturating_sub(20), 0);
        }
        (Transport::Udp, None) if header == 8 => {
            out.extend(u16::try_from(len).unwrap_or(0).to_be_bytes());
            out.extend([sum_high, sum_low]);
        }
        _ => return None,
    }
    Some(())
}

fn number(transport: Transport) -> u8 {
    match transport {
        Transport::Tcp => TCP,
        Transport::Udp => UDP,
    }
}

/// The sum over the pseudo-header (RFC 9293 §3.1, RFC 8200 §8.1); 0 would mean that there is no checksum.
fn pseudo(packet: &Packet<'_>, len: u32) -> [u8; 2] {
    let address = |address: SocketAddr| match address.ip() {
        IpAddr::V4(ip) => sum_of(&ip.octets()),
        IpAddr::V6(ip) => sum_of(&ip.octets()),
    };
    let lengths = (len >> 16).saturating_add(len & 0xFFFF);
    let sum = address(packet.flow.src)
        .saturating_add(address(packet.flow.dst))
        .saturating_add(lengths)
        .saturating_add(u32::from(number(packet.flow.transport)));
    match fold(sum) {
        0 => [0xFF; 2],
        sum => sum.to_be_bytes(),
    }
}

/// 16-bit words added up (RFC 1071); of less than 64 KiB, so that it does not overflow.
fn sum_of(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).total()
}

fn fold(mut sum: u32) -> u16 {
    while sum > 0xFFFF {
        sum = (sum >> 16).saturating_add(sum & 0xFFFF);
    }
    // It fits now.
    u16::try_from(sum).unwrap_or(u16::MAX)
}
