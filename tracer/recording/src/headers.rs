//! IP, TCP and UDP headers: built anew for a packet that was seen, and read from a packet that was captured.
//!
//! The probes hand up what the headers say, not their bytes. What they do not hand up stands as follows:
//! IPv4 identification 0, don't fragment; time to live 64 (1 for link-local multicast); traffic class 0;
//! urgent pointer 0; options are as long as the packet's own were, and say nothing: an end-of-list and zeros (TCP, IPv4),
//! padding (IPv6). Those of a SYN are left out, as ones that were not captured: that a SYN has none would say that windows are
//! not scaled. IPv4's checksum is right; TCP's and UDP's is the sum over the pseudo-header, as
//! the kernel leaves it for a device that completes it.

use crate::wire::Bytes;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use wirelap_events::{Packet, Portion, Seq, TcpFields, Transport, tcp_flags};
use wirelap_events::{Saturate, Total};

const TCP: u8 = 6;
const UDP: u8 = 17;
const IPV4: usize = 20;
const IPV6: usize = 40;

/// Appends the headers of a packet. False, and nothing is appended, if no headers can be what the packet says.
pub fn build(packet: &Packet<'_>, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let built = packet.portion == Portion::Whole
        && ip(packet, out).is_some()
        && transport(packet, out).is_some();
    if !built {
        out.truncate(start);
    }
    built
}

/// Bytes of the packet from its IP header on.
pub fn original_len(packet: &Packet<'_>) -> Option<u32> {
    let headers = u32::from(packet.ip_header).saturating_add(u32::from(packet.transport_header));
    headers.checked_add(packet.payload_len)
}

/// How much of its headers is written: all, but for the options of a SYN without data.
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
            if !(IPV4..=60).contains(&header) || header % 4 != 0 {
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
            let extension = header.checked_sub(IPV6).filter(|bytes| bytes % 8 == 0)?;
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

/// The sum over the pseudo-header (RFC 9293 §3.1, RFC 8200 §8.1); 0 would mean that there is none.
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

/// What the headers of a captured packet say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers<'a> {
    /// TCP or UDP.
    pub transport: Transport,
    /// The sender.
    pub src: SocketAddr,
    /// The receiver.
    pub dst: SocketAddr,
    /// Bytes of the IP header, options and extension headers included.
    pub ip_header: u16,
    /// Bytes of the TCP or UDP header, options included.
    pub transport_header: u16,
    /// TCP's fields.
    pub tcp: Option<TcpFields>,
    /// Bytes of transport payload on the wire.
    pub payload_len: u32,
    /// Those of them that were captured.
    pub payload: &'a [u8],
}

/// Why a packet is none that could carry messages, or cannot be told to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// Not IP, or neither TCP nor UDP.
    Protocol,
    /// A later IP fragment, which has no ports.
    Fragment,
    /// Its headers were not captured as a whole, or contradict themselves.
    Cut,
    /// Its link header is of a type that is not read.
    Link,
}

/// Reads a packet from its IP header on. `original` is its length on the wire from there.
///
/// # Errors
/// [`Other`] says why it is none of ours.
pub fn parse(bytes: &[u8], original: u32) -> Result<Headers<'_>, Other> {
    let mut from = Bytes(bytes);
    let network = match bytes.first().ok_or(Other::Cut)? >> 4 {
        4 => ipv4(&mut from)?,
        6 => ipv6(&mut from)?,
        _ => return Err(Other::Protocol),
    };
    let header = bytes.len().saturating_sub(from.0.len());
    let on_wire = if network.len == 0 { original } else { network.len.min(original) };
    let inside = on_wire.checked_sub(u32::try_from(header).map_err(|_| Other::Cut)?);
    let inside = inside.ok_or(Other::Cut)?;
    let (transport, ports, transport_header, tcp) = match network.protocol {
        TCP => tcp(&mut from).map(|(ports, len, tcp)| (Transport::Tcp, ports, len, Some(tcp))),
        UDP => udp(&mut from).map(|ports| (Transport::Udp, ports, 8, None)),
        _ => return Err(Other::Protocol),
    }
    .ok_or(Other::Cut)?;
    let payload_len = inside.saturating_sub(transport_header.into());
    let captured = from.0.len().min(payload_len as usize);
    Ok(Headers {
        transport,
        src: SocketAddr::new(network.src, ports[0]),
        dst: SocketAddr::new(network.dst, ports[1]),
        ip_header: u16::try_from(header).map_err(|_| Other::Cut)?,
        transport_header,
        tcp,
        payload_len,
        payload: &from.0[..captured],
    })
}

