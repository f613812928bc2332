//! Frames (RFC 23, "Framing").
//!
//! ```text
//!   7 6 5 4 3   2      1      0
//! +-----------+------+------+------+
//! |     0     | CMD  | LONG | MORE |   CMD: a command, never with MORE
//! +-----------+------+------+------+
//! | length: 1 byte, or 8 (LONG), BE|   counts the body
//! +--------------------------------+
//! | body                           |
//! +--------------------------------+
//! ```

use super::{command, greeting};
use crate::{PduLen, Reader};

const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

const SHORT_BYTES: usize = 2;
const LONG_BYTES: usize = 9;

/// After a gap, a longer frame is considered invalid.
const PLAUSIBLE_BYTES: u64 = 64 << 20;

/// A frame's flags and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ZmtpFrameHeader {
    flags: u8,
    /// Number of bytes of the header.
    pub bytes: usize,
    /// Number of bytes of the body.
    pub body: u64,
}

impl ZmtpFrameHeader {
    /// Reads the header at the front of `head`.
    ///
    /// # Errors
    /// [`PduLen::Need`] if there are too few bytes, [`PduLen::Invalid`] if no frame starts here.
    #[inline]
    pub fn read(head: &[u8]) -> Result<ZmtpFrameHeader, PduLen> {
        let mut reader = Reader::new(head);
        let flags = reader.u8().ok_or(PduLen::Need(SHORT_BYTES))?;
        if flags > COMMAND | LONG || flags == COMMAND | MORE {
            return Err(PduLen::Invalid);
        }
        let (bytes, body) = if flags & LONG == 0 {
            (SHORT_BYTES, reader.u8().map(u64::from))
        } else {
            (LONG_BYTES, reader.u64_be())
        };
        let body = body.ok_or(PduLen::Need(bytes))?;
        Ok(ZmtpFrameHeader { flags, bytes, body })
    }

    /// Bytes of the whole frame.
    pub fn frame_len(&self) -> u64 {
        self.body.saturating_add(self.bytes as u64)
    }

    /// True for a command rather than a part of a message.
    pub fn is_command(&self) -> bool {
        self.flags & COMMAND != 0
    }

    /// True if the message has another part after this one.
    pub fn has_more(&self) -> bool {
        self.flags & MORE != 0
    }
}

/// The header of the frame at the front of `head`, if a sender is likely to send it: the length has its shorter form where
/// possible, and a command has a known name. An empty last part is valid, but it is rejected because runs of zeros are
/// common.
pub(super) fn strict(head: &[u8]) -> Option<ZmtpFrameHeader> {
    let header = ZmtpFrameHeader::read(head).ok()?;
    let fits = match header.bytes {
        LONG_BYTES => (256..=PLAUSIBLE_BYTES).contains(&header.body),
        _ => header.body > 0 || header.has_more(),
    };
    let body = head.get(header.bytes..).unwrap_or_default();
    (fits && (!header.is_command() || command::is_known(body, header.body))).then_some(header)
}

/// True if a frame with a long length starts with `head`. Its eight bytes start with at least five zeros.
pub(super) fn stands_out(head: &[u8]) -> bool {
    matches!(head, [2 | 3, 0, 0, 0, 0, 0, ..]) && strict(head).is_some()
}

/// True if `head` looks like a greeting or a frame.
pub(super) fn is_strict(head: &[u8]) -> bool {
    if greeting::starts_with(head) {
        matches!(greeting::pdu_len(head), PduLen::Known(_))
    } else {
        strict(head).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_length() {
        for (bytes, header, body) in [
            (&[0, 0][..], 2, 0),
            (&[1, 255], 2, 255),
            (&[4, 7], 2, 7),
            (&[2, 0, 0, 0, 0, 0, 0, 1, 0], 9, 256),
            (&[6, 0, 0, 0, 0, 0, 0, 0, 1], 9, 1),
            (&[3, 255, 255, 255, 255, 255, 255, 255, 255], 9, u64::MAX),
        ] {
            let read = ZmtpFrameHeader::read(bytes).unwrap();
            assert_eq!((read.bytes, read.body), (header, body), "{bytes:?}");
            for cut in 1..bytes.len() {
                assert_eq!(ZmtpFrameHeader::read(&bytes[..cut]), Err(PduLen::Need(header)));
            }
        }
        let valid: Vec<u8> =
            (0..=255).filter(|&b| ZmtpFrameHeader::read(&[b; 9]).is_ok()).collect();
        assert_eq!(valid, [0, 1, 2, 3, 4, 6]);
    }
}
