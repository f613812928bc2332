//! Whether bytes are Zenoh: reads without a conversation's memory, and strictly.

use super::fragments::follows;
use super::network;
use super::scouting;
use super::transport::{Fragment, Message, VERSION};
use super::wire::{Cursor, Stop, WireExpr, id};
use crate::{Look, Sight};

/// What some bytes tell, up to where they end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// They are not Zenoh.
    None,
    /// Too few to tell.
    Short,
    /// Messages so short that other bytes can look the same.
    Weak,
    /// Ends with a fragment, which can be anything, but tells what comes next.
    Fragment(Fragment),
    /// A whole network message in a FRAME, a message with the protocol's version in it, or two
    /// fragments in a row.
    Strong,
}

impl Evidence {
    /// What this and the batch after it tell together.
    fn and(self, next: Evidence) -> Evidence {
        match (self, next) {
            (_, Evidence::None) => Evidence::None,
            (Evidence::Fragment(this), Evidence::Fragment(next)) => {
                if next.lane == this.lane && follows(this.sn, next.sn) {
                    Evidence::Strong
                } else if this.more || !next.first {
                    // Lanes can take turns, but random bytes look like that far more often.
                    Evidence::None
                } else {
                    Evidence::Fragment(next)
                }
            }
            (Evidence::Strong, _) | (_, Evidence::Strong) => Evidence::Strong,
            (this, Evidence::Short) => this,
            (_, next) => next,
        }
    }
}

/// Looks at bytes of a TCP stream that start with a batch's length. Every batch that they have must
/// be Zenoh, and the last one may be cut.
pub fn stream(head: &[u8]) -> Evidence {
    let (mut found, mut rest) = first(head, false);
    while found != Evidence::None && !rest.is_empty() {
        let (next, after) = first(rest, false);
        found = found.and(next);
        rest = after;
    }
    found
}

/// Whether a batch is likely to start here, judged by it and the start of the next one. `compression`
/// tells that compressed batches, of which only the header can be read, are expected.
pub fn resync(head: &[u8], compression: bool) -> bool {
    let (found, rest) = first(head, compression);
    match found {
        Evidence::None => false,
        Evidence::Short => may_be_cut(head, compression),
        Evidence::Fragment(_) if !rest.is_empty() => match first(rest, compression).0 {
            Evidence::Short => may_be_cut(rest, compression),
            next => found.and(next) != Evidence::None,
        },
        Evidence::Weak | Evidence::Fragment(_) | Evidence::Strong => true,
    }
}

/// Whether a batch is of the kind that is long enough to be cut by a packet's end: one of FRAMEs and
/// FRAGMENTs.
fn may_be_cut(head: &[u8], compression: bool) -> bool {
    head.get(2).is_none_or(|header| compression || matches!(id(*header), 5 | 6))
}

/// Looks at the first batch; gives what comes after it.
fn first(head: &[u8], compression: bool) -> (Evidence, &[u8]) {
    let Some((len, body)) = head.split_first_chunk::<2>() else { return (Evidence::Short, &[]) };
    let len = u16::from_le_bytes(*len);
    let (bytes, rest) = body.split_at_checked(len.into()).unwrap_or((body, &[]));
    let evidence = match bytes.first() {
        Some(1) if compression => Evidence::Weak,
        _ => batch(bytes, len.into()),
    };
    (evidence, rest)
}

