//! A capture that is written again: every block as it was, and packets with what became of their messages.
//!
//! What an earlier copy says of messages is left out, as its numbers are of another analysis. A section that gives its own length is
//! made one of unknown length (draft-ietf-opsawg-pcapng §4.1), as it grows. Nothing else of a block is changed.

use super::files::{Files, Plain, Rotation, Store, WriteFailed};
use super::pending::{PendingLimits, PendingPackets, ReleaseExtent};
use super::recorder::Written;
use super::shown::ShownPacket;
use crate::message::{MessageLeg, MessageSink, option as message_option, sentence};
use crate::pcapng::{BlockBuffer, BlockFields, BlockOption, block, option, section};
use crate::read::{Block, PacketPlace};
use std::ops::Range;
use std::path::Path;
use wirelap_events::{Count, FlowRange, Nanos, Size};

/// Bytes that are written at once.
const CHUNK: usize = 256 << 10;

/// Range of the section's length in a section header.
const SECTION_LEN: Range<usize> = 16..24;

/// Writes blocks into a file.
#[derive(Debug)]
pub struct Verbatim {
    pending: PendingPackets,
    files: Files,
    /// A section has begun.
    has_section: bool,
    /// Blocks that Wireshark lists.
    frames: Count,
    /// The last block was a packet that can have options.
    is_packet_last: bool,
    /// Packets in blocks that have no options.
    bare: Count,
    /// Bytes that were not written at once.
    waiting: Size,
    /// A block without some of its options.
    scratch: Vec<u8>,
}

impl Verbatim {
    /// Creates the file; `-` is stdout. Packets are kept back until what became of their messages is known, within these
    /// limits.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: &Path, limits: PendingLimits) -> Result<Verbatim, WriteFailed> {
        Verbatim::create_in(Box::new(Plain), path, limits)
    }

    /// As [`Verbatim::create`], with a store that creates the file.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create_in(
        store: Box<dyn Store>,
        path: &Path,
        limits: PendingLimits,
    ) -> Result<Verbatim, WriteFailed> {
        Ok(Verbatim {
            pending: PendingPackets::new(limits),
            files: Files::create(store, path, Rotation::default())?,
            has_section: false,
            frames: Count(0),
            is_packet_last: false,
            bare: Count(0),
            waiting: Size(0),
            scratch: Vec::new(),
        })
    }

    /// Why nothing is written any more.
    pub fn failed(&self) -> Option<&WriteFailed> {
        self.files.failed.as_ref()
    }

    /// Number of packets that cannot report their messages: simple packet blocks have no options.
    pub fn bare(&self) -> u64 {
        self.bare.0
    }

    /// Takes the next block.
    pub fn block(&mut self, block: &Block<'_>) {
        if self.failed().is_some() {
            return;
        }
        if block.kind != block::SECTION {
            self.need_section();
        }
        self.is_packet_last = block.packet.is_some();
        self.frames += u64::from(is_listed(block.kind));
        self.bare += u64::from(block.kind == block::SIMPLE);
        self.waiting += block.bytes.len();
        match block.packet {
            Some(place) => self.packet(block, place),
            None if block.kind == block::SECTION => self.section(block),
            None => self.pending.push(block.bytes, None, Nanos(0)),
        }
        if self.waiting >= CHUNK {
            self.flush(false);
        }
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// Not everything could be written, now or before.
    pub fn close(mut self) -> Result<Written, WriteFailed> {
        self.need_section();
        self.flush(true);
        match self.files.failed {
            None => Ok(Written { files: self.files.kept.into(), bytes: self.files.bytes }),
            Some(failed) => Err(failed),
        }
    }

    fn packet(&mut self, block: &Block<'_>, place: PacketPlace) {
        let mut bytes = block.bytes;
        let mut options = ReadableOptions::of(block, place.options);
        if options.has_messages {
            self.scratch.clear();
            options.end = without_messages(block, place.options, options.end, &mut self.scratch);
            bytes = &self.scratch;
        }
        let packet = ShownPacket {
            start: 0,
            end: bytes.len(),
            options: options.end,
            order: block.order,
            frame: self.frames.0,
            at: place.at,
            queue: None,
        };
        self.pending.push(bytes, Some(packet), place.at);
    }

    /// Begins a section if none has begun: the file's own could not be read.
    fn need_section(&mut self) {
        if !self.has_section {
            let mut blocks = BlockBuffer::default();
            section::put_plain(&mut blocks);
            self.pending.push(&blocks.bytes, None, Nanos(0));
            self.has_section = true;
        }
    }

    fn section(&mut self, block: &Block<'_>) {
        self.has_section = true;
        self.scratch.clear();
        self.scratch.extend_from_slice(block.bytes);
        if let Some(len) = self.scratch.get_mut(SECTION_LEN) {
            len.fill(0xFF);
        }
        self.pending.push(&self.scratch, None, Nanos(0));
    }

    fn flush(&mut self, all: bool) {
        self.waiting = Size(0);
        loop {
            let released = self.pending.release(all);
            self.files.write(&self.pending.ready);
            self.pending.ready.clear();
            if released == ReleaseExtent::All {
                break;
            }
        }
    }
}

