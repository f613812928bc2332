//! From positions in the bytes that a WebSocket carries to positions in the flow below it.
//!
//! ```text
//! flow      | header |  payload  | header |    payload    | header | payload
//! carried            |<-- segment -->|<---- segment ---->|        |<-- …
//! ```
//!
//! A message that starts with a frame's payload starts with that frame's header, so that successive messages are adjacent.
//!
//! Text that was inflated has no bytes of its own in the flow: what is found in it lies where the compressed bytes lie, as
//! what the decoder of Kafka finds in compressed batches does.

use crate::connection::frame_without_data;
use crate::stream::Stream;
use crate::{Connection, FrameNote, FrameSink, Pdu, PduLen, Side};
use std::collections::VecDeque;
use wirelap_events::{
    ByteRange, Count, DecodedMessage, Frame, FrameClass, Offset, Saturate, Total,
};

/// The frame with bytes of a compressed message.
pub(super) const COMPRESSED: &str = "compressed (WebSocket)";

/// The most segments that are kept of one PDU. Of more, the first and the last ones matter most.
const SEGMENTS: usize = 64;

/// Place of carried bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct CarriedPlace {
    /// Start of their frame's header, if that is right before them.
    pub lead: Offset,
    /// Their bytes in the flow, or those that they were inflated from.
    pub outer: ByteRange,
    /// Their numbers among the carried bytes.
    pub inner: ByteRange,
    /// Bytes of the message that they are part of, if the message is in one frame.
    pub message: u64,
    /// True if they were inflated.
    pub is_inflated: bool,
}

impl CarriedPlace {
    /// Counts carried bytes, which come next in the stream, as undecoded.
    pub fn lose(&self, stream: &mut Stream, mapped: &mut Mapped<'_>, out: &mut dyn FrameSink) {
        let len = self.inner.len();
        stream.gap(self.inner.start, len, mapped, out);
        if self.is_inflated {
            out.note(FrameNote::Unpacked { bytes: self.outer.len(), decompressed: len });
            out.frame(&compressed(self.outer, len, (0, len)));
        } else {
            out.frame(&undecoded_bytes(self.outer));
        }
    }

    /// True if a frame's payload starts with them.
    pub fn is_start(&self) -> bool {
        self.lead < self.outer.start
    }

    /// Puts the length of a message in front of it, as it is over TCP, in place of the last bytes of its frame's header. `text` is
    /// what comes of `bytes`, of which the first has the number `next` among the carried ones.
    pub fn with_length(self, bytes: &[u8], next: &mut Offset, text: &mut Vec<u8>) -> CarriedPlace {
        text.clear();
        if self.is_start() && self.message > 0 {
            // A message that is too long has the length 0, which is invalid.
            text.extend_from_slice(&u16::try_from(self.message).unwrap_or(0).to_le_bytes());
        }
        let added = text.len() as u64;
        text.extend_from_slice(bytes);
        let start = self.outer.start - added;
        let outer = if self.is_inflated { self.outer } else { ByteRange { start, ..self.outer } };
        let inner = ByteRange::new(*next, self.inner.len().saturating_add(added));
        *next = inner.end;
        CarriedPlace { outer, inner, ..self }
    }
}

/// The frame with carried bytes in which no PDU was found.
pub(super) fn undecoded_bytes(outer: ByteRange) -> Frame<'static> {
    frame_without_data(outer, "bytes (WebSocket)", FrameClass::Opaque)
}

/// The frame with the bytes that `text` bytes were inflated from. The share of payload in them is taken to be that in the
/// text, of which `overhead` bytes are no payload and `undecoded` ones are in no PDU.
pub(super) fn compressed(
    outer: ByteRange,
    text: u64,
    (overhead, undecoded): (u64, u64),
) -> Frame<'static> {
    let payload = (Count(text) - overhead - undecoded).0;
    let share = u128::from(outer.len()).saturating_mul(u128::from(payload));
    let share = share.checked_div(u128::from(text)).unwrap_or(0);
    let is_opaque = undecoded > 0 && undecoded >= text;
    let class = if is_opaque { FrameClass::Opaque } else { FrameClass::Data };
    let payload_bytes = u64::try_from(share).unwrap_or(0);
    Frame { payload_bytes, ..frame_without_data(outer, COMPRESSED, class) }
}

/// Payload of a frame, or a part of it.
#[derive(Clone, Copy, Debug)]
struct PayloadSegment {
    /// The segment's first byte among the carried ones.
    inner: Offset,
    /// Start of the frame's header, if that is right before the segment.
    lead: Offset,
    /// The segment's bytes in the flow.
    outer: ByteRange,
    /// Carried bytes of it that were inflated from `outer`; `None` if they are `outer`.
    inflated: Option<u64>,
}

