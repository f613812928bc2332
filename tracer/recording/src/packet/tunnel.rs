//! Packets inside packets: where the packet begins that a tunnel carries.
//!
//! | tunnel | known by | source |
//! |---|---|---|
//! | IP in IP, IPv6 in IP, IPv4 in IPv6 | IP protocols 4 and 41 | RFC 2003, RFC 4213 §3, RFC 2473 |
//! | GRE, also of Ethernet frames and MPLS | IP protocol 47 | RFC 2784, RFC 2890, RFC 1701 (0x6558), RFC 4023 §3.2 |
//! | PPTP | GRE's version 1 | RFC 2637 §4.1 |
//! | mirrored ports: ERSPAN, all three types | GRE's protocols 0x88BE and 0x22EB | draft-foschiano-erspan-03 §4 |
//! | VXLAN | UDP to port 4789, or Linux's former default 8472 | RFC 7348 §5 |
//! | VXLAN-GPE | UDP to port 4790 | draft-ietf-nvo3-vxlan-gpe-13 §3 |
//! | Geneve | UDP to port 6081 | RFC 8926 §3.4 |
//! | MPLS in UDP | UDP to port 6635 | RFC 7510 §3 |
//! | L2TP | UDP to port 1701 | RFC 2661 §3.1 |
//! | GTP-U | UDP to port 2152 | 3GPP TS 29.281 §5.1 |
//!
//! Headers between a tunnel's and the IP header in it are in [`super::encapsulation`].

use super::encapsulation::{self, NextHeader};
use super::fragments::Fragment;
use super::parse::{self, Headers};
use super::protocol::{GRE, IPV4, IPV6};
use super::unreadable::UnreadablePacket;
use crate::wire::Bytes;
use wirelap_events::Transport;

/// Tunnels in tunnels that are opened.
pub const MAX_DEPTH: usize = 4;

const VXLAN_PORTS: [u16; 2] = [4789, 8472];
const VXLAN_GPE_PORT: u16 = 4790;
const GENEVE_PORT: u16 = 6081;
const MPLS_PORT: u16 = 6635;
const L2TP_PORT: u16 = 1701;
const GTP_PORT: u16 = 2152;

/// Reads the innermost packet of `bytes`, which begin with an IP header. Returns how many bytes are before it, 0 outside of tunnels, and
/// what its headers say. `original` is the length on the wire.
///
/// # Errors
/// The innermost packet carries neither TCP nor UDP, or it or one around it is a fragment, or too little of it was captured.
pub fn parse_innermost(
    bytes: &[u8],
    original: u32,
) -> Result<(usize, Headers<'_>), UnreadablePacket> {
    let mut before = 0_usize;
    for _ in 0..MAX_DEPTH {
        let inside = bytes.get(before..).ok_or(UnreadablePacket::Cut)?;
        let outer = u32::try_from(before).map_err(|_| UnreadablePacket::Cut)?;
        let left = original.checked_sub(outer).ok_or(UnreadablePacket::Cut)?;
        let more = match parse::parse(inside, left) {
            Err(UnreadablePacket::Protocol) => in_ip(inside)?,
            Err(UnreadablePacket::Fragment(fragment)) => {
                let header = fragment.header.saturating_add(before);
                return Err(UnreadablePacket::Fragment(Fragment { header, ..fragment }));
            }
            Err(why) => return Err(why),
            Ok(headers) => match in_udp(&headers) {
                Some(more) => more?,
                None => return Ok((before, headers)),
            },
        };
        before = before.saturating_add(more);
    }
    Err(UnreadablePacket::Protocol)
}

/// The number of bytes before the packet that a packet of neither TCP nor UDP carries.
fn in_ip(bytes: &[u8]) -> Result<usize, UnreadablePacket> {
    let mut from = Bytes(bytes);
    let next = match parse::protocol(&mut from)? {
        IPV4 | IPV6 => NextHeader::Ip,
        GRE => gre(&mut from)?,
        _ => return Err(UnreadablePacket::Protocol),
    };
    encapsulation::skip(&mut from, next)?;
    Ok(bytes.len().saturating_sub(from.0.len()))
}

/// The number of bytes before the packet that a datagram carries; `None` if it is no tunnel's.
fn in_udp(headers: &Headers<'_>) -> Option<Result<usize, UnreadablePacket>> {
    if headers.transport != Transport::Udp {
        return None;
    }
    let mut from = Bytes(headers.payload);
    let next = match headers.dst.port() {
        port if VXLAN_PORTS.contains(&port) => vxlan(&mut from)?,
        VXLAN_GPE_PORT => vxlan_gpe(&mut from)?,
        GENEVE_PORT => geneve(&mut from)?,
        MPLS_PORT => NextHeader::Mpls,
        L2TP_PORT => l2tp(&mut from)?,
        GTP_PORT => gtp(&mut from)?,
        _ => return None,
    };
    let skipped = encapsulation::skip(&mut from, next);
    let tunnel = headers.payload.len().saturating_sub(from.0.len());
    let outer = usize::from(headers.ip_header).saturating_add(headers.transport_header.into());
    Some(skipped.map(|()| outer.saturating_add(tunnel)))
}

