//! IP, TCP and UDP headers, read from a packet that was captured.

use super::fragments::{Fragment, FragmentedDatagram};
use super::multipath::Multipath;
use super::protocol::{IPV4_HEADER, TCP, TUNNELS, UDP};
use super::unreadable::UnreadablePacket;
use crate::wire::Bytes;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use wirelap_events::{Seq, TcpFields, Transport};

/// Headers of a captured packet.
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
    /// Statement of an option of Multipath TCP; `None` if the packet has none.
    pub multipath: Option<Multipath>,
    /// Bytes of transport payload on the wire.
    pub payload_len: u32,
    /// The bytes of transport payload that were captured.
    pub payload: &'a [u8],
}

/// Reads a packet from its IP header on. `original` is its length on the wire from there.
///
/// # Errors
/// The packet carries neither TCP nor UDP, or is a fragment, or too little of it was captured.
pub fn parse(bytes: &[u8], original: u32) -> Result<Headers<'_>, UnreadablePacket> {
    let mut from = Bytes(bytes);
    let network = network(&mut from)?;
    let header = bytes.len().saturating_sub(from.0.len());
    let on_wire = if network.len == 0 { original } else { network.len.min(original) };
    let inside = on_wire.checked_sub(u32::try_from(header).map_err(|_| UnreadablePacket::Cut)?);
    let inside = inside.ok_or(UnreadablePacket::Cut)?;
    if let Some(fragment) = network.fragment {
        return Err(fragment.unreadable(&network, header, inside));
    }
    let mut multipath = None;
    let (transport, ports, transport_header, tcp) = match network.protocol {
        TCP => tcp(&mut from).map(|(ports, len, tcp, options)| {
            multipath = Multipath::find(options);
            (Transport::Tcp, ports, len, Some(tcp))
        }),
        UDP => udp(&mut from).map(|ports| (Transport::Udp, ports, 8, None)),
        _ => return Err(UnreadablePacket::Protocol),
    }
    .ok_or(UnreadablePacket::Cut)?;
    let payload_len = inside.saturating_sub(transport_header.into());
    let captured = from.0.len().min(payload_len as usize);
    Ok(Headers {
        transport,
        src: SocketAddr::new(network.src, ports[0]),
        dst: SocketAddr::new(network.dst, ports[1]),
        ip_header: u16::try_from(header).map_err(|_| UnreadablePacket::Cut)?,
        transport_header,
        tcp,
        multipath,
        payload_len,
        payload: &from.0[..captured],
    })
}

/// Reads an IP header. Returns the protocol of what follows.
///
/// # Errors
/// It is no IP header, or it was not captured as a whole.
pub fn protocol(from: &mut Bytes<'_>) -> Result<u8, UnreadablePacket> {
    network(from).map(|network| network.protocol)
}

fn network(from: &mut Bytes<'_>) -> Result<NetworkHeader, UnreadablePacket> {
    match from.0.first().ok_or(UnreadablePacket::Cut)? >> 4 {
        4 => ipv4(from),
        6 => ipv6(from),
        _ => Err(UnreadablePacket::Protocol),
    }
}

struct NetworkHeader {
    src: IpAddr,
    dst: IpAddr,
    protocol: u8,
    /// Bytes from the IP header on; 0 if the header does not say.
    len: u32,
    fragment: Option<FragmentFields>,
}

/// The fields by which a receiver puts fragments together.
#[derive(Clone, Copy)]
struct FragmentFields {
    id: u32,
    start: u32,
    has_more: bool,
}

impl FragmentFields {
    /// `None` if the packet is whole: an IPv6 packet may say that it is its own only fragment (RFC 6946).
    fn new(id: u32, start: u32, has_more: bool) -> Option<FragmentFields> {
        (start > 0 || has_more).then_some(FragmentFields { id, start, has_more })
    }

    /// The fragment that a packet is, if its datagram can carry messages. It has `len` bytes behind its `header`.
    fn unreadable(self, network: &NetworkHeader, header: usize, len: u32) -> UnreadablePacket {
        let &NetworkHeader { src, dst, protocol, .. } = network;
        if ![TCP, UDP].contains(&protocol) && !TUNNELS.contains(&protocol) {
            return UnreadablePacket::Protocol;
        }
        let datagram = FragmentedDatagram { src, dst, id: self.id, protocol };
        let (start, is_last) = (self.start, !self.has_more);
        UnreadablePacket::Fragment(Fragment { datagram, header, start, len, is_last })
    }
}

