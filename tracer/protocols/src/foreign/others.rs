//! Protocols that tell by a few bytes: SSH (RFC 4253 §4.2), `MySQL`, `MongoDB`, DNS over TCP (RFC 1035 §4.2.2), and what
//! industry has over TCP: Modbus ("MODBUS Messaging on TCP/IP Implementation Guide" V1.0b, §3.1.3) and TPKT (RFC 1006 §6).

use super::name::ForeignName;
use crate::Reader;

/// Names the protocol by what a server says first.
pub(super) fn banner(head: &[u8]) -> Option<ForeignName> {
    if let Some(rest) = head.strip_prefix(b"SSH-") {
        let version =
            if rest.starts_with(b"1.") && !rest.starts_with(b"1.99") { "1" } else { "2.0" };
        return Some(ForeignName { is_encrypted: true, ..ForeignName::of("SSH", Some(version)) });
    }
    is_mysql_greeting(head).then(|| ForeignName::of("MySQL", None))
}

/// Length u24, packet 0, protocol version 10, the server's version as text.
fn is_mysql_greeting(head: &[u8]) -> bool {
    let mut reader = Reader::new(head);
    let (Some(len), Some(high), Some(number), Some(version)) =
        (reader.u16_le(), reader.u8(), reader.u8(), reader.u8())
    else {
        return false;
    };
    let text = reader.peek_rest().split(|b| *b == 0).next().unwrap_or_default();
    let looks_like_version = text.len() >= 5
        && text.first().is_some_and(u8::is_ascii_digit)
        && text.contains(&b'.')
        && text.iter().all(u8::is_ascii_graphic);
    high == 0
        && number == 0
        && version == 10
        && usize::from(len) + 4 == head.len()
        && looks_like_version
}

/// A message in the middle of a conversation.
pub(super) fn message(bytes: &[u8], missing: u64) -> Option<ForeignName> {
    if is_mongodb(bytes, missing) {
        return Some(ForeignName::of("MongoDB", None));
    }
    if is_modbus(bytes, missing) {
        return Some(ForeignName::of("Modbus", None));
    }
    if is_tpkt(bytes, missing) {
        return Some(ForeignName::of("TPKT", None));
    }
    (missing == 0 && is_dns(bytes)).then(|| ForeignName::of("DNS", None))
}

/// True if `bytes`, of which `missing` more were not captured, are whole PDUs: `len` reads the length of the one at the front.
fn is_chain(bytes: &[u8], missing: u64, len: fn(&[u8]) -> Option<usize>) -> bool {
    let mut rest = bytes;
    while !rest.is_empty() {
        let Some(len) = len(rest).filter(|len| *len > 0) else { return false };
        match rest.split_at_checked(len) {
            Some((_, tail)) => rest = tail,
            None => return len as u64 <= (rest.len() as u64).saturating_add(missing),
        }
    }
    !bytes.is_empty()
}

/// Transaction, protocol 0, length, unit, and a function with its data: not more than 253 bytes.
fn is_modbus(bytes: &[u8], missing: u64) -> bool {
    is_chain(bytes, missing, |head| {
        let mut reader = Reader::new(head);
        let (_, protocol, len) = (reader.u16_be()?, reader.u16_be()?, reader.u16_be()?);
        let (_, function) = (reader.u8()?, reader.u8()?);
        // An answer that refuses has the highest bit set.
        let is_function = (1..=43).contains(&(function & 0x7F));
        let is_adu = protocol == 0 && (3..=254).contains(&len) && is_function;
        is_adu.then(|| usize::from(len).saturating_add(6))
    })
}

/// Version 3, reserved, length; then COTP (ISO 8073 §13.2): its header's length, and a kind of TPDU.
fn is_tpkt(bytes: &[u8], missing: u64) -> bool {
    is_chain(bytes, missing, |head| {
        let mut reader = Reader::new(head);
        let (version, reserved, len) = (reader.u8()?, reader.u8()?, reader.u16_be()?);
        let (header, kind) = (reader.u8()?, reader.u8()?);
        let is_cotp = matches!(kind & 0xF0, 0x10 | 0x20 | 0x50..=0x80 | 0xC0..=0xF0);
        let is_packet = (version, reserved) == (3, 0) && u16::from(header).saturating_add(5) <= len;
        (is_packet && is_cotp).then_some(usize::from(len))
    })
}

/// Length, request, answered request, operation 2013 (`OP_MSG`), flags, and a section of kind 0.
fn is_mongodb(bytes: &[u8], missing: u64) -> bool {
    let mut reader = Reader::new(bytes);
    let fields = (|| {
        let len = reader.u32_le()?;
        reader.skip(8)?;
        Some((len, reader.u32_le()?, reader.u32_le()?, reader.u8()?, reader.u32_le()?))
    })();
    matches!(fields, Some((len, 2013, flags, 0, document))
        if u64::from(len) <= (bytes.len() as u64).saturating_add(missing)
            && flags & 0xFFFE_FFFC == 0
            && document.checked_add(21) <= Some(len))
}

/// A query or an answer behind its length, with one question in it.
fn is_dns(bytes: &[u8]) -> bool {
    let Some((len, message)) = bytes.split_first_chunk::<2>() else { return false };
    usize::from(u16::from_be_bytes(*len)) == message.len() && super::datagrams::is_dns(message)
}
