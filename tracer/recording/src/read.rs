//! A file → entries, one after the other.
//!
//! Whatever the bytes are, this ends and keeps at most one block in memory. What cannot be read is told with its
//! place, and reading goes on behind it where that can be found.

mod ahead;
mod packets;
mod peek;
mod pieces;

pub use peek::{Peek, Wanted};
pub(crate) use pieces::section as section_for;
pub use pieces::{Block, Piece};
use wirelap_events::Saturate;

use crate::block::{self, Blocks, Body, ByteOrder, Step, option};
use crate::captured::{Form, Interface, device, interface, ours, section};
use crate::input::Input;
use crate::record::{Cursor, Entry, Note, Read as Record};
use crate::wire::Wire;
use crate::{Counts, ENTERPRISE, Problems, Section, TAG};
use pieces::Whole;
use std::io::{self, Read};
use std::ops::Range;
use wirelap_events::{Event, IfIndex, Nanos, NetNs};

/// The most interfaces of a section.
const INTERFACES: usize = 65_536;

/// Why a file is no capture.
#[derive(Debug, thiserror::Error)]
pub enum NotACapture {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    /// It has no bytes, or fewer than a capture has at least.
    #[error("is empty")]
    Empty,
    /// It begins with something else.
    #[error("is neither pcapng nor pcap: it begins with {0:02x?}")]
    Other([u8; 4]),
}

/// A capture file that is read.
#[derive(Debug)]
pub struct Recording<R> {
    input: Input<R>,
    format: Format,
    interfaces: Vec<Interface>,
    /// What the section says, if it is one of wirelap's own.
    section: Option<Section>,
    /// Devices that have been named since that was last asked.
    named: Vec<(NetNs, IfIndex, String)>,
    /// Bytes at the front of the input that have been handed out.
    done: usize,
    /// The block that they are, if it was not handed out as such.
    whole: Option<Whole>,
    /// A block that was made of what is none.
    converted: Blocks,
    /// Records that are being read, and where they are.
    records: Option<(Range<usize>, Cursor)>,
    /// The packet behind them.
    packet: Option<(Event<'static>, Range<usize>)>,
    counts: Counts,
    problems: Problems,
    ended: bool,
}

#[derive(Clone, Copy, Debug)]
enum Format {
    Ng(ByteOrder),
    Classic { order: ByteOrder, fraction: u64, link: u16 },
}

/// A block, or what was found in the block before.
#[expect(
    clippy::large_enum_variant,
    reason = "one is alive at a time, on the stack; a box would be an allocation for each event"
)]
enum Next {
    Block(Whole),
    Found(Found),
}

/// What was found; payload and text are told by their place in the input.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one is alive at a time, on the stack; a box would be an allocation for each event"
)]
enum Found {
    Event { event: Event<'static>, payload: Range<usize>, known: bool },
    Tick(Nanos),
    Note { subject: Range<usize>, text: Range<usize> },
}

impl Found {
    /// What it is, with its bytes.
    fn entry<'a>(self, bytes: impl Fn(Range<usize>) -> &'a [u8]) -> Entry<'a> {
        match self {
            Found::Event { mut event, payload, known } => {
                if let wirelap_events::Body::Packet(packet) = &mut event.body {
                    packet.payload = bytes(payload);
                }
                if known { Entry::Known(event) } else { Entry::Event(event) }
            }
            Found::Tick(at) => Entry::Tick(at),
            Found::Note { subject, text } => {
                // They were found to be text.
                let text_of = |range| str::from_utf8(bytes(range)).unwrap_or_default();
                Entry::Note(Note { subject: text_of(subject), text: text_of(text) })
            }
        }
    }
}

impl<R: Read> Recording<R> {
    /// Begins to read. For compressed files see [`crate::open`].
    ///
    /// # Errors
    /// It is no capture file.
    pub fn new(source: R) -> Result<Recording<R>, NotACapture> {
        let mut input = Input::new(source);
        if !input.fill(4)? {
            return Err(NotACapture::Empty);
        }
        let start = *input.bytes().first_chunk::<4>().ok_or(NotACapture::Empty)?;
        let format = format(start).ok_or(NotACapture::Other(start))?;
        let mut recording = Recording {
            input,
            format,
            interfaces: Vec::new(),
            section: None,
            named: Vec::new(),
            done: 0,
            whole: None,
            converted: Blocks::default(),
            records: None,
            packet: None,
            counts: Counts::default(),
            problems: Problems::default(),
            ended: false,
        };
        match format {
            Format::Ng(order) => recording.block(order),
            Format::Classic { .. } => recording.classic_header(),
        }
        Ok(recording)
    }

