//! A file's bytes, a window at a time.

use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use wirelap_events::{Count, Size};

/// Bytes that are read at once. The entries in them are handed over at once where they are read ahead: not so many that they
/// displace what their taker has in the CPU's caches.
const CHUNK: usize = 128 << 10;

/// The bytes from some offset of the file on, as many as were asked for.
#[derive(Debug)]
pub struct Input<R> {
    source: R,
    buffer: Vec<u8>,
    start: Size,
    end: Size,
    /// Offset of the first byte in the file.
    offset: Count,
    ended: bool,
    /// Treatment of bytes that are done with.
    past: PastBytes,
}

/// Treatment of bytes that are done with.
#[derive(Debug)]
enum PastBytes {
    /// Others take their place.
    Dropped,
    /// They stay where they are, for whoever takes their buffer.
    Kept {
        /// The last buffer that had no room left, until it is taken.
        full: Option<Vec<u8>>,
        /// A buffer to be used next.
        spare: Vec<u8>,
    },
}

impl<R: Read> Input<R> {
    pub fn new(source: R) -> Input<R> {
        Input {
            source,
            buffer: Vec::new(),
            start: Size(0),
            end: Size(0),
            offset: Count(0),
            ended: false,
            past: PastBytes::Dropped,
        }
    }

    /// From now on bytes that are done with stay where they are in their buffer. What was read before is not kept.
    pub fn keep_past(&mut self) {
        if matches!(self.past, PastBytes::Dropped) {
            self.past = PastBytes::Kept { full: None, spare: Vec::new() };
        }
    }

    /// Offset of the first available byte in its buffer.
    pub fn position(&self) -> usize {
        self.start.0
    }

    /// The buffer that the bytes were in before those that are there, if it was not taken yet. `spare` is used in its place.
    pub fn take_full(&mut self, spare: &mut Vec<u8>) -> Option<Vec<u8>> {
        let PastBytes::Kept { full, spare: next } = &mut self.past else { return None };
        let full = full.take()?;
        *next = std::mem::take(spare);
        Some(full)
    }

    /// The buffer of the last bytes, once there are no more.
    pub fn take_last(&mut self) -> Vec<u8> {
        (self.start, self.end) = (Size(0), Size(0));
        std::mem::take(&mut self.buffer)
    }

    /// The bytes that are there.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start.0..self.end.0]
    }

    /// Some of the bytes that are there.
    pub fn range(&self, range: Range<usize>) -> &[u8] {
        self.bytes().get(range).unwrap_or_default()
    }

    /// Offset of the first available byte in the file.
    pub fn offset(&self) -> u64 {
        self.offset.0
    }

    /// Reads until there are `need` bytes, or the file ends. Returns whether they are there.
    ///
    /// # Errors
    /// The file cannot be read on.
    pub fn fill(&mut self, need: usize) -> io::Result<bool> {
        while self.end - self.start < need && !self.ended {
            self.make_room(need);
            match self.source.read(&mut self.buffer[self.end.0..]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.ended = true;
                    return Err(error);
                }
            }
        }
        Ok(self.end - self.start >= need)
    }

    /// The first `len` bytes are done with.
    pub fn consume(&mut self, len: usize) {
        let len = len.min((self.end - self.start).0);
        self.start += len;
        self.offset += len as u64;
    }

    fn make_room(&mut self, need: usize) {
        let there = self.end - self.start;
        let room = need.max((there + 1).0).next_multiple_of(CHUNK);
        if let PastBytes::Kept { full: full @ None, spare } = &mut self.past
            && self.start > 0
        {
            let mut buffer = std::mem::take(spare);
            if buffer.len() < room {
                buffer.resize(room, 0);
            }
            buffer[..there.0].copy_from_slice(&self.buffer[self.start.0..self.end.0]);
            *full = Some(std::mem::replace(&mut self.buffer, buffer));
        } else {
            self.buffer.copy_within(self.start.0..self.end.0, 0);
        }
        (self.start, self.end) = (Size(0), there);
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
    }
}
