//! `PostgreSQL`'s protocol 3 ("Message Formats" of its documentation).
//!
//! ```text
//! startup   | length u32 | 3.0 as u32, or a request code | "user" 0 name 0 … 0 |
//! message   | type, a letter | length u32 without the letter | body |
//! ```

use super::name::ForeignName;
use crate::Reader;

const NAME: &str = "PostgreSQL";
const PROTOCOL_3: u32 = 196_608;
const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;

/// Recognises the message that a client sends first.
pub(super) fn startup(head: &[u8]) -> Option<ForeignName> {
    let mut reader = Reader::new(head);
    let (len, code) = (reader.u32_be()?, reader.u32_be()?);
    let found = match code {
        SSL_REQUEST | GSS_REQUEST => len == 8,
        CANCEL_REQUEST => len == 16,
        _ if code & 0xFFFF_0000 == PROTOCOL_3 => reader.peek_rest().starts_with(b"user\0"),
        _ => false,
    };
    found.then(|| ForeignName::of(NAME, None))
}

/// A packet of messages that ends with the one that ends each exchange: `ReadyForQuery` or `Sync`, or is a query.
pub(super) fn messages(bytes: &[u8], missing: u64) -> Option<ForeignName> {
    let mut rest = bytes;
    let mut last: &[u8] = &[];
    while let Some((kind, tail)) = rest.split_first() {
        let len = Reader::new(tail).u32_be().filter(|len| (4..=1 << 24).contains(len))?;
        kind.is_ascii_alphanumeric().then_some(())?;
        let len = usize::try_from(len).ok()?.saturating_add(1);
        last = rest.get(..len)?;
        rest = rest.get(len..)?;
    }
    let found = missing == 0
        && match last {
            [b'Z', 0, 0, 0, 5, b'I' | b'T' | b'E'] | [b'S', 0, 0, 0, 4] => last.len() < bytes.len(),
            [b'Q', _, _, _, _, text @ .., 0] => {
                text.len() >= 4 && std::str::from_utf8(text).is_ok_and(|text| !text.contains('\0'))
            }
            _ => false,
        };
    found.then(|| ForeignName::of(NAME, None))
}
