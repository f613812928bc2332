//! Blocks and options, appended.

use super::{ByteOrder, block};

/// Blocks, one behind the other, lowest byte first.
#[derive(Debug, Default)]
pub struct BlockBuffer {
    /// All blocks; the last one is not complete before [`BlockBuffer::end`].
    pub bytes: Vec<u8>,
    start: usize,
}

impl BlockBuffer {
    /// A block begins.
    pub fn begin(&mut self, kind: u32) {
        self.start = self.bytes.len();
        self.u32(kind);
        self.u32(0);
    }

    /// An Enhanced Packet Block begins, up to its options. `time` is in its interface's units, `original` the packet's length
    /// on the wire.
    pub fn begin_packet(&mut self, interface: u32, time: u64, original: u32, captured: &[u8]) {
        self.begin(block::PACKET);
        self.u32(interface);
        self.time(time);
        self.u32(u32::try_from(captured.len()).unwrap_or(u32::MAX));
        self.u32(original);
        self.bytes.extend_from_slice(captured);
        self.pad();
    }

    /// The block that has begun is complete.
    pub fn end(&mut self) {
        let len = u32::try_from(self.bytes.len().saturating_add(4).saturating_sub(self.start))
            .unwrap_or(u32::MAX);
        self.bytes[self.start.saturating_add(4)..self.start.saturating_add(8)]
            .copy_from_slice(&len.to_le_bytes());
        self.u32(len);
    }

    /// Two bytes.
    pub fn u16(&mut self, value: u16) {
        self.bytes.extend(value.to_le_bytes());
    }

    /// Four bytes.
    pub fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }

    /// A time: the high half, then the low half.
    pub fn time(&mut self, value: u64) {
        for half in [value >> 32, value & u64::from(u32::MAX)] {
            self.u32(u32::try_from(half).unwrap_or_default());
        }
    }

    /// Zeros up to the next multiple of four bytes.
    pub fn pad(&mut self) {
        let len = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(len, 0);
    }

    /// An option. What does not fit into one is cut off.
    pub fn option(&mut self, number: u16, value: &[u8]) {
        put_option(&mut self.bytes, ByteOrder::Little, number, value);
    }

    /// The last option.
    pub fn end_of_options(&mut self) {
        self.u32(0);
    }
}

/// Appends an option and its padding. What does not fit into one is cut off.
#[inline]
pub fn put_option(bytes: &mut Vec<u8>, order: ByteOrder, number: u16, value: &[u8]) {
    let len = u16::try_from(value.len()).unwrap_or(u16::MAX);
    bytes.extend(order.u16_bytes(number));
    bytes.extend(order.u16_bytes(len));
    bytes.extend_from_slice(&value[..usize::from(len)]);
    let padding = usize::from(len).next_multiple_of(4).saturating_sub(usize::from(len));
    bytes.resize(bytes.len().saturating_add(padding), 0);
}
