//! Whether bytes are XRCE. Only the messages that open a session have a magic number; the others are
//! told by everything that the specification fixes.

use super::message::{
    CREATE_CLIENT, FRAGMENT, Header, STATUS_AGENT, Step, Steps, Submessage, is_plausible,
};
use crate::{Look, Reader, Recognition, Sight};

/// Bytes of the shortest message: a header without key, and a RESET.
pub(super) const SHORTEST: u64 = 8;

/// Streams from here on are reliable; only those have fragments.
const RELIABLE: u8 = 0x80;

const COOKIE: &[u8] = b"XRCE";

/// What bytes look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    None,
    /// Like the head of a message.
    Short,
    /// Like a message.
    Weak,
    /// Like one with the magic number.
    Strong,
}

impl Evidence {
    pub fn is_message(self) -> bool {
        matches!(self, Evidence::Weak | Evidence::Strong)
    }

    pub fn recognition(self) -> Recognition {
        match self {
            Evidence::None => Recognition::No,
            Evidence::Short => Recognition::NeedMore,
            Evidence::Weak => Recognition::Maybe,
            Evidence::Strong => Recognition::Yes,
        }
    }
}

/// Looks at the bytes of a TCP stream from a message's length on.
pub(super) fn stream(head: &[u8]) -> Evidence {
    let mut reader = Reader::new(head);
    match reader.u16_le().map(u64::from) {
        None => Evidence::Short,
        Some(len) if len < SHORTEST => Evidence::None,
        Some(len) => message(reader.take_up_to(usize::try_from(len).unwrap_or(usize::MAX)), len),
    }
}

/// What the message at the front of `head`, or the datagram `head`, tells. A stream's messages are numbered.
pub(super) fn sight(head: &[u8], is_stream: bool) -> Look {
    const STRONG_BITS: u32 = 44;
    const WEAK_BITS: u32 = 10;
    let mut reader = Reader::new(head);
    let len = if is_stream { reader.u16_le().map(u64::from) } else { Some(head.len() as u64) };
    let Some(len) = len else { return Look::Short };
    if len < SHORTEST {
        return Look::No;
    }
    let captured = reader.take_up_to(usize::try_from(len).unwrap_or(usize::MAX));
    let total = len.saturating_add(if is_stream { 2 } else { 0 });
    let number = Header::read(&mut Reader::new(captured)).map(|header| {
        (u64::from(header.session) << 8 | u64::from(header.stream), u64::from(header.sequence))
    });
    match (message(captured, len), number) {
        (Evidence::None, _) => Look::No,
        (Evidence::Short, _) if (captured.len() as u64) < len.min(64) => Look::Short,
        (Evidence::Strong, _) => Look::Pdu(Sight::new(total, STRONG_BITS)),
        (_, Some((lane, number))) => {
            Look::Pdu(Sight::new(total, WEAK_BITS).weak().numbered(lane, number))
        }
        (_, None) => Look::No,
    }
}

/// Looks at a message of `total` bytes.
pub(super) fn message(captured: &[u8], total: u64) -> Evidence {
    let mut reader = Reader::new(captured);
    let Some(header) = Header::read(&mut reader) else { return Evidence::Short };
    if header.len >= total {
        return Evidence::None;
    }
    let mut found = Evidence::Short;
    for step in Steps::new(reader.rest(), header.len, total) {
        found = match step {
            Step::Malformed { .. } => return Evidence::None,
            Step::Truncated { .. } if found == Evidence::Strong => return found,
            Step::Truncated { .. } => return Evidence::Short,
            Step::Submessage(submessage) => match submessage_evidence(&header, &submessage) {
                Evidence::None => return Evidence::None,
                // What was certain stays so.
                _ if found == Evidence::Strong => found,
                next => next,
            },
        };
    }
    found
}

fn submessage_evidence(header: &Header, submessage: &Submessage<'_>) -> Evidence {
    let Submessage { id, len, body, .. } = *submessage;
    let fits_stream = match id {
        FRAGMENT => header.stream >= RELIABLE,
        1 | 7 | 8 | 9 => header.stream != 0,
        CREATE_CLIENT | STATUS_AGENT => header.stream == 0,
        _ => true,
    };
    if !is_plausible(id, len) || !fits_stream {
        return Evidence::None;
    }
    let cookie = match id {
        CREATE_CLIENT => body,
        // After the result.
        STATUS_AGENT => body.get(2..).unwrap_or_default(),
        _ if (body.len() as u64) < len => return Evidence::Short,
        _ => return Evidence::Weak,
    };
    if cookie.starts_with(COOKIE) {
        Evidence::Strong
    } else if COOKIE.starts_with(cookie) && (body.len() as u64) < len {
        Evidence::Short
    } else {
        Evidence::None
    }
}
