//! The text of both directions.

use super::super::reassembly::Piece;
use super::lane::Lane;
use wirelap_events::{ByteRange, Total};
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
