//! Whether bytes are Zenoh. This does not need the state of a conversation.

use super::fragments::follows;
use super::message::NetworkMessage;
use super::scouting;
use super::transport::{FragmentHeader, TransportMessage, VERSION};
use super::wire::{Cursor, CursorError, WireExpr, id};
use crate::{PduSignature, SignatureMatch};

/// How certain it is that bytes are Zenoh.
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
    let (mut found, mut rest) = first(head, false);
    while found != ZenohEvidence::None && !rest.is_empty() {
        let (next, after) = first(rest, false);
        found = found.and(next);
        rest = after;
    }
    found
}

/// Whether a batch is likely to start here, judged by this batch and the start of the next one. With `compression`,
/// compressed batches are accepted, of which only the header can be read.
pub fn resync(head: &[u8], compression: bool) -> bool {
    let (found, rest) = first(head, compression);
    match found {
        ZenohEvidence::None => false,
        ZenohEvidence::Short => may_be_cut(head, compression),
        ZenohEvidence::Fragment(_) if !rest.is_empty() => match first(rest, compression).0 {
            ZenohEvidence::Short => may_be_cut(rest, compression),
            next => found.and(next) != ZenohEvidence::None,
        },
        ZenohEvidence::Weak | ZenohEvidence::Fragment(_) | ZenohEvidence::Strong => true,
    }
}

/// Whether a batch has FRAMEs or FRAGMENTs. Only such batches are long enough to be divided by the end of a packet.
fn may_be_cut(head: &[u8], compression: bool) -> bool {
    head.get(2).is_none_or(|header| compression || matches!(id(*header), 5 | 6))
}

/// Examines the first batch. Returns the bytes after it, too.
fn first(head: &[u8], compression: bool) -> (ZenohEvidence, &[u8]) {
    let Some((len, body)) = head.split_first_chunk::<2>() else {
        return (ZenohEvidence::Short, &[]);
    };
    let len = u16::from_le_bytes(*len);
    let (bytes, rest) = body.split_at_checked(len.into()).unwrap_or((body, &[]));
    let evidence = match bytes.first() {
        Some(1) if compression => ZenohEvidence::Weak,
        _ => batch(bytes, len.into()),
    };
    (evidence, rest)
}

/// Whether a batch starts with `head`, or is the datagram `head`. The sequence number of a fragment is a counter.
pub fn match_signature(head: &[u8], is_stream: bool) -> SignatureMatch {
    const FRAGMENT_BITS: u32 = 5;
    const WEAK_BITS: u32 = 10;
    const CUT_BITS: u32 = 8;
    const SCOUTING_BITS: u32 = 24;
    // The evidence of a FRAME whose network message ends exactly with the batch. Longer messages have a longer length.
    let whole_bits = |len: u64| if len < 128 { 16 } else { 22 };
    if !is_stream && scouting::read(&mut Cursor::new(head, head.len() as u64)).is_ok() {
        return SignatureMatch::Pdu(PduSignature::new(head.len() as u64, SCOUTING_BITS));
    }
    let (prefix, len, body) = match head.split_first_chunk::<2>() {
        _ if !is_stream => (0_u64, head.len() as u64, head),
        None => return SignatureMatch::Short,
        Some((len, body)) => (2, u64::from(u16::from_le_bytes(*len)), body),
    };
    let bytes = usize::try_from(len).ok().and_then(|len| body.get(..len)).unwrap_or(body);
    let sight = |bits| PduSignature::new(prefix.saturating_add(len), bits);
    match batch(bytes, len) {
        ZenohEvidence::Short if (bytes.len() as u64) < len.min(64) => SignatureMatch::Short,
        ZenohEvidence::None | ZenohEvidence::Short => SignatureMatch::No,
        ZenohEvidence::Weak => SignatureMatch::Pdu(sight(WEAK_BITS).weak()),
        ZenohEvidence::Strong if bytes.len() as u64 == len => {
            SignatureMatch::Pdu(sight(whole_bits(len)))
        }
        ZenohEvidence::Strong => SignatureMatch::Pdu(sight(CUT_BITS)),
        ZenohEvidence::Fragment(fragment) => {
            SignatureMatch::Pdu(sight(FRAGMENT_BITS).numbered(fragment.lane.index(), fragment.sn))
        }
    }
}

/// Examines a datagram.
pub fn datagram(bytes: &[u8]) -> ZenohEvidence {
    let len = bytes.len() as u64;
    if scouting::read(&mut Cursor::new(bytes, len)).is_ok() {
        return ZenohEvidence::Strong;
    }
    match batch(bytes, len) {
        ZenohEvidence::Short => ZenohEvidence::None,
        found => found,
    }
}

/// Examines one batch of `len` bytes.
fn batch(captured: &[u8], len: u64) -> ZenohEvidence {
    let mut at = Cursor::new(captured, len);
    if at.is_empty() {
        return ZenohEvidence::None;
    }
    match at_message(&mut at) {
        Err((CursorError::Malformed, _)) => ZenohEvidence::None,
        Ok(found) | Err((CursorError::Cut, found)) => found,
    }
}

type Found = Result<ZenohEvidence, (CursorError, ZenohEvidence)>;

fn at_message(at: &mut Cursor<'_>) -> Found {
    skip_header(at);
    let mut found = ZenohEvidence::Short;
    while !at.is_empty() {
        let message = TransportMessage::read(at).map_err(|stop| (stop, found))?;
        let this = match message {
            TransportMessage::Init { version: VERSION, .. }
            | TransportMessage::Join { version: VERSION, .. } => ZenohEvidence::Strong,
            TransportMessage::Init { .. } | TransportMessage::Join { .. } => {
                return Ok(ZenohEvidence::None);
            }
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
fn skip_header(at: &mut Cursor<'_>) {
    let mut next = *at;
    if next.u8() == Ok(0) && !next.is_empty() {
        *at = next;
    }
}

/// The evidence of a fragment, which is the rest of its batch. Only the next batch can confirm it.
fn of_fragment(at: &Cursor<'_>, fragment: FragmentHeader, before: ZenohEvidence) -> ZenohEvidence {
    match before {
        ZenohEvidence::Strong => ZenohEvidence::Strong,
        // Only FRAMEs can be in the same batch as a fragment.
        ZenohEvidence::Weak => ZenohEvidence::None,
        _ if at.is_empty() && !fragment.dropped => ZenohEvidence::None,
        _ => ZenohEvidence::Fragment(fragment),
    }
}

/// Examines the network messages of a FRAME, of which there is at least one.
fn frame(at: &mut Cursor<'_>) -> Found {
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

/// Whether a key expression is text without control characters.
fn is_key_expr(expr: WireExpr<'_>) -> bool {
    str::from_utf8(expr.suffix).is_ok_and(|text| !text.chars().any(char::is_control))
}
