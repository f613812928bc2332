//! Positions and ranges in the bytes of a flow.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A TCP sequence number as in the kernel and on the wire: 32 bits, wrapping (RFC 9293 §3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seq(pub u32);

impl Seq {
    /// The sequence number `n` bytes later.
    #[must_use]
    pub fn plus(self, n: u32) -> Seq {
        Seq(self.0.wrapping_add(n))
    }

    /// The signed distance from `other` to `self`; correct if the two are less than 2^31 apart.
    pub fn distance_from(self, other: Seq) -> i32 {
        self.0.wrapping_sub(other.0).cast_signed()
    }
}

/// The position of a byte in a flow, unwrapped to 64 bits.
///
/// TCP: the first payload byte after the SYN is at [`Offset::START`]. In a flow that is joined in mid-stream, the first byte that
/// was seen is there; earlier bytes, which may be seen later, are below, so `START` is not 0.
/// UDP: the datagrams follow each other in the order in which they were sent.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Offset(pub u64);

impl Offset {
    /// The beginning of a flow, with room for a complete sequence space below it.
    pub const START: Offset = Offset(1 << 32);

    /// The offset `n` bytes later.
    #[must_use]
    pub fn plus(self, n: u64) -> Offset {
        Offset(self.0.saturating_add(n))
    }
}

/// A half-open range of the bytes of a flow.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct ByteRange {
    /// The first byte.
    pub start: Offset,
    /// One past the last byte.
    pub end: Offset,
}

impl ByteRange {
    /// `len` bytes from `start`.
    pub fn new(start: Offset, len: u64) -> ByteRange {
        ByteRange { start, end: start.plus(len) }
    }

    /// The last byte before `end`.
    pub fn last_before(end: Offset) -> ByteRange {
        ByteRange { start: Offset(end.0.saturating_sub(1)), end }
    }

    /// The number of bytes in the range.
    pub fn len(self) -> u64 {
        self.end.0.saturating_sub(self.start.0)
    }

    /// True if the range has no bytes.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// True if the two ranges have a byte in common.
    pub fn overlaps(self, other: ByteRange) -> bool {
        self.start.max(other.start) < self.end.min(other.end)
    }

    /// True if the byte at `offset` is in the range.
    pub fn contains(self, offset: Offset) -> bool {
        self.start <= offset && offset < self.end
    }

    /// The position of the last byte; `start` for an empty range.
    pub fn last(self) -> Offset {
        Offset(self.end.0.saturating_sub(1).max(self.start.0))
    }
}

/// The number of a flow. Unlike a [`crate::FlowKey`], whose ports are used again, it is never used for another flow.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct FlowId(pub u64);

/// A range of bytes with its flow. A packet carried a message if their flow ranges have a byte in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowRange {
    /// The flow.
    pub flow: FlowId,
    /// The bytes.
    pub range: ByteRange,
}

impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {})", self.start.0, self.end.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_wrap() {
        let near_end = Seq(u32::MAX - 1);
        assert_eq!(near_end.plus(4), Seq(2));
        assert_eq!(Seq(2).distance_from(near_end), 4);
        assert_eq!(near_end.distance_from(Seq(2)), -4);
    }

    #[test]
    fn ranges_overlap_where_they_share_a_byte() {
        let range = |start, end| ByteRange { start: Offset(start), end: Offset(end) };
        assert!(range(0, 10).overlaps(range(9, 20)));
        assert!(!range(0, 10).overlaps(range(10, 20)));
        assert!(!range(0, 10).overlaps(range(5, 5)));
    }

    #[test]
    fn ranges_are_half_open() {
        let range = ByteRange::new(Offset(10), 5);
        assert!(range.contains(Offset(10)) && range.contains(range.last()));
        assert!(!range.contains(range.end));
        assert_eq!(ByteRange::new(Offset(3), 0).last(), Offset(3));
    }
}
