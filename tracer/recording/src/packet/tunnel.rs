//! Packets inside packets: where the packet begins that a tunnel carries.
//!
//! | tunnel | known by | source |
//! |---|---|---|
//! | IP in IP, IPv6 in IP, IPv4 in IPv6 | IP protocols 4 and 41 | RFC 2003, RFC 4213 §3, RFC 2473 |
//! | GRE, also of Ethernet frames | IP protocol 47 | RFC 2784, RFC 2890, RFC 1701 (0x6558) |
//! | VXLAN | UDP to port 4789, or Linux's former default 8472 | RFC 7348 §5 |
//! | Geneve | UDP to port 6081 | RFC 8926 §3.4 |

use super::fragments::Fragment;
use super::link;
use super::parse::{self, Headers};
use super::protocol::{GRE, IPV4, IPV6};
use super::unreadable::Unreadable;
use crate::wire::Bytes;
use wirelap_events::Transport;

/// Tunnels in tunnels that are opened.
pub const MAX_DEPTH: usize = 4;

const VXLAN_PORTS: [u16; 2] = [4789, 8472];
const GENEVE_PORT: u16 = 6081;

/// An Ethernet frame, in GRE and Geneve ("transparent Ethernet bridging").
const ETHERNET_FRAME: u16 = 0x6558;
const ETHERTYPES_OF_IP: [u16; 2] = [0x0800, 0x86DD];

/// Reads the innermost packet of `bytes`, which begin with an IP header. Returns how many bytes are before it, 0 outside of tunnels, and
/// what its headers say. `original` is the length on the wire.
///
/// # Errors
/// The innermost packet carries neither TCP nor UDP, or it or one around it is a fragment, or too little of it was captured.
pub fn parse_innermost(bytes: &[u8], original: u32) -> Result<(usize, Headers<'_>), Unreadable> {
    let mut before = 0_usize;
    for _ in 0..MAX_DEPTH {
        let inside = bytes.get(before..).ok_or(Unreadable::Cut)?;
        let outer = u32::try_from(before).map_err(|_| Unreadable::Cut)?;
        let left = original.checked_sub(outer).ok_or(Unreadable::Cut)?;
        let more = match parse::parse(inside, left) {
            Err(Unreadable::Protocol) => in_ip(inside)?,
            Err(Unreadable::Fragment(fragment)) => {
                let header = fragment.header.saturating_add(before);
                return Err(Unreadable::Fragment(Fragment { header, ..fragment }));
            }
            Err(why) => return Err(why),
            Ok(headers) => match in_udp(&headers) {
                Some(more) => more?,
                None => return Ok((before, headers)),
            },
        };
        before = before.saturating_add(more);
    }
    Err(Unreadable::Protocol)
}

/// How many bytes of a packet that is neither TCP nor UDP are before the packet in it.
fn in_ip(bytes: &[u8]) -> Result<usize, Unreadable> {
    let mut from = Bytes(bytes);
    match parse::protocol(&mut from)? {
        IPV4 | IPV6 => {}
        GRE => gre(&mut from)?,
        _ => return Err(Unreadable::Protocol),
    }
    Ok(bytes.len().saturating_sub(from.0.len()))
}

/// How many bytes of a datagram are before the packet in it; `None` if it is no tunnel's.
fn in_udp(headers: &Headers<'_>) -> Option<Result<usize, Unreadable>> {
    if headers.transport != Transport::Udp {
        return None;
    }
    let mut from = Bytes(headers.payload);
    let is_frame = match headers.dst.port() {
        port if VXLAN_PORTS.contains(&port) => vxlan(&mut from)?,
        GENEVE_PORT => geneve(&mut from)?,
        _ => return None,
    };
    let skipped = if is_frame { frame(&mut from) } else { Ok(()) };
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
fn gre(from: &mut Bytes<'_>) -> Result<(), Unreadable> {
    let [flags, version, kind @ ..] = from.array::<4>().ok_or(Unreadable::Cut)?;
    // Routing (RFC 1701) has another layout, and so has version 1 (PPTP, RFC 2637).
    if flags & 0x40 != 0 || version & 7 != 0 {
        return Err(Unreadable::Protocol);
    }
    for bit in [0x80, 0x20, 0x10] {
        if flags & bit != 0 {
            from.take(4).ok_or(Unreadable::Cut)?;
        }
    }
    match u16::from_be_bytes(kind) {
        ETHERNET_FRAME => frame(from),
        kind if ETHERTYPES_OF_IP.contains(&kind) => Ok(()),
        _ => Err(Unreadable::Protocol),
    }
}

/// ```text
/// +-+-+-+-+-+-+-+-+-----------------------------------------------+
/// |R|R|R|R|I|R|R|R|            Reserved                           |
/// +---------------------------------------------------------------+
/// |                VXLAN Network Identifier       |   Reserved    |
/// +---------------------------------------------------------------+
/// ```
/// Returns whether an Ethernet frame follows; `None` if it is something else.
fn vxlan(from: &mut Bytes<'_>) -> Option<bool> {
    let [flags, one, two, three, .., last] = from.array::<8>()?;
    (flags == 0x08 && [one, two, three, last] == [0; 4]).then_some(true)
}

/// ```text
/// +---+-----------+-+-+-----------+-------------------------------+
/// |Ver|  Opt Len  |O|C|    Rsvd.  |          Protocol Type        |
/// +---+-----------+-+-+-----------+-------------------------------+
/// |        Virtual Network Identifier (VNI)       |    Reserved   |
/// +---------------------------------------------------------------+
/// |                    Variable-Length Options                    |
/// ```
/// Returns whether an Ethernet frame follows, and not IP; `None` if it is something else.
fn geneve(from: &mut Bytes<'_>) -> Option<bool> {
    let [lengths, _, high, low, _, _, _, last] = from.array::<8>()?;
    if lengths & 0xC0 != 0 || last != 0 {
        return None;
    }
    from.take(usize::from(lengths & 0x3F).saturating_mul(4))?;
    match u16::from_be_bytes([high, low]) {
        ETHERNET_FRAME => Some(true),
        kind if ETHERTYPES_OF_IP.contains(&kind) => Some(false),
        _ => None,
    }
}

/// The header of an Ethernet frame of IP.
fn frame(from: &mut Bytes<'_>) -> Result<(), Unreadable> {
    let (header, _) = link::header(link::ETHERNET, from.0)?;
    from.take(header).map(|_| ()).ok_or(Unreadable::Cut)
}
