//! Recognition of MQTT by its bytes.

use super::body::is_topic_name;
use super::header::{FixedHeader, PacketType, VarintError, varint};
use super::packet::strict;
use super::version::KnownVersion;
use crate::signature::text_bits;
use crate::{PduLen, PduSignature, Reader, Recognition, SignatureMatch};

/// Tells whether `head` is a CONNECT, which a client sends first. Its protocol name is the only magic number of MQTT.
pub(super) fn connect(head: &[u8]) -> Recognition {
    let mut reader = Reader::new(head);
    match reader.u8() {
        None => return Recognition::NeedMore,
        Some(0x10) => {}
        Some(_) => return Recognition::No,
    }
    match varint(&mut reader) {
        Ok(_) => {}
        Err(VarintError::Short) => return Recognition::NeedMore,
        Err(VarintError::Long) => return Recognition::No,
    }
    let rest = reader.peek_rest();
    for name in [&b"\0\x04MQTT"[..], b"\0\x06MQIsdp"] {
        if rest.starts_with(name) {
            return Recognition::Yes;
        }
        if name.starts_with(rest) {
            return Recognition::NeedMore;
        }
    }
    Recognition::No
}

/// Tells whether `head` is a CONNACK, which a server sends first.
pub(super) fn connack(head: &[u8]) -> Recognition {
    match strict(head, KnownVersion::Nothing) {
        Some(header) if header.kind == PacketType::Connack => Recognition::Maybe,
        None if head.first() == Some(&0x20) && head.len() < 4 => Recognition::NeedMore,
        _ => Recognition::No,
    }
}

/// Tells whether `head` is a packet in mid-stream. Only a PUBLISH has enough structure to be distinguished from other protocols,
/// and only if the packets end exactly with `head`.
pub(super) fn middle(head: &[u8]) -> Recognition {
    if head.len() < 2 {
        return Recognition::NeedMore;
    }
    let mut rest = head;
    let mut published = false;
    loop {
        let Some(header) = strict(rest, KnownVersion::Nothing) else {
            return Recognition::No;
        };
        published |= header.kind == PacketType::Publish;
        let len = usize::try_from(header.packet_len()).unwrap_or(usize::MAX);
        match rest.split_at_checked(len) {
            Some((_, [])) if published => return Recognition::Yes,
            Some((_, [])) | None => return Recognition::Maybe,
            Some((_, tail)) => rest = tail,
        }
    }
}

/// Tells whether a packet starts with `head`. The evidence of a PUBLISH is its type (10 of 256 bytes), the high byte of its
/// topic's length, and the topic.
pub(super) fn match_signature(head: &[u8]) -> SignatureMatch {
    const ACK_BITS: u32 = 14;
    let header = match FixedHeader::read(head) {
        Ok(header) => header,
        Err(PduLen::Need(_)) => return SignatureMatch::Short,
        Err(_) => return SignatureMatch::No,
    };
    let body = head.get(header.bytes..).unwrap_or_default();
    if header.kind == PacketType::Publish {
        let Some((len, topic)) = body.split_first_chunk::<2>() else {
            return if header.remaining < 2 { SignatureMatch::No } else { SignatureMatch::Short };
        };
        let len = u32::from(u16::from_be_bytes(*len));
        if len + 2 > header.remaining {
            return SignatureMatch::No;
        }
        // The captured part of the topic is checked before the rest arrives.
        if strict(head, KnownVersion::Nothing).is_none() {
            let is_cut = topic.len() < len as usize && is_topic_name(topic);
            return if is_cut { SignatureMatch::Short } else { SignatureMatch::No };
        }
        let topic = topic.get(..len as usize).unwrap_or(topic);
        let sure: u32 = if len < 256 { 13 } else { 6 };
        return SignatureMatch::Pdu(PduSignature::new(
            header.packet_len(),
            sure.saturating_add(text_bits(topic)),
        ));
    }
    let is_whole = body.len() >= header.remaining as usize;
    match strict(head, KnownVersion::Nothing) {
        Some(_) if !is_whole => SignatureMatch::Short,
        Some(header) if header.kind == PacketType::Connect => {
            SignatureMatch::Pdu(PduSignature::new(header.packet_len(), 60))
        }
        Some(header) => {
            SignatureMatch::Pdu(PduSignature::new(header.packet_len(), ACK_BITS).weak())
        }
        None if !is_whole && header.remaining < 4096 => SignatureMatch::Short,
        None => SignatureMatch::No,
    }
}

/// True if a PUBLISH with a topic of some length is at the front of `head`.
pub(super) fn stands_out(head: &[u8]) -> bool {
    const ENOUGH_BITS: u32 = 20;
    // This quickly rejects most of the bytes that are searched.
    head.first().is_some_and(|first| first >> 4 == PacketType::Publish as u8)
        && matches!(
            match_signature(head),
            SignatureMatch::Pdu(PduSignature { bits: ENOUGH_BITS.., distinctive: true, .. })
        )
}
