//! Recognition of AMQP 0-9-1 by its bytes.

use super::frame::{self, AmqpFrameHeader, FrameKind, HEADER_BYTES, OPENING};
use super::method::Method;
use crate::{PduLen, PduSignature, Reader, Recognition, SignatureMatch};

/// Bytes of a method's frame that show which method it is.
const METHOD_BYTES: usize = HEADER_BYTES + 4;

/// Tells whether `head` is what an end sends first: the client its header, the server `connection.start`.
pub(super) fn opening(head: &[u8]) -> Recognition {
    // Type, channel 0; class `connection`, method `start`, version 0-9.
    const START: [u8; 3] = [1, 0, 0];
    const METHOD: [u8; 6] = [0, 10, 0, 10, 0, 9];
    if head.starts_with(OPENING) {
        return Recognition::Yes;
    }
    if OPENING.starts_with(head) {
        return Recognition::NeedMore;
    }
    let (start, rest) = head.split_at_checked(START.len()).unwrap_or((head, &[]));
    let method = rest.get(4..).unwrap_or_default();
    let method = method.get(..METHOD.len()).unwrap_or(method);
    if !START.starts_with(start) || !METHOD.starts_with(method) {
        return Recognition::No;
    }
    if method.len() == METHOD.len() { Recognition::Yes } else { Recognition::NeedMore }
}

/// Tells whether `head` is frames in mid-stream. A body alone has too little structure.
pub(super) fn middle(head: &[u8]) -> Recognition {
    match match_signature(head) {
        SignatureMatch::No => Recognition::No,
        SignatureMatch::Short => Recognition::NeedMore,
        SignatureMatch::Pdu(signature) if signature.distinctive => {
            let len = usize::try_from(signature.len).unwrap_or(usize::MAX);
            match head.get(len..) {
                // The octet after the frame has been compared.
                Some([]) => Recognition::Yes,
                Some(next) => match match_signature(next) {
                    SignatureMatch::No => Recognition::No,
                    _ => Recognition::Yes,
                },
                None => Recognition::Maybe,
            }
        }
        SignatureMatch::Pdu(_) => Recognition::Maybe,
    }
}

/// Tells whether a frame starts with `head`. The evidence is its type, the high bytes of its size, the numbers of a method or of a
/// content's class, and the octet after it.
pub(super) fn match_signature(head: &[u8]) -> SignatureMatch {
    const METHOD_BITS: u32 = 44;
    const HEADER_BITS: u32 = 44;
    const HEARTBEAT_BITS: u32 = 32;
    const BODY_BITS: u32 = 14;
    const END_BITS: u32 = 8;
    if head.starts_with(OPENING) {
        return SignatureMatch::Pdu(PduSignature::new(OPENING.len() as u64, 64));
    }
    let header = match AmqpFrameHeader::read(head) {
        Ok(header) => header,
        Err(PduLen::Need(_)) => return SignatureMatch::Short,
        Err(_) => return SignatureMatch::No,
    };
    if header.kind == FrameKind::Method && head.len() < METHOD_BYTES {
        return SignatureMatch::Short;
    }
    if header.kind == FrameKind::Header && head.len() < METHOD_BYTES {
        return SignatureMatch::Short;
    }
    let Some(header) = frame::strict(head) else { return SignatureMatch::No };
    let end = if header.ends_well(head) == Some(true) { END_BITS } else { 0 };
    let signature = |bits: u32| PduSignature::new(header.frame_len(), bits.saturating_add(end));
    SignatureMatch::Pdu(match header.kind {
        FrameKind::Method => signature(METHOD_BITS),
        FrameKind::Header => signature(HEADER_BITS),
        FrameKind::Heartbeat => signature(HEARTBEAT_BITS).weak(),
        FrameKind::Body => signature(BODY_BITS),
    })
}

/// True if a method with content, or a content's header, is at the front of `head`.
pub(super) fn stands_out(head: &[u8]) -> bool {
    // This quickly rejects most of the bytes that are searched.
    if !matches!(head, [1 | 2, _, _, 0, _, _, _, 0, 60, 0, ..]) {
        return false;
    }
    let Some(header) = frame::strict(head) else { return false };
    let mut numbers = Reader::new(header.payload(head));
    let method = numbers.u16_be().zip(numbers.u16_be());
    match header.kind {
        FrameKind::Method => method.is_some_and(|(class, id)| Method::of(class, id).is_some()),
        FrameKind::Header => true,
        FrameKind::Body | FrameKind::Heartbeat => false,
    }
}
