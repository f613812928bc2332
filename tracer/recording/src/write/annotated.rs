//! A packet's block that gets more options: what became of the messages in it.

use super::shown::ShownPacket;
use crate::message::{LegInPacket, MessageLeg, sentence};
use crate::pcapng::writer::put_option;
use crate::pcapng::{ByteOrder, option};
use std::fmt::Write;
use wirelap_events::{ByteRange, Saturate};

/// The most messages that one packet reports.
const MAX_MESSAGES: usize = 1_000;

/// Memory that is used again for each packet.
#[derive(Debug, Default)]
pub struct Scratch {
    text: String,
    value: Vec<u8>,
    /// Bytes of a block behind the options that it gets.
    behind: Vec<u8>,
}

/// Puts what became of messages into a packet's block at the end of `bytes`, which begins at `start`. `carried` is what the
/// packet carries of its flow. Returns how much longer the block has become.
pub fn annotate<'a>(
    bytes: &mut Vec<u8>,
    start: usize,
    packet: ShownPacket,
    carried: ByteRange,
    legs: impl Iterator<Item = &'a MessageLeg>,
    scratch: &mut Scratch,
) -> u64 {
    let mut legs = legs.map(|leg| LegInPacket { leg, carried, queue: packet.queue });
    let Some(first) = legs.next() else { return 0 };
    let mut block = ReopenedBlock::new(bytes, start, packet, scratch);
    let mut count = 1;
    block.message(&first);
    for leg in legs {
        if count < MAX_MESSAGES {
            block.message(&leg);
        }
        count.grow(1);
    }
    if let Some(more) = count.checked_sub(MAX_MESSAGES).filter(|&more| more > 0) {
        block.comment(&sentence::more(more));
    }
    block.close()
}

/// A complete block whose options are added to.
struct ReopenedBlock<'a> {
    bytes: &'a mut Vec<u8>,
    /// Offset of the block in `bytes`.
    start: usize,
    /// Bytes of the block before.
    len: usize,
    order: ByteOrder,
    scratch: &'a mut Scratch,
}

impl<'a> ReopenedBlock<'a> {
    /// The packet's block is all that follows `start`.
    fn new(
        bytes: &'a mut Vec<u8>,
        start: usize,
        packet: ShownPacket,
        scratch: &'a mut Scratch,
    ) -> ReopenedBlock<'a> {
        let (len, place) =
            (bytes.len().saturating_sub(start), start.saturating_add(packet.options));
        scratch.behind.clear();
        // All but the block's length.
        scratch.behind.extend_from_slice(&bytes[place..bytes.len().saturating_sub(4)]);
        bytes.truncate(place);
        ReopenedBlock { bytes, start, len, order: packet.order, scratch }
    }

    fn message(&mut self, leg: &LegInPacket<'_>) {
        let Scratch { text, value, .. } = &mut *self.scratch;
        text.clear();
        // A string takes everything.
        let _ = write!(text, "{leg}");
        put_option(self.bytes, self.order, option::COMMENT, text.as_bytes());
        value.clear();
        leg.put_option(self.order, value);
        put_option(self.bytes, self.order, option::CUSTOM, value);
    }

    fn comment(&mut self, text: &str) {
        put_option(self.bytes, self.order, option::COMMENT, text.as_bytes());
    }

    /// Ends the options and the block. Returns how much longer it has become.
    fn close(self) -> u64 {
        if self.scratch.behind.is_empty() {
            self.bytes.extend([0; 4]);
        } else {
            self.bytes.extend_from_slice(&self.scratch.behind);
        }
        let len = self.bytes.len().saturating_add(4).saturating_sub(self.start);
        let word = self.order.u32_bytes(u32::try_from(len).unwrap_or(u32::MAX));
        self.bytes.extend(word);
        self.bytes[self.start.saturating_add(4)..self.start.saturating_add(8)]
            .copy_from_slice(&word);
        len.saturating_sub(self.len) as u64
    }
}
