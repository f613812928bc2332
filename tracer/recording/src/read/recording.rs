//! A file → entries, one after the other: the three readers put together.

use super::block::{BlockOrEntry, PendingBlock};
use super::blocks::{BlockReader, FilePart, NotACapture, RawBlock};
use super::entries::EntryReader;
use super::packets::{PacketBlock, PacketPlace};
use super::problem::{Disorder, FileCounts, Problems};
use super::section::CurrentSection;
use crate::pcapng::block::{self, BlockBounds};
use crate::pcapng::{BlockBuffer, SectionHeader};
use crate::record::{Entry, LocatedEntry};
use std::io::Read;
use std::ops::Range;
use wirelap_events::{Event, IfIndex, NetNs};

/// A capture file that is read.
#[derive(Debug)]
pub struct Recording<R> {
    pub(super) blocks: BlockReader<R>,
    section: CurrentSection,
    entries: EntryReader,
    /// The block at hand, if it can be handed out and was not.
    pending: Option<PendingBlock>,
    /// The entry that was handed out last.
    at_hand: Option<LocatedEntry>,
    /// Everything that the file has was read.
    is_at_end: bool,
    /// Blocks of pcapng that a classic file's header or packet was made into.
    converted: BlockBuffer,
    problems: Problems,
    pub(super) disorder: Disorder,
}

impl<R: Read> Recording<R> {
    /// Begins to read: the first block, unless the file begins with damage. For compressed files see [`crate::open`].
    ///
    /// # Errors
    /// The source is no capture file.
    pub fn new(source: R) -> Result<Recording<R>, NotACapture> {
        let mut recording = Recording {
            blocks: BlockReader::new(source)?,
            section: CurrentSection::default(),
            entries: EntryReader::default(),
            pending: None,
            at_hand: None,
            is_at_end: false,
            converted: BlockBuffer::default(),
            problems: Problems::default(),
            disorder: Disorder::default(),
        };
        recording.read_block();
        Ok(recording)
    }

