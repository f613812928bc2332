//! Recognition of XRCE by its bytes. Only the messages that open a session have a magic number; the others are recognised by their
//! valid fields.

use super::message::{
    CREATE_CLIENT, FRAGMENT, MessageHeader, STATUS_AGENT, XrceStep, XrceSteps, XrceSubmessage,
    is_plausible,
};
use crate::{PduSignature, Reader, Recognition, SignatureMatch};

/// Number of bytes of the shortest message: a header without key, and a RESET.
pub(super) const SHORTEST: u64 = 8;

/// From this stream ID on, streams are reliable; only these have fragments.
const RELIABLE: u8 = 0x80;

const COOKIE: &[u8] = b"XRCE";

/// Certainty that bytes are XRCE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum XrceEvidence {
    /// The bytes are not XRCE.
    None,
    /// The bytes look like the start of a message.
    Short,
    /// The bytes look like a message.
    Weak,
    /// The bytes look like a message with the magic number.
    Strong,
}

impl XrceEvidence {
    pub fn is_message(self) -> bool {
        matches!(self, XrceEvidence::Weak | XrceEvidence::Strong)
    }

    pub fn recognition(self) -> Recognition {
        match self {
            XrceEvidence::None => Recognition::No,
            XrceEvidence::Short => Recognition::NeedMore,
            XrceEvidence::Weak => Recognition::Maybe,
            XrceEvidence::Strong => Recognition::Yes,
        }
    }
}

/// Examines bytes of a TCP stream, from a message's length on.
pub(super) fn stream(head: &[u8]) -> XrceEvidence {
    let mut reader = Reader::new(head);
    match reader.u16_le().map(u64::from) {
        None => XrceEvidence::Short,
        Some(len) if len < SHORTEST => XrceEvidence::None,
        Some(len) => message(reader.take_up_to(usize::try_from(len).unwrap_or(usize::MAX)), len),
    }
}

/// Tells whether a message starts with `head`, or is the datagram `head`. The sequence number of its stream is a counter.
pub(super) fn match_signature(head: &[u8], is_stream: bool) -> SignatureMatch {
    const STRONG_BITS: u32 = 44;
    const WEAK_BITS: u32 = 10;
    let mut reader = Reader::new(head);
    let len = if is_stream { reader.u16_le().map(u64::from) } else { Some(head.len() as u64) };
    let Some(len) = len else { return SignatureMatch::Short };
    if len < SHORTEST {
        return SignatureMatch::No;
    }
    let captured = reader.take_up_to(usize::try_from(len).unwrap_or(usize::MAX));
    let total = len.saturating_add(if is_stream { 2 } else { 0 });
    let number = MessageHeader::read(&mut Reader::new(captured)).map(|header| {
        (u64::from(header.session) << 8 | u64::from(header.stream), u64::from(header.sequence))
    });
    match (message(captured, len), number) {
        (XrceEvidence::None, _) => SignatureMatch::No,
        (XrceEvidence::Short, _) if (captured.len() as u64) < len.min(64) => SignatureMatch::Short,
        (XrceEvidence::Strong, _) => SignatureMatch::Pdu(PduSignature::new(total, STRONG_BITS)),
        (_, Some((lane, number))) => {
            SignatureMatch::Pdu(PduSignature::new(total, WEAK_BITS).weak().numbered(lane, number))
        }
        (_, None) => SignatureMatch::No,
    }
}

/// Examines a message of `total` bytes.
pub(super) fn message(captured: &[u8], total: u64) -> XrceEvidence {
    let mut reader = Reader::new(captured);
    let Some(header) = MessageHeader::read(&mut reader) else { return XrceEvidence::Short };
    if header.len >= total {
        return XrceEvidence::None;
    }
    let mut found = XrceEvidence::Short;
    for step in XrceSteps::new(reader.rest(), header.len, total) {
        found = match step {
            XrceStep::Malformed { .. } => return XrceEvidence::None,
            XrceStep::Truncated { .. } if found == XrceEvidence::Strong => return found,
            XrceStep::Truncated { .. } => return XrceEvidence::Short,
            XrceStep::Submessage(submessage) => match submessage_evidence(&header, &submessage) {
                XrceEvidence::None => return XrceEvidence::None,
                // A magic number makes the whole message certain.
                _ if found == XrceEvidence::Strong => found,
                next => next,
            },
        };
    }
    found
}

fn submessage_evidence(header: &MessageHeader, submessage: &XrceSubmessage<'_>) -> XrceEvidence {
    let XrceSubmessage { id, len, body, .. } = *submessage;
    let fits_stream = match id {
        FRAGMENT => header.stream >= RELIABLE,
        1 | 7 | 8 | 9 => header.stream != 0,
        CREATE_CLIENT | STATUS_AGENT => header.stream == 0,
        _ => true,
    };
    if !is_plausible(id, len) || !fits_stream {
        return XrceEvidence::None;
    }
    let cookie = match id {
        CREATE_CLIENT => body,
        // The cookie follows the result.
        STATUS_AGENT => body.get(2..).unwrap_or_default(),
        _ if (body.len() as u64) < len => return XrceEvidence::Short,
        _ => return XrceEvidence::Weak,
    };
    if cookie.starts_with(COOKIE) {
        XrceEvidence::Strong
    } else if COOKIE.starts_with(cookie) && (body.len() as u64) < len {
        XrceEvidence::Short
    } else {
        XrceEvidence::None
    }
}
