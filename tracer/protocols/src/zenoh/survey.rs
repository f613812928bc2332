//! Recognition of Zenoh by its bytes. This does not need the state of a conversation.

use super::compressed::PeekedText;
use super::fragments::follows;
use super::message::NetworkMessage;
use super::transport::{FragmentHeader, TransportMessage, VERSION};
use super::wire::{CursorError, WireExpr, ZenohCursor, id};
use crate::{PduSignature, SignatureMatch};
use wirelap_events::FrameClass;

/// The IDs of a FRAME and of a FRAGMENT.
const FRAME: u8 = 5;
const FRAGMENT: u8 = 6;

/// The evidence of a message so short that other bytes can look the same.
pub(super) const WEAK_BITS: u32 = 10;

/// The evidence of a first fragment whose content begins with a message that has data.
const FIRST_FRAGMENT_BITS: u32 = 24;

/// The least second byte of the length of a batch that is long: the first fragment fills it.
const LONG_BATCH: u8 = 4;

/// The evidence of a FRAME whose network message ends exactly with the batch of `len` bytes. Longer messages have a longer length.
pub(super) fn whole_bits(len: u64) -> u32 {
    if len < 128 { 16 } else { 22 }
}

/// Certainty that bytes are Zenoh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZenohEvidence {
    /// The bytes are not Zenoh.
    None,
    /// There are too few bytes to decide.
    Short,
    /// The messages are so short that other bytes can look the same.
    Weak,
    /// The bytes end with a fragment, whose content can be anything, but whose number predicts the next one.
    Fragment(FragmentHeader),
    /// There is a complete network message in a FRAME, a message with the protocol's version, or two consecutive fragments.
    Strong,
}

impl ZenohEvidence {
    /// The evidence of this batch and the next one together.
    fn and(self, next: ZenohEvidence) -> ZenohEvidence {
        match (self, next) {
            (_, ZenohEvidence::None) => ZenohEvidence::None,
            (ZenohEvidence::Fragment(this), ZenohEvidence::Fragment(next)) => {
                if next.lane == this.lane && follows(this.sn, next.sn) {
                    ZenohEvidence::Strong
                } else if this.more || !next.first {
                    // Fragments of different lanes can alternate, but random bytes look like that far more often.
                    ZenohEvidence::None
                } else {
                    ZenohEvidence::Fragment(next)
                }
            }
            (ZenohEvidence::Strong, _) | (_, ZenohEvidence::Strong) => ZenohEvidence::Strong,
            (this, ZenohEvidence::Short) => this,
            (_, next) => next,
        }
    }
}

/// Examines bytes of a TCP stream that start with a batch's length. Every batch must be Zenoh; the last one may be
/// truncated.
pub fn stream(head: &[u8]) -> ZenohEvidence {
    let (mut found, mut rest) = first(head);
    while found != ZenohEvidence::None && !rest.is_empty() {
        let (next, after) = first(rest);
        found = found.and(next);
        rest = after;
    }
    found
}

/// True if a batch is likely to start here, judged by this batch and the start of the next one. `compression` tells that batches
/// may be compressed.
pub fn resync(head: &[u8], compression: bool) -> bool {
    let (found, rest) = first(head);
    match found {
        ZenohEvidence::None => false,
        ZenohEvidence::Short => may_be_cut(head, compression),
        ZenohEvidence::Fragment(_) if !rest.is_empty() => match first(rest).0 {
            ZenohEvidence::Short => may_be_cut(rest, compression),
            next => found.and(next) != ZenohEvidence::None,
        },
        ZenohEvidence::Weak | ZenohEvidence::Fragment(_) | ZenohEvidence::Strong => true,
    }
}

/// True if a message of a low-latency session is likely to start here, judged by it and the start of the next one.
pub fn resync_low_latency(head: &[u8]) -> bool {
    let (found, rest) = first(head);
    found != ZenohEvidence::None && (rest.is_empty() || first(rest).0 != ZenohEvidence::None)
}

/// True if a batch has FRAMEs or FRAGMENTs. Only such batches are long enough to be divided by the end of a packet.
fn may_be_cut(head: &[u8], compression: bool) -> bool {
    head.get(2).is_none_or(|header| compression || matches!(id(*header), 5 | 6))
}