impl MessageSink for Verbatim {
    fn carries(&mut self, range: FlowRange) {
        if self.is_packet_last {
            self.pending.carries(range);
        }
    }

    fn message(&mut self, legs: &mut Vec<MessageLeg>) {
        self.pending.message(legs);
    }
}

/// True if Wireshark lists a block: a packet, or a block that it takes for an event.
fn is_listed(kind: u32) -> bool {
    use block::{CUSTOM, CUSTOM_KEPT, JOURNAL, OLD_PACKET, PACKET, SIMPLE};
    [PACKET, OLD_PACKET, SIMPLE, JOURNAL, CUSTOM, CUSTOM_KEPT].contains(&kind)
}

/// The options of a packet that can be read.
struct ReadableOptions {
    /// End of the options: in front of the mark of their end, if there is one.
    end: usize,
    /// An earlier copy wrote what became of messages.
    has_messages: bool,
}

impl ReadableOptions {
    /// The options of a block, which begin at `start`.
    fn of(block: &Block<'_>, start: usize) -> ReadableOptions {
        let mut readable = ReadableOptions { end: start, has_messages: false };
        for found in options(block, start) {
            readable.end = found.end;
            readable.has_messages |= is_message(&found);
        }
        readable
    }
}

/// The options of a block, which begin at `start`, as far as they can be read.
fn options<'a>(block: &Block<'a>, start: usize) -> impl Iterator<Item = BlockOption<'a>> {
    let mut fields = BlockFields::of_block(block.bytes, block.order);
    fields.skip(start.saturating_sub(8));
    std::iter::from_fn(move || fields.option())
}

/// True if this is wirelap's option about a message.
fn is_message(found: &BlockOption<'_>) -> bool {
    found.number == option::CUSTOM && message_option::is_message(found.value)
}

/// Appends the block without what was written of messages. Its options begin at `start` and end at `end`. Returns where they end
/// now.
fn without_messages(block: &Block<'_>, start: usize, end: usize, out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&block.bytes[..start]);
    let mut at = start;
    for found in options(block, start) {
        let is_left_out = match found.number {
            option::COMMENT => sentence::is_sentence(found.value),
            _ => is_message(&found),
        };
        if !is_left_out {
            out.extend_from_slice(&block.bytes[at..found.end]);
        }
        at = found.end;
    }
    let place = out.len();
    out.extend_from_slice(&block.bytes[end..]);
    let len = block.order.u32_bytes(u32::try_from(out.len()).unwrap_or(u32::MAX));
    out[4..8].copy_from_slice(&len);
    let last = out.len().saturating_sub(4);
    out[last..].copy_from_slice(&len);
    place
}
