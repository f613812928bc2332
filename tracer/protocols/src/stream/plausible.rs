//! Lengths of PDUs that can be true.

use crate::connection::KEPT_BYTES;
use crate::{Connection, PduLen, Side};

/// A PDU with a larger length is considered invalid. The largest limit that a protocol defines is MQTT's, 256 MiB.
pub const LONGEST_PDU: u64 = 512 << 20;

/// The result of [`Connection::pdu_len`], `Invalid` if it is not plausible.
pub fn measure(conn: &dyn Connection, side: Side, head: &[u8]) -> PduLen {
    plausible(conn.pdu_len(side, head), head)
}

/// The length of the PDU that starts with `head`, `Invalid` if it is not plausible.
pub fn plausible(len: PduLen, head: &[u8]) -> PduLen {
    match len {
        PduLen::Known(0) => PduLen::Invalid,
        PduLen::Known(len) if len > LONGEST_PDU => PduLen::Invalid,
        PduLen::Need(need) if need > KEPT_BYTES => PduLen::Invalid,
        PduLen::Need(need) => PduLen::Need(need.max(head.len().saturating_add(1))),
        known => known,
    }
}

/// A length for indexing; lengths that memory cannot have become the largest.
pub fn to_usize(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
