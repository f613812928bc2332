//! A PDU with records on its way: its pieces in, frames out.

use super::batch;
use super::fetch::{Meaning, Positions};
use super::fields::{Fault, Fields};
use super::head::Head;
use super::record::{self, Place};
use super::topics::{TopicPartition, Topics};
use super::unpack::Unpacked;
use super::walk::{Block, Piece, Walk};
use crate::{FrameSink, PduLen};
use wirelap_events::Saturate;
use wirelap_events::{ByteRange, Class, Frame};

/// A PDU of which more is to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    name: &'static str,
    /// What it is for, as far as it has no records.
    class: Class,
    /// Bytes that are left.
    pub left: u64,
    /// Reads its records; `None`: cannot be read from here on.
    walk: Option<Walk>,
    /// Some of it was data.
    has_data: bool,
    /// Its correlation id.
    id: i32,
}

/// What is known beside the PDU.
pub(super) struct Beside<'a> {
    pub at: &'a mut TopicPartition,
    pub positions: &'a mut Positions,
    pub topics: &'a Topics,
    pub unpacked: &'a mut Unpacked,
}

impl Beside<'_> {
    /// Whether records are the brokers' own: of Kafka's own topics, or on their way to another broker.
    fn is_theirs(&self, is_fetched: bool) -> bool {
        self.at.internal || is_fetched && self.positions.is_replica
    }
}

impl Open {
    /// A PDU of `total` bytes that starts like this.
    pub fn new(head: &Head<'_>, total: u64) -> Open {
        let &Head { name, class, walk, correlation_id: id, .. } = head;
        Open { name, class, left: total, walk, has_data: false, id }
    }

    /// The rest of a PDU that cannot be read.
    pub fn unread(left: u64) -> Open {
        Open { name: "PDU", class: Class::Opaque, left, walk: None, has_data: false, id: 0 }
    }

    /// Whether compressed records come next, which are of use only as a whole.
    pub fn is_compressed(&self) -> bool {
        self.walk.is_some_and(|walk| walk.is_compressed())
    }

    /// Bytes of the pieces that `bytes` start with, `before` bytes into them.
    pub fn pieces_len(&self, bytes: &[u8], before: u64) -> PduLen {
        let Some(mut walk) = self.walk else { return PduLen::Known(self.left) };
        let mut len = before;
        loop {
            match walk.next(from(bytes, len)) {
                // One that is not all here comes alone: as much of it is kept as there is room for.
                Ok((_, piece))
                    if len > before && len.saturating_add(piece) > bytes.len() as u64 =>
                {
                    return PduLen::Known(len);
                }
                Ok((_, piece)) => len.grow(piece),
                Err(Fault::Short(more)) if len == before => {
                    return PduLen::Need(bytes.len().saturating_add(more));
                }
                Err(Fault::Malformed) if len == before => return PduLen::Known(self.left),
                Err(_) => return PduLen::Known(len),
            }
            if len >= bytes.len() as u64 || walk.left() == 0 {
                return PduLen::Known(len);
            }
        }
    }

    /// Hands out the next piece, which starts `before` bytes into `range`, as a frame with those
    /// bytes. Returns its length.
    pub fn piece(
        &mut self,
        (range, bytes, before): (ByteRange, &[u8], u64),
        beside: &mut Beside<'_>,
        out: &mut dyn FrameSink,
    ) -> u64 {
        let answers = self.walk.filter(Walk::is_fetch).map(|_| self.id);
        let is_fetched = answers.is_some();
        let next = self.walk.as_mut().map(|walk| walk.next(from(bytes, before)));
        let Some(Ok((piece, len))) = next else {
            let is_theirs = beside.is_theirs(is_fetched);
            return self.unreadable(range, before, is_theirs, out);
        };
        let len = before.saturating_add(len).min(range.len());
        // A client or broker looks at a request or response when it has all of it.
        out.usable_at(range.start.plus(self.left));
        self.left = self.left.saturating_sub(len);
        let range = ByteRange::new(range.start, len);
        match piece {
            Piece::Record(fields) => {
                let meaning =
                    |at: &TopicPartition, offset| means(at, beside.positions, answers, offset);
                let place = Place { frame: range, extent: range, is_fetched };
                record::hand_out(place, fields, (beside.at, beside.topics), meaning, out);
                if is_thrown_away(beside.at, is_fetched, beside.positions) {
                    out.thrown_away(1);
                }
            }
            Piece::Block(Block::Compressed) => {
                let packed = from(bytes, before);
                let packed = usize::try_from(len.saturating_sub(before))
                    .ok()
                    .and_then(|len| packed.get(..len));
                compressed((range, packed), answers, beside, out);
            }
            Piece::Block(block) => {
                if block == Block::Control {
                    beside.at.end_transaction();
                }
                let (name, class) = block.frame();
                out.frame(&plain(range, name, class));
            }
            Piece::Between { topic, partition, aborted, class } => {
                let at = &mut *beside.at;
                at.follow(topic, partition, beside.topics);
                if let Some(aborted) = aborted {
                    at.set_aborted(aborted);
                }
                if let (Some(_), Some(walk)) = (class, self.walk) {
                    at.begin(walk.header());
                    let is_held = beside.positions.is_committed && !at.internal;
                    if is_fetched && is_held && walk.header().is_transactional() {
                        out.awaits_commit();
                    }
                }
                let class = class.map(|class| if at.internal { Class::Other } else { class });
                out.frame(&self.between(range, before, class));
            }
        }
        len
    }

