//! From a batch to frames.

use super::fragments::Whole;
use super::keys::{Keys, follow, resolve};
use super::session::{End, Session};
use super::transport::{Fragment, Message};
use super::wire::{Cursor, Parsed};
use super::{network, scouting};
use crate::{Fragments, FrameSink, Pdu, Side};
use wirelap_events::{ByteRange, Class, Data, Frame, Offset};

/// A compressed batch's only frame.
const COMPRESSED: &str = "BATCH (compressed)";

/// What cannot be read.
const UNREAD: &str = "unread";

/// Walks one batch. What lies before a message and belongs to none, the length prefix first of all,
/// goes into the next frame.
pub struct Batch<'s> {
    session: &'s mut Session,
    side: Side,
    /// Where the batch starts in the flow.
    start: Offset,
    /// Bytes of it that are in frames.
    done: u64,
    out: &'s mut dyn FrameSink,
}

impl<'s> Batch<'s> {
    /// A batch sent by `side`.
    pub fn new(session: &'s mut Session, side: Side, out: &'s mut dyn FrameSink) -> Batch<'s> {
        Batch { session, side, start: Offset::default(), done: 0, out }
    }

    /// Reads it; a length of `prefix` bytes comes first.
    pub fn read(mut self, pdu: Pdu<'_>, prefix: u64) {
        self.start = pdu.range.start;
        let mut at = Cursor::new(pdu.bytes, pdu.range.len());
        let result = at.skip(prefix).and_then(|()| self.walk(&mut at));
        if result.is_err() || self.done < pdu.range.len() {
            self.emit(pdu.range.len(), UNREAD, Class::Opaque);
        }
    }

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

    fn walk(&mut self, at: &mut Cursor<'_>) -> Parsed<()> {
        if self.session.is_compressed(at)? {
            at.skip(at.remaining())?;
            self.emit(at.position(), COMPRESSED, Class::Opaque);
            return Ok(());
        }
        if !self.session.stream {
            let mut whole = *at;
            if let Ok(message) = scouting::read(&mut whole) {
                self.emit(whole.position(), message.name(), message.class());
                return Ok(());
            }
        }
        while !at.is_empty() {
            if network::Message::starts_with(at.peek()?) {
                self.network(at)?;
            } else {
                self.transport(at)?;
            }
        }
        Ok(())
    }

    fn transport(&mut self, at: &mut Cursor<'_>) -> Parsed<()> {
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
    fn fragment(&mut self, at: &mut Cursor<'_>, fragment: Fragment) -> Parsed<()> {
        let (captured, len) = (at.captured(), at.remaining());
        at.skip(len)?;
        let range = self.range_to(at.position());
        let is_datagram = !self.session.stream;
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
        if let Some((first, index)) = piece.place.filter(|_| is_datagram) {
            self.out.fragments(&Fragments {
                message: fragment.lane.name(first),
                is_global: false,
                first: index,
                count: 1,
                of: (!fragment.more).then_some(index.saturating_add(1)),
                payload_len: 0,
                repeated_bytes: 0,
                is_late: false,
                given: None,
            });
        }
        if let Some(Whole { start, message }) = piece.complete {
            let extent = ByteRange { start, end: range.end };
            let books = Books { sender: keys, receiver: &receiver.keys, scratch };
            frame.data = books.data(extent, &message);
        }
        self.out.frame(&frame);
        Ok(())
    }

    fn network(&mut self, at: &mut Cursor<'_>) -> Parsed<()> {
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
