//! A file → its blocks, one after the other: those of pcapng, or header and packets of a classic pcap.

use super::input::Input;
use super::problem::Problems;
use crate::pcapng::ByteOrder;
use crate::pcapng::block::{self, BlockBounds, NoFrame};
use crate::pcapng::classic::{self, ClassicHeader, Magic, PacketHeader};
use std::io::{self, Read};
use std::ops::Range;

/// Why a file is no capture.
#[derive(Debug, thiserror::Error)]
pub enum NotACapture {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    /// The file has no bytes, or fewer than a capture has at least.
    #[error("is empty")]
    Empty,
    /// The file begins with other bytes than a capture.
    #[error("is neither pcapng nor pcap: it begins with {0:02x?}")]
    Other([u8; 4]),
}

/// A block as it stands in its file.
#[derive(Clone, Copy, Debug)]
pub enum RawBlock {
    /// A block of pcapng.
    Pcapng(BlockBounds),
    /// The header of a classic file.
    ClassicHeader(ClassicHeader),
    /// A packet of a classic file.
    ClassicPacket(PacketHeader),
}

/// One thing behind the other in a file.
#[derive(Clone, Copy, Debug)]
pub enum FilePart {
    /// A block.
    Block(RawBlock),
    /// Bytes that are no block. They were skipped, and reported.
    Damage,
}

/// Part of a file that is expected next.
#[derive(Clone, Copy, Debug)]
enum Position {
    /// A block of a section with this byte order.
    Pcapng(ByteOrder),
    /// The rest of a classic file's header.
    ClassicHeader(Magic),
    /// A packet of a classic file.
    ClassicPacket(ClassicHeader),
    /// Nothing that can be read.
    End,
}

/// Reads one block after the other, and keeps the bytes of the last one.
#[derive(Debug)]
pub struct BlockReader<R> {
    input: Input<R>,
    position: Position,
    /// Bytes of the block at hand, at the front of the input; 0 before the first one.
    len: usize,
}

impl<R: Read> BlockReader<R> {
    /// Looks which format a file has. No block is at hand yet.
    pub fn new(source: R) -> Result<BlockReader<R>, NotACapture> {
        let mut input = Input::new(source);
        if !input.fill(4)? {
            return Err(NotACapture::Empty);
        }
        let start = *input.bytes().first_chunk::<4>().ok_or(NotACapture::Empty)?;
        let position = match Magic::read(start) {
            Some(magic) => Position::ClassicHeader(magic),
            None if u32::from_be_bytes(start) == block::SECTION => {
                Position::Pcapng(ByteOrder::default())
            }
            None => return Err(NotACapture::Other(start)),
        };
        Ok(BlockReader { input, position, len: 0 })
    }

    /// All bytes of the block at hand.
    pub fn block(&self) -> &[u8] {
        &self.input.bytes()[..self.len]
    }

    /// Some bytes of the block at hand.
    pub fn range(&self, range: Range<usize>) -> &[u8] {
        self.input.range(range)
    }

    /// The buffers of the bytes, to be handed over with what was read in them.
    pub fn input_mut(&mut self) -> &mut Input<R> {
        &mut self.input
    }

    /// Offset of the block at hand in its buffer.
    pub fn position(&self) -> usize {
        self.input.position()
    }

    /// Offset of the block at hand in the file.
    pub fn offset(&self) -> u64 {
        self.input.offset()
    }

    /// Goes on to the next block, or past damage in front of it; `None` at the end of what can be read.
    pub fn next(&mut self, problems: &mut Problems) -> Option<FilePart> {
        self.input.consume(std::mem::take(&mut self.len));
        let part = match self.position {
            Position::Pcapng(order) => self.pcapng_block(order, problems),
            Position::ClassicHeader(magic) => {
                self.classic_header(magic, problems).map(FilePart::Block)
            }
            Position::ClassicPacket(header) => {
                self.classic_packet(&header, problems).map(FilePart::Block)
            }
            Position::End => None,
        };
        if part.is_none() {
            self.position = Position::End;
        }
        part
    }

