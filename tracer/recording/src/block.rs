//! Blocks and options of pcapng (draft-ietf-opsawg-pcapng §3).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------------------------------------------------------+
//! |                          Block Type                           |
//! +---------------------------------------------------------------+
//! |                      Block Total Length                       |
//! +---------------------------------------------------------------+
//! /                          Block Body                           /
//! |              variable length, padded to 32 bits               |
//! +---------------------------------------------------------------+
//! |                      Block Total Length                       |
//! +---------------------------------------------------------------+
//! ```

use crate::wire::Bytes;

/// Section Header Block (§4.1); the same in both byte orders.
pub const SECTION: u32 = 0x0A0D_0D0A;
/// Interface Description Block (§4.2).
pub const INTERFACE: u32 = 1;
/// Packet Block (obsolete, appendix A).
pub const OLD_PACKET: u32 = 2;
/// Simple Packet Block (§4.4).
pub const SIMPLE: u32 = 3;
/// Name Resolution Block (§4.5).
pub const NAMES: u32 = 4;
/// Interface Statistics Block (§4.6).
const STATISTICS: u32 = 5;
/// Enhanced Packet Block (§4.3).
pub const PACKET: u32 = 6;
/// Systemd Journal Export Block (§4.7).
pub const JOURNAL: u32 = 9;
/// Decryption Secrets Block (§4.8).
const SECRETS: u32 = 10;
/// Custom Block that may be copied into another file (§4.9).
pub const CUSTOM: u32 = 0x0000_0BAD;
/// Custom Block that may not.
pub const CUSTOM_KEPT: u32 = 0x4000_0BAD;

/// Options (§3.5, §4.1 to §4.3).
pub mod option {
    /// `opt_endofopt`.
    pub const END: u16 = 0;
    /// `opt_comment`.
    pub const COMMENT: u16 = 1;
    /// `shb_hardware`.
    pub const HARDWARE: u16 = 2;
    /// `shb_os`.
    pub const OS: u16 = 3;
    /// `shb_userappl`.
    pub const APPLICATION: u16 = 4;
    /// `if_name`.
    pub const NAME: u16 = 2;
    /// `if_description`.
    pub const DESCRIPTION: u16 = 3;
    /// `if_tsresol`.
    pub const RESOLUTION: u16 = 9;
    /// `if_fcslen`.
    pub const CHECK_SUM: u16 = 13;
    /// `if_tsoffset`.
    pub const OFFSET: u16 = 14;
    /// `epb_flags`.
    pub const FLAGS: u16 = 2;
    /// `opt_custom` with bytes that may be copied.
    pub const CUSTOM: u16 = 2989;
}

/// The longest block that is read: a packet has 256 KiB at most, and options a few more.
pub const MOST: usize = 16 << 20;

/// The shortest block: two lengths and a type.
const LEAST: usize = 12;

/// The byte-order magic.
const MAGIC: u32 = 0x1A2B_3C4D;

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
}

impl ByteOrder {
    /// A number as two bytes.
    pub fn half(self, value: u16) -> [u8; 2] {
        match self {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        }
    }

    /// A number as four bytes.
    pub fn word(self, value: u32) -> [u8; 4] {
        match self {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        }
    }
}

/// Where a block begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its type.
    pub kind: u32,
    /// All its bytes.
    pub len: usize,
    /// Its byte order: of a section header its own, of others the one given.
    pub order: ByteOrder,
}

/// What stands at some place of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A block, complete.
    Block(Frame),
    /// It takes so many bytes in all to tell.
    Need(usize),
    /// No block, and why.
    Bad(&'static str),
}

