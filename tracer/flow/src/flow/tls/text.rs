//! The text of both directions.

use super::super::reassembly::Piece;
use super::lane::Lane;
use wirelap_events::{ByteRange, Offset, Total};
use wirelap_limits::network::MIN_UNRECOGNISED_BYTES;
use wirelap_protocols::Side;

/// The text in both directions.
#[derive(Debug, Default)]
pub struct TlsText {
    pub(super) lanes: [Lane; 2],
}

impl TlsText {
    /// Bytes of memory that it uses.
    pub fn held_bytes(&self) -> usize {
        self.lanes.iter().map(Lane::held_bytes).total()
    }

    /// A record of one side has come and was opened, with so much text. Returns where that lies among the texts.
    pub fn opened(&mut self, side: Side, record: ByteRange, len: u64) -> ByteRange {
        self.lanes[side as usize].opened(record, len)
    }

    /// Bytes of a stream of one side have come, or are known not to come, which lie in a datagram and can be used with the end of
    /// another one. Returns where they lie among the texts.
    pub fn carried(
        &mut self,
        side: Side,
        (datagram, usable): (ByteRange, Offset),
        len: u64,
    ) -> ByteRange {
        self.lanes[side as usize].carried(datagram, usable, len)
    }

    /// The place in the flow at which the oldest message of one side begins that is not complete.
    pub fn open_from(&self, side: Side) -> Option<Offset> {
        self.lanes[side as usize].open_from()
    }

    /// True if one direction has carried more than the end of a handshake, and no text of it is known.
    pub fn is_half_read(&self) -> bool {
        self.lanes.iter().any(|lane| lane.silent_bytes() >= MIN_UNRECOGNISED_BYTES)
    }

    /// The text with `side` in place of `theirs`.
    pub fn mapped(mut self, side: Side, theirs: Side) -> TlsText {
        if side != theirs {
            self.lanes.reverse();
        }
        self
    }

    /// The next bytes that one side sends.
    pub fn passes(&mut self, side: Side, piece: Piece<'_>) {
        self.lanes[side as usize].passes(piece);
    }
}
