//! Protocols that tell by a few bytes: SSH (RFC 4253 §4.2), `MySQL`, `MongoDB`, and DNS over TCP
//! (RFC 1035 §4.2.2).

use super::ForeignName;
use crate::Reader;

/// What a server says first.
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
    (missing == 0 && is_dns(bytes)).then(|| ForeignName::of("DNS", None))
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
        if u64::from(len) <= bytes.len() as u64 + missing
            && flags & 0xFFFE_FFFC == 0
            && document.checked_add(21) <= Some(len))
}

/// A query or an answer behind its length, with one question in it.
fn is_dns(bytes: &[u8]) -> bool {
    let Some((len, message)) = bytes.split_first_chunk::<2>() else { return false };
    usize::from(u16::from_be_bytes(*len)) == message.len() && super::datagrams::is_dns(message)
}