impl PayloadSegment {
    /// Returns the number of the carried bytes `start..end` that were inflated.
    fn inflated_between(&self, start: Offset, end: Offset) -> u64 {
        let Some(len) = self.inflated else { return 0 };
        end.min(self.inner + len) - start.max(self.inner)
    }
}

/// The payload that the incomplete PDU of one direction is in.
#[derive(Debug, Default)]
pub(super) struct PayloadSegments(VecDeque<PayloadSegment>);

impl PayloadSegments {
    /// Adds payload.
    pub fn push(&mut self, place: CarriedPlace) {
        if self.0.len() >= SEGMENTS {
            self.0.remove(1);
        }
        let CarriedPlace { lead, outer, inner, is_inflated, .. } = place;
        let inflated = is_inflated.then_some(inner.len());
        self.0.push_back(PayloadSegment { inner: inner.start, lead, outer, inflated });
    }

    /// Drops what lies before a byte.
    pub fn forget_before(&mut self, inner: Offset) {
        while self.0.get(1).is_some_and(|second| second.inner <= inner) {
            self.0.pop_front();
        }
    }

    fn holding(&self, inner: Offset) -> Option<&PayloadSegment> {
        self.0.iter().rev().find(|segment| segment.inner <= inner)
    }

    /// Returns the start, in the flow, of a PDU whose first byte is this carried one.
    fn start(&self, inner: Offset) -> Offset {
        let Some(segment) = self.holding(inner) else { return Offset(0) };
        let skip = (inner - segment.inner).min(segment.outer.len());
        if skip == 0 || segment.inflated.is_some() {
            segment.lead
        } else {
            segment.outer.start.plus(skip)
        }
    }

    /// Returns the end, in the flow, of what ends before this carried byte.
    fn end(&self, inner: Offset) -> Offset {
        let last = inner - 1;
        let Some(segment) = self.holding(last) else { return Offset(0) };
        if segment.inflated.is_some() {
            return segment.outer.end;
        }
        let skip = (inner - segment.inner).min(segment.outer.len());
        segment.outer.start.plus(skip)
    }

    /// Returns the number of the carried bytes of this range that were inflated.
    fn inflated(&self, start: Offset, end: Offset) -> u64 {
        self.0.iter().map(|segment| segment.inflated_between(start, end)).total()
    }
}

/// A decoder that is given positions in the flow in place of positions among the carried bytes.
pub(super) struct Mapped<'a> {
    pub connection: &'a mut dyn Connection,
    pub segments: &'a PayloadSegments,
    /// Inflated bytes of frames that are no payload.
    pub overhead: u64,
}

impl<'a> Mapped<'a> {
    /// A decoder of what the bytes of these segments carry.
    pub fn new(connection: &'a mut dyn Connection, segments: &'a PayloadSegments) -> Mapped<'a> {
        Mapped { connection, segments, overhead: 0 }
    }
}

impl Connection for Mapped<'_> {
    fn pdu_len(&self, side: Side, head: &[u8]) -> PduLen {
        self.connection.pdu_len(side, head)
    }

    fn span(&self, side: Side, head: &[u8]) -> PduLen {
        self.connection.span(side, head)
    }

    fn open_bytes(&self, side: Side) -> u64 {
        self.connection.open_bytes(side)
    }

    fn resync(&self, side: Side, head: &[u8]) -> bool {
        self.connection.resync(side, head)
    }

    fn is_certain(&self, side: Side, head: &[u8]) -> bool {
        self.connection.is_certain(side, head)
    }

    fn kept_bytes(&self, side: Side) -> usize {
        self.connection.kept_bytes(side)
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        self.connection.stands_out(head)
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let start = self.segments.start(pdu.range.start);
        let (segments, inner) = (self.segments, pdu.range);
        let mut out = MappedSink { out, segments, inner, outer: start, overhead: 0 };
        let range = ByteRange::new(start, pdu.range.len());
        self.connection.pdu(side, Pdu { range, bytes: pdu.bytes }, &mut out);
        let overhead = out.overhead;
        self.overhead.grow(overhead);
    }

    fn gap(&mut self, side: Side) {
        self.connection.gap(side);
    }
}

/// Passes frames on. Their decoder was told that the PDU's bytes are adjacent in the flow, from `outer` on.
struct MappedSink<'a> {
    out: &'a mut dyn FrameSink,
    segments: &'a PayloadSegments,
    inner: ByteRange,
    outer: Offset,
    /// Inflated bytes of frames that are no payload.
    overhead: u64,
}