/// Looks for a block at the front of `bytes`.
pub fn frame(bytes: &[u8], order: ByteOrder) -> Step {
    let Some(head) = bytes.first_chunk::<LEAST>() else { return Step::Need(LEAST) };
    let word = |at: usize| {
        [
            head[at],
            head[at.saturating_add(1)],
            head[at.saturating_add(2)],
            head[at.saturating_add(3)],
        ]
    };
    let mut order = order;
    if order.u32(word(0)) == SECTION {
        order = match (ByteOrder::Little.u32(word(8)), ByteOrder::Big.u32(word(8))) {
            (MAGIC, _) => ByteOrder::Little,
            (_, MAGIC) => ByteOrder::Big,
            _ => return Step::Bad("a section without a byte order"),
        };
    }
    let len = order.u32(word(4)) as usize;
    if len < LEAST || !len.is_multiple_of(4) {
        return Step::Bad("a block with an impossible length");
    }
    if len > MOST {
        return Step::Bad("a block longer than 16 MiB");
    }
    match bytes.get(len.saturating_sub(4)..len).and_then(|end| end.first_chunk()) {
        None => Step::Need(len),
        Some(&end) if order.u32(end) as usize == len => {
            Step::Block(Frame { kind: order.u32(word(0)), len, order })
        }
        Some(_) => Step::Bad("a block whose two lengths differ"),
    }
}

/// Whether a block may begin with these bytes. For finding one behind what is none.
pub fn is_likely(bytes: &[u8], order: ByteOrder) -> bool {
    let Some(&kind) = bytes.first_chunk::<4>() else { return true };
    matches!(
        order.u32(kind),
        SECTION
            | INTERFACE
            | OLD_PACKET
            | SIMPLE
            | NAMES
            | STATISTICS
            | PACKET
            | JOURNAL
            | SECRETS
            | CUSTOM
            | CUSTOM_KEPT
    )
}

/// A block's fields, in its byte order.
#[derive(Debug)]
pub struct Body<'a> {
    /// What is not read yet.
    pub rest: Bytes<'a>,
    order: ByteOrder,
}

impl<'a> Body<'a> {
    /// The body of a block of which these are all bytes.
    pub fn of(block: &'a [u8], order: ByteOrder) -> Body<'a> {
        let end = block.len().saturating_sub(4);
        Body { rest: Bytes(block.get(8..end).unwrap_or_default()), order }
    }

    /// In which order they stand.
    pub fn order(&self) -> ByteOrder {
        self.order
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

    /// The next `len` bytes, and the padding behind them.
    pub fn padded(&mut self, len: usize) -> Option<&'a [u8]> {
        let bytes = self.rest.take(len)?;
        let padding = len.next_multiple_of(4).saturating_sub(len);
        self.rest.take(padding.min(self.rest.0.len()))?;
        Some(bytes)
    }
}

/// Options: their number and bytes, as far as they can be read.
impl<'a> Iterator for Body<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<(u16, &'a [u8])> {
        let (number, len) = (self.u16()?, self.u16()?);
        if number == option::END {
            return None;
        }
        Some((number, self.padded(len.into())?))
    }
}

/// Puts blocks one behind the other, lowest byte first.
#[derive(Debug, Default)]
pub struct Blocks {
    /// They; the last one is not complete before [`Blocks::end`].
    pub bytes: Vec<u8>,
    start: usize,
}

impl Blocks {
    /// A block begins.
    pub fn begin(&mut self, kind: u32) {
        self.start = self.bytes.len();
        self.u32(kind);
        self.u32(0);
    }

    /// The fixed fields of a section header, of a section of unknown length: it ends where the file does.
    pub fn section_head(&mut self) {
        self.u32(MAGIC);
        self.u16(1);
        self.u16(0);
        self.u32(u32::MAX);
        self.u32(u32::MAX);
    }

    /// The block that has begun is complete.
    pub fn end(&mut self) {
        let len = u32::try_from(self.bytes.len().saturating_add(4).saturating_sub(self.start))
            .unwrap_or(u32::MAX);
        self.bytes[self.start.saturating_add(4)..self.start.saturating_add(8)]
            .copy_from_slice(&len.to_le_bytes());
        self.u32(len);
    }

    /// The block that has begun is not written.
    pub fn abandon(&mut self) {
        self.bytes.truncate(self.start);
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
        let len = u16::try_from(value.len()).unwrap_or(u16::MAX);
        self.u16(number);
        self.u16(len);
        self.bytes.extend_from_slice(&value[..usize::from(len)]);
        self.pad();
    }

    /// The last option.
    pub fn end_of_options(&mut self) {
        self.u32(0);
    }
}
