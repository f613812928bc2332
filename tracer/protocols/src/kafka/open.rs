//! A PDU with records on its way: its pieces in, frames out.

use super::batch;
use super::fields::{Fault, Fields};
use super::head::Head;
use super::topics::{TopicPartition, Topics};
use super::walk::{Piece, Walk};
use crate::{FrameSink, PduLen};
use wirelap_events::{ByteRange, Class, Data, Frame};

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
}

impl Open {
    /// A PDU of `total` bytes that starts like this.
    pub fn new(head: &Head<'_>, total: u64) -> Open {
        let &Head { name, class, walk, .. } = head;
        Open { name, class, left: total, walk, has_data: false }
    }

    /// The rest of a PDU that cannot be read.
    pub fn unread(left: u64) -> Open {
        Open { name: "PDU", class: Class::Opaque, left, walk: None, has_data: false }
    }

    /// Bytes of the pieces that `bytes` start with, `before` bytes into them.
    pub fn pieces_len(&self, bytes: &[u8], before: u64) -> PduLen {
        let Some(mut walk) = self.walk else { return PduLen::Known(self.left) };
        let mut len = before;
        loop {
            match walk.next(from(bytes, len)) {
                // One that is not all here comes alone: as much of it is kept as there is room for.
                Ok((_, piece)) if len > before && len + piece > bytes.len() as u64 => {
                    return PduLen::Known(len);
                }
                Ok((_, piece)) => len += piece,
                Err(Fault::Short(more)) if len == before => {
                    return PduLen::Need(bytes.len() + more);
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
        at: &mut TopicPartition,
        topics: &Topics,
        out: &mut dyn FrameSink,
    ) -> u64 {
        let next = self.walk.as_mut().map(|walk| walk.next(from(bytes, before)));
        let Some(Ok((piece, len))) = next else { return self.unreadable(range, before, out) };
        let len = (before + len).min(range.len());
        self.left = self.left.saturating_sub(len);
        let range = ByteRange::new(range.start, len);
        match piece {
            Piece::Record(fields) => out.frame(&record(at, fields, range)),
            Piece::Block(block) => {
                let (name, class) = block.frame();
                out.frame(&plain(range, name, class));
            }
            Piece::Between { topic, partition, class } => {
                at.follow(topic, partition, topics);
                let class = class.map(|class| if at.internal { Class::Other } else { class });
                out.frame(&self.between(range, before, class));
            }
        }
        len
    }

    /// Hands out the rest.
    fn unreadable(&mut self, range: ByteRange, before: u64, out: &mut dyn FrameSink) -> u64 {
        let len = range.len().min(self.left);
        self.walk = None;
        self.left -= len;
        let name = if before == 0 { "PartitionData" } else { self.name };
        out.frame(&plain(ByteRange::new(range.start, len), name, Class::Opaque));
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

/// The bytes behind the first `n`.
fn from(bytes: &[u8], n: u64) -> &[u8] {
    usize::try_from(n).ok().and_then(|n| bytes.get(n..)).unwrap_or_default()
}

/// A record's frame.
fn record<'a>(at: &'a TopicPartition, mut fields: Fields<'a>, range: ByteRange) -> Frame<'a> {
    let value = batch::record_bytes(&mut fields).and_then(|_| batch::value(fields));
    let Ok(value) = value else { return plain(range, "Record", Class::Opaque) };
    if at.internal {
        return plain(range, "Record", Class::Other);
    }
    Frame {
        range,
        name: "Record",
        class: Class::Data,
        payload_bytes: value.len,
        data: Some(Data {
            extent: range,
            topic: at.text(),
            payload_len: value.len,
            payload: value.bytes,
            key: None,
            duplicate: false,
            retained: false,
        }),
    }
}

/// A frame without a message.
pub(super) fn plain(range: ByteRange, name: &'static str, class: Class) -> Frame<'static> {
    Frame { range, name, class, payload_bytes: 0, data: None }
}
