//! A file's bytes, a window at a time.

use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use wirelap_events::Saturate;

/// Bytes that are read at once.
const CHUNK: usize = 256 << 10;

/// The bytes from some offset of the file on, as many as were asked for.
#[derive(Debug)]
pub struct Input<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Where the first byte is in the file.
    offset: u64,
    ended: bool,
}

impl<R: Read> Input<R> {
    pub fn new(source: R) -> Input<R> {
        Input { source, buffer: Vec::new(), start: 0, end: 0, offset: 0, ended: false }
    }

    /// The bytes that are there.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Some of the bytes that are there.
    pub fn range(&self, range: Range<usize>) -> &[u8] {
        self.bytes().get(range).unwrap_or_default()
    }

    /// Where the first byte that is there is in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads until there are `need` bytes, or the file ends. Returns whether they are there.
    ///
    /// # Errors
    /// The file cannot be read on.
    pub fn fill(&mut self, need: usize) -> io::Result<bool> {
        while self.end.saturating_sub(self.start) < need && !self.ended {
            self.make_room(need);
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end.grow(read),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.ended = true;
                    return Err(error);
                }
            }
        }
        Ok(self.end.saturating_sub(self.start) >= need)
    }

    /// The first `len` bytes are done with.
    pub fn consume(&mut self, len: usize) {
        let len = len.min(self.end.saturating_sub(self.start));
        self.start.grow(len);
        self.offset.grow(len as u64);
    }

    fn make_room(&mut self, need: usize) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end.shrink(self.start);
        self.start = 0;
        let room = need.max(self.end.saturating_add(1)).next_multiple_of(CHUNK);
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
    }
}
