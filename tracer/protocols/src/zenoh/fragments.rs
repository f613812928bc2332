//! Reassembles the start of fragmented messages.
//!
//! Only a message's first bytes are kept: its header, key expression and the start of its payload. Further bytes are only
//! counted.

use super::message::{NetworkMessage, PayloadRange};
use super::transport::{FragmentHeader, ZenohLane};
use super::wire::ZenohCursor;
use wirelap_events::Size;
use wirelap_events::{FrameClass, Offset};

/// Bytes that are kept of a message once its header was read.
const HEAD_BYTES: usize = 4 << 10;

/// Bytes that are kept to find the end of a header, which can have long attachments.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// The incomplete messages of one side.
#[derive(Debug, Default)]
pub struct FragmentBuffer {
    /// One entry for each lane, of which there are at most 16.
    lanes: Vec<(ZenohLane, LaneState)>,
    /// True if this side marks first fragments, so that only a marked fragment starts a message.
    marked: bool,
    /// True if no bytes are missing since the session began.
    fresh: bool,
}

#[derive(Debug, Default)]
struct LaneState {
    /// The last sequence number; `None` after a gap.
    last: Option<u64>,
    open: Option<OpenMessage>,
    /// The open message's first bytes.
    head: Vec<u8>,
}

#[derive(Debug)]
struct OpenMessage {
    start: Offset,
    /// The sequence number of its first fragment.
    first: u64,
    /// Fragments so far.
    count: u32,
    total: u64,
    /// True if no byte before the end of `head` is missing.
    whole: bool,
    shape: Option<MessageShape>,
}

/// The class of a message and the range of its payload, from its header.
#[derive(Clone, Copy, Debug)]
struct MessageShape {
    class: FrameClass,
    payload: (u64, u64),
}

/// The result of adding a fragment.
#[derive(Debug)]
pub struct AddedFragment<'f> {
    /// The message's class, or `Opaque` if its start is missing.
    pub class: FrameClass,
    /// Number of payload bytes in the fragment.
    pub payload_bytes: u64,
    /// The sequence number of the message's first fragment, and the number of fragments before this one; `None` if the
    /// message's start is missing.
    pub place: Option<(u64, u32)>,
    /// The message that is complete with this fragment.
    pub complete: Option<CompleteMessage<'f>>,
}

/// A complete message.
#[derive(Debug)]
pub struct CompleteMessage<'f> {
    /// The start of its first fragment's frame.
    pub start: Offset,
    /// The message, as far as its first bytes show it.
    pub message: NetworkMessage<'f>,
}

/// Reads a message from its head. It is enough that the payload's position is known; fields after the payload are not
/// needed.
fn read(head: &[u8], total: u64) -> Option<NetworkMessage<'_>> {
    let mut message = NetworkMessage::unread();
    let result = message.read(&mut ZenohCursor::new(head, total));
    (result.is_ok() || message.payload.is_some()).then_some(message)
}

impl FragmentBuffer {
    /// Bytes of memory that the fragments use.
    pub fn held_bytes(&self) -> Size {
        Size::sum(self.lanes.iter().map(|(_, slot)| slot.head.capacity()))
    }

    /// Messages of which the last fragment has not come.
    pub fn unfinished(&self) -> u64 {
        self.lanes.iter().filter(|(_, slot)| slot.open.is_some()).count() as u64
    }

    fn slot(&mut self, lane: ZenohLane) -> &mut LaneState {
        let index = self.lanes.iter().position(|(known, _)| *known == lane);
        let index = index.unwrap_or_else(|| {
            let index = self.lanes.len();
            self.lanes.push((lane, LaneState::default()));
            index
        });
        &mut self.lanes[index].1
    }

    /// Begins a session.
    pub fn begin(&mut self, marked: bool) {
        *self = FragmentBuffer { lanes: Vec::new(), marked, fresh: true };
    }

    /// Notes a FRAME in the lane: it has a sequence number and ends an incomplete message. Returns whether there was one.
    pub fn frame(&mut self, lane: ZenohLane, sn: u64) -> bool {
        let slot = self.slot(lane);
        slot.last = Some(sn);
        slot.open.take().is_some()
    }

