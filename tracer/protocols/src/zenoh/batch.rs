//! Decodes a batch into frames.

use super::attachment;
use super::fragments::CompleteMessage;
use super::keys::{KeyExprs, follow, resolve};
use super::message::{Exchange, NetworkMessage};
use super::queries::OpenQueries;
use super::scouting;
use super::session::{ZenohSession, ZenohSide, index};
use super::transport::{FragmentHeader, TransportMessage, ZenohIntroduction};
use super::wire::{ZenohCursor, ZenohResult};
use crate::ros2::{RosFact, RosToken};
use crate::{Fragments, FrameNote, FrameSink, Pdu, RequestContent, Side};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use wirelap_events::{ByteRange, Count, DecodedMessage, Frame, FrameClass, Offset};

/// The frame name of a compressed batch.
const COMPRESSED: &str = "BATCH (compressed)";

/// The frame name of a batch without messages.
const EMPTY: &str = "BATCH (empty)";

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
    /// The batch whose bytes the messages were decompressed from: they have none of their own.
    packed: Option<ByteRange>,
    /// Bytes of payload in decompressed messages.
    packed_payload: Count,
    out: &'s mut dyn FrameSink,
}

impl<'s> BatchReader<'s> {
    /// A batch sent by `side`.
    pub fn new(
        session: &'s mut ZenohSession,
        side: Side,
        out: &'s mut dyn FrameSink,
    ) -> BatchReader<'s> {
        let start = Offset::default();
        BatchReader { session, side, start, done: 0, packed: None, packed_payload: Count(0), out }
    }

    /// Decodes the batch, which starts with a length of `prefix` bytes.
    pub fn read(mut self, pdu: Pdu<'_>, prefix: u64) {
        self.start = pdu.range.start;
        let mut at = ZenohCursor::new(pdu.bytes, pdu.range.len());
        let result = at.skip(prefix).and_then(|()| self.walk(&mut at));
        if result.is_err() || self.done < pdu.range.len() {
            self.emit(pdu.range.len(), UNREAD, FrameClass::Opaque);
        }
    }

    /// The range of the frame that ends at position `end`.
    fn range_to(&mut self, end: u64) -> ByteRange {
        if let Some(batch) = self.packed {
            return ByteRange::new(batch.end, 0);
        }
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

    fn walk(&mut self, at: &mut ZenohCursor<'_>) -> ZenohResult<()> {
        if !at.is_empty() && self.session.is_compressed(at)? {
            let packed = Some(at.captured()).filter(|bytes| bytes.len() as u64 == at.remaining());
            at.skip(at.remaining())?;
            self.unpack(at.position(), packed);
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
        if at.is_empty() {
            self.empty(at.position());
            return Ok(());
        }
        self.messages(at)
    }

    /// A batch without messages: its sender gives up the message of which it sent fragments.
    fn empty(&mut self, end: u64) {
        self.emit(end, EMPTY, FrameClass::Other);
        if self.session.ends(self.side).0.fragments.give_up() {
            self.out.note(FrameNote::CutShort(1));
        }
    }

    fn messages(&mut self, at: &mut ZenohCursor<'_>) -> ZenohResult<()> {
        while !at.is_empty() {
            if NetworkMessage::starts_with(at.peek()?) {
                self.network(at)?;
            } else {
                self.transport(at)?;
            }
        }
        Ok(())
    }

    /// Decodes a compressed batch, which ends at position `end`; `packed` is its block, if all of it was captured.
    fn unpack(&mut self, end: u64, packed: Option<&[u8]>) {
        let mut buffer = std::mem::take(&mut self.session.unpacked);
        let batch = ByteRange { start: self.start, end: self.start.plus(end) };
        let text = packed.and_then(|packed| buffer.open(packed));
        let is_read = text.is_some_and(|text| {
            let len = text.len() as u64;
            self.out.note(FrameNote::Unpacked { bytes: batch.len(), decompressed: len });
            self.packed = Some(batch);
            let result = self.messages(&mut ZenohCursor::new(text, len));
            self.packed = None;
            // The share of payload in the compressed bytes is taken to be that in the text.
            let payload = u128::from(batch.len()).saturating_mul(self.packed_payload.0.into());
            let payload = payload.checked_div(len.max(1).into()).unwrap_or(0);
            let payload_bytes = u64::try_from(payload).unwrap_or(0).min(batch.len());
            let class = if payload_bytes > 0 { FrameClass::Data } else { FrameClass::Other };
            let range = self.range_to(end);
            self.out.frame(&Frame { range, name: COMPRESSED, class, payload_bytes, data: None });
            result.is_ok()
        });
        self.emit(end, COMPRESSED, FrameClass::Opaque);
        if !is_read {
            self.out.note(FrameNote::UnreadMessages(1));
        }
        self.session.unpacked = buffer;
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

    fn transport(&mut self, at: &mut ZenohCursor<'_>) -> ZenohResult<()> {
        let mut next = *at;
        let message = TransportMessage::read(&mut next)?;
        self.introduce(message);
        match message {
            TransportMessage::Init { ack, terms, .. } => self.session.init(ack, terms),
            TransportMessage::Open { ack } => self.session.open(self.side, ack),
            TransportMessage::Frame { lane, sn } => {
                let fragments = &mut self.session.ends(self.side).0.fragments;
                let is_cut_short = fragments.frame(lane, sn) && self.session.stream;
                *at = next;
                self.frame(at);
                if is_cut_short {
                    self.out.note(FrameNote::CutShort(1));
                }
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
    fn frame(&mut self, at: &mut ZenohCursor<'_>) {
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
    fn fragment(&mut self, at: &mut ZenohCursor<'_>, fragment: FragmentHeader) -> ZenohResult<()> {
        let (captured, len) = (at.captured(), at.remaining());
        at.skip(len)?;
        let range = self.range_to(at.position());
        let start = self.packed.map_or(range.start, |batch| batch.start);
        let is_datagram = !self.session.stream;
        let who = self.session.sides[index(self.side)].who;
        let (sender, receiver, scratch) = self.session.ends(self.side);
        let ZenohSide { keys, fragments, queries, .. } = sender;
        let is_cut_short = fragments.is_cut_short_by(&fragment, is_datagram);
        let mut superseded = false;
        let piece = fragments.fragment(fragment, start, captured, len);
        let mut frame = Frame {
            range,
            name: "FRAGMENT",
            class: piece.class,
            payload_bytes: if self.packed.is_some() { 0 } else { piece.payload_bytes },
            data: None,
        };
        if self.packed.is_some() {
            self.packed_payload += piece.payload_bytes;
        }
        if let Some((first, index)) = piece.place.filter(|_| is_datagram) {
            self.out.note(FrameNote::Fragments(&Fragments {
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
            }));
        }
        if let Some(CompleteMessage { start, message }) = piece.complete {
            let extent = ByteRange { start, end: range.end };
            if who.is_some_and(|who| who.passes_on(&message)) {
                self.out.note(FrameNote::PassedOn);
            }
            self.out.trace_context(|| attachment::trace_context(message.attachment));
            let books = KeyTables { sender: keys, receiver: &receiver.keys, scratch };
            frame.data = books.data(extent, &message);
            superseded =
                note_query((who, queries, &mut receiver.queries), &message, topic_of(&frame));
        }
        self.out.frame(&frame);
        if superseded {
            self.out.note(FrameNote::Superseded(1));
        }
        if is_cut_short {
            self.out.note(FrameNote::CutShort(1));
        }
        Ok(())
    }

    fn network(&mut self, at: &mut ZenohCursor<'_>) -> ZenohResult<()> {
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
        let extent = self.packed.unwrap_or(range);
        let payload_bytes = message.payload.map_or(0, |payload| payload.len);
        if self.packed.is_some() {
            self.packed_payload += payload_bytes;
        }
        let who = self.session.sides[index(self.side)].who;
        if who.is_some_and(|who| who.passes_on(message)) {
            self.out.note(FrameNote::PassedOn);
        }
        let (sender, receiver, scratch) = self.session.ends(self.side);
        match message.exchange {
            Some(Exchange::Request(number)) => {
                let key = resolve(message.expr, (&sender.keys, &receiver.keys), scratch);
                self.out.note(FrameNote::Request {
                    number: number.into(),
                    extent,
                    content: content(key, message.query),
                });
            }
            Some(Exchange::Reply(number) | Exchange::End(number)) => {
                self.out.note(FrameNote::Reply { number: number.into(), extent });
            }
            None => {}
        }
        if message.name == TOKEN {
            let expr = resolve(message.expr, (&sender.keys, &receiver.keys), scratch);
            if let Some(token) = RosToken::read(expr) {
                self.out.note(FrameNote::Ros(&RosFact::Token(token)));
            }
        }
        let books = KeyTables { sender: &mut sender.keys, receiver: &receiver.keys, scratch };
        let frame = Frame {
            range,
            name: message.name,
            class: message.class,
            payload_bytes: if self.packed.is_some() { 0 } else { payload_bytes },
            data: books.data(extent, message),
        };
        let queries = (who, &mut sender.queries, &mut receiver.queries);
        let superseded = note_query(queries, message, topic_of(&frame));
        self.out.trace_context(|| attachment::trace_context(message.attachment));
        self.out.frame(&frame);
        if superseded {
            self.out.note(FrameNote::Superseded(1));
        }
    }
}

/// The content of a query. Its key may be a number that was declared before the observation began.
fn content(key: &[u8], body: &[u8]) -> RequestContent {
    let digest = |key: &[u8]| {
        let mut hasher = FxHasher::default();
        (key, body).hash(&mut hasher);
        hasher.finish().max(1)
    };
    RequestContent { whole: if key.is_empty() { 0 } else { digest(key) }, body: digest(&[]) }
}

/// The topic of the message in a frame; empty without one.
fn topic_of<'f>(frame: &Frame<'f>) -> &'f [u8] {
    frame.data.as_ref().map_or(&[], |data| data.topic)
}

/// Notes a query of its sender, or a reply to a query of its receiver. Returns whether the reply, or another one in its place, does
/// not reach the application that asked. A router hands on what others ask, and discards nothing.
fn note_query(
    (who, sender, receiver): (Option<ZenohIntroduction>, &mut OpenQueries, &mut OpenQueries),
    message: &NetworkMessage<'_>,
    key: &[u8],
) -> bool {
    match message.exchange {
        Some(Exchange::Request(number)) if who.is_some_and(|who| !who.is_router) => {
            sender.begin(number, message.consolidation);
            false
        }
        Some(Exchange::Reply(number)) if message.is_reply && !key.is_empty() => {
            let mut hasher = FxHasher::default();
            key.hash(&mut hasher);
            receiver.reply(number, hasher.finish(), message.time)
        }
        Some(Exchange::End(number)) => {
            receiver.end(number);
            false
        }
        _ => false,
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