struct Network {
    src: IpAddr,
    dst: IpAddr,
    protocol: u8,
    /// From the IP header on; 0 if it does not say.
    len: u32,
}

fn ipv4(from: &mut Bytes<'_>) -> Result<Network, Other> {
    let fixed = from.array::<IPV4>().ok_or(Other::Cut)?;
    let options = usize::from(fixed[0] & 0xF) * 4;
    from.take(options.checked_sub(IPV4).ok_or(Other::Cut)?).ok_or(Other::Cut)?;
    if u16::from_be_bytes([fixed[6], fixed[7]]) & 0x1FFF != 0 {
        return Err(Other::Fragment);
    }
    let address = |at: usize| {
        Ipv4Addr::new(
            fixed[at],
            fixed[at.saturating_add(1)],
            fixed[at.saturating_add(2)],
            fixed[at.saturating_add(3)],
        )
    };
    Ok(Network {
        src: address(12).into(),
        dst: address(16).into(),
        protocol: fixed[9],
        len: u16::from_be_bytes([fixed[2], fixed[3]]).into(),
    })
}

/// The header and its extensions (RFC 8200 §4).
fn ipv6(from: &mut Bytes<'_>) -> Result<Network, Other> {
    let fixed = from.array::<8>().ok_or(Other::Cut)?;
    let mut address = || from.array::<16>().map(Ipv6Addr::from).ok_or(Other::Cut);
    let (src, dst) = (address()?.into(), address()?.into());
    let payload = u32::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    let mut protocol = fixed[6];
    // Hop-by-hop, routing, destination options; fragment; no packet has more than a few.
    while let 0 | 43 | 44 | 60 = protocol {
        let start = from.array::<8>().ok_or(Other::Cut)?;
        if protocol == 44 {
            if u16::from_be_bytes([start[2], start[3]]) & 0xFFF8 != 0 {
                return Err(Other::Fragment);
            }
        } else {
            from.take(usize::from(start[1]) * 8).ok_or(Other::Cut)?;
        }
        protocol = start[0];
    }
    Ok(Network { src, dst, protocol, len: if payload == 0 { 0 } else { payload + 40 } })
}

/// Ports, length, fields. Options may be cut off: then there is no payload behind them.
fn tcp(from: &mut Bytes<'_>) -> Option<([u16; 2], u16, TcpFields)> {
    let fixed = from.array::<20>()?;
    let u16_at = |at: usize| u16::from_be_bytes([fixed[at], fixed[at.saturating_add(1)]]);
    let u32_at = |at: usize| u32::from(u16_at(at)) << 16 | u32::from(u16_at(at.saturating_add(2)));
    let len = u16::from(fixed[12] >> 4) * 4;
    let options = usize::from(len.checked_sub(20)?);
    from.take(options.min(from.0.len()))?;
    let tcp = TcpFields {
        seq: Seq(u32_at(4)),
        ack: Seq(u32_at(8)),
        flags: fixed[13],
        window: u16_at(14),
    };
    Some(([u16_at(0), u16_at(2)], len, tcp))
}

fn udp(from: &mut Bytes<'_>) -> Option<[u16; 2]> {
    let fixed = from.array::<8>()?;
    Some([u16::from_be_bytes([fixed[0], fixed[1]]), u16::from_be_bytes([fixed[2], fixed[3]])])
}
