//! Frames as they are on their way, and what is in them.

use super::error::StreamError;
use std::io::{self, ErrorKind, Read, Write};
use wirelap_events::Nanos;

/// The longest frame.
const MAX_FRAME: usize = 16 << 20;

pub(super) mod kind {
    pub const HELLO: u8 = 1;
    pub const RECORDS: u8 = 2;
    pub const ANSWER: u8 = 3;
    pub const STATE: u8 = 4;
    pub const END: u8 = 5;
    pub const LOST: u8 = 6;
}

/// A frame that is passed on as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawFrame<'a> {
    pub(super) kind: u8,
    pub(super) bytes: &'a [u8],
}

impl<'a> RawFrame<'a> {
    /// The frame that [`RawFrame::tagged`] has made these bytes of.
    pub fn of_tagged(tagged: &'a [u8]) -> Option<RawFrame<'a>> {
        let (kind, bytes) = tagged.split_first()?;
        (bytes.len() <= MAX_FRAME).then_some(RawFrame { kind: *kind, bytes })
    }

    /// A frame that tells why an agent ends.
    pub fn end(why: &'a str) -> RawFrame<'a> {
        RawFrame { kind: kind::END, bytes: why.as_bytes() }
    }

    /// A frame of the bytes of an answer ([`answer_bytes`]).
    pub fn answer_of(bytes: &'a [u8; 24]) -> RawFrame<'a> {
        RawFrame { kind: kind::ANSWER, bytes }
    }

    /// Appends its kind and what is in it, for a carrier that keeps lengths itself.
    pub fn tagged(&self, out: &mut Vec<u8>) {
        out.push(self.kind);
        out.extend_from_slice(self.bytes);
    }

    /// Number of events in it.
    pub fn events(&self) -> u64 {
        let count = self.bytes.first_chunk().filter(|_| self.kind == kind::RECORDS);
        count.map_or(0, |count| u32::from_le_bytes(*count).into())
    }

    /// True if it introduces the agent.
    pub fn is_hello(&self) -> bool {
        self.kind == kind::HELLO
    }

    /// True if it tells why the agent ends.
    pub fn is_end(&self) -> bool {
        self.kind == kind::END
    }

    /// The number of the ping that it answers, the agent's clock, and the nanoseconds by which its oscillator is ahead of that.
    pub fn answer(&self) -> Option<(u64, Nanos, i64)> {
        let (parts, []) = self.bytes.as_chunks::<8>() else { return None };
        let &[number, at, ahead] = parts else { return None };
        let at = Nanos(u64::from_le_bytes(at));
        (self.kind == kind::ANSWER)
            .then(|| (u64::from_le_bytes(number), at, i64::from_le_bytes(ahead)))
    }

    /// Writes the frame as agents do.
    ///
    /// # Errors
    /// Nobody reads it.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let len = u32::try_from(self.bytes.len()).map_err(|_| ErrorKind::InvalidInput)?;
        let [a, b, c, d] = len.to_le_bytes();
        out.write_all(&[self.kind, a, b, c, d])?;
        out.write_all(self.bytes)
    }
}

/// The number of a ping, the agent's clock then, and the nanoseconds by which its oscillator is ahead of that.
pub fn answer_bytes(number: u64, at: Nanos, ahead: i64) -> [u8; 24] {
    let mut answer = [0; 24];
    answer[..8].copy_from_slice(&number.to_le_bytes());
    answer[8..16].copy_from_slice(&at.0.to_le_bytes());
    answer[16..].copy_from_slice(&ahead.to_le_bytes());
    answer
}

/// Reads a frame into a buffer. Returns its kind.
pub(super) fn read_raw(from: &mut impl Read, bytes: &mut Vec<u8>) -> Result<u8, StreamError> {
    let mut head = [0; 5];
    from.read_exact(&mut head).map_err(StreamError::Ended)?;
    let [kind, len @ ..] = head;
    let len = usize::try_from(u32::from_le_bytes(len)).unwrap_or(usize::MAX);
    if len > MAX_FRAME {
        return Err(StreamError::Malformed("a frame is too long"));
    }
    bytes.resize(len, 0);
    from.read_exact(bytes).map_err(StreamError::Ended)?;
    Ok(kind)
}
