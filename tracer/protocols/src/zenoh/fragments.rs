//! Puts fragments together, as far as that is needed to know what a message was.
//!
//! Only a message's first bytes are kept: its header, key expression and the start of its payload.
//! Its length is counted.

use super::network::{Message, Payload};
use super::transport::{Fragment, Lane};
use super::wire::Cursor;
use wirelap_events::Total;
use wirelap_events::{Class, Offset};

/// Bytes of a message that are kept once its header was read.
const HEAD_BYTES: usize = 4 << 10;

/// Bytes that are kept to find the end of a header, which has attachments of any length in it.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// One side's open messages.
#[derive(Debug, Default)]
pub struct Fragments {
    /// At most one entry a lane, of which there are 16.
    lanes: Vec<(Lane, Slot)>,
    /// This side marks first fragments: one without the mark never starts a message.
    marked: bool,
    /// Nothing was missed since the session began.
    fresh: bool,
}

#[derive(Debug, Default)]
struct Slot {
    /// The last sequence number seen; `None` after a gap.
    last: Option<u64>,
    open: Option<Open>,
    /// The open message's first bytes.
    head: Vec<u8>,
}

#[derive(Debug)]
struct Open {
    start: Offset,
    /// The sequence number of its first fragment.
    first: u64,
    /// Fragments so far.
    count: u32,
    total: u64,
    /// No byte of it before `head`'s end was missed.
    whole: bool,
    shape: Option<Shape>,
}

/// What the header told.
#[derive(Clone, Copy, Debug)]
struct Shape {
    class: Class,
    payload: (u64, u64),
}

/// What a fragment was found to be.
#[derive(Debug)]
pub struct Piece<'f> {
    /// What the message is for, or `Opaque` if its start was missed.
    pub class: Class,
    /// Application payload in it.
    pub payload_bytes: u64,
    /// Of the message that it belongs to, if its start was seen: the sequence number of the first
    /// fragment, and how many there were before this one.
    pub place: Option<(u64, u32)>,
    /// The message that is complete with it.
    pub complete: Option<Whole<'f>>,
}

/// A complete message.
#[derive(Debug)]
pub struct Whole<'f> {
    /// Where its first fragment's frame starts.
    pub start: Offset,
    /// The message, as far as its first bytes tell.
    pub message: Message<'f>,
}

/// Reads a message from its head. One whose payload was found counts as read: what follows the payload
/// is only passed over.
fn read(head: &[u8], total: u64) -> Option<Message<'_>> {
    let mut message = Message::unread();
    let result = message.read(&mut Cursor::new(head, total));
    (result.is_ok() || message.payload.is_some()).then_some(message)
}

impl Fragments {
    /// Bytes of memory that they take.
    pub fn held_bytes(&self) -> usize {
        self.lanes.iter().map(|(_, slot)| slot.head.capacity()).total()
    }

    fn slot(&mut self, lane: Lane) -> &mut Slot {
        let index = self.lanes.iter().position(|(known, _)| *known == lane);
        let index = index.unwrap_or_else(|| {
            self.lanes.push((lane, Slot::default()));
            self.lanes.len().saturating_sub(1)
        });
        &mut self.lanes[index].1
    }

    /// A session begins.
    pub fn begin(&mut self, marked: bool) {
        *self = Fragments { lanes: Vec::new(), marked, fresh: true };
    }

    /// A FRAME was seen in the lane: it takes a number and ends what was open.
    pub fn frame(&mut self, lane: Lane, sn: u64) {
        let slot = self.slot(lane);
        slot.last = Some(sn);
        slot.open = None;
    }

    /// Bytes were missed.
    pub fn gap(&mut self) {
        self.fresh = false;
        for (_, slot) in &mut self.lanes {
            slot.last = None;
            slot.open = None;
        }
    }

    /// Takes a fragment of `len` bytes, `captured` of which are there; its frame starts at `start`.
    pub fn fragment(
        &mut self,
        fragment: Fragment,
        start: Offset,
        captured: &[u8],
        len: u64,
    ) -> Piece<'_> {
        self.marked |= fragment.first;
        let (marked, fresh) = (self.marked, self.fresh);
        let slot = self.slot(fragment.lane);
        let consecutive = slot.last.map_or(fresh, |last| follows(last, fragment.sn));
        slot.last = Some(fragment.sn);
        if !consecutive || fragment.first || fragment.dropped {
            slot.open = None;
        }
        let starts = if marked { fragment.first } else { consecutive };
        if slot.open.is_none() && starts && !fragment.dropped {
            slot.head.clear();
            slot.head.shrink_to(2 * HEAD_BYTES);
            let first = fragment.sn;
            slot.open = Some(Open { start, first, count: 0, total: 0, whole: true, shape: None });
        }
        slot.take(captured, len, fragment.more)
    }
}

impl Slot {
    fn take(&mut self, captured: &[u8], len: u64, more: bool) -> Piece<'_> {
        let Some(mut open) = self.open.take() else {
            return Piece { class: Class::Opaque, payload_bytes: 0, place: None, complete: None };
        };
        let place = Some((open.first, open.count));
        open.count = open.count.saturating_add(1);
        let from = open.total;
        open.total = from.saturating_add(len);
        self.keep(&mut open, captured, len);
        let class = open.shape.map_or(Class::Data, |shape| shape.class);
        let payload_bytes = open.shape.map_or(0, |shape| {
            let (start, bytes) = shape.payload;
            let end = start.saturating_add(bytes).min(open.total);
            end.saturating_sub(start.max(from))
        });
        if more {
            self.open = Some(open);
            return Piece { class, payload_bytes, place, complete: None };
        }
        let complete = open.complete(&self.head);
        Piece { class, payload_bytes, place, complete }
    }

    /// Keeps the bytes that belong to the head, and reads the header once it is all there.
    fn keep(&mut self, open: &mut Open, captured: &[u8], len: u64) {
        if !open.whole {
            return;
        }
        if open.shape.is_none() && self.head.is_empty() {
            open.shape = Shape::read(captured);
        }
        let limit = open.shape.map_or(MAX_HEAD_BYTES, Shape::head_bytes);
        let room = limit.saturating_sub(self.head.len());
        self.head.extend_from_slice(captured.get(..room).unwrap_or(captured));
        open.whole = captured.len() < room && captured.len() as u64 == len;
        if open.shape.is_none() {
            open.shape = Shape::read(&self.head);
        }
    }
}

impl Open {
    /// The message, if all of its payload has come.
    fn complete<'f>(&self, head: &'f [u8]) -> Option<Whole<'f>> {
        let (start, bytes) = self.shape?.payload;
        let fits = start.checked_add(bytes).is_some_and(|end| end <= self.total);
        let message = if fits { read(head, self.total) } else { None };
        Some(Whole { start: self.start, message: message? })
    }
}

impl Shape {
    fn read(head: &[u8]) -> Option<Shape> {
        let message = read(head, u64::MAX)?;
        let payload = message.payload.map_or((0, 0), |Payload { start, len, .. }| (start, len));
        Some(Shape { class: message.class, payload })
    }

    fn head_bytes(self) -> usize {
        usize::try_from(self.payload.0).unwrap_or(usize::MAX).saturating_add(HEAD_BYTES)
    }
}

/// Whether `next` follows `last` in a counter of 7, 14, 28 or 63 bits: which of them is agreed at the
/// start, and all wrap to 0 after a number of all ones.
pub(super) fn follows(last: u64, next: u64) -> bool {
    let plus = last.wrapping_add(1);
    next == plus || next == 0 && plus.is_power_of_two()
}
