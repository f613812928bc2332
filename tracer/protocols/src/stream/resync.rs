//! Resynchronisation after a gap: whether a PDU starts with some bytes.
//!
//! A sender that is not saturated starts a PDU with a packet, so a packet's first byte is tried first. It is accepted as
//! the start of a PDU if the PDUs from there on end exactly with the packet, or if one of them is followed by the start
//! of another. A PDU that is longer than the packet is followed as a guess until its end shows what comes after it; a
//! later packet with a chain of PDUs overrides the guess, so that a wrong guess costs little. The packets of a saturated
//! sender can start anywhere in a PDU. In those, a bounded number of bytes is searched for two PDUs in a row, or for the
//! start of a long PDU that stands out.

use super::plausible::{plausible, to_usize};
use crate::{Connection, PduLen, Side};
use wirelap_events::Saturate;

/// A chain of this many PDUs needs no further proof.
const LONG_CHAIN: usize = 8;

/// Result of examining the bytes at one position for the start of a PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncEvidence {
    /// A chain of PDUs; the number of complete PDUs, including the first.
    Chain(usize),
    /// The head of a PDU of this length, not confirmed by later bytes.
    Head(u64),
    /// Neither a chain nor the head of a PDU.
    Neither,
}

/// Judges `bytes`, the last captured bytes of a packet; the packet's `missing` bytes after them were not captured.
pub fn judge(conn: &dyn Connection, side: Side, bytes: &[u8], missing: u64) -> SyncEvidence {
    let mut rest = bytes;
    let mut whole = 0;
    while !rest.is_empty() && whole < LONG_CHAIN {
        let len = plausible(conn.span(side, rest), rest);
        if !conn.resync(side, rest) {
            // The first few bytes of a PDU at the end of a chain do not contradict the chain.
            let is_cut = match len {
                PduLen::Need(_) => true,
                PduLen::Known(len) => len > rest.len() as u64,
                PduLen::Invalid => false,
            };
            return if is_cut && whole >= 2 {
                SyncEvidence::Chain(whole)
            } else {
                SyncEvidence::Neither
            };
        }
        let PduLen::Known(len) = len else { return SyncEvidence::Neither };
        match rest.split_at_checked(to_usize(len)) {
            Some((_, tail)) => rest = tail,
            None if len == (rest.len() as u64).saturating_add(missing) || whole > 0 => {
                return SyncEvidence::Chain(whole.saturating_add(1));
            }
            None => return SyncEvidence::Head(len),
        }
        whole.grow(1);
    }
    // If the packet's end was not captured, one PDU alone is no proof.
    if whole >= 2 || (whole == 1 && missing == 0) {
        SyncEvidence::Chain(whole)
    } else {
        SyncEvidence::Neither
    }
}
