//! A file's blocks as they stand there, beside what they say.

use super::blocks::RawBlock;
use super::packets::PacketPlace;
use crate::pcapng::{BlockBuffer, ByteOrder, block};
use crate::record::Entry;

/// A block, or an entry of the block before.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one is alive at a time, on the stack; a box would be an allocation for each event"
)]
pub enum BlockOrEntry<'a> {
    /// A block. Its entries follow.
    Block(Block<'a>),
    /// An entry of the block.
    Entry(Entry<'a>),
}

/// A block of a capture. A classic file has blocks, too: a section with one interface, and a block for each packet.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// All bytes of the block; for the header of a classic file, those of two blocks.
    pub bytes: &'a [u8],
    /// The byte order of its fields.
    pub order: ByteOrder,
    /// The block's type.
    pub kind: u32,
    /// Time and place of the options of a packet's block; `None` if the block has no options.
    pub packet: Option<PacketPlace>,
}

/// A block that was read, and was not handed out as such.
#[derive(Clone, Copy, Debug)]
pub struct PendingBlock {
    pub raw: RawBlock,
    pub packet: Option<PacketPlace>,
}

impl PendingBlock {
    /// The block, given its bytes in the file. What has none of pcapng is written into `blocks`.
    pub fn block<'a>(self, bytes: &'a [u8], blocks: &'a mut BlockBuffer) -> Block<'a> {
        blocks.bytes.clear();
        let (kind, packet) = match self.raw {
            RawBlock::Pcapng(frame) => {
                return Block { bytes, order: frame.order, kind: frame.kind, packet: self.packet };
            }
            RawBlock::ClassicHeader(header) => {
                header.put(blocks);
                (block::SECTION, None)
            }
            RawBlock::ClassicPacket(packet) => {
                let bytes = bytes.get(packet.bytes()).unwrap_or_default();
                let options = packet.put(bytes, blocks);
                (block::PACKET, self.packet.map(|place| PacketPlace { options, ..place }))
            }
        };
        Block { bytes: &blocks.bytes, order: ByteOrder::Little, kind, packet }
    }
}
