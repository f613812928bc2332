//! An RTPS message, which is one datagram (DDSI-RTPS 2.5 §9.4).
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

use super::byte_order::SubmessageByteOrder;
use super::entity::GuidPrefix;
use super::submessage_kind::SubmessageKind;
use super::vendor::VendorId;
use crate::{Reader, Recognition};

/// Number of bytes of the message's header.
pub(super) const HEADER_BYTES: usize = 20;

/// Number of bytes of a submessage's header.
const SUBMESSAGE_HEADER_BYTES: u64 = 4;

const MAGIC: [u8; 4] = *b"RTPS";
const MAJOR: u8 = 2;

/// Tells whether a datagram with this head is RTPS 2.x.
pub(super) fn recognise(head: &[u8]) -> Recognition {
    match (head.first_chunk(), head.get(MAGIC.len())) {
        (Some(&MAGIC), Some(&MAJOR)) => Recognition::Yes,
        (Some(&MAGIC), None) => Recognition::NeedMore,
        (None, _) if MAGIC.starts_with(head) => Recognition::NeedMore,
        _ => Recognition::No,
    }
}

/// A submessage whose body is not decoded yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct RtpsSubmessage<'a> {
    pub kind: SubmessageKind,
    pub flags: u8,
    pub order: SubmessageByteOrder,
    /// The submessage's position in the datagram.
    pub at: u64,
    /// Number of bytes, including the header.
    pub len: u64,
    /// The captured bytes of the body; positions count from the body's start.
    pub body: Reader<'a>,
}

impl RtpsSubmessage<'_> {
    pub fn flag(&self, mask: u8) -> bool {
        self.flags & mask != 0
    }

    /// Number of bytes of the body, captured or not.
    pub fn body_len(&self) -> u64 {
        self.len.saturating_sub(SUBMESSAGE_HEADER_BYTES)
    }
}

/// A step through a datagram.
#[derive(Clone, Copy, Debug)]
pub(super) enum RtpsStep<'a> {
    Submessage(RtpsSubmessage<'a>),
    /// The bytes from here to the datagram's end were not captured.
    Truncated {
        at: u64,
    },
    /// The bytes from here to the datagram's end are no submessage.
    Malformed {
        at: u64,
    },
}

/// A datagram that starts with an RTPS header.
#[derive(Clone, Copy, Debug)]
pub(super) struct RtpsMessage<'a> {
    /// The captured bytes.
    bytes: &'a [u8],
    /// The number of bytes on the wire.
    pub len: u64,
    /// Vendor of the implementation that sent the message.
    pub vendor: VendorId,
    /// The participant that sent the message.
    pub prefix: GuidPrefix,
}

impl<'a> RtpsMessage<'a> {
    /// Reads a datagram of `len` bytes, of which `bytes` were captured; `None` if it has no header of RTPS 2.x.
    pub fn read(bytes: &'a [u8], len: u64) -> Option<RtpsMessage<'a>> {
        let captured = usize::try_from(len).map_or(bytes.len(), |len| len.min(bytes.len()));
        let mut reader = Reader::new(bytes);
        let bytes = reader.take(captured)?;
        let mut reader = Reader::new(bytes);
        if recognise(bytes) != Recognition::Yes {
            return None;
        }
        // The magic number and the version.
        reader.skip(6)?;
        Some(RtpsMessage { bytes, len, vendor: reader.array()?, prefix: reader.array()? })
    }

    /// The submessages from position `at` in the datagram on.
    pub fn steps_from(&self, at: u64) -> RtpsSteps<'a> {
        let mut reader = Reader::new(self.bytes);
        reader.take_up_to(usize::try_from(at).unwrap_or(usize::MAX));
        RtpsSteps { rest: reader, at, len: self.len }
    }

    /// All submessages.
    pub fn steps(&self) -> RtpsSteps<'a> {
        self.steps_from(HEADER_BYTES as u64)
    }
}

/// Walks a message's submessages. A step that is not a submessage is the last one.
#[derive(Clone, Debug)]
pub(super) struct RtpsSteps<'a> {
    rest: Reader<'a>,
    at: u64,
    len: u64,
}

impl<'a> Iterator for RtpsSteps<'a> {
    type Item = RtpsStep<'a>;

    fn next(&mut self) -> Option<RtpsStep<'a>> {
        let at = self.at;
        let left = self.len.checked_sub(at).filter(|&left| left > 0)?;
        let mut reader = self.rest;
        self.at = self.len;
        let Some(header) = reader.array::<4>() else {
            let cut = left >= SUBMESSAGE_HEADER_BYTES;
            return Some(if cut { RtpsStep::Truncated { at } } else { RtpsStep::Malformed { at } });
        };
        let [id, flags, octets @ ..] = header;
        let (kind, order) = (
            SubmessageKind::from_id(id),
            if flags & 1 == 1 { SubmessageByteOrder::Little } else { SubmessageByteOrder::Big },
        );
        let octets = u64::from(match order {
            SubmessageByteOrder::Little => u16::from_le_bytes(octets),
            SubmessageByteOrder::Big => u16::from_be_bytes(octets),
        });
        // A length of 0 means "to the end of the message", except for the two kinds that may be empty (§9.4.5.1.3).
        let to_end = octets == 0 && !kind.may_be_empty();
        let body_len = if to_end { left.saturating_sub(SUBMESSAGE_HEADER_BYTES) } else { octets };
        let len = SUBMESSAGE_HEADER_BYTES.saturating_add(body_len);
        if len > left {
            return Some(RtpsStep::Malformed { at });
        }
        let body = Reader::new(reader.take_up_to(usize::try_from(body_len).unwrap_or(usize::MAX)));
        self.at = at.saturating_add(len);
        self.rest = reader;
        Some(RtpsStep::Submessage(RtpsSubmessage { kind, flags, order, at, len, body }))
    }
}
