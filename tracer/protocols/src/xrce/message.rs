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
//! Numbers in headers are little-endian. In a TCP stream, each message follows its length, 2 bytes little-endian (§11.3).

use crate::Reader;

/// From this session ID on, messages have no client key.
const WITHOUT_KEY: u8 = 0x80;

const KEY_BYTES: usize = 4;

/// Bytes of the length before a message in a TCP stream.
pub(super) const LENGTH_BYTES: u64 = 2;

/// Number of bytes of a submessage's header, and the alignment of submessages.
pub(super) const SUBHEADER_BYTES: u64 = 4;

pub(super) const CREATE_CLIENT: u8 = 0;
pub(super) const CREATE: u8 = 1;
pub(super) const STATUS_AGENT: u8 = 4;
pub(super) const WRITE_DATA: u8 = 7;
pub(super) const DATA: u8 = 9;
pub(super) const FRAGMENT: u8 = 13;

/// A message's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageHeader {
    pub session: u8,
    pub stream: u8,
    pub sequence: u16,
    /// Number of bytes of the header.
    pub len: u64,
}

impl MessageHeader {
    pub fn read(reader: &mut Reader<'_>) -> Option<MessageHeader> {
        let start = *reader;
        let (session, stream) = (reader.u8()?, reader.u8()?);
        let sequence = reader.u16_le()?;
        if session < WITHOUT_KEY {
            reader.skip(KEY_BYTES)?;
        }
        let len = reader.read_since(&start) as u64;
        Some(MessageHeader { session, stream, sequence, len })
    }
}

/// A submessage.
#[derive(Clone, Copy, Debug)]
pub(super) struct XrceSubmessage<'a> {
    pub id: u8,
    pub flags: u8,
    /// Position of the submessage's header in the message.
    pub at: u64,
    /// Number of bytes of the body.
    pub len: u64,
    /// The captured bytes of the body.
    pub body: &'a [u8],
    /// Position of the next submessage, or of the message's end.
    pub end: u64,
}

/// The next thing in a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum XrceStep<'a> {
    Submessage(XrceSubmessage<'a>),
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
pub(super) struct XrceSteps<'a> {
    reader: Reader<'a>,
    at: u64,
    /// Bytes of the message.
    total: u64,
}

impl<'a> XrceSteps<'a> {
    /// The submessages from position `at` on of a message of `total` bytes; `captured` are the captured bytes from there.
    pub fn new(captured: &'a [u8], at: u64, total: u64) -> XrceSteps<'a> {
        XrceSteps { reader: Reader::new(captured), at, total }
    }

    fn step(&mut self) -> XrceStep<'a> {
        let at = self.at;
        self.at = self.total;
        if at.saturating_add(SUBHEADER_BYTES) > self.total {
            return XrceStep::Malformed { at };
        }
        let header = (self.reader.u8(), self.reader.u8(), self.reader.u16_le());
        let (Some(id), Some(flags), Some(len)) = header else { return XrceStep::Truncated { at } };
        let start = at.saturating_add(SUBHEADER_BYTES);
        let end = start.saturating_add(u64::from(len));
        if end > self.total || !is_known(id, flags) {
            return XrceStep::Malformed { at };
        }
        let body = self.reader.take_up_to(len.into());
        let padded = end.next_multiple_of(SUBHEADER_BYTES).min(self.total);
        self.reader.take_up_to(usize::try_from(padded.saturating_sub(end)).unwrap_or(0));
        // Fewer bytes than a header are padding.
        self.at =
            if self.total.saturating_sub(padded) < SUBHEADER_BYTES { self.total } else { padded };
        XrceStep::Submessage(XrceSubmessage { id, flags, at, len: len.into(), body, end: self.at })
    }
}

impl<'a> Iterator for XrceSteps<'a> {
    type Item = XrceStep<'a>;

    fn next(&mut self) -> Option<XrceStep<'a>> {
        (self.at < self.total).then(|| self.step())
    }
}

/// True if a submessage with this ID exists and may have these flags (§8.3.5).
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

/// True if a body can have this length (§8.3.5). Requests start with request ID and object ID.
pub(super) fn is_plausible(id: u8, len: u64) -> bool {
    match id {
        CREATE_CLIENT => len >= 16,
        CREATE => len >= 8,
        // The status has a result and the agent's description.
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
        let read = |bytes: &[u8]| MessageHeader::read(&mut Reader::new(bytes));
        let header = MessageHeader { session: 0x81, stream: 0x80, sequence: 0x0201, len: 4 };
        assert_eq!(read(&[0x81, 0x80, 1, 2, 9]), Some(header));
        let header = MessageHeader { session: 1, len: 8, ..header };
        assert_eq!(read(&[1, 0x80, 1, 2, 9, 9, 9, 9]), Some(header));
        assert_eq!(read(&[1, 0x80, 1, 2, 9, 9, 9]), None);
    }

    #[test]
    fn submessages_are_aligned() {
        let bytes = [11, 1, 5, 0, 1, 2, 3, 4, 5, 0, 0, 0, 12, 1, 0, 0];
        let found: Vec<_> = XrceSteps::new(&bytes, 4, 20).collect();
        assert!(matches!(
            found[0],
            XrceStep::Submessage(XrceSubmessage { at: 4, len: 5, end: 16, .. })
        ));
        assert!(matches!(
            found[1],
            XrceStep::Submessage(XrceSubmessage { id: 12, at: 16, end: 20, .. })
        ));
        assert_eq!(found.len(), 2);
        let cut: Vec<_> = XrceSteps::new(&bytes[..13], 4, 20).collect();
        assert!(matches!(cut[1], XrceStep::Truncated { at: 16 }));
        let long: Vec<_> = XrceSteps::new(&bytes, 4, 12).collect();
        assert!(matches!(long[..], [XrceStep::Malformed { at: 4 }]));
        let unknown: Vec<_> = XrceSteps::new(&[16, 1, 0, 0], 4, 8).collect();
        assert!(matches!(unknown[..], [XrceStep::Malformed { at: 4 }]));
    }
}