/// What the batch at the front of `head`, or the datagram `head`, tells. Sequence numbers count up by one.
pub fn sight(head: &[u8], is_stream: bool) -> Look {
    const FRAGMENT_BITS: u32 = 5;
    const WEAK_BITS: u32 = 10;
    const CUT_BITS: u32 = 8;
    const SCOUTING_BITS: u32 = 24;
    // A FRAME of a network message whose payload ends where the batch does: its length has one byte, or more.
    let whole_bits = |len: u64| if len < 128 { 16 } else { 22 };
    if !is_stream && scouting::read(&mut Cursor::new(head, head.len() as u64)).is_ok() {
        return Look::Pdu(Sight::new(head.len() as u64, SCOUTING_BITS));
    }
    let (prefix, len, body) = match head.split_first_chunk::<2>() {
        _ if !is_stream => (0_u64, head.len() as u64, head),
        None => return Look::Short,
        Some((len, body)) => (2, u64::from(u16::from_le_bytes(*len)), body),
    };
    let bytes = usize::try_from(len).ok().and_then(|len| body.get(..len)).unwrap_or(body);
    let sight = |bits| Sight::new(prefix.saturating_add(len), bits);
    match batch(bytes, len) {
        Evidence::Short if (bytes.len() as u64) < len.min(64) => Look::Short,
        Evidence::None | Evidence::Short => Look::No,
        Evidence::Weak => Look::Pdu(sight(WEAK_BITS).weak()),
        Evidence::Strong if bytes.len() as u64 == len => Look::Pdu(sight(whole_bits(len))),
        Evidence::Strong => Look::Pdu(sight(CUT_BITS)),
        Evidence::Fragment(fragment) => {
            Look::Pdu(sight(FRAGMENT_BITS).numbered(fragment.lane.index(), fragment.sn))
        }
    }
}

/// Looks at a datagram.
pub fn datagram(bytes: &[u8]) -> Evidence {
    let len = bytes.len() as u64;
    if scouting::read(&mut Cursor::new(bytes, len)).is_ok() {
        return Evidence::Strong;
    }
    match batch(bytes, len) {
        Evidence::Short => Evidence::None,
        found => found,
    }
}

/// Looks at one batch of `len` bytes.
fn batch(captured: &[u8], len: u64) -> Evidence {
    let mut at = Cursor::new(captured, len);
    if at.is_empty() {
        return Evidence::None;
    }
    match at_message(&mut at) {
        Err((Stop::Malformed, _)) => Evidence::None,
        Ok(found) | Err((Stop::Cut, found)) => found,
    }
}

type Found = Result<Evidence, (Stop, Evidence)>;

fn at_message(at: &mut Cursor<'_>) -> Found {
    skip_header(at);
    let mut found = Evidence::Short;
    while !at.is_empty() {
        let message = Message::read(at).map_err(|stop| (stop, found))?;
        let this = match message {
            Message::Init { version: VERSION, .. } | Message::Join { version: VERSION } => {
                Evidence::Strong
            }
            Message::Init { .. } | Message::Join { .. } => return Ok(Evidence::None),
            Message::Fragment(fragment) => return Ok(of_fragment(at, fragment, found)),
            Message::Frame { .. } => frame(at)?,
            _ => Evidence::Weak,
        };
        found = if found == Evidence::Strong { found } else { this };
    }
    Ok(found)
}

/// A batch header says 0 where compression was agreed and not used. An OAM would look the same, which
/// is not sent.
fn skip_header(at: &mut Cursor<'_>) {
    let mut next = *at;
    if next.u8() == Ok(0) && !next.is_empty() {
        *at = next;
    }
}

/// A fragment fills its batch; nothing but what comes next confirms it.
fn of_fragment(at: &Cursor<'_>, fragment: Fragment, before: Evidence) -> Evidence {
    match before {
        Evidence::Strong => Evidence::Strong,
        // Only FRAMEs share a batch with a fragment.
        Evidence::Weak => Evidence::None,
        _ if at.is_empty() && !fragment.dropped => Evidence::None,
        _ => Evidence::Fragment(fragment),
    }
}

/// The network messages of a FRAME, at least one.
fn frame(at: &mut Cursor<'_>) -> Found {
    let mut found = Evidence::Short;
    loop {
        match at.peek() {
            Ok(header) if network::Message::starts_with(header) => {}
            Err(Stop::Cut) => return Err((Stop::Cut, found)),
            _ if found == Evidence::Strong => return Ok(found),
            _ => return Ok(Evidence::None),
        }
        let mut message = network::Message::unread();
        message.read(at).map_err(|stop| (stop, found))?;
        if !is_key_expr(message.expr) {
            return Err((Stop::Malformed, found));
        }
        found = Evidence::Strong;
    }
}

/// Key expressions are text without control characters.
fn is_key_expr(expr: WireExpr<'_>) -> bool {
    str::from_utf8(expr.suffix).is_ok_and(|text| !text.chars().any(char::is_control))
}
