//! Link headers of captures that others made (LINKTYPE registry, <https://www.tcpdump.org/linktypes.html>).

use super::unreadable::Unreadable;
use crate::wire::Bytes;
use wirelap_events::PacketHook;

/// `LINKTYPE_ETHERNET`.
pub const ETHERNET: u16 = 1;
const NULL: u16 = 0;
const LOOP: u16 = 108;
const RAW: [u16; 5] = [12, 14, 101, 228, 229];
const COOKED: u16 = 113;
const COOKED_2: u16 = 276;

/// Whether packets behind this link header can be read.
pub fn is_known(kind: u16) -> bool {
    RAW.contains(&kind) || [ETHERNET, NULL, LOOP, COOKED, COOKED_2].contains(&kind)
}

/// How long the link header is, and which way the packet went, if the header says that.
///
/// # Errors
/// The header is not followed by IP, or was not captured as a whole.
pub fn header(kind: u16, packet: &[u8]) -> Result<(usize, Option<PacketHook>), Unreadable> {
    let mut from = Bytes(packet);
    let mut direction = None;
    let is_ip = match kind {
        ETHERNET => {
            from.take(12).ok_or(Unreadable::Cut)?;
            is_ip(&mut from)
        }
        // The address family, in the byte order of whoever captured; every system has its own for IPv6.
        NULL | LOOP => from.take(4).map(|_| true),
        COOKED => {
            let [_, kind] = from.array::<2>().ok_or(Unreadable::Cut)?;
            direction = Some(way(kind));
            from.take(12).ok_or(Unreadable::Cut)?;
            is_ip(&mut from)
        }
        COOKED_2 => {
            let start = Bytes(packet);
            from.take(10).ok_or(Unreadable::Cut)?;
            let [kind] = from.array().ok_or(Unreadable::Cut)?;
            direction = Some(way(kind));
            from.take(9).ok_or(Unreadable::Cut)?;
            is_ip(&mut { start })
        }
        kind if RAW.contains(&kind) => Some(true),
        _ => Some(false),
    };
    if is_ip.ok_or(Unreadable::Cut)? {
        Ok((packet.len().saturating_sub(from.0.len()), direction))
    } else {
        Err(Unreadable::Protocol)
    }
}

/// `PACKET_OUTGOING` is 4 (`include/uapi/linux/if_packet.h`).
fn way(kind: u8) -> PacketHook {
    if kind == 4 { PacketHook::Xmit } else { PacketHook::Rx }
}

/// Reads an `EtherType` and VLAN tags before it (IEEE 802.1Q).
fn is_ip(from: &mut Bytes<'_>) -> Option<bool> {
    loop {
        match u16::from_be_bytes(from.array()?) {
            0x0800 | 0x86DD => return Some(true),
            0x8100 | 0x88A8 | 0x9100 => from.take(2)?,
            _ => return Some(false),
        };
    }
}