impl MappedSink<'_> {
    /// The carried byte of a position; `None` if that lies before this PDU.
    fn inner(&self, place: Offset) -> Option<Offset> {
        Some(self.inner.start.plus(place.0.checked_sub(self.outer.0)?))
    }

    fn start(&self, place: Offset) -> Offset {
        self.inner(place).map_or(place, |inner| self.segments.start(inner))
    }

    fn end(&self, place: Offset) -> Offset {
        self.inner(place).map_or(place, |inner| self.segments.end(inner))
    }

    fn extent(&self, ByteRange { start, end }: ByteRange) -> ByteRange {
        ByteRange { start: self.start(start), end: self.end(end) }
    }
}

impl FrameSink for MappedSink<'_> {
    fn frame(&mut self, frame: &Frame<'_>) {
        let inner = [frame.range.start, frame.range.end].map(|place| self.inner(place));
        let inflated = match inner {
            [Some(start), Some(end)] => self.segments.inflated(start, end),
            _ => 0,
        };
        // Headers between the bytes of a frame are frames of their own: its range has as many bytes as it has.
        let (end, len) = (self.end(frame.range.end), frame.range.len().saturating_sub(inflated));
        let range = ByteRange { start: end - len, end };
        let payload = if frame.class == FrameClass::Data { frame.payload_bytes } else { 0 };
        let payload_bytes = frame.payload_bytes.min(range.len());
        self.overhead.grow(inflated.saturating_sub(payload));
        let data = frame.data.map(|data| {
            let extent = self.extent(data.extent);
            DecodedMessage { extent, ..data }
        });
        self.out.frame(&Frame { range, payload_bytes, data, ..*frame });
    }

    fn note(&mut self, note: FrameNote<'_>) {
        let mapped = match note {
            FrameNote::UsableAt(end) => FrameNote::UsableAt(self.end(end)),
            FrameNote::Request { number, extent, content } => {
                FrameNote::Request { number, extent: self.extent(extent), content }
            }
            FrameNote::Reply { number, extent } => {
                FrameNote::Reply { number, extent: self.extent(extent) }
            }
            // What is released or acknowledged lies before this PDU, and its place is one of the flow.
            FrameNote::Releases { .. }
            | FrameNote::Client { .. }
            | FrameNote::ClientTitle { .. }
            | FrameNote::Member { .. }
            | FrameNote::ReaderGroup(_)
            | FrameNote::Fragments(_)
            | FrameNote::Asks(_)
            | FrameNote::Answers
            | FrameNote::AsksForTopic { .. }
            | FrameNote::Line(_)
            | FrameNote::Subscription(_)
            | FrameNote::Subscribes { .. }
            | FrameNote::QueueIsEmpty { .. }
            | FrameNote::Withheld(_)
            | FrameNote::WasRerouted
            | FrameNote::Renumbers { .. }
            | FrameNote::AwaitsCommit
            | FrameNote::Expired
            | FrameNote::TellsPast(_)
            | FrameNote::TakenOver { .. }
            | FrameNote::Acknowledges { .. }
            | FrameNote::Throttles(_)
            | FrameNote::Unsubscribes(_)
            | FrameNote::Unpacked { .. }
            | FrameNote::UncertainStart
            | FrameNote::PassedOn
            | FrameNote::HasPublishersMark(_)
            | FrameNote::MadeAt(_)
            | FrameNote::TraceContext(_)
            | FrameNote::HasPlace(_)
            | FrameNote::IsAtPlace(_)
            | FrameNote::AwaitsPlace(_)
            | FrameNote::GivesPlaces { .. }
            | FrameNote::UnreadMessages(_)
            | FrameNote::Discarded(_)
            | FrameNote::ReadTwice(_)
            | FrameNote::PassedOver { .. }
            | FrameNote::PutBack { .. }
            | FrameNote::Discards(_)
            | FrameNote::NotKept(_)
            | FrameNote::FollowsAfter(_)
            | FrameNote::KeptFor(_)
            | FrameNote::ResumesSession
            | FrameNote::Superseded(_)
            | FrameNote::CutShort(_)
            | FrameNote::Refuses(_)
            | FrameNote::Encrypted(_)
            | FrameNote::Unseen(_)
            | FrameNote::Implementation(_)
            | FrameNote::NoReply(_)
            | FrameNote::Ros(_)
            | FrameNote::InOrder { .. } => note,
        };
        self.out.note(mapped);
    }

    fn takes_trace_contexts(&self) -> bool {
        self.out.takes_trace_contexts()
    }
}
