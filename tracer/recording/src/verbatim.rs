//! A capture that is written again: every block as it was, and packets with what became of their messages.
//!
//! What an earlier copy told of messages is left out, as its numbers are not those of now. A section that gives its own length is
//! made one of unknown length (draft-ietf-opsawg-pcapng §4.1), as it grows. Nothing else of a block is changed.

use crate::block::{self, Blocks, Body, option};
use crate::files::{Files, Plain, Store};
use crate::hold::{PendingPackets, Released, ShownPacket};
use crate::read::{Block, section_for};
use crate::{
    ENTERPRISE, Limits, MESSAGE_TAG, Passage, Passages, Rotation, WriteFailed, Written, message,
};
use std::path::Path;
use wirelap_events::Saturate;
use wirelap_events::{FlowRange, Nanos};

/// Written at once.
const CHUNK: usize = 256 << 10;

/// Where a section header has its section's length.
const SECTION_LEN: std::ops::Range<usize> = 16..24;

/// Writes blocks into a file.
#[derive(Debug)]
pub struct Verbatim {
    hold: PendingPackets,
    files: Files,
    /// A section has begun.
    has_section: bool,
    /// Blocks that Wireshark lists.
    frames: u64,
    /// The last block was a packet that can have options.
    is_packet_last: bool,
    /// Packets in blocks that have no options.
    bare: u64,
    /// Bytes that were not written at once.
    waiting: usize,
    /// A block without some of its options.
    scratch: Vec<u8>,
}

impl Verbatim {
    /// Creates the file; `-` is stdout. Packets are kept back until it is told what became of their messages, within these
    /// limits.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(path: &Path, limits: Limits) -> Result<Verbatim, WriteFailed> {
        Verbatim::create_in(Box::new(Plain), path, limits)
    }

    /// The same with whatever creates the file.
    ///
    /// # Errors
    /// As [`Verbatim::create`].
    pub fn create_in(
        store: Box<dyn Store>,
        path: &Path,
        limits: Limits,
    ) -> Result<Verbatim, WriteFailed> {
        Ok(Verbatim {
            hold: PendingPackets::new(limits),
            files: Files::create(store, path, Rotation::default())?,
            has_section: false,
            frames: 0,
            is_packet_last: false,
            bare: 0,
            waiting: 0,
            scratch: Vec::new(),
        })
    }

    /// Why nothing is written any more.
    pub fn failed(&self) -> Option<&WriteFailed> {
        self.files.failed.as_ref()
    }

    /// Packets that cannot tell of messages: simple packet blocks have no options.
    pub fn bare(&self) -> u64 {
        self.bare
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
        self.frames.grow(u64::from(is_listed(block.kind)));
        self.bare.grow(u64::from(block.kind == block::SIMPLE));
        self.waiting.grow(block.bytes.len());
        match block.packet {
            Some((at, options)) => self.packet(block, at, options),
            None if block.kind == block::SECTION => self.section(block),
            None => self.hold.push(block.bytes, None, Nanos(0)),
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

    fn packet(&mut self, block: &Block<'_>, at: Nanos, options: usize) {
        let mut bytes = block.bytes;
        let mut place = places(block, options);
        if place.is_told {
            self.scratch.clear();
            place.end = without_told(block, options, place.end, &mut self.scratch);
            bytes = &self.scratch;
        }
        let packet = ShownPacket {
            start: 0,
            end: bytes.len(),
            options: place.end,
            order: block.order,
            frame: self.frames,
            at,
            queue: None,
        };
        self.hold.push(bytes, Some(packet), at);
    }

    /// Begins a section if none has begun: the file's own could not be read.
    fn need_section(&mut self) {
        if !self.has_section {
            let mut blocks = Blocks::default();
            section_for(&mut blocks);
            self.hold.push(&blocks.bytes, None, Nanos(0));
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
        self.hold.push(&self.scratch, None, Nanos(0));
    }

    fn flush(&mut self, all: bool) {
        self.waiting = 0;
        loop {
            let released = self.hold.release(all);
            self.files.write(&self.hold.ready);
            self.hold.ready.clear();
            if released == Released::All {
                break;
            }
        }
    }
}

impl Passages for Verbatim {
    fn carries(&mut self, stretch: FlowRange) {
        if self.is_packet_last {
            self.hold.carries(stretch);
        }
    }

    fn message(&mut self, passages: &mut Vec<Passage>) {
        self.hold.message(passages);
    }
}

/// Whether Wireshark lists a block: packets, and what it takes for events.
fn is_listed(kind: u32) -> bool {
    use block::{CUSTOM, CUSTOM_KEPT, JOURNAL, OLD_PACKET, PACKET, SIMPLE};
    [PACKET, OLD_PACKET, SIMPLE, JOURNAL, CUSTOM, CUSTOM_KEPT].contains(&kind)
}

/// Of a packet's options.
struct Places {
    /// Where those that can be read end: in front of the mark of their end, if there is one.
    end: usize,
    /// An earlier copy told of messages.
    is_told: bool,
}

fn places(block: &Block<'_>, options: usize) -> Places {
    let mut end = options;
    let mut is_told = false;
    each_option(block, options, |at, number, value| {
        end = at;
        is_told |= is_message(number, value);
    });
    Places { end, is_told }
}

/// Gives each option's end, number and value.
fn each_option(block: &Block<'_>, options: usize, mut each: impl FnMut(usize, u16, &[u8])) {
    let mut body = Body::of(block.bytes, block.order);
    body.rest.take(options.saturating_sub(8));
    while let Some((number, value)) = body.next() {
        each(block.bytes.len().saturating_sub(4).saturating_sub(body.rest.0.len()), number, value);
    }
}

/// Whether this is wirelap's option about a message. Those of other versions are its own, too.
fn is_message(number: u16, value: &[u8]) -> bool {
    let tag = ENTERPRISE.to_le_bytes().into_iter().chain(MESSAGE_TAG[..2].iter().copied());
    number == option::CUSTOM && value.iter().copied().take(6).eq(tag)
}

/// Appends the block without what was told of messages. Returns where its options end now.
fn without_told(block: &Block<'_>, options: usize, end: usize, out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&block.bytes[..options]);
    let mut start = options;
    each_option(block, options, |at, number, value| {
        let is_told = match number {
            option::COMMENT => message::is_sentence(value),
            _ => is_message(number, value),
        };
        if !is_told {
            out.extend_from_slice(&block.bytes[start..at]);
        }
        start = at;
    });
    let place = out.len();
    out.extend_from_slice(&block.bytes[end..]);
    let len = block.order.word(u32::try_from(out.len()).unwrap_or(u32::MAX));
    out[4..8].copy_from_slice(&len);
    let last = out.len().saturating_sub(4);
    out[last..].copy_from_slice(&len);
    place
}
