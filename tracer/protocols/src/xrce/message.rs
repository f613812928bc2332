//! Messages and submessages (DDS-XRCE 1.0 §8.3).
//!
//! ```text
//! +---------+--------+--------------+ +------------------------+
//! | session | stream | sequence u16 | | client key, 4 bytes    |   the key: if session < 128
//! +---------+--------+--------------+ +------------------------+
//! +----+-------+------------+----------------+-----+
//! | id | flags | length u16 | body           | pad |  × n; each starts at a multiple of 4
//! +----+-------+------------+----------------+-----+
//! flags: bit 0 little-endian · bits 1..3 the format of data, or fragment: bit 1 last one
//! ```
//!
//! Numbers of headers are little-endian. In a TCP stream, a message has its length before it, 2 bytes
//! little-endian (§11.3).

use crate::Reader;

/// Sessions from here on have no client key in their messages.
const WITHOUT_KEY: u8 = 0x80;

const KEY_BYTES: usize = 4;

/// Bytes of a submessage's header, and what submessages are aligned to.
pub(super) const SUBHEADER_BYTES: u64 = 4;

pub(super) const CREATE_CLIENT: u8 = 0;
pub(super) const CREATE: u8 = 1;
pub(super) const STATUS_AGENT: u8 = 4;
pub(super) const WRITE_DATA: u8 = 7;
pub(super) const DATA: u8 = 9;
pub(super) const FRAGMENT: u8 = 13;

/// A message's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub session: u8,
    pub stream: u8,
    pub sequence: u16,
    /// Bytes of it.
    pub len: u64,
}

impl Header {
    pub fn read(reader: &mut Reader<'_>) -> Option<Header> {
        let start = reader.position();
        let (session, stream) = (reader.u8()?, reader.u8()?);
        let sequence = reader.u16_le()?;
        if session < WITHOUT_KEY {
            reader.skip(KEY_BYTES)?;
        }
        let len = reader.position().saturating_sub(start) as u64;
        Some(Header { session, stream, sequence, len })
    }
}

/// A submessage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Submessage<'a> {
    pub id: u8,
    pub flags: u8,
    /// Where its header starts in the message.
    pub at: u64,
    /// Bytes of its body.
    pub len: u64,
    /// What was captured of its body.
    pub body: &'a [u8],
    /// Where the next one starts, or the message ends.
    pub end: u64,
}

/// What comes next in a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'a> {
    Submessage(Submessage<'a>),
    /// The rest was not captured.
    Truncated {
        at: u64,
    },
    /// The rest is no submessage.
    Malformed {
        at: u64,
    },
}

/// The submessages of a message.
#[derive(Clone, Debug)]
pub(super) struct Steps<'a> {
    reader: Reader<'a>,
    at: u64,
    /// Bytes of the message.
    total: u64,
}

impl<'a> Steps<'a> {
    /// Those from place `at` on of a message of `total` bytes; `captured` are its bytes from there.
    pub fn new(captured: &'a [u8], at: u64, total: u64) -> Steps<'a> {
        Steps { reader: Reader::new(captured), at, total }
    }

    fn step(&mut self) -> Step<'a> {
        let at = self.at;
        self.at = self.total;
        if at.saturating_add(SUBHEADER_BYTES) > self.total {
            return Step::Malformed { at };
        }
        let header = (self.reader.u8(), self.reader.u8(), self.reader.u16_le());
        let (Some(id), Some(flags), Some(len)) = header else { return Step::Truncated { at } };
        let start = at.saturating_add(SUBHEADER_BYTES);
        let end = start.saturating_add(u64::from(len));
        if end > self.total || !is_known(id, flags) {
            return Step::Malformed { at };
        }
        let body = self.reader.take_up_to(len.into());
        let padded = end.next_multiple_of(SUBHEADER_BYTES).min(self.total);
        self.reader.take_up_to(usize::try_from(padded.saturating_sub(end)).unwrap_or(0));
        // Less than a header is only padding.
        self.at =
            if self.total.saturating_sub(padded) < SUBHEADER_BYTES { self.total } else { padded };
        Step::Submessage(Submessage { id, flags, at, len: len.into(), body, end: self.at })
    }
}

impl<'a> Iterator for Steps<'a> {
    type Item = Step<'a>;

    fn next(&mut self) -> Option<Step<'a>> {
        (self.at < self.total).then(|| self.step())
    }
}

/// Whether there is such a submessage with these flags (§8.3.5).
fn is_known(id: u8, flags: u8) -> bool {
    let allowed = match id {
        CREATE => 0x07,
        WRITE_DATA | DATA => 0x0F,
        FRAGMENT => 0x03,
        0..=15 => 0x01,
        _ => return false,
    };
    flags & !allowed == 0
}

/// Whether a body can have this length (§8.3.5). Requests name request and object first.
pub(super) fn is_plausible(id: u8, len: u64) -> bool {
    match id {
        CREATE_CLIENT => len >= 16,
        CREATE => len >= 8,
        // With a result; an agent describes itself.
        STATUS_AGENT => len >= 2,
        5 | 6 => len >= 6,
        2 | 8 => len >= 5,
        3 => len == 4,
        WRITE_DATA | DATA => len >= 4,
        10 | 11 => len == 5,
        12 => len == 0,
        FRAGMENT => len >= 1,
        14 => len == 8,
        15 => len == 24,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_depends_on_the_session() {
        let read = |bytes: &[u8]| Header::read(&mut Reader::new(bytes));
        let header = Header { session: 0x81, stream: 0x80, sequence: 0x0201, len: 4 };
        assert_eq!(read(&[0x81, 0x80, 1, 2, 9]), Some(header));
        let header = Header { session: 1, len: 8, ..header };
        assert_eq!(read(&[1, 0x80, 1, 2, 9, 9, 9, 9]), Some(header));
        assert_eq!(read(&[1, 0x80, 1, 2, 9, 9, 9]), None);
    }

    #[test]
    fn submessages_are_aligned() {
        let bytes = [11, 1, 5, 0, 1, 2, 3, 4, 5, 0, 0, 0, 12, 1, 0, 0];
        let found: Vec<_> = Steps::new(&bytes, 4, 20).collect();
        assert!(matches!(found[0], Step::Submessage(Submessage { at: 4, len: 5, end: 16, .. })));
        assert!(matches!(found[1], Step::Submessage(Submessage { id: 12, at: 16, end: 20, .. })));
        assert_eq!(found.len(), 2);
        let cut: Vec<_> = Steps::new(&bytes[..13], 4, 20).collect();
        assert!(matches!(cut[1], Step::Truncated { at: 16 }));
        let long: Vec<_> = Steps::new(&bytes, 4, 12).collect();
        assert!(matches!(long[..], [Step::Malformed { at: 4 }]));
        let unknown: Vec<_> = Steps::new(&[16, 1, 0, 0], 4, 8).collect();
        assert!(matches!(unknown[..], [Step::Malformed { at: 4 }]));
    }
}