fn ipv4(from: &mut Bytes<'_>) -> Result<NetworkHeader, UnreadablePacket> {
    let fixed = from.array::<IPV4_HEADER>().ok_or(UnreadablePacket::Cut)?;
    let options = usize::from(fixed[0] & 0xF) * 4;
    from.take(options.checked_sub(IPV4_HEADER).ok_or(UnreadablePacket::Cut)?)
        .ok_or(UnreadablePacket::Cut)?;
    // Flags (3 bits) and the offset in units of 8 bytes.
    let place = u16::from_be_bytes([fixed[6], fixed[7]]);
    let id = u16::from_be_bytes([fixed[4], fixed[5]]).into();
    let fragment = FragmentFields::new(id, u32::from(place & 0x1FFF) << 3, place & 0x2000 != 0);
    let (words, _) = fixed.as_chunks::<4>();
    let address = |at: usize| Ipv4Addr::from(words[at / 4]);
    Ok(NetworkHeader {
        src: address(12).into(),
        dst: address(16).into(),
        protocol: fixed[9],
        len: u16::from_be_bytes([fixed[2], fixed[3]]).into(),
        fragment,
    })
}

/// The header and its extensions (RFC 8200 §4).
fn ipv6(from: &mut Bytes<'_>) -> Result<NetworkHeader, UnreadablePacket> {
    let fixed = from.array::<8>().ok_or(UnreadablePacket::Cut)?;
    let mut address = || from.array::<16>().map(Ipv6Addr::from).ok_or(UnreadablePacket::Cut);
    let (src, dst) = (address()?.into(), address()?.into());
    let payload = u32::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    let mut protocol = fixed[6];
    let mut fragment = None;
    // Hop-by-hop, routing, destination options; fragment; no packet has more than a few.
    while let 0 | 43 | 44 | 60 = protocol {
        let start = from.array::<8>().ok_or(UnreadablePacket::Cut)?;
        if protocol == 44 {
            // The offset in bytes, whose lowest bits are other fields.
            let place = u16::from_be_bytes([start[2], start[3]]);
            let id = u32::from_be_bytes([start[4], start[5], start[6], start[7]]);
            fragment = FragmentFields::new(id, (place & 0xFFF8).into(), place & 1 != 0);
            protocol = start[0];
            // What is behind it is a part of the datagram.
            if fragment.is_some() {
                break;
            }
            continue;
        }
        from.take(usize::from(start[1]) * 8).ok_or(UnreadablePacket::Cut)?;
        protocol = start[0];
    }
    Ok(NetworkHeader {
        src,
        dst,
        protocol,
        len: if payload == 0 { 0 } else { payload + 40 },
        fragment,
    })
}

/// Ports, length, fields, options. Options may be cut off: then there is no payload behind them.
fn tcp<'a>(from: &mut Bytes<'a>) -> Option<([u16; 2], u16, TcpFields, &'a [u8])> {
    let fixed = from.array::<20>()?;
    let ((halves, _), (words, _)) = (fixed.as_chunks::<2>(), fixed.as_chunks::<4>());
    let u16_at = |at: usize| u16::from_be_bytes(halves[at / 2]);
    let u32_at = |at: usize| u32::from_be_bytes(words[at / 4]);
    let len = u16::from(fixed[12] >> 4) * 4;
    let options = usize::from(len.checked_sub(20)?);
    let options = from.take(options.min(from.0.len()))?;
    let tcp = TcpFields {
        seq: Seq(u32_at(4)),
        ack: Seq(u32_at(8)),
        flags: fixed[13],
        window: u16_at(14),
    };
    Some(([u16_at(0), u16_at(2)], len, tcp, options))
}

fn udp(from: &mut Bytes<'_>) -> Option<[u16; 2]> {
    let fixed = from.array::<8>()?;
    Some([u16::from_be_bytes([fixed[0], fixed[1]]), u16::from_be_bytes([fixed[2], fixed[3]])])
}
