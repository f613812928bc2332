//! One conversation: batches in, frames out.

use super::fragments::{Fragments, Whole};
use super::keys::{Keys, follow, resolve};
use super::network;
use super::survey;
use super::transport::{Fragment, Message, Terms};
use super::wire::{Cursor, Read, id};
use crate::{Connection, FrameSink, Pdu, PduLen, Side};
use wirelap_events::{ByteRange, Class, Data, Frame, Offset};

/// A compressed batch's only frame.
const COMPRESSED: &str = "BATCH (compressed)";

/// What cannot be read.
const UNREAD: &str = "unread";

/// What one end declared and has not finished.
#[derive(Debug, Default)]
struct End {
    keys: Keys,
    fragments: Fragments,
    /// It has sent its Open: what follows is as agreed.
    opened: bool,
}

/// A Zenoh conversation.
#[derive(Debug)]
pub struct Session {
    stream: bool,
    ends: [End; 2],
    /// Agreed at the start, if that was seen.
    terms: Option<Terms>,
    scratch: Vec<u8>,
}

fn index(side: Side) -> usize {
    match side {
        Side::A => 0,
        Side::B => 1,
    }
}

impl Session {
    /// A conversation over TCP (`stream`) or UDP.
    pub fn new(stream: bool) -> Session {
        Session { stream, ends: [End::default(), End::default()], terms: None, scratch: Vec::new() }
    }

    /// Bytes of the length that the batch at `head` starts with.
    ///
    /// Low latency has four, except that a side may close as if it had not been agreed: two bytes,
    /// which as the lower half of four would make a message longer than there can be.
    fn prefix(&self, side: Side, head: &[u8]) -> usize {
        let low_latency = self.terms.is_some_and(|terms| terms.low_latency);
        match (self.stream, low_latency && self.ends[index(side)].opened) {
            (false, _) => 0,
            (true, false) => 2,
            (true, true) if matches!(head, [_, _, 0, 0, ..]) || head.len() < 4 => 4,
            (true, true) => 2,
        }
    }

    /// The sender's end and the receiver's.
    fn ends(&mut self, sender: Side) -> (&mut End, &mut End, &mut Vec<u8>) {
        let [a, b] = &mut self.ends;
        match sender {
            Side::A => (a, b, &mut self.scratch),
            Side::B => (b, a, &mut self.scratch),
        }
    }

    fn init(&mut self, ack: bool, terms: Terms) {
        if ack {
            self.terms = Some(terms);
        } else {
            self.terms = None;
        }
        for end in &mut self.ends {
            end.keys.clear();
            end.fragments.begin(ack && terms.markers);
            end.opened = false;
        }
    }

    fn open(&mut self, side: Side, ack: bool) {
        self.ends[index(side)].opened = true;
        if ack {
            self.ends.iter_mut().for_each(|end| end.opened = true);
        }
    }

    /// Whether the batch that follows is compressed; moves over the header that says so.
    ///
    /// The header is one byte, 0 or 1. No message starts like that but an OAM, which is not sent,
    /// and an InitSyn, which goes on with the version, as no LZ4 block can. So it is told from a
    /// message even when the start was not seen.
    fn is_compressed(&self, at: &mut Cursor<'_>) -> Read<bool> {
        let agreed = self.terms.map(|terms| terms.compression);
        let mut next = *at;
        let header = next.u8()?;
        if header > 1 || agreed == Some(false) {
            return Ok(false);
        }
        match (header, next.peek()) {
            (1, Ok(super::transport::VERSION)) => return Ok(false),
            (0, Ok(first)) if agreed.is_none() && !(3..=7).contains(&id(first)) => {
                return Ok(false);
            }
            _ => {}
        }
        *at = next;
        Ok(header == 1)
    }
}

impl Connection for Session {
    fn pdu_len(&self, side: Side, head: &[u8]) -> PduLen {
        let prefix = self.prefix(side, head);
        let len = match (prefix, head) {
            (2, &[a, b, ..]) => u32::from(u16::from_le_bytes([a, b])),
            (4, &[a, b, c, d, ..]) => u32::from_le_bytes([a, b, c, d]),
            _ => return PduLen::Need(prefix.max(2)),
        };
        let first = head.get(prefix).copied().map_or(0, id);
        let possible =
            if prefix == 2 { first <= 7 } else { first >= 0x19 || matches!(first, 3 | 4) };
        match len {
            0 => PduLen::Invalid,
            _ if head.len() > prefix && !possible => PduLen::Invalid,
            len => PduLen::Known(u64::from(len) + prefix as u64),
        }
    }

    fn resync(&self, side: Side, head: &[u8]) -> bool {
        if self.prefix(side, head) != 2 {
            return matches!(self.pdu_len(side, head), PduLen::Known(_));
        }
        survey::resync(head, self.terms.is_some_and(|terms| terms.compression))
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let prefix = self.prefix(side, pdu.bytes) as u64;
        let mut batch = Batch { session: self, side, start: pdu.range.start, done: 0, out };
        let mut at = Cursor::new(pdu.bytes, pdu.range.len());
        let result = at.skip(prefix).and_then(|()| batch.walk(&mut at));
        if result.is_err() || batch.done < pdu.range.len() {
            batch.emit(pdu.range.len(), UNREAD, Class::Opaque);
        }
    }

