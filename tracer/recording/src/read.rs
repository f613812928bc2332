//! A file → entries, one after the other.
//!
//! Whatever the bytes are, this ends and keeps at most one block in memory. What cannot be read is told with its
//! place, and reading goes on behind it where that can be found.

use crate::block::{self, Body, Order, Step, option};
use crate::captured::{Captured, Form, Interface, Own, captured, event, interface, wall};
use crate::headers::Other;
use crate::input::Input;
use crate::record::{Cursor, Entry, Note, Read as Record};
use crate::wire::Wire;
use crate::{Counts, ENTERPRISE, Problems, TAG};
use std::io::{self, Read};
use std::ops::Range;
use wirelap_events::{Event, Nanos, PacketHook};

/// The longest packet of the classic format that is read.
const MOST_CLASSIC: u32 = 1 << 20;

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
    /// From the monotonic clock to the wall clock; only wirelap's own sections tell.
    wall: Option<i64>,
    /// Bytes at the front of the input that have been handed out.
    done: usize,
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
    Ng(Order),
    Classic { order: Order, fraction: u64, link: u16 },
}

/// What was found; payload and text are told by their place in the input.
enum Found {
    Event { event: Event<'static>, payload: Range<usize>, known: bool },
    Tick(Nanos),
    Note { subject: Range<usize>, text: Range<usize> },
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
            wall: None,
            done: 0,
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
        Some(match found {
            Found::Event { mut event, payload, known } => {
                if let wirelap_events::Body::Packet(packet) = &mut event.body {
                    packet.payload = self.input.range(payload);
                }
                if known { Entry::Known(event) } else { Entry::Event(event) }
            }
            Found::Tick(at) => Entry::Tick(at),
            Found::Note { subject, text } => {
                // They were found to be text.
                let text_of = |range| str::from_utf8(self.input.range(range)).unwrap_or_default();
                Entry::Note(Note { subject: text_of(subject), text: text_of(text) })
            }
        })
    }

    /// Whether this section was recorded by wirelap: sockets and calls, not packets alone.
    pub fn is_own(&self) -> bool {
        self.wall.is_some()
    }

    /// What was in the file so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What could not be read so far.
    pub fn problems(&self) -> &Problems {
        &self.problems
    }

    fn find(&mut self) -> Option<Found> {
        loop {
            if let Some(found) = self.record() {
                return Some(found);
            }
            if let Some((event, payload)) = self.packet.take() {
                return Some(Found::Event { event, payload, known: false });
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
            let place = range.start + cursor.at;
            let shift = |part: Range<usize>| part.start + range.start..part.end + range.start;
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
                    self.counts.unknown_records += 1;
                    continue;
                }
                Err(_) => {
                    let at = self.input.offset() + place as u64;
                    self.problems.add(at, "a record of wirelap's that cannot be read: left out");
                    continue;
                }
            };
            self.counts.records += 1;
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
                let at = self.input.offset() + self.input.bytes().len() as u64;
                self.problems.add(at, format!("the file cannot be read on: {error}"));
            }
        }
        self.ended = true;
        false
    }

    fn block(&mut self, order: Order) {
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
        match frame.kind {
            block::SECTION => {
                self.format = Format::Ng(frame.order);
                self.interfaces.clear();
                self.wall = wall(Body::of(&self.input.bytes()[..frame.len], frame.order));
            }
            block::INTERFACE => {
                let body = Body::of(&self.input.bytes()[..frame.len], frame.order);
                let interface = interface(body);
                match interface {
                    Some(interface) if self.interfaces.len() < INTERFACES => {
                        self.interfaces.push(interface);
                    }
                    _ => self.bad("an interface that cannot be read"),
                }
            }
            block::PACKET => self.packet_block(frame, Form::Enhanced),
            block::OLD_PACKET => self.packet_block(frame, Form::Old),
            block::SIMPLE => self.packet_block(frame, Form::Simple),
            block::CUSTOM => self.custom(frame),
            _ => {}
        }
    }

    fn bad(&mut self, what: &str) {
        self.problems.add(self.input.offset(), format!("{what}: left out"));
    }

    /// Finds the next block behind bytes that are none.
    fn skip_to_block(&mut self, order: Order, what: &str) {
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
                let skipped = self.input.offset() - from;
                self.problems.add(from, format!("{what}: {skipped} bytes were left out"));
                return;
            }
        }
    }

    /// Begins to read a custom block, if it is one of ours.
    fn custom(&mut self, frame: block::Frame) {
        let mut body = Body::of(&self.input.bytes()[..frame.len], frame.order);
        let is_ours = body.u32() == Some(ENTERPRISE) && body.rest.array() == Some(TAG);
        if !is_ours || self.wall.is_none() {
            return;
        }
        let mut records = || {
            let len = usize::try_from(body.rest.unsigned()?).ok()?;
            let base = Nanos::take(&mut body.rest)?;
            let start = frame.len - 4 - body.rest.0.len();
            body.rest.take(len)?;
            Some((start..start + len, Cursor { at: 0, last: base }))
        };
        match records() {
            Some(records) => self.records = Some(records),
            None => self.bad("a block of wirelap's that cannot be read"),
        }
    }
}

