//! Headers between a link or a tunnel and the IP header.
//!
//! | header | known by | source |
//! |---|---|---|
//! | VLAN tags | `EtherType` 0x8100, 0x88A8, 0x9100 | IEEE 802.1Q |
//! | LLC and SNAP | a length in place of an `EtherType` | IEEE 802.2, RFC 1042 |
//! | MPLS, also of Ethernet frames | `EtherType` 0x8847, 0x8848 | RFC 3032, RFC 5332; RFC 4385, RFC 4448 |
//! | `PPPoE` | `EtherType` 0x8864 | RFC 2516 |
//! | PPP | `PPPoE`, L2TP, PPTP, link types of its own | RFC 1661, RFC 1662 |
//! | Ethernet in GRE and Geneve | `EtherType` 0x6558 | RFC 1701 |

use super::unreadable::UnreadablePacket;
use crate::wire::Bytes;

/// The next header of a packet.
#[derive(Clone, Copy)]
pub enum NextHeader {
    /// An Ethernet frame.
    Frame,
    /// An `EtherType`, and what it says.
    EtherType,
    /// A stack of MPLS labels.
    Mpls,
    /// A PPP frame, with or without its address and control field.
    Ppp,
    /// An IP header.
    Ip,
}

/// Skips all headers from this one on to the IP header.
///
/// # Errors
/// They do not lead to IP, or were not captured as a whole.
pub fn skip(from: &mut Bytes<'_>, mut next: NextHeader) -> Result<(), UnreadablePacket> {
    loop {
        // Each of these takes two bytes and more, so that the loop ends.
        next = match next {
            NextHeader::Ip => return Ok(()),
            NextHeader::Frame => {
                from.take(12).ok_or(UnreadablePacket::Cut)?;
                NextHeader::EtherType
            }
            NextHeader::EtherType => {
                match u16::from_be_bytes(from.array().ok_or(UnreadablePacket::Cut)?) {
                    0x8100 | 0x88A8 | 0x9100 => {
                        from.take(2).ok_or(UnreadablePacket::Cut)?;
                        NextHeader::EtherType
                    }
                    0x8864 => {
                        from.take(6).ok_or(UnreadablePacket::Cut)?;
                        NextHeader::Ppp
                    }
                    ..=1500 => {
                        let llc = from.array().ok_or(UnreadablePacket::Cut)?;
                        snap(llc).ok_or(UnreadablePacket::Protocol)?
                    }
                    kind => ether_type(kind).ok_or(UnreadablePacket::Protocol)?,
                }
            }
            NextHeader::Mpls => mpls(from)?,
            NextHeader::Ppp => ppp(from)?,
        }
    }
}

/// The header that an `EtherType` announces outside of Ethernet frames, which tags and lengths do not belong to.
pub fn ether_type(kind: u16) -> Option<NextHeader> {
    match kind {
        0x0800 | 0x86DD => Some(NextHeader::Ip),
        0x8847 | 0x8848 => Some(NextHeader::Mpls),
        0x6558 => Some(NextHeader::Frame),
        _ => None,
    }
}

/// Both SAPs are SNAP's, an unnumbered frame, and the organization is that of `EtherType`s.
fn snap(llc: [u8; 6]) -> Option<NextHeader> {
    (llc == [0xAA, 0xAA, 3, 0, 0, 0]).then_some(NextHeader::EtherType)
}

/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +---------------------------------------+-----+-+---------------+
/// |                Label                  | TC  |S|      TTL      |
/// +---------------------------------------+-----+-+---------------+
/// ```
/// No field says what is below the last label: the first four bits are IP's version, or 0 in the control word of a pseudowire, or
/// part of an Ethernet address.
fn mpls(from: &mut Bytes<'_>) -> Result<NextHeader, UnreadablePacket> {
    while from.array::<4>().ok_or(UnreadablePacket::Cut)?[2] & 1 == 0 {}
    match from.0.first().ok_or(UnreadablePacket::Cut)? >> 4 {
        4 | 6 => Ok(NextHeader::Ip),
        0 => from.take(4).map(|_| NextHeader::Frame).ok_or(UnreadablePacket::Cut),
        _ => Ok(NextHeader::Frame),
    }
}

/// Address and control field, and the first byte of the protocol if that is 0, may be left out (RFC 1661 §6.5, §6.6).
fn ppp(from: &mut Bytes<'_>) -> Result<NextHeader, UnreadablePacket> {
    let mut high = take_byte(from)?;
    if high == 0xFF {
        from.take(1).ok_or(UnreadablePacket::Cut)?;
        high = take_byte(from)?;
    }
    let protocol = if high & 1 == 1 { [0, high] } else { [high, take_byte(from)?] };
    match protocol {
        [0, 0x21 | 0x57] => Ok(NextHeader::Ip),
        [2, 0x81 | 0x83] => Ok(NextHeader::Mpls),
        _ => Err(UnreadablePacket::Protocol),
    }
}

fn take_byte(from: &mut Bytes<'_>) -> Result<u8, UnreadablePacket> {
    from.array().map(|[byte]| byte).ok_or(UnreadablePacket::Cut)
}