    /// The next block of a section with this byte order, or of a new section.
    fn pcapng_block(&mut self, order: ByteOrder, problems: &mut Problems) -> Option<FilePart> {
        let mut need = block::MIN_LEN;
        loop {
            self.need(need, "a block", problems)?;
            match block::frame(self.input.bytes(), order) {
                Ok(frame) => {
                    self.len = frame.len;
                    self.position = Position::Pcapng(frame.order);
                    return Some(FilePart::Block(RawBlock::Pcapng(frame)));
                }
                Err(NoFrame::Incomplete(more)) => need = more,
                Err(NoFrame::Malformed(what)) => {
                    self.skip_to_block(order, what, problems)?;
                    return Some(FilePart::Damage);
                }
            }
        }
    }

    /// Goes on to the next block behind bytes that are none; `None` if there is no other.
    fn skip_to_block(
        &mut self,
        order: ByteOrder,
        what: &str,
        problems: &mut Problems,
    ) -> Option<()> {
        let from = self.input.offset();
        loop {
            self.input.consume(1);
            if !self.input.fill(block::MIN_LEN).unwrap_or(false) {
                problems.add(from, format!("{what}: nothing behind it can be read"));
                return None;
            }
            if block::is_likely(self.input.bytes(), order) && self.is_block(order) {
                let skipped = self.input.offset().saturating_sub(from);
                problems.add(from, format!("{what}: {skipped} bytes were left out"));
                return Some(());
            }
        }
    }

    /// True if a whole block is at the front of the input.
    fn is_block(&mut self, order: ByteOrder) -> bool {
        let mut frame = block::frame(self.input.bytes(), order);
        if let Err(NoFrame::Incomplete(need)) = frame
            && self.input.fill(need).unwrap_or(false)
        {
            frame = block::frame(self.input.bytes(), order);
        }
        frame.is_ok()
    }

    fn classic_header(&mut self, magic: Magic, problems: &mut Problems) -> Option<RawBlock> {
        self.need(classic::HEADER_LEN, "its header", problems)?;
        let header = ClassicHeader::read(self.input.bytes(), magic)?;
        self.len = classic::HEADER_LEN;
        self.position = Position::ClassicPacket(header);
        Some(RawBlock::ClassicHeader(header))
    }

    fn classic_packet(
        &mut self,
        file: &ClassicHeader,
        problems: &mut Problems,
    ) -> Option<RawBlock> {
        self.need(classic::PACKET_HEADER_LEN, "a packet's header", problems)?;
        let packet = PacketHeader::read(self.input.bytes(), file)?;
        if packet.captured > classic::MAX_PACKET {
            let what = format!(
                "a packet of {} bytes cannot be: nothing behind it can be read",
                packet.captured
            );
            problems.add(self.input.offset(), what);
            return None;
        }
        let len = packet.bytes().end;
        self.need(len, "a packet", problems)?;
        self.len = len;
        Some(RawBlock::ClassicPacket(packet))
    }

    /// Reads until so many bytes are there. If they are not, the file ends here, and the problem is reported.
    fn need(&mut self, need: usize, what: &str, problems: &mut Problems) -> Option<()> {
        match self.input.fill(need) {
            Ok(true) => return Some(()),
            Ok(false) if self.input.bytes().is_empty() => {}
            Ok(false) => {
                let there = self.input.bytes().len();
                let text = format!(
                    "the file ends in the middle of {what}: {there} of {need} bytes are there, and were left out"
                );
                problems.add(self.input.offset(), text);
            }
            Err(error) => {
                let at = self.input.offset().saturating_add(self.input.bytes().len() as u64);
                problems.add(at, format!("the file cannot be read on: {error}"));
            }
        }
        None
    }
}