impl<R: Read> Recording<R> {
    fn packet_block(&mut self, frame: block::Frame, form: Form) {
        let block = &self.input.bytes()[..frame.len];
        let mut body = Body::of(block, frame.order);
        let Some(captured) = captured(&mut body, form, &self.interfaces, frame.len) else {
            self.bad("a packet that cannot be read, or of an interface that was not described");
            return;
        };
        let mut own = None;
        let mut direction = None;
        loop {
            // An option's value stands behind its number and length.
            let start = block.len() - body.rest.0.len();
            let Some((number, value)) = body.next() else { break };
            match number {
                option::CUSTOM if own.is_none() => {
                    own = self
                        .wall
                        .and_then(|wall| Own::take(value, start, frame.order, captured.at, wall));
                }
                option::FLAGS => {
                    let bits = value.first_chunk().map_or(0, |&bytes| frame.order.u32(bytes) & 3);
                    direction =
                        [None, Some(PacketHook::Rx), Some(PacketHook::Xmit), None][bits as usize];
                }
                _ => {}
            }
        }
        let event = event(block, &captured, own.as_ref(), direction, self.counts.packets);
        self.records = own.and_then(|own| own.records);
        self.take(event);
    }

    fn take(&mut self, packet: Result<(Event<'static>, Range<usize>, bool), Other>) {
        let counts = &mut self.counts;
        match packet {
            Ok((event, payload, own)) => {
                counts.packets += 1;
                counts.own += u64::from(own);
                self.packet = Some((event, payload));
            }
            Err(Other::Protocol) => counts.other += 1,
            Err(Other::Fragment) => counts.fragments += 1,
            Err(Other::Cut) => counts.cut += 1,
            Err(Other::Link) => counts.unknown_link += 1,
        }
    }

    /// The header of the classic format (draft-ietf-opsawg-pcap §4).
    fn classic_header(&mut self) {
        if self.have(24, "its header")
            && let Format::Classic { order, link, .. } = &mut self.format
            && let Some(&bytes) = self.input.bytes()[20..].first_chunk()
        {
            // The upper half says whether there are check sums behind the packets.
            *link = u16::try_from(order.u32(bytes) & 0xFFFF).unwrap_or_default();
            self.done = 24;
        }
    }

    /// A packet of the classic format (draft-ietf-opsawg-pcap §5).
    fn classic(&mut self, order: Order, fraction: u64, link: u16) {
        if !self.have(16, "a packet's header") {
            return;
        }
        let Some(&head) = self.input.bytes().first_chunk::<16>() else { return };
        let word = |at: usize| order.u32([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (seconds, part, len, original) = (word(0), word(4), word(8), word(12));
        if len > MOST_CLASSIC {
            self.ended = true;
            let what = format!("a packet of {len} bytes cannot be: nothing behind it can be read");
            self.problems.add(self.input.offset(), what);
            return;
        }
        let len = len as usize;
        if !self.have(16 + len, "a packet") {
            return;
        }
        self.done = 16 + len;
        let captured = Captured {
            interface: Interface { link, resolution: 9, offset: 0, place: None },
            number: 0,
            at: u64::from(seconds) * 1_000_000_000 + u64::from(part) * fraction,
            bytes: 16..16 + len,
            original,
        };
        let packet = &self.input.bytes()[..16 + len];
        let event = event(packet, &captured, None, None, self.counts.packets);
        self.take(event);
    }
}

/// What a file is, by its first bytes.
fn format(start: [u8; 4]) -> Option<Format> {
    let classic = |order, fraction| Some(Format::Classic { order, fraction, link: 0 });
    match u32::from_be_bytes(start) {
        block::SECTION => Some(Format::Ng(Order::Little)),
        0xA1B2_C3D4 => classic(Order::Big, 1000),
        0xD4C3_B2A1 => classic(Order::Little, 1000),
        0xA1B2_3C4D => classic(Order::Big, 1),
        0x4D3C_B2A1 => classic(Order::Little, 1),
        _ => None,
    }
}
