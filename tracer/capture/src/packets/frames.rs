//! The packets in a block of the ring (`TPACKET_V3`, `Documentation/networking/packet_mmap.rst`).
//!
//! ```text
//!  block   0 version   4 private   8 status  12 packets  16 first ─┐  20 length  24 …
//!  frame ◀─────────────────────────────────────────────────────────┘
//!          0 next   4 seconds   8 nanoseconds  12 captured  16 length  20 status  24 link  26 network
//!         28 hash  32 VLAN tag  36 VLAN protocol  40 …
//!         48 address family  50 protocol (big-endian)  52 device  56 hardware type  58 packet type  59 …
//! ```
//! All numbers but the protocol have the host's byte order. The kernel wrote the block, and it is read as if anybody had.

use super::program::{IPV4, IPV6, OUTGOING, VLANS};
use std::ops::Range;

/// Offset of the status of a block. The kernel gives a block away by its first bit.
pub const STATUS: usize = 8;
/// A block or a frame is the reader's (`TP_STATUS_USER`).
pub const USER: u32 = 1;
/// The kernel has taken a VLAN tag out of the packet (`TP_STATUS_VLAN_VALID`).
const VLAN_VALID: u32 = 1 << 4;

/// Bytes of an address behind the header of a frame.
const ADDRESS: usize = 48;

/// A packet in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingPacket<'a> {
    /// Time when the packet was seen, in nanoseconds on the wall clock.
    pub wall: u64,
    /// Bytes on the wire from the IP header on.
    pub original: u32,
    /// The kernel has taken a VLAN tag out of it.
    pub has_vlan: bool,
    /// Protocol that follows the link header (`ETH_P_IP` …).
    pub protocol: u16,
    /// The number of its device.
    pub device: u32,
    /// The type of its device (`ARPHRD_…`).
    pub hardware: u16,
    /// True if it was sent by this host.
    pub is_outgoing: bool,
    /// The captured bytes, from the IP header on.
    pub bytes: &'a [u8],
}

impl RingPacket<'_> {
    /// True for an IP packet.
    pub fn is_ip(&self) -> bool {
        [IPV4, IPV6].contains(&self.protocol) || VLANS.contains(&self.protocol)
    }
}

/// The packets of a block, in order.
#[derive(Clone, Debug)]
pub struct RingPackets<'a> {
    block: &'a [u8],
    at: usize,
    left: u32,
}

impl<'a> RingPackets<'a> {
    /// The packets of a block that the kernel has given away.
    pub fn of(block: &'a [u8]) -> RingPackets<'a> {
        let left = number(block, 12).unwrap_or(0);
        let at = number(block, 16).map_or(usize::MAX, |at| at as usize);
        RingPackets { block, at, left }
    }

    /// Returns the number of packets of the block that were not read yet; after the last one, of those that cannot be read.
    pub fn left(&self) -> u32 {
        self.left
    }

    fn read(&self) -> Option<(RingPacket<'a>, usize)> {
        let frame = self.block.get(self.at..)?;
        let network = usize::from(half(frame, 26)?);
        let captured = number(frame, 12)? as usize;
        let bytes: Range<usize> = network..network.checked_add(captured)?;
        let address = frame.get(ADDRESS..)?;
        let [high, low] = *address.get(2..)?.first_chunk()?;
        let seconds = u64::from(number(frame, 4)?).saturating_mul(1_000_000_000);
        let read = RingPacket {
            wall: seconds.saturating_add(number(frame, 8)?.into()),
            original: number(frame, 16)?,
            has_vlan: number(frame, 20)? & VLAN_VALID != 0,
            protocol: u16::from_be_bytes([high, low]),
            device: number(address, 4)?,
            hardware: half(address, 8)?,
            is_outgoing: *address.get(10)? == OUTGOING,
            bytes: frame.get(bytes)?,
        };
        Some((read, number(frame, 0)? as usize))
    }
}

impl<'a> Iterator for RingPackets<'a> {
    type Item = RingPacket<'a>;

    fn next(&mut self) -> Option<RingPacket<'a>> {
        if self.left == 0 {
            return None;
        }
        let (frame, next) = self.read()?;
        self.left = self.left.saturating_sub(1);
        // The last frame has no next one. Elsewhere, 0 would be the same frame again.
        self.at = if next == 0 { usize::MAX } else { self.at.checked_add(next)? };
        Some(frame)
    }
}

fn number(from: &[u8], at: usize) -> Option<u32> {
    from.get(at..)?.first_chunk().copied().map(u32::from_ne_bytes)
}

fn half(from: &[u8], at: usize) -> Option<u16> {
    from.get(at..)?.first_chunk().copied().map(u16::from_ne_bytes)
}

#[cfg(test)]
mod tests;