    /// The next entry; `None` at the end of what can be read.
    #[expect(clippy::should_implement_trait, reason = "entries borrow from the recording")]
    pub fn next(&mut self) -> Option<Entry<'_>> {
        let entry = self.next_located()?;
        Some(self.hand_out(entry))
    }

    /// The next block, or the next entry of the block before; `None` at the end of what can be read. A block that cannot be read
    /// is left out.
    pub fn next_block_or_entry(&mut self) -> Option<BlockOrEntry<'_>> {
        loop {
            if let Some(block) = self.pending.take() {
                let block = block.block(self.blocks.block(), &mut self.converted);
                return Some(BlockOrEntry::Block(block));
            }
            if let Some(entry) = self.entry_of_block() {
                return Some(BlockOrEntry::Entry(self.hand_out(entry)));
            }
            self.read_block_or_end()?;
        }
    }

    /// The next packet, whatever else comes before it.
    pub fn next_packet(&mut self) -> Option<Event<'_>> {
        loop {
            let entry = self.next_located()?;
            if entry.is_packet() {
                return match self.hand_out(entry) {
                    Entry::Event(event) => Some(event),
                    _ => None,
                };
            }
        }
    }

    /// True if this section was recorded by wirelap: sockets and calls, not packets alone.
    pub fn is_own(&self) -> bool {
        self.section.own().is_some()
    }

    /// The section's header with the machine; `None` if wirelap did not record it.
    pub fn section(&self) -> Option<&SectionHeader> {
        self.section.own()
    }

    /// Devices whose names came with the last entries.
    pub fn take_named(&mut self) -> impl Iterator<Item = (NetNs, IfIndex, String)> + use<'_, R> {
        self.section.take_named()
    }

    /// From the events' clock, which is monotonic, to the wall clock, in nanoseconds; `None` if they are on the wall clock.
    pub fn wall(&self) -> Option<i64> {
        self.section.own().map(|section| section.wall)
    }

    /// Number of the run of the kernel whose clock the events have; `None` if it is not known.
    pub fn kernel_run(&self) -> Option<u64> {
        self.section.own().map(|section| section.kernel_run).filter(|run| *run != 0)
    }

    /// Counts of what was read so far.
    pub fn counts(&self) -> FileCounts {
        self.entries.counts()
    }

    /// Disorder of the packets, if the entries were read ahead.
    pub fn disorder(&self) -> Disorder {
        self.disorder
    }

    /// Problems so far.
    pub fn problems(&self) -> &Problems {
        &self.problems
    }

    /// The next entry, its bytes still where they are.
    pub(super) fn next_located(&mut self) -> Option<LocatedEntry> {
        loop {
            self.pending = None;
            if let Some(entry) = self.entry_of_block() {
                return Some(entry);
            }
            self.read_block_or_end()?;
        }
    }

    /// Bytes of the block at hand.
    pub(super) fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.blocks.range(range)
    }

    /// The entry with its bytes.
    fn hand_out(&mut self, entry: LocatedEntry) -> Entry<'_> {
        let blocks = &self.blocks;
        self.at_hand.insert(entry).entry(|range| blocks.range(range))
    }

    /// The next entry of the block at hand.
    fn entry_of_block(&mut self) -> Option<LocatedEntry> {
        self.entries.next(self.blocks.block(), self.blocks.offset(), &mut self.problems)
    }

    /// Goes on to the next block, or, once, to what the end of the file says; `None` behind that.
    fn read_block_or_end(&mut self) -> Option<()> {
        if self.is_at_end {
            return None;
        }
        if self.read_block().is_none() {
            self.is_at_end = true;
            self.entries.end();
        }
        Some(())
    }

    /// Goes on to the next block, or past damage in front of it; `None` at the end of what can be read.
    fn read_block(&mut self) -> Option<()> {
        let FilePart::Block(raw) = self.blocks.next(&mut self.problems)? else { return Some(()) };
        let read = match raw {
            RawBlock::Pcapng(frame) => self.pcapng_block(frame),
            RawBlock::ClassicHeader(header) => {
                self.section.begin_classic(&header);
                Ok(None)
            }
            RawBlock::ClassicPacket(packet) => {
                Ok(self.entries.classic_packet(&packet, self.blocks.block(), &self.section))
            }
        };
        match read {
            Ok(packet) => self.pending = Some(PendingBlock { raw, packet }),
            Err(what) => self.left_out(what),
        }
        Some(())
    }

    /// Reads a block into the section, or begins to read its entries. Returns where its options have their place, if it
    /// is a packet that can have any.
    ///
    /// # Errors
    /// The block cannot be read, and what it is.
    fn pcapng_block(&mut self, frame: BlockBounds) -> Result<Option<PacketPlace>, &'static str> {
        let (bytes, order) = (self.blocks.block(), frame.order);
        match frame.kind {
            block::SECTION => {
                self.section.begin(bytes, order);
                self.entries.begin_section();
            }
            block::STATISTICS => self.entries.statistics_block(bytes, order),
            block::INTERFACE => self
                .section
                .add_interface(bytes, order)
                .ok_or("an interface that cannot be read")?,
            block::NAMES if self.is_own() => {
                let read = self.entries.names_block(bytes, order);
                self.report_own(read);
            }
            block::CUSTOM if self.is_own() => {
                let read = self.entries.custom_block(bytes, order);
                self.report_own(read);
            }
            block::SECRETS => self.entries.secrets_block(bytes, order),
            kind => {
                if let Some(kind) = PacketBlock::of(kind) {
                    let place = self.entries.packet_block(kind, bytes, order, &self.section).ok_or(
                        "a packet that cannot be read, or of an interface that was not described",
                    )?;
                    return Ok((kind != PacketBlock::Simple).then_some(place));
                }
            }
        }
        Ok(None)
    }

    /// Reports a block with records that could not be read. The block itself can be handed out.
    fn report_own(&mut self, read: Option<()>) {
        if read.is_none() {
            self.left_out("a block of wirelap's that cannot be read");
        }
    }

    fn left_out(&mut self, what: &str) {
        self.problems.add(self.blocks.offset(), format!("{what}: left out"));
    }
}
