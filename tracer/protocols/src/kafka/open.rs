//! Decodes a PDU with records, part by part, while it arrives.

use super::compressed::compressed;
use super::fields::KafkaFieldError;
use super::head::PduHead;
use super::meaning::{ConnectionState, is_discarded, means};
use super::record::{self, RecordPosition};
use super::topics::TopicPartition;
use super::walk::{BodyPart, BodyWalk, UnwalkedBytes};
use crate::connection::frame_without_data;
use crate::{FrameNote, FrameSink, PduLen};
use wirelap_events::Saturate;
use wirelap_events::{ByteRange, Frame, FrameClass};

/// The reason for which a broker sends no records.
const OUT_OF_RANGE: &[u8] =
    b"OFFSET_OUT_OF_RANGE: the log has no record at the offset that a consumer asked for";

/// A PDU that has not arrived completely.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenPdu {
    name: &'static str,
    /// The class of its frames without records.
    class: FrameClass,
    /// Remaining bytes.
    pub left: u64,
    /// Walks its body; `None` if it cannot be decoded from here on.
    walk: Option<BodyWalk>,
    /// True if the PDU has had records.
    has_data: bool,
    /// The PDU's correlation ID.
    pub id: i32,
    /// True if it is a Produce request whose response will have the offsets of its records.
    pub awaits_places: bool,
}

impl OpenPdu {
    /// A PDU of `total` bytes with this head.
    pub fn new(head: &PduHead<'_>, total: u64) -> OpenPdu {
        let &PduHead { name, class, walk, correlation_id: id, .. } = head;
        let awaits_places = head.is_request && head.wants_response();
        OpenPdu { name, class, left: total, walk, has_data: false, id, awaits_places }
    }

    /// The rest of a PDU that cannot be decoded.
    pub fn unread(left: u64) -> OpenPdu {
        OpenPdu {
            name: "PDU",
            class: FrameClass::Opaque,
            left,
            walk: None,
            has_data: false,
            id: 0,
            awaits_places: false,
        }
    }

    /// True if the next part is a compressed batch, which can be decompressed only as a whole.
    pub fn is_compressed(&self) -> bool {
        self.walk.is_some_and(|walk| walk.is_compressed())
    }

    /// The length of the parts that start `before` bytes after the start of `bytes`, including these.
    pub fn pieces_len(&self, bytes: &[u8], before: u64) -> PduLen {
        let Some(mut walk) = self.walk else { return PduLen::Known(self.left) };
        let mut len = before;
        loop {
            match walk.next(from(bytes, len)) {
                // A part that has not arrived completely is decoded alone, so that as much of it as possible is kept.
                Ok((_, piece))
                    if len > before && len.saturating_add(piece) > bytes.len() as u64 =>
                {
                    return PduLen::Known(len);
                }
                Ok((_, piece)) => len.grow(piece),
                Err(KafkaFieldError::Short(more)) if len == before => {
                    return PduLen::Need(bytes.len().saturating_add(more));
                }
                Err(KafkaFieldError::Malformed) if len == before => {
                    return PduLen::Known(self.left);
                }
                Err(_) => return PduLen::Known(len),
            }
            if len >= bytes.len() as u64 || walk.left() == 0 {
                return PduLen::Known(len);
            }
        }
    }