/// The length at the start of a stream's bytes, its own length, and the bytes after it; `None` if there are too few. Four bytes
/// are that of a low-latency session, in which each message is alone; no batch begins with two zeros.
fn length(head: &[u8]) -> Option<(u64, u64, &[u8])> {
    match head {
        [a, b, 0, 0, body @ ..] => Some((4, u16::from_le_bytes([*a, *b]).into(), body)),
        [a, b, body @ ..] => Some((2, u16::from_le_bytes([*a, *b]).into(), body)),
        _ => None,
    }
}

/// Examines the first batch, or the first message of a low-latency session. Returns the bytes after it, too.
fn first(head: &[u8]) -> (ZenohEvidence, &[u8]) {
    let Some((prefix, len, body)) = length(head) else { return (ZenohEvidence::Short, &[]) };
    let here = usize::try_from(len).unwrap_or(usize::MAX);
    let (bytes, rest) = body.split_at_checked(here).unwrap_or((body, &[]));
    (unit(prefix, bytes, len), rest)
}

/// Examines a batch, or a message of a low-latency session, behind its length of `prefix` bytes.
fn unit(prefix: u64, captured: &[u8], len: u64) -> ZenohEvidence {
    if prefix == 4 { message_alone(captured, len) } else { batch(captured, len) }
}

/// True if a batch starts with `head`. The sequence number of a fragment is a counter.
pub fn match_signature(head: &[u8]) -> SignatureMatch {
    const FRAGMENT_BITS: u32 = 5;
    const CUT_BITS: u32 = 8;
    let Some((prefix, len, body)) = length(head) else { return SignatureMatch::Short };
    let bytes = within(body, len);
    let sight = |bits| PduSignature::new(len.saturating_add(prefix), bits);
    match unit(prefix, bytes, len) {
        ZenohEvidence::Short if (bytes.len() as u64) < len.min(64) => SignatureMatch::Short,
        ZenohEvidence::None | ZenohEvidence::Short => SignatureMatch::No,
        ZenohEvidence::Weak => SignatureMatch::Pdu(sight(WEAK_BITS).weak()),
        ZenohEvidence::Strong if bytes.len() as u64 == len => {
            SignatureMatch::Pdu(sight(whole_bits(len)))
        }
        // What follows the header of its only message, which has the length of the rest, tells no more.
        ZenohEvidence::Strong if is_one_message(bytes, len) => {
            SignatureMatch::Pdu(sight(whole_bits(len)))
        }
        ZenohEvidence::Strong => SignatureMatch::Pdu(sight(CUT_BITS)),
        ZenohEvidence::Fragment(fragment) => {
            let is_first = fragment.first && begins_message(bytes, len);
            let bits = if is_first { FIRST_FRAGMENT_BITS } else { FRAGMENT_BITS };
            SignatureMatch::Pdu(sight(bits).numbered(fragment.lane.index(), fragment.sn))
        }
    }
}

/// True if a batch with the first fragment of a message with data is at the front of `head`, or a long one with such a message alone. Among the
/// batches of a saturated sender of large messages, no other one has as much of its own.
pub fn stands_out(head: &[u8]) -> bool {
    // This quickly rejects most of the bytes that are searched.
    let [_, high, header, ..] = head else { return false };
    let is_likely = *high >= LONG_BATCH && matches!(id(*header), FRAME | FRAGMENT);
    is_likely
        && length(head).is_some_and(|(_, len, body)| match id(*header) {
            FRAME => is_one_message(body, len),
            _ => begins_message(body, len),
        })
}

/// True if a batch of `len` bytes, of which at least the beginning was captured, has one message with data, whose payload is the rest of it.
fn is_one_message(captured: &[u8], len: u64) -> bool {
    let mut at = ZenohCursor::new(within(captured, len), len);
    let mut message = NetworkMessage::unread();
    matches!(TransportMessage::read(&mut at), Ok(TransportMessage::Frame { .. }))
        && at.peek().is_ok_and(NetworkMessage::starts_with)
        && message.read(&mut at).is_ok()
        && at.is_empty()
        && message.class == FrameClass::Data
        && is_key_expr(message.expr)
}

