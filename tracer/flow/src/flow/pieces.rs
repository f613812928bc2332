//! Fragments of one datagram.

use wirelap_events::ByteRange;

/// The bytes of a datagram that comes in IP fragments, until all are there.
#[derive(Debug, Default)]
pub struct Pieces {
    /// The datagram's place in the flow.
    pub range: ByteRange,
    /// The datagram's first bytes. A datagram has at most 64 KiB.
    pub bytes: Vec<u8>,
}

impl Pieces {
    /// Adds the bytes from `start` on of the datagram at `range`. What does not go on where the last
    /// fragment ended is left out: then the datagram was not captured whole.
    pub fn add(&mut self, range: ByteRange, start: u64, bytes: &[u8]) {
        if start == 0 {
            self.range = range;
            self.bytes.clear();
        }
        if self.range == range && self.bytes.len() as u64 == start {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// True if the datagram's last byte is there.
    pub fn is_whole(&self) -> bool {
        !self.is_empty() && self.bytes.len() as u64 >= self.range.len()
    }

    /// Forgets the datagram; its memory is kept.
    pub fn clear(&mut self) {
        self.range = ByteRange::default();
        self.bytes.clear();
    }
}
