//! One side's message that comes in chunks (OPC 10000-6 §6.7.2.1).
//!
//! Chunks of different messages are not mixed on a channel. What is kept of a message are the bytes
//! from the entry on that is not complete, and only so many that one huge value does not matter.

use super::service::Service;
use super::walk::Walk;
use wirelap_events::Offset;
use wirelap_events::Saturate;

/// Bytes kept of an entry that goes on in the next chunk.
const KEPT_BYTES: usize = 64 << 10;

/// What a buffer may hold on to between messages.
const IDLE_BYTES: usize = 8 << 10;

/// How often an entry is tried that is still not complete. Chunks have at least 8192 bytes, so that
/// [`KEPT_BYTES`] are reached before.
const MAX_TRIES: u32 = 16;

/// A message of which chunks are still to come.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    /// Its request. `None`: no message is open.
    request: Option<u32>,
    /// The body's bytes so far.
    total: u64,
    /// The bytes from place `base` on.
    buffer: Vec<u8>,
    base: u64,
    /// More bytes were not kept.
    cut: bool,
    tries: u32,
}

/// How far an open message was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub service: &'static Service,
    pub walk: Walk,
    /// Values found.
    pub values: u32,
    /// The content of a value that is not complete, from its first byte to its last.
    pub open: Option<(u64, u64)>,
    /// Where the frame starts that has the first byte of the entry that is not complete.
    pub since: Option<Offset>,
}

/// A chunk's part of the body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub from: u64,
    pub to: u64,
}

impl Assembly {
    /// Bytes of memory that it takes.
    pub fn held_bytes(&self) -> usize {
        self.buffer.capacity()
    }

    /// The next chunk of a request, with `len` bytes of its body. Returns which part that is.
    pub fn chunk(&mut self, request: u32, len: u64) -> Part {
        if self.request != Some(request) {
            self.close();
            self.request = Some(request);
        }
        let from = self.total;
        self.total = from.saturating_add(len);
        Part { from, to: self.total }
    }

    /// The bytes to read, and the place of the first: of all that is kept and `body`, this chunk's.
    /// `None` if it makes no sense to read on before the message's `last` chunk.
    pub fn bytes<'a>(
        &'a mut self,
        part: Part,
        body: &'a [u8],
        last: bool,
    ) -> Option<(&'a [u8], u64)> {
        if self.buffer.is_empty() && !self.cut {
            self.base = part.from;
            return Some((body, part.from));
        }
        if !self.cut {
            self.fill(body);
            self.cut |= (body.len() as u64) < part.to.saturating_sub(part.from);
        }
        let is_worth_it = last || !self.cut && self.tries < MAX_TRIES;
        is_worth_it.then_some((&self.buffer, self.base))
    }

    /// Keeps what is from place `at` on, for the next chunk.
    pub fn keep_from(&mut self, at: u64, part: Part, body: &[u8]) {
        if at > self.base {
            self.tries = 0;
        }
        self.tries.grow(1);
        if self.buffer.is_empty() && !self.cut {
            let skip = usize::try_from(at.saturating_sub(part.from)).unwrap_or(usize::MAX);
            self.base = at.min(part.to);
            let rest = body.get(skip..).unwrap_or_default();
            self.cut = at < part.to && (body.len() as u64) < part.to.saturating_sub(part.from);
            self.fill(rest);
            return;
        }
        let done = usize::try_from(at.saturating_sub(self.base)).unwrap_or(usize::MAX);
        let done = done.min(self.buffer.len());
        self.buffer.drain(..done);
        self.base.grow(done as u64);
    }

    fn fill(&mut self, bytes: &[u8]) {
        let room = KEPT_BYTES.saturating_sub(self.buffer.len());
        let kept = bytes.get(..room).unwrap_or(bytes);
        self.cut |= kept.len() < bytes.len();
        self.buffer.extend_from_slice(kept);
    }

    /// No more chunks come.
    pub fn close(&mut self) {
        self.request = None;
        self.total = 0;
        self.base = 0;
        self.cut = false;
        self.tries = 0;
        self.buffer.clear();
        self.buffer.shrink_to(IDLE_BYTES);
    }
}
