//! Headers of TLS records (RFC 8446 §5.1, RFC 5246 §6.2.1).
//!
//! ```text
//! record   | type, 20..24 | 3 | minor | length u16 | fragment |
//! ```

use crate::connection::PduLen;
use crate::reader::Reader;

/// Bytes before the fragment.
pub const HEADER: usize = 5;

pub const CHANGE_CIPHER_SPEC: u8 = 20;
pub const ALERT: u8 = 21;
pub const HANDSHAKE: u8 = 22;
pub const APPLICATION_DATA: u8 = 23;
pub const HEARTBEAT: u8 = 24;

/// The longest fragment: 2¹⁴ bytes, and what encryption may add (RFC 5246 §6.2.3).
pub const LONGEST_RECORD: u16 = 16_384 + 2048;

/// Returns the type of a record that starts with `head`, and its length; `None` if none starts there.
pub fn record(head: &[u8]) -> Option<(u8, PduLen)> {
    let mut reader = Reader::new(head);
    let kind = reader.u8().filter(|kind| (CHANGE_CIPHER_SPEC..=HEARTBEAT).contains(kind))?;
    let Some(major) = reader.u8() else { return Some((kind, PduLen::Need(HEADER))) };
    if major != 3 {
        return None;
    }
    let len = reader.u8().and_then(|_| reader.u16_be());
    match len {
        None => Some((kind, PduLen::Need(HEADER))),
        Some(len) if len > LONGEST_RECORD => None,
        Some(len) => Some((kind, PduLen::Known(u64::from(len).saturating_add(HEADER as u64)))),
    }
}

/// Bytes of an application-data record, which from TLS 1.2 on says version 3.3, or of another one of that version.
pub fn strict_len(bytes: &[u8]) -> Option<u64> {
    let mut reader = Reader::new(bytes);
    let kind = reader.u8()?;
    let (major, minor, len) = (reader.u8()?, reader.u8()?, reader.u16_be()?);
    let fits = match kind {
        APPLICATION_DATA => (17..=LONGEST_RECORD).contains(&len),
        CHANGE_CIPHER_SPEC => len == 1,
        ALERT => len == 2 || (17..64).contains(&len),
        HANDSHAKE => (4..=LONGEST_RECORD).contains(&len),
        _ => false,
    };
    (fits && major == 3 && (1..=3).contains(&minor)).then(|| 5 + u64::from(len))
}
