//! Payload of a conversation in no known protocol.

use wirelap_events::{ByteRange, Nanos, Offset, Saturate};
use wirelap_protocols::Side;

/// Payload that passed, each byte once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unread {
    /// Bytes that each side sent.
    pub bytes: [u64; 2],
    /// End of each side's bytes so far.
    upto: [Offset; 2],
    /// The first and the last packet with bytes.
    pub first: Nanos,
    /// Time of the last packet with payload.
    pub last: Nanos,
}

impl Unread {
    /// A packet of a stream.
    pub fn add(&mut self, side: Side, range: ByteRange, at: Nanos) {
        let upto = &mut self.upto[side as usize];
        let start = range.start.max(*upto);
        if start < range.end {
            *upto = range.end;
            self.count(side, range.end.0.saturating_sub(start.0), at);
        }
    }

    /// Bytes that are known to be new.
    pub fn count(&mut self, side: Side, bytes: u64, at: Nanos) {
        if bytes == 0 {
            return;
        }
        if self.bytes == [0, 0] {
            self.first = at;
        }
        self.bytes[side as usize].grow(bytes);
        self.last = self.last.max(at);
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.bytes[0].saturating_add(self.bytes[1])
    }
}
