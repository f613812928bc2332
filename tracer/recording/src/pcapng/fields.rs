//! A block's fields and options, in its byte order.

use super::option;
use crate::wire::Bytes;

/// A section's byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByteOrder {
    /// Lowest byte first.
    #[default]
    Little,
    /// Highest byte first.
    Big,
}

impl ByteOrder {
    /// Two bytes as a number.
    pub fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            ByteOrder::Little => u16::from_le_bytes(bytes),
            ByteOrder::Big => u16::from_be_bytes(bytes),
        }
    }

    /// Four bytes as a number.
    pub fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        }
    }

    /// Eight bytes as a number.
    pub fn u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            ByteOrder::Little => u64::from_le_bytes(bytes),
            ByteOrder::Big => u64::from_be_bytes(bytes),
        }
    }

    /// A number as two bytes.
    pub fn u16_bytes(self, value: u16) -> [u8; 2] {
        match self {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        }
    }

    /// A number as four bytes.
    pub fn u32_bytes(self, value: u32) -> [u8; 4] {
        match self {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        }
    }
}

/// Fields that are read one after the other.
#[derive(Clone, Debug)]
pub struct BlockFields<'a> {
    rest: Bytes<'a>,
    order: ByteOrder,
    /// End of the fields in the block, or in whatever has them.
    end: usize,
}

/// An option of a block.
#[derive(Clone, Copy, Debug)]
pub struct BlockOption<'a> {
    /// The option's number; see [`option`].
    pub number: u16,
    /// The option's value.
    pub value: &'a [u8],
    /// Offset of the value in the block.
    pub start: usize,
    /// End of the option in the block, padding included.
    pub end: usize,
}

impl<'a> BlockFields<'a> {
    /// The fields that these bytes are.
    pub fn new(bytes: &'a [u8], order: ByteOrder) -> BlockFields<'a> {
        BlockFields { rest: Bytes(bytes), order, end: bytes.len() }
    }

    /// The fields of a block, given all its bytes: between its type and length and its second length.
    pub fn of_block(block: &'a [u8], order: ByteOrder) -> BlockFields<'a> {
        let end = block.len().saturating_sub(4);
        BlockFields { rest: Bytes(block.get(8..end).unwrap_or_default()), order, end }
    }

    /// The byte order of all fields.
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// Bytes that were not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest.0
    }

    /// Offset of the next field in the block.
    pub fn position(&self) -> usize {
        self.end.saturating_sub(self.rest.0.len())
    }

    /// Leaves bytes out; `None` if they are not there.
    pub fn skip(&mut self, len: usize) -> Option<()> {
        self.rest.take(len).map(|_| ())
    }

    /// The next two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        self.rest.array().map(|bytes| self.order.u16(bytes))
    }

    /// The next four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.rest.array().map(|bytes| self.order.u32(bytes))
    }

    /// A time: the high half, then the low half.
    pub fn time(&mut self) -> Option<u64> {
        Some(u64::from(self.u32()?) << 32 | u64::from(self.u32()?))
    }

    /// The next `len` bytes. The padding behind them is left out.
    pub fn padded(&mut self, len: usize) -> Option<&'a [u8]> {
        let bytes = self.rest.take(len)?;
        let padding = len.next_multiple_of(4).saturating_sub(len);
        self.rest.take(padding.min(self.rest.0.len()))?;
        Some(bytes)
    }

    /// The options that follow, up to their end, or as far as they can be read.
    pub fn options(&mut self) -> impl Iterator<Item = BlockOption<'a>> + use<'_, 'a> {
        std::iter::from_fn(|| self.option())
    }

    /// The next option; `None` at the mark of their end, or where none can be read.
    pub fn option(&mut self) -> Option<BlockOption<'a>> {
        let (number, len) = (self.u16()?, self.u16()?);
        if number == option::END {
            return None;
        }
        let start = self.position();
        let value = self.padded(len.into())?;
        Some(BlockOption { number, value, start, end: self.position() })
    }
}
