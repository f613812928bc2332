//! wirelap's own custom blocks and options (draft-ietf-opsawg-pcapng §3.5.1, §4.9).
//!
//! ```text
//! 0xFFFFFFFF | 'W' 'L' version | what wirelap says, by where it stands
//! 0xFFFFFFFF | 'W' 'M' version | what became of a message; an option of a packet
//! ```

use super::ByteOrder;
use crate::wire::Bytes;

/// Stands for the private enterprise number that wirelap does not have: one that IANA gives to nobody (RFC 9371
/// §3.1).
pub const ENTERPRISE: u32 = u32::MAX;

/// Behind [`ENTERPRISE`] in blocks and options of wirelap's: that they are, and the version of what follows.
/// Readers leave out other versions.
pub const TAG: [u8; 3] = *b"WL\x01";

/// Behind [`ENTERPRISE`] in options that say what became of a message; its last byte is the version, too.
pub const MESSAGE_TAG: [u8; 3] = *b"WM\x02";

/// Appends what a value of wirelap's own begins with, in an option or a block whose lowest byte comes first.
pub fn put_prefix(out: &mut Vec<u8>) {
    out.extend(ENTERPRISE.to_le_bytes());
    out.extend(TAG);
}

/// A value of wirelap's own behind its prefix; `None` if the value is another program's or of another version.
pub fn own_value(value: &[u8], order: ByteOrder) -> Option<Bytes<'_>> {
    let mut from = Bytes(value);
    let is_own = order.u32(from.array()?) == ENTERPRISE && from.array()? == TAG;
    is_own.then_some(from)
}
