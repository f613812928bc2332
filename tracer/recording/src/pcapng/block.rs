//! Bounds of a block, and the types of blocks (draft-ietf-opsawg-pcapng §3.1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------------------------------------------------------+
//! |                          Block Type                           |
//! +---------------------------------------------------------------+
//! |                      Block Total Length                       |
//! +---------------------------------------------------------------+
//! /                          Block Body                           /
//! |              variable length, padded to 32 bits               |
//! +---------------------------------------------------------------+
//! |                      Block Total Length                       |
//! +---------------------------------------------------------------+
//! ```

use super::ByteOrder;
use crate::wire::Bytes;

/// Section Header Block (§4.1); the same in both byte orders.
pub const SECTION: u32 = 0x0A0D_0D0A;
/// Interface Description Block (§4.2).
pub const INTERFACE: u32 = 1;
/// Packet Block (obsolete, appendix A).
pub const OLD_PACKET: u32 = 2;
/// Simple Packet Block (§4.4).
pub const SIMPLE: u32 = 3;
/// Name Resolution Block (§4.5).
pub const NAMES: u32 = 4;
/// Interface Statistics Block (§4.6).
pub const STATISTICS: u32 = 5;
/// Enhanced Packet Block (§4.3).
pub const PACKET: u32 = 6;
/// Systemd Journal Export Block (§4.7).
pub const JOURNAL: u32 = 9;
/// Decryption Secrets Block (§4.8).
pub const SECRETS: u32 = 10;
/// Custom Block that may be copied into another file (§4.9).
pub const CUSTOM: u32 = 0x0000_0BAD;
/// Custom Block that may not.
pub const CUSTOM_KEPT: u32 = 0x4000_0BAD;

/// The longest block that is read: a packet has 256 KiB at most, and options a few more.
pub const MAX_LEN: usize = 16 << 20;

/// The shortest block: two lengths and a type.
pub const MIN_LEN: usize = 12;

/// The byte-order magic.
pub const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;

/// Bounds of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockBounds {
    /// The block's type.
    pub kind: u32,
    /// All bytes of the block.
    pub len: usize,
    /// The block's byte order: a section header says its own, other blocks have the section's.
    pub order: ByteOrder,
}

/// Why no block stands at some place of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFrame {
    /// So many bytes in all are needed to know.
    Incomplete(usize),
    /// These bytes are no block, for this reason.
    Malformed(&'static str),
}

/// Looks for a block at the front of `bytes`.
///
/// # Errors
/// The bytes are not enough, or no block.
pub fn frame(bytes: &[u8], order: ByteOrder) -> Result<BlockBounds, NoFrame> {
    let mut head = Bytes(bytes);
    let (Some(kind), Some(len), Some(magic)) = (head.array(), head.array(), head.array()) else {
        return Err(NoFrame::Incomplete(MIN_LEN));
    };
    let mut order = order;
    if order.u32(kind) == SECTION {
        order = match (ByteOrder::Little.u32(magic), ByteOrder::Big.u32(magic)) {
            (BYTE_ORDER_MAGIC, _) => ByteOrder::Little,
            (_, BYTE_ORDER_MAGIC) => ByteOrder::Big,
            _ => return Err(NoFrame::Malformed("a section without a byte order")),
        };
    }
    let len = order.u32(len) as usize;
    if len < MIN_LEN || !len.is_multiple_of(4) {
        return Err(NoFrame::Malformed("a block with an impossible length"));
    }
    if len > MAX_LEN {
        return Err(NoFrame::Malformed("a block longer than 16 MiB"));
    }
    match bytes.get(len.saturating_sub(4)..len).and_then(|end| end.first_chunk()) {
        None => Err(NoFrame::Incomplete(len)),
        Some(&end) if order.u32(end) as usize == len => {
            Ok(BlockBounds { kind: order.u32(kind), len, order })
        }
        Some(_) => Err(NoFrame::Malformed("a block whose two lengths differ")),
    }
}

/// True if a block may begin with these bytes. For finding the next block behind damage.
pub fn is_likely(bytes: &[u8], order: ByteOrder) -> bool {
    let Some(&kind) = bytes.first_chunk::<4>() else { return true };
    matches!(
        order.u32(kind),
        SECTION
            | INTERFACE
            | OLD_PACKET
            | SIMPLE
            | NAMES
            | STATISTICS
            | PACKET
            | JOURNAL
            | SECRETS
            | CUSTOM
            | CUSTOM_KEPT
    )
}
