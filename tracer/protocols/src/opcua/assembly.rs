//! A message that one side sends in chunks (OPC 10000-6 §6.7.2.1).
//!
//! Chunks of different messages are not mixed on a channel. Of a message, only the bytes of the incomplete entry are kept,
//! and at most [`KEPT_BYTES`] of them. A longer value is known by these, and decoding goes on where it ends.

use super::service::Service;
use super::walk::ServiceWalk;
use wirelap_events::{Count, SmallCount};
use wirelap_events::{Offset, Size};

/// Bytes that are kept of an entry that continues in the next chunk.
const KEPT_BYTES: usize = 64 << 10;

/// The buffer's capacity between messages.
const IDLE_BYTES: usize = 8 << 10;

/// The most times that an incomplete entry is tried. Chunks have at least 8192 bytes, so that [`KEPT_BYTES`] are reached before.
const MAX_TRIES: u32 = 16;

/// A message that has not arrived completely.
#[derive(Debug, Default)]
pub(super) struct ChunkAssembly {
    /// The message's request ID; `None` if no message is open.
    request: Option<u32>,
    /// Number of the body's bytes so far.
    total: u64,
    /// The body's bytes from position `base` on.
    buffer: Vec<u8>,
    base: Count,
    /// True if further bytes were not kept.
    cut: bool,
    /// Number of times that the incomplete entry was tried.
    tries: SmallCount,
}

/// Progress in decoding an incomplete message.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecodeProgress {
    pub service: &'static Service,
    pub walk: ServiceWalk,
    /// Number of values so far.
    pub values: u32,
    /// Start and end of the content of an incomplete value, as positions in the body.
    pub open: Option<(u64, u64)>,
    /// The position at which the incomplete value ends, if it is known.
    pub value_end: Option<u64>,
    /// The start of the frame that has the first byte of the incomplete entry.
    pub since: Option<Offset>,
}

/// The part of the body that is in one chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyRange {
    pub from: u64,
    pub to: u64,
}

impl ChunkAssembly {
    /// Bytes of memory that the buffer uses.
    pub fn held_bytes(&self) -> Size {
        Size(self.buffer.capacity())
    }

    /// Adds the next chunk of a request, with `len` bytes of its body. Returns which part of the body that is.
    pub fn chunk(&mut self, request: u32, len: u64) -> BodyRange {
        if self.request != Some(request) {
            self.close();
            self.request = Some(request);
        }
        let from = self.total;
        self.total = from.saturating_add(len);
        BodyRange { from, to: self.total }
    }

    /// The bytes to decode, which are the kept bytes and this chunk's `body`, and the position of the first. `None` if
    /// decoding has to wait for the message's `last` chunk.
    pub fn bytes<'a>(
        &'a mut self,
        part: BodyRange,
        body: &'a [u8],
        last: bool,
    ) -> Option<(&'a [u8], u64)> {
        if self.buffer.is_empty() && !self.cut {
            self.base = Count(part.from);
            return Some((body, part.from));
        }
        if !self.cut {
            self.fill(body);
            self.cut |= (body.len() as u64) < part.to.saturating_sub(part.from);
        }
        let is_worth_it = last || !self.cut && self.tries < MAX_TRIES;
        is_worth_it.then_some((&self.buffer, self.base.0))
    }

    /// The kept bytes of the incomplete entry, which ends in this chunk, and the position of the first of them; `None` if none are kept.
    pub fn entry(&mut self, body: &[u8]) -> Option<(&[u8], u64)> {
        if self.buffer.is_empty() {
            return None;
        }
        if !self.cut {
            self.fill(body);
        }
        Some((&self.buffer, self.base.0))
    }

    /// Forgets the bytes of the incomplete entry.
    pub fn forget_entry(&mut self) {
        self.cut = false;
        self.tries = SmallCount(0);
        self.buffer.clear();
    }

    /// Keeps the bytes from position `at` on for the next chunk.
    pub fn keep_from(&mut self, at: u64, part: BodyRange, body: &[u8]) {
        if at > self.base.0 {
            self.tries = SmallCount(0);
        }
        self.tries += 1;
        if self.buffer.is_empty() && !self.cut {
            let skip = usize::try_from(at.saturating_sub(part.from)).unwrap_or(usize::MAX);
            self.base = Count(at.min(part.to));
            let rest = body.get(skip..).unwrap_or_default();
            self.cut = at < part.to && (body.len() as u64) < part.to.saturating_sub(part.from);
            self.fill(rest);
            return;
        }
        let done = usize::try_from((Count(at) - self.base).0).unwrap_or(usize::MAX);
        let done = done.min(self.buffer.len());
        self.buffer.drain(..done);
        self.base += done as u64;
    }

    fn fill(&mut self, bytes: &[u8]) {
        let kept = crate::reader::extend_up_to(&mut self.buffer, bytes, KEPT_BYTES);
        self.cut |= kept.len() < bytes.len();
    }

    /// Ends the message.
    pub fn close(&mut self) {
        self.request = None;
        self.total = 0;
        self.base = Count(0);
        self.cut = false;
        self.tries = SmallCount(0);
        self.buffer.clear();
        self.buffer.shrink_to(IDLE_BYTES);
    }
}