    fn gap(&mut self, side: Side) {
        self.ends[index(side)].fragments.gap();
    }
}

/// Walks one batch. What lies before a message and belongs to none, the length prefix first of all,
/// goes into the next frame.
struct Batch<'s> {
    session: &'s mut Session,
    side: Side,
    /// Where the batch starts in the flow.
    start: Offset,
    /// Bytes of it that are in frames.
    done: u64,
    out: &'s mut dyn FrameSink,
}

impl Batch<'_> {
    fn range_to(&mut self, end: u64) -> ByteRange {
        let range = ByteRange { start: self.start.plus(self.done), end: self.start.plus(end) };
        self.done = end;
        range
    }

    /// Hands out a frame without data that ends at position `end`.
    fn emit(&mut self, end: u64, name: &'static str, class: Class) {
        let range = self.range_to(end);
        if !range.is_empty() {
            self.out.frame(&Frame { range, name, class, payload_bytes: 0, data: None });
        }
    }

    fn walk(&mut self, at: &mut Cursor<'_>) -> Read<()> {
        if self.session.is_compressed(at)? {
            at.skip(at.remaining())?;
            self.emit(at.position(), COMPRESSED, Class::Opaque);
            return Ok(());
        }
        if !self.session.stream {
            let mut whole = *at;
            if let Ok(message) = Message::read_scouting(&mut whole) {
                self.emit(whole.position(), message.name(), message.class());
                return Ok(());
            }
        }
        while !at.is_empty() {
            match network::Message::starts_with(at.peek()?) {
                true => self.network(at)?,
                false => self.transport(at)?,
            }
        }
        Ok(())
    }

    fn transport(&mut self, at: &mut Cursor<'_>) -> Read<()> {
        let mut next = *at;
        let message = Message::read(&mut next)?;
        match message {
            Message::Init { ack, terms, .. } => self.session.init(ack, terms),
            Message::Open { ack } => self.session.open(self.side, ack),
            Message::Frame { lane, sn } => {
                self.session.ends(self.side).0.fragments.frame(lane, sn);
                *at = next;
                self.frame(at);
                return Ok(());
            }
            Message::Fragment(fragment) => {
                *at = next;
                return self.fragment(at, fragment);
            }
            _ => {}
        }
        *at = next;
        self.emit(at.position(), message.name(), message.class());
        Ok(())
    }

    /// The first network message tells what the FRAME's header is for.
    fn frame(&mut self, at: &mut Cursor<'_>) {
        let header_end = at.position();
        let mut next = *at;
        let mut first = network::Message::unread();
        if first.read(&mut next).is_err() {
            return self.emit(header_end, "FRAME", Class::Data);
        }
        self.emit(header_end, "FRAME", first.class);
        self.message(next.position(), &first);
        *at = next;
    }

    /// Takes the rest of the batch.
    fn fragment(&mut self, at: &mut Cursor<'_>, fragment: Fragment) -> Read<()> {
        let (captured, len) = (at.captured(), at.remaining());
        at.skip(len)?;
        let range = self.range_to(at.position());
        let (sender, receiver, scratch) = self.session.ends(self.side);
        let End { keys, fragments, .. } = sender;
        let piece = fragments.fragment(fragment, range.start, captured, len);
        let mut frame = Frame {
            range,
            name: "FRAGMENT",
            class: piece.class,
            payload_bytes: piece.payload_bytes,
            data: None,
        };
        if let Some(Whole { start, message }) = piece.complete {
            let extent = ByteRange { start, end: range.end };
            let books = Books { sender: keys, receiver: &receiver.keys, scratch };
            frame.data = books.data(extent, &message);
        }
        self.out.frame(&frame);
        Ok(())
    }

    fn network(&mut self, at: &mut Cursor<'_>) -> Read<()> {
        let mut next = *at;
        let mut message = network::Message::unread();
        message.read(&mut next)?;
        self.message(next.position(), &message);
        *at = next;
        Ok(())
    }

    /// Hands out a whole network message.
    fn message(&mut self, end: u64, message: &network::Message<'_>) {
        let range = self.range_to(end);
        let (sender, receiver, scratch) = self.session.ends(self.side);
        let books = Books { sender: &mut sender.keys, receiver: &receiver.keys, scratch };
        self.out.frame(&Frame {
            range,
            name: message.name,
            class: message.class,
            payload_bytes: message.payload.map_or(0, |payload| payload.len),
            data: books.data(range, message),
        });
    }
}

/// What a message's key expression is resolved with.
struct Books<'s> {
    sender: &'s mut Keys,
    receiver: &'s Keys,
    scratch: &'s mut Vec<u8>,
}

impl<'s> Books<'s> {
    /// Follows what a message declares; gives the data that it carries.
    fn data<'m: 's>(self, extent: ByteRange, message: &network::Message<'m>) -> Option<Data<'s>> {
        if let Some(mapping) = message.mapping {
            follow(mapping, self.sender, self.receiver, self.scratch);
        }
        let payload = message.payload?;
        Some(Data {
            extent,
            topic: resolve(message.expr, (self.sender, self.receiver), self.scratch),
            payload_len: payload.len,
            payload: payload.head,
            key: message.key,
            duplicate: false,
            retained: false,
        })
    }
}
