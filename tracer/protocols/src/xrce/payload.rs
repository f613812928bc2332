//! The position of the application's bytes in `WRITE_DATA` and `DATA` (DDS-XRCE 1.0 §7.7.11, §8.3.5.8).
//!
//! ```text
//! +------------+-----------+ +--------------+ +---------------+----------+ +-----------+
//! | request, 2 | object, 2 | | info, 12     | | related, 4/24 | [length] | | sample …  |
//! +------------+-----------+ +--------------+ +---------------+----------+ +-----------+
//!                              FORMAT_SAMPLE    of services
//! ```
//!
//! A sample is serialized without an encapsulation header. If it is a single sequence or string, the length at its start
//! does not count as payload, as in DDS. Services put the related request before a sample, each side in its own form; that
//! does not count as payload either, so that the payload is the same at both ends.

use super::objects::ObjectId;
use crate::Reader;

/// Number of bytes of request ID and object ID.
const BASE_BYTES: u64 = 4;

const INFO_BYTES: u64 = 12;

const FORMAT_MASK: u8 = 0x0E;
const FORMAT_DATA: u8 = 0x00;
const FORMAT_SAMPLE: u8 = 0x02;

/// Kinds of objects, which are the last four bits of their IDs (§7.2.2).
const REQUESTER: u8 = 7;
const REPLIER: u8 = 8;

/// A sample's object and position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SamplePayload<'a> {
    pub object: ObjectId,
    /// Position of the sample's first byte in the body.
    pub start: u64,
    pub len: u64,
    /// The captured bytes of the sample.
    pub bytes: &'a [u8],
}

impl<'a> SamplePayload<'a> {
    /// Reads the start of a body of `total` bytes; `to_agent` distinguishes `WRITE_DATA` from `DATA`. `None` if its format is
    /// not decoded (sequences of samples), or too little of it was captured.
    pub fn read(
        body: &'a [u8],
        total: u64,
        flags: u8,
        to_agent: bool,
    ) -> Option<SamplePayload<'a>> {
        let mut reader = Reader::new(body);
        reader.skip(2)?;
        let object = ObjectId(reader.array()?);
        let info = match flags & FORMAT_MASK {
            FORMAT_DATA => 0,
            FORMAT_SAMPLE => INFO_BYTES,
            _ => return None,
        };
        let related = match (object.kind(), to_agent) {
            (REPLIER, _) => 24,
            (REQUESTER, false) => 4,
            _ => 0,
        };
        let skip = info.saturating_add(related);
        let len = total.checked_sub(BASE_BYTES.saturating_add(skip))?;
        reader.skip(usize::try_from(skip).ok()?)?;
        let rest = reader.peek_rest();
        let length = if is_lone(rest, len) { 4 } else { 0 };
        reader.take_up_to(length);
        let length = length as u64;
        Some(SamplePayload {
            object,
            start: BASE_BYTES.saturating_add(skip).saturating_add(length),
            len: len.saturating_sub(length),
            bytes: reader
                .take_up_to(usize::try_from(len.saturating_sub(length)).unwrap_or(usize::MAX)),
        })
    }
}

/// True if a sample of `len` bytes is a single sequence, in either byte order: the agent forwards samples in the client's
/// byte order.
fn is_lone(sample: &[u8], len: u64) -> bool {
    let Some(head) = Reader::new(sample).array::<4>() else { return false };
    [u32::from_le_bytes(head), u32::from_be_bytes(head)]
        .iter()
        .any(|length| u64::from(*length) + 4 == len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &[u8], flags: u8, to_agent: bool) -> Option<(u64, u64)> {
        SamplePayload::read(body, body.len() as u64, flags, to_agent).map(|p| (p.start, p.len))
    }

    #[test]
    fn both_ends_show_the_same_payload() {
        assert_eq!(read(b"rrOOsample", 1, true), Some((4, 6)));
        assert_eq!(read(b"rrOO\x03\0\0\0abc", 1, true), Some((8, 3)));
        assert_eq!(read(b"rrOO\0\0\0\x03abc", 1, false), Some((8, 3)));
        assert_eq!(read(b"rrOO............\x03\0\0\0abc", 3, false), Some((20, 3)));
        // A request leaves its requester plain, and reaches its replier with an identity of 24 bytes.
        assert_eq!(read(b"rr\x00\x17abc", 1, true), Some((4, 3)));
        assert_eq!(read(b"rr\x00\x18012345678901234567890123abc", 1, false), Some((28, 3)));
        assert_eq!(read(b"rr\x00\x18012345678901234567890123abc", 1, true), Some((28, 3)));
        assert_eq!(read(b"rr\x00\x17rrqqabc", 1, false), Some((8, 3)));
    }

    #[test]
    fn undecoded_formats_have_no_payload() {
        assert_eq!(read(b"rrOO\x01\0\0\0", 9, false), None);
        assert_eq!(read(b"rrO", 1, false), None);
        assert_eq!(SamplePayload::read(b"rrO", 100, 1, false), None);
    }
}