/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-------+-+-----------------+-------------------------------+
/// |C| |K|S|     Reserved    | Ver |         Protocol Type         |
/// +-+-+-------+-+-----------------+-------------------------------+
/// |  Checksum, Reserved (if C)    |  Key (if K)  |  Number (if S)   …
/// ```
/// Version 1 has a bit for an acknowledged number beside the version.
fn gre(from: &mut Bytes<'_>) -> Result<NextHeader, UnreadablePacket> {
    const NUMBER: u8 = 0x10;
    let [flags, version, kind @ ..] = from.array::<4>().ok_or(UnreadablePacket::Cut)?;
    // Routing (RFC 1701) has another layout.
    if flags & 0x40 != 0 || version & 7 > 1 {
        return Err(UnreadablePacket::Protocol);
    }
    let is_pptp = version & 7 == 1;
    let acknowledges = is_pptp && version & 0x80 != 0;
    let fields = [0x80, 0x20, NUMBER].into_iter().filter(|bit| flags & bit != 0).count();
    from.take(fields.saturating_add(acknowledges.into()).saturating_mul(4))
        .ok_or(UnreadablePacket::Cut)?;
    let mirrored = match u16::from_be_bytes(kind) {
        0x880B if is_pptp => return Ok(NextHeader::Ppp),
        // Type I of ERSPAN has no header and no number, type II has both.
        0x88BE if flags & NUMBER == 0 => 0,
        0x88BE => 8,
        0x22EB => erspan_3(from).ok_or(UnreadablePacket::Cut)?,
        kind => return encapsulation::ether_type(kind).ok_or(UnreadablePacket::Protocol),
    };
    from.take(mirrored).map(|_| NextHeader::Frame).ok_or(UnreadablePacket::Cut)
}

/// Twelve bytes, of which the last bit announces eight more of the platform.
fn erspan_3(from: &Bytes<'_>) -> Option<usize> {
    Some(if from.0.get(11)? & 1 == 0 { 12 } else { 20 })
}

/// ```text
/// +-+-+-+-+-+-+-+-+-----------------------------------------------+
/// |R|R|R|R|I|R|R|R|            Reserved                           |
/// +---------------------------------------------------------------+
/// |                VXLAN Network Identifier       |   Reserved    |
/// +---------------------------------------------------------------+
/// ```
/// `None` if it is something else.
fn vxlan(from: &mut Bytes<'_>) -> Option<NextHeader> {
    let [flags, one, two, three, .., last] = from.array::<8>()?;
    (flags == 0x08 && [one, two, three, last] == [0; 4]).then_some(NextHeader::Frame)
}

/// VXLAN's header, whose fourth byte says what follows if P (4) is set.
fn vxlan_gpe(from: &mut Bytes<'_>) -> Option<NextHeader> {
    let [flags, one, two, next, .., last] = from.array::<8>()?;
    let is_it = flags & 0xC8 == 0x08 && [one, two, last] == [0; 3];
    match next {
        _ if !is_it => None,
        0 if flags & 4 == 0 => Some(NextHeader::Frame),
        1 | 2 if flags & 4 != 0 => Some(NextHeader::Ip),
        3 if flags & 4 != 0 => Some(NextHeader::Frame),
        5 if flags & 4 != 0 => Some(NextHeader::Mpls),
        _ => None,
    }
}

/// ```text
/// +---+-----------+-+-+-----------+-------------------------------+
/// |Ver|  Opt Len  |O|C|    Rsvd.  |          Protocol Type        |
/// +---+-----------+-+-+-----------+-------------------------------+
/// |        Virtual Network Identifier (VNI)       |    Reserved   |
/// +---------------------------------------------------------------+
/// |                    Variable-Length Options                    |
/// ```
/// `None` if it is something else.
fn geneve(from: &mut Bytes<'_>) -> Option<NextHeader> {
    let [lengths, _, high, low, _, _, _, last] = from.array::<8>()?;
    if lengths & 0xC0 != 0 || last != 0 {
        return None;
    }
    from.take(usize::from(lengths & 0x3F).saturating_mul(4))?;
    encapsulation::ether_type(u16::from_be_bytes([high, low]))
}

/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+---+-+-+-+-+-------+-------+-------------------------------+
/// |T|L|   |S| |O|P|       |  Ver  |        Length (if L)          |
/// +-+-+---+-+-+-+-+-------+-------+-------------------------------+
/// |           Tunnel ID           |          Session ID           |
/// +-------------------------------+-------------------------------+
/// |          Ns, Nr (if S)        |  Offset size, padding (if O)
/// ```
/// `None` for control messages, which carry no packets.
fn l2tp(from: &mut Bytes<'_>) -> Option<NextHeader> {
    let [flags, version] = from.array()?;
    if flags & 0xB4 != 0 || version != 2 {
        return None;
    }
    let length = if flags & 0x40 != 0 { 2 } else { 0 };
    let numbers = if flags & 0x08 != 0 { 4 } else { 0 };
    for field in [length, 4, numbers] {
        from.take(field)?;
    }
    if flags & 0x02 != 0 {
        let padding = u16::from_be_bytes(from.array()?);
        from.take(padding.into())?;
    }
    Some(NextHeader::Ppp)
}

/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-----+-+-+-+-+-+---------------+-------------------------------+
/// | Ver |P| |E|S|N| Message type  |            Length             |
/// +-----+-+-+-+-+-+---------------+-------------------------------+
/// |                 Tunnel endpoint identifier                    |
/// +-------------------------------+---------------+---------------+
/// |   Number (if E, S or N)       |  N-PDU        | Next extension|
/// ```
/// Each extension begins with its length in words and ends with the type of the next. `None` for all but user data.
fn gtp(from: &mut Bytes<'_>) -> Option<NextHeader> {
    const USER_DATA: u8 = 255;
    let [flags, kind, ..] = from.array::<8>()?;
    if flags & 0xF0 != 0x30 || kind != USER_DATA {
        return None;
    }
    if flags & 7 != 0 {
        let [_, _, _, mut next] = from.array()?;
        // Without E, the field has no meaning.
        while flags & 4 != 0 && next != 0 {
            let [words] = from.array::<1>()?;
            let rest = usize::from(words).checked_mul(4)?.checked_sub(1)?;
            next = *from.take(rest)?.last()?;
        }
    }
    Some(NextHeader::Ip)
}