    /// Passes the next part, which starts `before` bytes after the start of `range`, to `out` as a frame that includes these
    /// bytes. Returns the frame's length.
    pub fn next_part(
        &mut self,
        (range, bytes, before): (ByteRange, &[u8], u64),
        state: &mut ConnectionState<'_>,
        out: &mut dyn FrameSink,
    ) -> u64 {
        let answers = self.walk.filter(BodyWalk::is_fetch).map(|_| self.id);
        let is_fetched = answers.is_some();
        let next = self.walk.as_mut().map(|walk| walk.next(from(bytes, before)));
        let Some(Ok((part, len))) = next else {
            let is_internal = state.is_internal(is_fetched);
            return self.unreadable(range, before, is_internal, out);
        };
        let len = before.saturating_add(len).min(range.len());
        // A client or broker handles a request or response only when it has all of it.
        out.note(FrameNote::UsableAt(range.start.plus(self.left)));
        self.left = self.left.saturating_sub(len);
        let range = ByteRange::new(range.start, len);
        match part {
            BodyPart::Record(fields) => {
                let meaning =
                    |at: &TopicPartition, offset| means(at, state.positions, answers, offset);
                let position = RecordPosition { frame: range, extent: range, is_fetched };
                let partition = (&mut *state.at, state.topics);
                record::report_record(
                    position,
                    fields,
                    partition,
                    &mut state.awaited,
                    meaning,
                    out,
                );
                if is_discarded(state.at, is_fetched, state.positions) {
                    out.note(FrameNote::Discarded(1));
                }
            }
            BodyPart::Block(UnwalkedBytes::Compressed) => {
                let packed = from(bytes, before);
                let packed = usize::try_from(len.saturating_sub(before))
                    .ok()
                    .and_then(|len| packed.get(..len));
                compressed((range, packed), answers, state, out);
            }
            BodyPart::Block(block) => {
                if block == UnwalkedBytes::Control {
                    state.at.end_transaction();
                }
                let (name, class) = block.frame();
                out.frame(&frame_without_data(range, name, class));
                if block == UnwalkedBytes::MessageSet && !state.is_internal(is_fetched) {
                    // At least one; a message does not say how many it contains.
                    out.note(FrameNote::UnreadMessages(1));
                }
            }
            BodyPart::Between { topic, partition, aborted, acquired, is_out_of_range, class } => {
                let at = &mut *state.at;
                at.follow(topic, partition, state.topics);
                if is_out_of_range && state.positions.is_out_of_range(self.id, at.key()) {
                    out.note(FrameNote::Refuses(OUT_OF_RANGE));
                }
                if let Some(aborted) = aborted {
                    at.set_aborted(aborted);
                }
                let mut unacquired = 0;
                let is_shared = self.walk.is_some_and(|walk| walk.is_shared());
                match partition {
                    Some(_) if is_shared => at.acquired.set(acquired),
                    Some(_) => at.acquired.set_all(),
                    None => {}
                }
                if let (Some(_), Some(walk)) = (class, self.walk) {
                    at.begin(walk.header());
                    unacquired = if at.acquired.is_unknown() { walk.records_left() } else { 0 };
                    let is_held = state.positions.is_committed && !at.internal;
                    if is_fetched && is_held && walk.header().is_transactional() {
                        out.note(FrameNote::AwaitsCommit);
                    }
                }
                let class = class.map(|class| if at.internal { FrameClass::Other } else { class });
                let is_internal = at.internal;
                out.frame(&self.between(range, before, class));
                if unacquired > 0 && !is_internal {
                    out.note(FrameNote::UnreadMessages(unacquired.into()));
                }
            }
        }
        len
    }

    /// Passes the rest of the PDU to `out` as an opaque frame.
    fn unreadable(
        &mut self,
        range: ByteRange,
        before: u64,
        is_internal: bool,
        out: &mut dyn FrameSink,
    ) -> u64 {
        let len = range.len().min(self.left);
        let records = self.walk.take().map_or(0, |walk| walk.records_left());
        self.left.shrink(len);
        let name = if before == 0 { "PartitionData" } else { self.name };
        out.frame(&frame_without_data(ByteRange::new(range.start, len), name, FrameClass::Opaque));
        if records > 0 && !is_internal {
            out.note(FrameNote::UnreadMessages(records.into()));
        }
        len
    }

    /// The frame of the bytes between records; `class` is the class of what follows.
    fn between(
        &mut self,
        range: ByteRange,
        before: u64,
        class: Option<FrameClass>,
    ) -> Frame<'static> {
        self.has_data |= class == Some(FrameClass::Data);
        let name = match (before, class) {
            (0, Some(_)) => "RecordBatch",
            (0, None) => "PartitionData",
            _ => self.name,
        };
        let without = if self.has_data { FrameClass::Data } else { self.class };
        frame_without_data(range, name, class.unwrap_or(without))
    }
}

/// The bytes after the first `n`.
fn from(bytes: &[u8], n: u64) -> &[u8] {
    usize::try_from(n).ok().and_then(|n| bytes.get(n..)).unwrap_or_default()
}
