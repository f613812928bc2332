//! Decodes a batch into frames.

use super::fragments::CompleteMessage;
use super::keys::{KeyExprs, follow, resolve};
use super::message::{Exchange, NetworkMessage};
use super::scouting;
use super::session::{ZenohSession, ZenohSide, index};
use super::transport::{FragmentHeader, TransportMessage};
use super::wire::{Cursor, Parsed};
use crate::ros2::{RosFact, RosToken};
use crate::{Fragments, FrameSink, Pdu, Side};
use wirelap_events::{ByteRange, DecodedMessage, Frame, FrameClass, Offset};

/// The frame name of a compressed batch.
const COMPRESSED: &str = "BATCH (compressed)";

/// The frame name of the declaration of a liveliness token.
pub(super) const TOKEN: &str = "DeclareToken";

/// The frame name of bytes that cannot be decoded.
const UNREAD: &str = "unread";

/// Decodes one batch. Bytes before a message that belong to none, such as the length prefix, are part of the next frame.
pub struct BatchReader<'s> {
    session: &'s mut ZenohSession,
    side: Side,
    /// The batch's offset in the flow.
    start: Offset,
    /// Number of the batch's bytes that are in frames.
    done: u64,
    out: &'s mut dyn FrameSink,
}

impl<'s> BatchReader<'s> {
    /// A batch sent by `side`.
    pub fn new(
        session: &'s mut ZenohSession,
        side: Side,
        out: &'s mut dyn FrameSink,
    ) -> BatchReader<'s> {
        BatchReader { session, side, start: Offset::default(), done: 0, out }
    }

    /// Decodes the batch, which starts with a length of `prefix` bytes.
    pub fn read(mut self, pdu: Pdu<'_>, prefix: u64) {
        self.start = pdu.range.start;
        let mut at = Cursor::new(pdu.bytes, pdu.range.len());
        let result = at.skip(prefix).and_then(|()| self.walk(&mut at));
        if result.is_err() || self.done < pdu.range.len() {
            self.emit(pdu.range.len(), UNREAD, FrameClass::Opaque);
        }
    }

    fn range_to(&mut self, end: u64) -> ByteRange {
        let range = ByteRange { start: self.start.plus(self.done), end: self.start.plus(end) };
        self.done = end;
        range
    }

    /// Passes a frame without data that ends at position `end` to the sink.
    fn emit(&mut self, end: u64, name: &'static str, class: FrameClass) {
        let range = self.range_to(end);
        if !range.is_empty() {
            self.out.frame(&Frame { range, name, class, payload_bytes: 0, data: None });
        }
    }

    fn walk(&mut self, at: &mut Cursor<'_>) -> Parsed<()> {
        if self.session.is_compressed(at)? {
            at.skip(at.remaining())?;
            self.emit(at.position(), COMPRESSED, FrameClass::Opaque);
            return Ok(());
        }
        if !self.session.stream {
            let mut whole = *at;
            if let Ok(message) = scouting::read(&mut whole) {
                self.introduce(message);
                self.emit(whole.position(), message.name(), message.class());
                return Ok(());
            }
        }
        while !at.is_empty() {
            if NetworkMessage::starts_with(at.peek()?) {
                self.network(at)?;
            } else {
                self.transport(at)?;
            }
        }
        Ok(())
    }

    /// Reports who the sender is, if the message says it.
    fn introduce(&mut self, message: TransportMessage) {
        if let Some(zid) = message.zid() {
            self.out.client(self.side, zid.to_string().as_bytes());
        }
        if let Some(sender) = message.sender() {
            self.session.sides[index(self.side)].who = Some(sender);
        }
    }

    fn transport(&mut self, at: &mut Cursor<'_>) -> Parsed<()> {
        let mut next = *at;
        let message = TransportMessage::read(&mut next)?;
        self.introduce(message);
        match message {
            TransportMessage::Init { ack, terms, .. } => self.session.init(ack, terms),
            TransportMessage::Open { ack } => self.session.open(self.side, ack),
            TransportMessage::Frame { lane, sn } => {
                self.session.ends(self.side).0.fragments.frame(lane, sn);
                *at = next;
                self.frame(at);
                return Ok(());
            }
            TransportMessage::Fragment(fragment) => {
                *at = next;
                return self.fragment(at, fragment);
            }
            _ => {}
        }
        *at = next;
        self.emit(at.position(), message.name(), message.class());
        Ok(())
    }

    /// Decodes the first network message of a FRAME, whose class is that of the FRAME's header.
    fn frame(&mut self, at: &mut Cursor<'_>) {
        let header_end = at.position();
        let mut next = *at;
        let mut first = NetworkMessage::unread();
        if first.read(&mut next).is_err() {
            return self.emit(header_end, "FRAME", FrameClass::Data);
        }
        self.emit(header_end, "FRAME", first.class);
        self.message(next.position(), &first);
        *at = next;
    }

    /// Decodes a fragment, which is the rest of the batch.
    fn fragment(&mut self, at: &mut Cursor<'_>, fragment: FragmentHeader) -> Parsed<()> {
        let (captured, len) = (at.captured(), at.remaining());
        at.skip(len)?;
        let range = self.range_to(at.position());
        let is_datagram = !self.session.stream;
        let who = self.session.sides[index(self.side)].who;
        let (sender, receiver, scratch) = self.session.ends(self.side);
        let ZenohSide { keys, fragments, .. } = sender;
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
                source_timestamp: None,
                reader: None,
                group_readers: 0,
            });
        }
        if let Some(CompleteMessage { start, message }) = piece.complete {
            let extent = ByteRange { start, end: range.end };
            if who.is_some_and(|who| who.passes_on(&message)) {
                self.out.passed_on();
            }
            let books = KeyTables { sender: keys, receiver: &receiver.keys, scratch };
            frame.data = books.data(extent, &message);
        }
        self.out.frame(&frame);
        Ok(())
    }

    fn network(&mut self, at: &mut Cursor<'_>) -> Parsed<()> {
        let mut next = *at;
        let mut message = NetworkMessage::unread();
        message.read(&mut next)?;
        self.message(next.position(), &message);
        *at = next;
        Ok(())
    }

    /// Passes a complete network message to the sink.
    fn message(&mut self, end: u64, message: &NetworkMessage<'_>) {
        let range = self.range_to(end);
        let who = self.session.sides[index(self.side)].who;
        if who.is_some_and(|who| who.passes_on(message)) {
            self.out.passed_on();
        }
        match message.exchange {
            Some(Exchange::Request(number)) => self.out.requests(number.into(), range),
            Some(Exchange::Reply(number)) => self.out.replies(number.into(), range),
            None => {}
        }
        let (sender, receiver, scratch) = self.session.ends(self.side);
        if message.name == TOKEN {
            let expr = resolve(message.expr, (&sender.keys, &receiver.keys), scratch);
            if let Some(token) = RosToken::read(expr) {
                self.out.ros(&RosFact::Token(token));
            }
        }
        let books = KeyTables { sender: &mut sender.keys, receiver: &receiver.keys, scratch };
        self.out.frame(&Frame {
            range,
            name: message.name,
            class: message.class,
            payload_bytes: message.payload.map_or(0, |payload| payload.len),
            data: books.data(range, message),
        });
    }
}

/// The tables with which a message's key expression is resolved.
struct KeyTables<'s> {
    sender: &'s mut KeyExprs,
    receiver: &'s KeyExprs,
    scratch: &'s mut Vec<u8>,
}

impl<'s> KeyTables<'s> {
    /// Applies a message's declaration, and returns the data that the message carries.
    fn data<'m: 's>(
        self,
        extent: ByteRange,
        message: &NetworkMessage<'m>,
    ) -> Option<DecodedMessage<'s>> {
        if let Some(mapping) = message.mapping {
            follow(mapping, self.sender, self.receiver, self.scratch);
        }
        let payload = message.payload?;
        Some(DecodedMessage {
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
