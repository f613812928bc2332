//! An RTPS message: one datagram (DDSI-RTPS 2.5 §9.4).
//!
//! ```text
//! 0...2...........7...............15.............23...............31
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |      'R'      |      'T'      |      'P'      |      'S'      |
//! +---------------+---------------+---------------+---------------+
//! |    version (major, minor)     |           vendor id           |
//! +---------------+---------------+---------------+---------------+
//! |                     GUID prefix (12 bytes)                    |
//! +---------------+---------------+---------------+---------------+
//! | submessage id |     flags   |E|     octets to next header     |  ← as often as there are submessages
//! +---------------+---------------+---------------+---------------+
//! |                       the submessage's body                   |
//! +---------------------------------------------------------------+
//! ```

use super::entity::GuidPrefix;
use super::submessage::SubmessageKind;
use crate::{Reader, Recognition};

/// Bytes of the message's header.
pub(super) const HEADER_BYTES: usize = 20;

/// Bytes of a submessage's header.
const SUBMESSAGE_HEADER_BYTES: u64 = 4;

const MAGIC: [u8; 4] = *b"RTPS";
const MAJOR: u8 = 2;

/// Whether a datagram with this head is RTPS 2.x.
pub(super) fn recognise(head: &[u8]) -> Recognition {
    match (head.first_chunk(), head.get(MAGIC.len())) {
        (Some(&MAGIC), Some(&MAJOR)) => Recognition::Yes,
        (Some(&MAGIC), None) => Recognition::NeedMore,
        (None, _) if MAGIC.starts_with(head) => Recognition::NeedMore,
        _ => Recognition::No,
    }
}

/// Byte order of a submessage: its E flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Big,
    Little,
}

impl ByteOrder {
    pub fn u16(self, reader: &mut Reader) -> Option<u16> {
        match self {
            ByteOrder::Big => reader.u16_be(),
            ByteOrder::Little => reader.u16_le(),
        }
    }

    pub fn u32(self, reader: &mut Reader) -> Option<u32> {
        match self {
            ByteOrder::Big => reader.u32_be(),
            ByteOrder::Little => reader.u32_le(),
        }
    }

    /// A sequence number: a signed high half, then a low one (§9.3.2.10). Those of samples start at 1.
    pub fn sequence_number(self, reader: &mut Reader) -> Option<u64> {
        let high = i32::try_from(self.u32(reader)?).ok()?;
        let low = self.u32(reader)?;
        let number = u64::from(high.unsigned_abs()) << 32 | u64::from(low);
        (number > 0).then_some(number)
    }
}

/// One submessage, not yet looked into.
#[derive(Clone, Copy, Debug)]
pub(super) struct Submessage<'a> {
    pub kind: SubmessageKind,
    pub flags: u8,
    pub order: ByteOrder,
    /// Where in the datagram it starts.
    pub at: u64,
    /// Its bytes, header included.
    pub len: u64,
    /// Its body, as much of it as was captured; positions count from its start.
    pub body: Reader<'a>,
}

impl Submessage<'_> {
    pub fn flag(&self, mask: u8) -> bool {
        self.flags & mask != 0
    }

    /// Bytes of its body, captured or not.
    pub fn body_len(&self) -> u64 {
        self.len.saturating_sub(SUBMESSAGE_HEADER_BYTES)
    }
}

/// A step through a datagram.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'a> {
    Submessage(Submessage<'a>),
    /// From here to the end nothing was captured.
    Truncated {
        at: u64,
    },
    /// From here to the end is no submessage.
    Malformed {
        at: u64,
    },
}

/// A datagram that starts with an RTPS header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    /// Captured bytes.
    bytes: &'a [u8],
    /// Bytes on the wire.
    pub len: u64,
    /// The sender.
    pub prefix: GuidPrefix,
}

impl<'a> Message<'a> {
    /// The message in a datagram of `len` bytes, of which `bytes` were captured; `None` if that does
    /// not even hold a header of RTPS 2.x.
    pub fn read(bytes: &'a [u8], len: u64) -> Option<Message<'a>> {
        let captured = usize::try_from(len).map_or(bytes.len(), |len| len.min(bytes.len()));
        let mut reader = Reader::new(bytes);
        let bytes = reader.take(captured)?;
        let mut reader = Reader::new(bytes);
        if recognise(bytes) != Recognition::Yes {
            return None;
        }
        reader.skip(HEADER_BYTES.saturating_sub(size_of::<GuidPrefix>()))?;
        Some(Message { bytes, len, prefix: reader.array()? })
    }

    /// Its submessages from position `at` in the datagram on.
    pub fn steps_from(&self, at: u64) -> Steps<'a> {
        let mut reader = Reader::new(self.bytes);
        reader.take_up_to(usize::try_from(at).unwrap_or(usize::MAX));
        Steps { rest: reader, at, len: self.len }
    }

    /// All of its submessages.
    pub fn steps(&self) -> Steps<'a> {
        self.steps_from(HEADER_BYTES as u64)
    }
}

/// Walks a message's submessages. Every step but a submessage is the last one.
#[derive(Clone, Debug)]
pub(super) struct Steps<'a> {
    rest: Reader<'a>,
    at: u64,
    len: u64,
}

impl<'a> Iterator for Steps<'a> {
    type Item = Step<'a>;

    fn next(&mut self) -> Option<Step<'a>> {
        let at = self.at;
        let left = self.len.checked_sub(at).filter(|&left| left > 0)?;
        let mut reader = self.rest;
        self.at = self.len;
        let Some(header) = reader.array::<4>() else {
            let cut = left >= SUBMESSAGE_HEADER_BYTES;
            return Some(if cut { Step::Truncated { at } } else { Step::Malformed { at } });
        };
        let [id, flags, octets @ ..] = header;
        let (kind, order) = (
            SubmessageKind::from_id(id),
            if flags & 1 == 1 { ByteOrder::Little } else { ByteOrder::Big },
        );
        let octets = u64::from(match order {
            ByteOrder::Little => u16::from_le_bytes(octets),
            ByteOrder::Big => u16::from_be_bytes(octets),
        });
        // 0 is "to the end of the message" for all but the two that may be empty (§9.4.5.1.3).
        let to_end = octets == 0 && !kind.may_be_empty();
        let body_len = if to_end { left.saturating_sub(SUBMESSAGE_HEADER_BYTES) } else { octets };
        let len = SUBMESSAGE_HEADER_BYTES.saturating_add(body_len);
        if len > left {
            return Some(Step::Malformed { at });
        }
        let body = Reader::new(reader.take_up_to(usize::try_from(body_len).unwrap_or(usize::MAX)));
        self.at = at.saturating_add(len);
        self.rest = reader;
        Some(Step::Submessage(Submessage { kind, flags, order, at, len, body }))
    }
}
