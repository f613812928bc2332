//! Recognition of Zenoh in a datagram, which has no length that could be wrong. Its first byte is the only one that many of
//! Zenoh's messages fix, so that other protocols have datagrams that can be read as Zenoh. What is counted as evidence is what they
//! do not have by accident: a text as key expression, lengths that end with the datagram, and numbers that count.

use super::message::{NetworkMessage, PayloadRange};
use super::scouting;
use super::survey::{WEAK_BITS, ZenohEvidence, batch, is_key_expr, skip_header, whole_bits};
use super::transport::{FragmentHeader, TransportMessage, ZenohLane};
use super::wire::ZenohCursor;
use crate::{PduSignature, SignatureMatch};

/// The evidence of a scouting message, which has the protocol's version.
const SCOUTING_BITS: u32 = 24;

/// The evidence of a FRAME that has no more than a few numbers, such as the end of all replies.
const SHORT_FRAME_BITS: u32 = 12;

/// A FRAME of fewer bytes has no more than a few numbers.
const SHORT_FRAME_BYTES: u64 = 16;

/// The evidence of a fragment that begins with a network message that is longer than it.
const OPENING_BITS: u32 = 16;

/// The evidence of a fragment in the middle, or at the end, of a message: many bytes of other protocols look like one.
const PART_BITS: u32 = 0;

/// A fragment that another one follows fills its batch. Batches have the size of the longest datagram (zenoh-link-udp,
/// `UDP_MTU_LIMIT`) or are made to fit into a packet of the network, and nobody makes them smaller than this.
const SHORTEST_FULL_BATCH: u64 = 512;

/// Examines a datagram.
pub fn examine(bytes: &[u8]) -> ZenohEvidence {
    if is_scouting(bytes) {
        return ZenohEvidence::Strong;
    }
    match batch(bytes, bytes.len() as u64) {
        ZenohEvidence::Short => ZenohEvidence::None,
        ZenohEvidence::Fragment(fragment) if !is_possible(fragment, bytes) => ZenohEvidence::None,
        found => found,
    }
}

/// The evidence in a datagram, in bits. The numbers of FRAMEs and of the first fragments of messages are counters.
pub fn match_signature(bytes: &[u8]) -> SignatureMatch {
    let len = bytes.len() as u64;
    let sight = |bits| PduSignature::new(len, bits);
    if is_scouting(bytes) {
        return SignatureMatch::Pdu(sight(SCOUTING_BITS));
    }
    let found = match examine(bytes) {
        ZenohEvidence::None | ZenohEvidence::Short => return SignatureMatch::No,
        ZenohEvidence::Weak => sight(WEAK_BITS).weak(),
        ZenohEvidence::Strong => match frame(bytes) {
            Some((lane, sn)) => {
                let is_short = len < SHORT_FRAME_BYTES;
                let bits = if is_short { SHORT_FRAME_BITS } else { whole_bits(len) };
                sight(bits).numbered(lane.index(), sn)
            }
            None => sight(whole_bits(len)),
        },
        ZenohEvidence::Fragment(fragment) if is_opening(bytes) => {
            sight(OPENING_BITS).numbered(fragment.lane.index(), fragment.sn)
        }
        // Its content can be anything, and so can its number: any other protocol has a counter there.
        ZenohEvidence::Fragment(_) => sight(PART_BITS).weak(),
    };
    SignatureMatch::Pdu(found)
}

fn is_scouting(bytes: &[u8]) -> bool {
    scouting::read(&mut ZenohCursor::new(bytes, bytes.len() as u64)).is_ok()
}

/// True if a peer would accept the fragment that is the datagram `bytes`.
fn is_possible(fragment: FragmentHeader, bytes: &[u8]) -> bool {
    let is_full = bytes.len() as u64 >= SHORTEST_FULL_BATCH;
    fragment.is_known && (is_full || !fragment.more || fragment.dropped)
}

/// The lane and the number of the FRAME with which the datagram begins.
fn frame(bytes: &[u8]) -> Option<(ZenohLane, u64)> {
    match first(bytes)?.0 {
        TransportMessage::Frame { lane, sn } => Some((lane, sn)),
        _ => None,
    }
}

/// True if the datagram is a fragment with the start of a network message that is longer than it.
fn is_opening(bytes: &[u8]) -> bool {
    let Some((TransportMessage::Fragment(fragment), at)) = first(bytes) else { return false };
    let content = at.captured();
    let mut message = NetworkMessage::unread();
    // The rest of the message is in other datagrams, so that reading it ends early.
    let _ = message.read(&mut ZenohCursor::new(content, u64::MAX));
    let is_longer = message.payload.is_some_and(|PayloadRange { start, len, .. }| {
        start.saturating_add(len) > content.len() as u64
    });
    fragment.more && is_longer && is_key_expr(message.expr)
}

fn first(bytes: &[u8]) -> Option<(TransportMessage, ZenohCursor<'_>)> {
    let mut at = ZenohCursor::new(bytes, bytes.len() as u64);
    skip_header(&mut at);
    let message = TransportMessage::read(&mut at).ok()?;
    Some((message, at))
}
