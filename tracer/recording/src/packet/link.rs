//! Link headers of captures that others made (LINKTYPE registry, <https://www.tcpdump.org/linktypes.html>).

use super::encapsulation::{self, NextHeader};
use super::unreadable::UnreadablePacket;
use crate::wire::Bytes;
use wirelap_events::PacketHook;

const NULL: u16 = 0;
const ETHERNET: u16 = 1;
const PPP: u16 = 9;
const RAW: [u16; 5] = [12, 14, 101, 228, 229];
const PPP_HDLC: u16 = 50;
/// `PPPoE`, without an Ethernet header.
const PPP_ETHER: u16 = 51;
/// Cisco's HDLC: address, control, an `EtherType`.
const CISCO_HDLC: u16 = 104;
const LOOP: u16 = 108;
const COOKED: u16 = 113;
const MPLS: u16 = 219;
const NFLOG: u16 = 239;
/// IP over `InfiniBand` (RFC 4391 §6).
const INFINIBAND_IP: u16 = 242;
/// Packets of macOS with the interface that each is of.
const PKTAP: u16 = 258;
const COOKED_2: u16 = 276;

const KNOWN: [u16; 13] = [
    NULL,
    ETHERNET,
    PPP,
    PPP_HDLC,
    PPP_ETHER,
    CISCO_HDLC,
    LOOP,
    COOKED,
    MPLS,
    NFLOG,
    INFINIBAND_IP,
    PKTAP,
    COOKED_2,
];

/// True if packets behind this link header can be read.
pub fn is_known(kind: u16) -> bool {
    RAW.contains(&kind) || KNOWN.contains(&kind)
}

/// The length of the link header, and the way that the packet went, if the header says that.
///
/// # Errors
/// The header is not followed by IP, or was not captured as a whole.
pub fn header(kind: u16, packet: &[u8]) -> Result<(usize, Option<PacketHook>), UnreadablePacket> {
    let mut from = Bytes(packet);
    let (kind, mut direction) = match kind {
        PKTAP => pktap(&mut from)?,
        kind => (kind, None),
    };
    let next = match kind {
        ETHERNET => NextHeader::Frame,
        // The address family, in the byte order of whoever captured; every system has its own for IPv6.
        NULL | LOOP => from.take(4).map(|_| NextHeader::Ip).ok_or(UnreadablePacket::Cut)?,
        COOKED => {
            let [_, kind] = from.array::<2>().ok_or(UnreadablePacket::Cut)?;
            direction = Some(way(kind));
            from.take(12).map(|_| NextHeader::EtherType).ok_or(UnreadablePacket::Cut)?
        }
        COOKED_2 => {
            let [high, low, rest @ ..] = from.array::<20>().ok_or(UnreadablePacket::Cut)?;
            direction = Some(way(rest[8]));
            let kind = u16::from_be_bytes([high, low]);
            encapsulation::ether_type(kind).ok_or(UnreadablePacket::Protocol)?
        }
        PPP | PPP_HDLC => NextHeader::Ppp,
        PPP_ETHER => from.take(6).map(|_| NextHeader::Ppp).ok_or(UnreadablePacket::Cut)?,
        CISCO_HDLC => from.take(2).map(|_| NextHeader::EtherType).ok_or(UnreadablePacket::Cut)?,
        MPLS => NextHeader::Mpls,
        NFLOG => nflog(&mut from)?,
        INFINIBAND_IP => {
            let [high, low, ..] = from.array::<4>().ok_or(UnreadablePacket::Cut)?;
            encapsulation::ether_type(u16::from_be_bytes([high, low]))
                .ok_or(UnreadablePacket::Protocol)?
        }
        kind if RAW.contains(&kind) => NextHeader::Ip,
        _ => return Err(UnreadablePacket::Protocol),
    };
    encapsulation::skip(&mut from, next)?;
    Ok((packet.len().saturating_sub(from.0.len()), direction))
}

/// `PACKET_OUTGOING` is 4 (`include/uapi/linux/if_packet.h`).
fn way(kind: u8) -> PacketHook {
    if kind == 4 { PacketHook::Xmit } else { PacketHook::Rx }
}

/// A list of attributes (type, length, value), of which one is the packet from its IP header on (`NFULA_PAYLOAD` of
/// `include/uapi/linux/netfilter/nfnetlink_log.h`). Their numbers have the byte order of whoever captured.
fn nflog(from: &mut Bytes<'_>) -> Result<NextHeader, UnreadablePacket> {
    const PAYLOAD: u16 = 9;
    from.take(4).ok_or(UnreadablePacket::Cut)?;
    loop {
        let [length, kind] = [(); 2].map(|()| from.array::<2>());
        let (length, kind) = length.zip(kind).ok_or(UnreadablePacket::Cut)?;
        // No type is as large as 256.
        let is_big = kind[0] == 0 && kind[1] != 0;
        let [length, kind] = [length, kind]
            .map(|n| if is_big { u16::from_be_bytes(n) } else { u16::from_le_bytes(n) });
        if kind == PAYLOAD {
            return Ok(NextHeader::Ip);
        }
        let value = length.checked_sub(4).ok_or(UnreadablePacket::Protocol)?;
        from.take(usize::from(value).next_multiple_of(4)).ok_or(UnreadablePacket::Cut)?;
    }
}

/// A header that says its own length, the link type of what follows and which way it went (`bsd/net/pktap.h` of XNU).
fn pktap(from: &mut Bytes<'_>) -> Result<(u16, Option<PacketHook>), UnreadablePacket> {
    const OUTGOING: u32 = 2;
    let mut fields = Bytes(from.0);
    let [length, _, link] = [(); 3].map(|()| fields.array().map(u32::from_le_bytes));
    fields.take(24).ok_or(UnreadablePacket::Cut)?;
    let flags = fields.array().map(u32::from_le_bytes).ok_or(UnreadablePacket::Cut)?;
    let (length, link) = length.zip(link).ok_or(UnreadablePacket::Cut)?;
    let length = usize::try_from(length).map_err(|_| UnreadablePacket::Cut)?;
    from.take(length).ok_or(UnreadablePacket::Cut)?;
    let link = u16::try_from(link).map_err(|_| UnreadablePacket::Protocol)?;
    let way = if flags & OUTGOING != 0 { PacketHook::Xmit } else { PacketHook::Rx };
    Ok((link, Some(way)))
}