    /// The next entry; `None` at the end of what can be read.
    #[expect(clippy::should_implement_trait, reason = "entries borrow from the recording")]
    pub fn next(&mut self) -> Option<Entry<'_>> {
        let found = self.find()?;
        Some(found.entry(|range| self.input.range(range)))
    }

    /// The next block, or the next of what the block before says; `None` at the end of what can be read. Blocks that are told to
    /// be left out are.
    pub fn next_piece(&mut self) -> Option<Piece<'_>> {
        Some(match self.step()? {
            Next::Block(whole) => Piece::Block(whole.block(&self.input, &mut self.converted)),
            Next::Found(found) => Piece::Entry(found.entry(|range| self.input.range(range))),
        })
    }

    /// The next packet, whatever else comes before it.
    pub fn next_packet(&mut self) -> Option<Event<'_>> {
        let (mut event, payload) = loop {
            if let Found::Event { event, payload, known: false } = self.find()?
                && matches!(event.body, wirelap_events::Body::Packet(_))
            {
                break (event, payload);
            }
        };
        if let wirelap_events::Body::Packet(packet) = &mut event.body {
            packet.payload = self.input.range(payload);
        }
        Some(event)
    }

    /// Whether this section was recorded by wirelap: sockets and calls, not packets alone.
    pub fn is_own(&self) -> bool {
        self.section.is_some()
    }

    /// What the section says of the machine, if it was recorded by wirelap.
    pub fn section(&self) -> Option<&Section> {
        self.section.as_ref()
    }

    /// Devices whose names came with the last entries.
    pub fn take_named(&mut self) -> impl Iterator<Item = (NetNs, IfIndex, String)> + use<'_, R> {
        self.named.drain(..)
    }

    /// From the events' clock, which is monotonic, to the wall clock, in nanoseconds; `None` if they are on the wall clock.
    pub fn wall(&self) -> Option<i64> {
        self.section.as_ref().map(|section| section.wall)
    }

    /// What was in the file so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What could not be read so far.
    pub fn problems(&self) -> &Problems {
        &self.problems
    }

    /// The next that is no block.
    fn find(&mut self) -> Option<Found> {
        loop {
            if let Next::Found(found) = self.step()? {
                return Some(found);
            }
        }
    }

    fn step(&mut self) -> Option<Next> {
        loop {
            if let Some(whole) = self.whole.take() {
                return Some(Next::Block(whole));
            }
            if let Some(found) = self.record() {
                return Some(Next::Found(found));
            }
            if let Some((event, payload)) = self.packet.take() {
                return Some(Next::Found(Found::Event { event, payload, known: false }));
            }
            self.input.consume(std::mem::take(&mut self.done));
            if self.ended {
                return None;
            }
            match self.format {
                Format::Ng(order) => self.block(order),
                Format::Classic { order, fraction, link } => self.classic(order, fraction, link),
            }
        }
    }

    /// The next of the records that are being read.
    fn record(&mut self) -> Option<Found> {
        let (range, mut cursor) = self.records.take()?;
        loop {
            let place = range.start.saturating_add(cursor.at);
            let shift = |part: Range<usize>| {
                part.start.saturating_add(range.start)..part.end.saturating_add(range.start)
            };
            let found = match cursor.next(self.input.range(range.clone())) {
                Ok(None) => return None,
                Ok(Some(Record::Event { event, payload, known })) => {
                    Found::Event { event, payload: shift(payload), known }
                }
                Ok(Some(Record::Tick(at))) => Found::Tick(at),
                Ok(Some(Record::Note { subject, text })) => {
                    Found::Note { subject: shift(subject), text: shift(text) }
                }
                Ok(Some(Record::Unknown)) => {
                    self.counts.unknown_records.grow(1);
                    continue;
                }
                Err(_) => {
                    let at = self.input.offset().saturating_add(place as u64);
                    self.problems.add(at, "a record of wirelap's that cannot be read: left out");
                    continue;
                }
            };
            self.counts.records.grow(1);
            self.records = Some((range, cursor));
            return Some(found);
        }
    }

    /// Whether so many bytes are there. If not, the file ends here, and the problem is told.
    fn have(&mut self, need: usize, what: &str) -> bool {
        match self.input.fill(need) {
            Ok(true) => return true,
            Ok(false) if self.input.bytes().is_empty() => {}
            Ok(false) => {
                let there = self.input.bytes().len();
                let text = format!(
                    "the file ends in the middle of {what}: {there} of {need} bytes are there, and were left out"
                );
                self.problems.add(self.input.offset(), text);
            }
            Err(error) => {
                let at = self.input.offset().saturating_add(self.input.bytes().len() as u64);
                self.problems.add(at, format!("the file cannot be read on: {error}"));
            }
        }
        self.ended = true;
        false
    }

    fn block(&mut self, order: ByteOrder) {
        let mut need = 12;
        let frame = loop {
            if !self.have(need, "a block") {
                return;
            }
            match block::frame(self.input.bytes(), order) {
                Step::Block(frame) => break frame,
                Step::Need(more) => need = more,
                Step::Bad(what) => {
                    return self.skip_to_block(order, what);
                }
            }
        };
        self.done = frame.len;
        self.whole = Some(Whole::Block { frame, packet: None });
        match frame.kind {
            block::SECTION => {
                self.format = Format::Ng(frame.order);
                self.interfaces.clear();
                self.section = section(Body::of(&self.input.bytes()[..frame.len], frame.order));
            }
            block::INTERFACE => {
                let body = Body::of(&self.input.bytes()[..frame.len], frame.order);
                let device = device(Body::of(&self.input.bytes()[..frame.len], frame.order));
                let interface = interface(body);
                match interface {
                    Some(interface) if self.interfaces.len() < INTERFACES => {
                        if let (Some((_, netns, index)), Some(name)) = (interface.place, device)
                            && self.named.len() < INTERFACES
                        {
                            self.named.push((netns, index, name));
                        }
                        self.interfaces.push(interface);
                    }
                    _ => {
                        self.whole = None;
                        self.bad("an interface that cannot be read");
                    }
                }
            }
            block::PACKET => self.packet_block(frame, Form::Enhanced),
            block::OLD_PACKET => self.packet_block(frame, Form::Old),
            block::SIMPLE => self.packet_block(frame, Form::Simple),
            block::CUSTOM => self.custom(frame),
            block::NAMES => self.names(frame),
            _ => {}
        }
    }

    fn bad(&mut self, what: &str) {
        self.problems.add(self.input.offset(), format!("{what}: left out"));
    }

    /// Finds the next block behind bytes that are none.
    fn skip_to_block(&mut self, order: ByteOrder, what: &str) {
        let from = self.input.offset();
        loop {
            self.input.consume(1);
            if !self.input.fill(12).unwrap_or(false) {
                self.ended = true;
                self.problems.add(from, format!("{what}: nothing behind it can be read"));
                return;
            }
            if !block::is_likely(self.input.bytes(), order) {
                continue;
            }
            let mut step = block::frame(self.input.bytes(), order);
            if let Step::Need(need) = step
                && self.input.fill(need).unwrap_or(false)
            {
                step = block::frame(self.input.bytes(), order);
            }
            if let Step::Block(_) = step {
                let skipped = self.input.offset().saturating_sub(from);
                self.problems.add(from, format!("{what}: {skipped} bytes were left out"));
                return;
            }
        }
    }

    /// Begins to read what is in an option of a block of names, if it is one of ours.
    fn names(&mut self, frame: block::Frame) {
        if self.section.is_none() {
            return;
        }
        let block = &self.input.bytes()[..frame.len];
        let mut body = Body::of(block, frame.order);
        // Names stand there as options do, and end as they do (§4.5).
        body.by_ref().for_each(drop);
        loop {
            // An option's value stands behind its number and length.
            let start = block.len().saturating_sub(body.rest.0.len());
            let Some((number, value)) = body.next() else { return };
            if number != option::CUSTOM {
                continue;
            }
            let Some(mut from) = ours(value, frame.order) else { continue };
            match Nanos::take(&mut from) {
                Some(last) => {
                    let end = start.saturating_add(value.len());
                    self.records =
                        Some((end.saturating_sub(from.0.len())..end, Cursor { at: 0, last }));
                }
                None => self.bad("a block of wirelap's that cannot be read"),
            }
            return;
        }
    }

    /// Begins to read a custom block, if it is one of ours.
    fn custom(&mut self, frame: block::Frame) {
        let mut body = Body::of(&self.input.bytes()[..frame.len], frame.order);
        let is_ours = body.u32() == Some(ENTERPRISE) && body.rest.array() == Some(TAG);
        if !is_ours || self.section.is_none() {
            return;
        }
        let mut records = || {
            let len = usize::try_from(body.rest.unsigned()?).ok()?;
            let base = Nanos::take(&mut body.rest)?;
            let start = frame.len.saturating_sub(4).saturating_sub(body.rest.0.len());
            body.rest.take(len)?;
            Some((start..start.saturating_add(len), Cursor { at: 0, last: base }))
        };
        match records() {
            Some(records) => self.records = Some(records),
            None => self.bad("a block of wirelap's that cannot be read"),
        }
    }
}

/// What a file is, by its first bytes.
fn format(start: [u8; 4]) -> Option<Format> {
    let classic = |order, fraction| Some(Format::Classic { order, fraction, link: 0 });
    match u32::from_be_bytes(start) {
        block::SECTION => Some(Format::Ng(ByteOrder::Little)),
        0xA1B2_C3D4 => classic(ByteOrder::Big, 1000),
        0xD4C3_B2A1 => classic(ByteOrder::Little, 1000),
        0xA1B2_3C4D => classic(ByteOrder::Big, 1),
        0x4D3C_B2A1 => classic(ByteOrder::Little, 1),
        _ => None,
    }
}