/// The captured bytes of a batch of `len` bytes.
fn within(captured: &[u8], len: u64) -> &[u8] {
    usize::try_from(len).ok().and_then(|len| captured.get(..len)).unwrap_or(captured)
}

/// True if a batch of `len` bytes is the first fragment of a message with data, of which it has the beginning.
fn begins_message(captured: &[u8], len: u64) -> bool {
    let mut at = ZenohCursor::new(within(captured, len), len);
    let Ok(TransportMessage::Fragment(fragment)) = TransportMessage::read(&mut at) else {
        return false;
    };
    let mut message = NetworkMessage::unread();
    fragment.first
        && fragment.more
        && message.read(&mut at).is_err()
        && message.class == FrameClass::Data
        && is_key_expr(message.expr)
}

/// Examines a message of a low-latency session: a network message without a FRAME, a KEEPALIVE or a CLOSE.
fn message_alone(captured: &[u8], len: u64) -> ZenohEvidence {
    let mut at = ZenohCursor::new(captured, len);
    let is_network = match at.peek() {
        Ok(header) if NetworkMessage::starts_with(header) => true,
        Ok(header) if matches!(id(header), 3 | 4) => false,
        Ok(_) | Err(CursorError::Malformed) => return ZenohEvidence::None,
        Err(CursorError::Cut) => return ZenohEvidence::Short,
    };
    let mut message = NetworkMessage::unread();
    let result =
        if is_network { message.read(&mut at) } else { TransportMessage::read(&mut at).map(drop) };
    match result {
        Err(CursorError::Cut) => ZenohEvidence::Short,
        Ok(()) if at.is_empty() && is_key_expr(message.expr) => {
            if is_network {
                ZenohEvidence::Strong
            } else {
                ZenohEvidence::Weak
            }
        }
        Ok(()) | Err(CursorError::Malformed) => ZenohEvidence::None,
    }
}

/// Examines one batch of `len` bytes.
pub(super) fn batch(captured: &[u8], len: u64) -> ZenohEvidence {
    let mut at = ZenohCursor::new(captured, len);
    if at.is_empty() {
        return ZenohEvidence::None;
    }
    if let [1, packed @ ..] = captured
        && packed.first() != Some(&VERSION)
    {
        return compressed(packed);
    }
    skip_header(&mut at);
    evidence(at_message(&mut at))
}

/// Examines a compressed batch by the first bytes of its text, which begins with a FRAME or a FRAGMENT.
fn compressed(packed: &[u8]) -> ZenohEvidence {
    const LONG: u8 = 15;
    let is_start = match packed {
        [token, first, ..] if (1..LONG).contains(&(token >> 4)) => matches!(id(*first), 5 | 6),
        [token, ..] => token >> 4 == LONG,
        [] => true,
    };
    let text = if is_start { PeekedText::read(packed) } else { None };
    let Some(text) = text else { return ZenohEvidence::None };
    let mut at = ZenohCursor::new(text.bytes(), u16::MAX.into());
    match at.peek() {
        Ok(header) if !matches!(id(header), 5 | 6) => ZenohEvidence::None,
        _ => evidence(at_message(&mut at)),
    }
}

fn evidence(found: SurveyResult) -> ZenohEvidence {
    match found {
        Err((CursorError::Malformed, _)) => ZenohEvidence::None,
        Ok(found) | Err((CursorError::Cut, found)) => found,
    }
}

type SurveyResult = Result<ZenohEvidence, (CursorError, ZenohEvidence)>;

fn at_message(at: &mut ZenohCursor<'_>) -> SurveyResult {
    let mut found = ZenohEvidence::Short;
    while !at.is_empty() {
        let message = TransportMessage::read(at).map_err(|stop| (stop, found))?;
        let this = match message {
            TransportMessage::Init { version: VERSION, .. }
            | TransportMessage::Join { version: VERSION, .. } => ZenohEvidence::Strong,
            // Nobody sends an OAM, which zeros look like.
            TransportMessage::Init { .. }
            | TransportMessage::Join { .. }
            | TransportMessage::Oam => return Ok(ZenohEvidence::None),
            TransportMessage::Fragment(fragment) => return Ok(of_fragment(at, fragment, found)),
            TransportMessage::Frame { .. } => frame(at)?,
            _ => ZenohEvidence::Weak,
        };
        found = if found == ZenohEvidence::Strong { found } else { this };
    }
    Ok(found)
}