    /// True if this fragment tells that the sender gives up the lane's incomplete message: it says so, or begins another message.
    /// Datagrams may have been lost before one that is not the next.
    pub fn is_cut_short_by(&self, fragment: &FragmentHeader, is_datagram: bool) -> bool {
        let slot = self.lanes.iter().find(|(lane, _)| *lane == fragment.lane);
        let ends_open = slot.is_some_and(|(_, slot)| {
            let is_next = slot.last.is_some_and(|last| follows(last, fragment.sn));
            slot.open.is_some() && (fragment.first || !is_next) && (is_next || !is_datagram)
        });
        fragment.dropped || ends_open
    }

    /// Drops the incomplete message, if it is the only one. Returns whether there is one.
    pub fn give_up(&mut self) -> bool {
        let mut open = self.lanes.iter_mut().filter(|(_, slot)| slot.open.is_some());
        match (open.next(), open.next()) {
            (Some((_, slot)), None) => slot.open.take().is_some(),
            // What comes next on their lanes tells which one it was.
            _ => false,
        }
    }

    /// Handles a gap: incomplete messages are dropped.
    pub fn gap(&mut self) {
        self.fresh = false;
        for (_, slot) in &mut self.lanes {
            slot.last = None;
            slot.open = None;
        }
    }

    /// Adds a fragment of `len` bytes, of which `captured` were captured; its frame starts at `start`.
    pub fn fragment(
        &mut self,
        fragment: FragmentHeader,
        start: Offset,
        captured: &[u8],
        len: u64,
    ) -> AddedFragment<'_> {
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
            slot.open =
                Some(OpenMessage { start, first, count: 0, total: 0, whole: true, shape: None });
        }
        slot.take(captured, len, fragment.more)
    }
}

impl LaneState {
    fn take(&mut self, captured: &[u8], len: u64, more: bool) -> AddedFragment<'_> {
        let Some(mut open) = self.open.take() else {
            return AddedFragment {
                class: FrameClass::Opaque,
                payload_bytes: 0,
                place: None,
                complete: None,
            };
        };
        let place = Some((open.first, open.count));
        open.count = open.count.saturating_add(1);
        let from = open.total;
        open.total = from.saturating_add(len);
        self.keep(&mut open, captured, len);
        let class = open.shape.map_or(FrameClass::Data, |shape| shape.class);
        let payload_bytes = open.shape.map_or(0, |shape| {
            let (start, bytes) = shape.payload;
            let end = start.saturating_add(bytes).min(open.total);
            end.saturating_sub(start.max(from))
        });
        if more {
            self.open = Some(open);
            return AddedFragment { class, payload_bytes, place, complete: None };
        }
        let complete = open.complete(&self.head);
        AddedFragment { class, payload_bytes, place, complete }
    }

    /// Keeps the bytes that belong to the head, and reads the header once it is complete.
    fn keep(&mut self, open: &mut OpenMessage, captured: &[u8], len: u64) {
        if !open.whole {
            return;
        }
        if open.shape.is_none() && self.head.is_empty() {
            open.shape = MessageShape::read(captured);
        }
        let limit = open.shape.map_or(MAX_HEAD_BYTES, MessageShape::head_bytes);
        let room = limit.saturating_sub(self.head.len());
        self.head.extend_from_slice(captured.get(..room).unwrap_or(captured));
        open.whole = captured.len() < room && captured.len() as u64 == len;
        if open.shape.is_none() {
            open.shape = MessageShape::read(&self.head);
        }
    }
}

impl OpenMessage {
    /// The message, if all of its payload has arrived.
    fn complete<'f>(&self, head: &'f [u8]) -> Option<CompleteMessage<'f>> {
        let (start, bytes) = self.shape?.payload;
        let fits = start.checked_add(bytes).is_some_and(|end| end <= self.total);
        let message = if fits { read(head, self.total) } else { None };
        Some(CompleteMessage { start: self.start, message: message? })
    }
}

impl MessageShape {
    fn read(head: &[u8]) -> Option<MessageShape> {
        let message = read(head, u64::MAX)?;
        let payload =
            message.payload.map_or((0, 0), |PayloadRange { start, len, .. }| (start, len));
        Some(MessageShape { class: message.class, payload })
    }

    fn head_bytes(self) -> usize {
        usize::try_from(self.payload.0).unwrap_or(usize::MAX).saturating_add(HEAD_BYTES)
    }
}

/// True if `next` follows `last` in a counter of 7, 14, 28 or 63 bits. The width is negotiated at the start of a session, and
/// each counter wraps to 0 after a number of all ones.
pub(super) fn follows(last: u64, next: u64) -> bool {
    let plus = last.wrapping_add(1);
    next == plus || next == 0 && plus.is_power_of_two()
}