    /// Hands out the rest.
    fn unreadable(
        &mut self,
        range: ByteRange,
        before: u64,
        is_theirs: bool,
        out: &mut dyn FrameSink,
    ) -> u64 {
        let len = range.len().min(self.left);
        let records = self.walk.take().map_or(0, |walk| walk.records_left());
        self.left.shrink(len);
        let name = if before == 0 { "PartitionData" } else { self.name };
        out.frame(&plain(ByteRange::new(range.start, len), name, Class::Opaque));
        if records > 0 && !is_theirs {
            out.unread_messages(records.into());
        }
        len
    }

    /// The frame of what is between records, and of what class it leads to.
    fn between(&mut self, range: ByteRange, before: u64, class: Option<Class>) -> Frame<'static> {
        self.has_data |= class == Some(Class::Data);
        let name = match (before, class) {
            (0, Some(_)) => "RecordBatch",
            (0, None) => "PartitionData",
            _ => self.name,
        };
        let without = if self.has_data { Class::Data } else { self.class };
        plain(range, name, class.unwrap_or(without))
    }
}

/// What the record at this place after the batch's first offset is for its reader, in an answer to the request
/// `answers`, if it is in one.
fn means(
    at: &TopicPartition,
    positions: &mut Positions,
    answers: Option<i32>,
    offset: i32,
) -> Meaning {
    if at.internal {
        return Meaning::Skipped;
    }
    let Some(id) = answers else { return Meaning::Message };
    if positions.is_replica || at.is_aborted() {
        return Meaning::Skipped;
    }
    positions.sent(id, at.place(), at.header.base_offset.saturating_add(offset.into()))
}

/// Hands out a batch of compressed records: its bytes, and then, where they end, its records.
fn compressed(
    (range, packed): (ByteRange, Option<&[u8]>),
    answers: Option<i32>,
    beside: &mut Beside<'_>,
    out: &mut dyn FrameSink,
) {
    let is_fetched = answers.is_some();
    let is_theirs = beside.is_theirs(is_fetched);
    let Beside { at, positions, topics, unpacked } = beside;
    let header = at.header;
    let opened = packed.and_then(|packed| unpacked.open(header.codec(), packed));
    let opened = opened.and_then(|bytes| Some((bytes, values_in(bytes, header.records)?)));
    let Some((bytes, values)) = opened else {
        let (name, class) = Block::Compressed.frame();
        out.frame(&plain(range, name, if at.internal { Class::Other } else { class }));
        if !is_theirs {
            out.unread_messages(header.records.into());
        }
        return unpacked.trim();
    };
    let class = if at.internal { Class::Other } else { Class::Data };
    let is_aborted = is_thrown_away(at, is_fetched, positions);
    let all = bytes.len() as u64;
    // Of the bytes on the way, as much is payload as of those that they become.
    let payload = u128::from(range.len())
        .saturating_mul(u128::from(values))
        .checked_div(u128::from(all.max(1)))
        .unwrap_or(0);
    let payload_bytes = if at.internal { 0 } else { u64::try_from(payload).unwrap_or(0) };
    out.frame(&Frame { payload_bytes, ..plain(range, "CompressedRecords", class) });
    out.unpacked(range.len(), all);
    let place = Place { frame: ByteRange::new(range.end, 0), extent: range, is_fetched };
    let mut rest = Fields::new(bytes, all);
    while rest.left() > 0 {
        let Ok(len) = batch::record_bytes(&mut { rest }) else { break };
        let one = rest.at_most(len);
        if rest.take(len).is_err() {
            break;
        }
        let meaning = |at: &TopicPartition, offset| means(at, positions, answers, offset);
        record::hand_out(place, one, (at, topics), meaning, out);
    }
    if is_aborted {
        out.thrown_away(header.records.into());
    }
    unpacked.trim();
}

/// Whether a consumer throws the records of the open batch away, as their transaction was aborted.
fn is_thrown_away(at: &TopicPartition, is_fetched: bool, positions: &Positions) -> bool {
    is_fetched && at.is_aborted() && !at.internal && !positions.is_replica
}

/// Bytes of all values, if these are so many records and nothing else.
fn values_in(bytes: &[u8], records: u32) -> Option<u64> {
    let mut rest = Fields::new(bytes, bytes.len() as u64);
    let mut values = 0;
    for _ in 0..records {
        let mut one = rest.at_most(batch::record_bytes(&mut { rest }).ok()?);
        rest.take(one.left()).ok()?;
        batch::record_bytes(&mut one).ok()?;
        values.grow(batch::record(one).ok()?.len);
    }
    (rest.left() == 0).then_some(values)
}

/// The bytes behind the first `n`.
fn from(bytes: &[u8], n: u64) -> &[u8] {
    usize::try_from(n).ok().and_then(|n| bytes.get(n..)).unwrap_or_default()
}

/// A frame without a message.
pub(super) fn plain(range: ByteRange, name: &'static str, class: Class) -> Frame<'static> {
    Frame { range, name, class, payload_bytes: 0, data: None }
}