/// Skips a batch header of 0, which means that compression was negotiated and not used. An OAM starts with the same byte,
/// but is not sent.
pub(super) fn skip_header(at: &mut ZenohCursor<'_>) {
    let mut next = *at;
    if next.u8() == Ok(0) && !next.is_empty() {
        *at = next;
    }
}

/// The evidence of a fragment, which is the rest of its batch. Only the next batch can confirm it.
fn of_fragment(
    at: &ZenohCursor<'_>,
    fragment: FragmentHeader,
    before: ZenohEvidence,
) -> ZenohEvidence {
    match before {
        ZenohEvidence::Strong => ZenohEvidence::Strong,
        // Only FRAMEs can be in the same batch as a fragment.
        ZenohEvidence::Weak => ZenohEvidence::None,
        _ if at.is_empty() && !fragment.dropped => ZenohEvidence::None,
        _ => ZenohEvidence::Fragment(fragment),
    }
}

/// Examines the network messages of a FRAME, of which there is at least one.
fn frame(at: &mut ZenohCursor<'_>) -> SurveyResult {
    let mut found = ZenohEvidence::Short;
    loop {
        match at.peek() {
            Ok(header) if NetworkMessage::starts_with(header) => {}
            Err(CursorError::Cut) => return Err((CursorError::Cut, found)),
            _ if found == ZenohEvidence::Strong => return Ok(found),
            _ => return Ok(ZenohEvidence::None),
        }
        let mut message = NetworkMessage::unread();
        message.read(at).map_err(|stop| (stop, found))?;
        if !is_key_expr(message.expr) {
            return Err((CursorError::Malformed, found));
        }
        found = ZenohEvidence::Strong;
    }
}

/// True if a key expression is text without control characters.
pub(super) fn is_key_expr(expr: WireExpr<'_>) -> bool {
    str::from_utf8(expr.suffix).is_ok_and(|text| !text.chars().any(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of a batch of 49,150 bytes: a FRAGMENT, marked as the first one, and in it a PUT of 100,000 bytes.
    const FIRST: [u8; 18] = *b"\xfe\xbf\xe6\xf6\xfe\xa8\x38\x02\x1d\x01\x01\xa0\x8d\x06xxxx";

    /// The beginning of a batch of 24,021 bytes: a FRAME, and in it a PUT of 24,010 bytes.
    const ALONE: [u8; 18] = *b"\xd5\x5d\x25\xb0\xf5\xcf\x01\x1d\x01\x01\xca\xbb\x01xxxxx";

    #[test]
    fn a_long_message_alone_in_its_batch_stands_out() {
        assert!(stands_out(&ALONE));
        let SignatureMatch::Pdu(sight) = match_signature(&ALONE) else { panic!() };
        assert_eq!((sight.len, sight.bits), (24_023, whole_bits(24_021)));
        // A batch that has room for more, one that is too short, and a message that begins elsewhere.
        for (at, byte) in [(0, 0xd6), (0, 0xd4), (11, 0xba), (2, 0x3d)] {
            let mut other = ALONE;
            other[at] = byte;
            assert!(!stands_out(&other), "{at}");
            let bits = |found| matches!(found, SignatureMatch::Pdu(sight) if sight.bits >= 16);
            assert!(!bits(match_signature(&other)), "{at}");
        }
    }

    #[test]
    fn the_beginning_of_a_long_message_stands_out() {
        assert!(stands_out(&FIRST));
        let SignatureMatch::Pdu(sight) = match_signature(&FIRST) else { panic!() };
        assert_eq!((sight.len, sight.bits), (49_152, FIRST_FRAGMENT_BITS));
        // A later fragment, something else than a PUT, nothing after the header, and any other bytes.
        let others: [&[u8]; 4] = [
            b"\xfe\xbf\x66\xf6\xfe\xa8\x38xxxxxxxxxxx",
            b"\xfe\xbf\xe6\xf6\xfe\xa8\x38\x02\x1d\x01\x07\xa0\x8d\x06xxxx",
            &FIRST[..8],
            b"xxxxxxxxxxxxxxxxxx",
        ];
        assert_eq!(others.map(stands_out), [false; 4]);
    }
}
