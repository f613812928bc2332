//! The state of each stream: sequence numbers, and submessages in fragments (DDS-XRCE 1.0 §8.4.14).
//!
//! A reliable stream retransmits messages, in any order. A message has at most one fragment, so the message's sequence
//! number is that of the fragment.

use crate::Side;
use wirelap_events::Saturate;
use wirelap_events::{ByteRange, Count, Size};

/// The most streams of a conversation that are followed; then the one silent for longest is forgotten.
const MAX_STREAMS: usize = 16;

/// The most fragments of a stream that are kept; a submessage with more is not reassembled.
const MAX_FRAGMENTS: usize = 1024;

/// Bytes that are kept of each fragment, and of a reassembled submessage: the header, and the start of the payload.
const HEAD_BYTES: usize = 256;

/// Number of sequence numbers before the newest one that are remembered.
const WINDOW: u16 = 128;

/// Identifies a stream: sender, session and stream ID.
pub(super) type StreamKey = (Side, u8, u8);

/// The streams of a conversation.
#[derive(Debug, Default)]
pub(super) struct XrceStreams {
    open: Vec<(StreamKey, XrceStream)>,
    clock: Count,
}

impl XrceStreams {
    /// Bytes of memory that the streams use.
    pub fn held_bytes(&self) -> Size {
        let fragments = self.open.iter().map(|(_, stream)| stream.fragments.capacity());
        Size::of::<StoredFragment>(Size::sum(fragments).0)
    }

    pub fn of(&mut self, lane: StreamKey) -> &mut XrceStream {
        self.clock += 1;
        let index = self.open.iter().position(|(known, _)| *known == lane);
        let index = index.unwrap_or_else(|| self.begin(lane));
        let stream = &mut self.open[index].1;
        stream.used = self.clock.0;
        stream
    }

    fn begin(&mut self, lane: StreamKey) -> usize {
        if self.open.len() < MAX_STREAMS {
            let index = self.open.len();
            self.open.push((lane, XrceStream::default()));
            return index;
        }
        let idle = self.open.iter().enumerate().min_by_key(|(_, (_, stream))| stream.used);
        let index = idle.map_or(0, |(index, _)| index);
        self.open[index] = (lane, XrceStream::default());
        index
    }

    /// Forgets the streams of a session that begins again.
    pub fn forget(&mut self, session: u8) {
        self.open.retain(|((_, known, _), _)| *known != session);
    }

    /// Handles missing bytes of a side, which will not arrive.
    pub fn gap(&mut self, side: Side) {
        for (_, stream) in self.open.iter_mut().filter(|((known, ..), _)| *known == side) {
            stream.fragments.clear();
        }
    }
}

/// The state of one stream.
#[derive(Debug, Default)]
pub(super) struct XrceStream {
    used: u64,
    /// The newest sequence number, and a bit for it and for each of those before it.
    seen: Option<(u16, u128)>,
    /// Fragments in the order of their sequence numbers.
    fragments: Vec<StoredFragment>,
}

/// A fragment of an incomplete submessage.
#[derive(Debug)]
struct StoredFragment {
    sequence: u16,
    last: bool,
    /// True if a submessage starts with this fragment.
    first: bool,
    len: u64,
    range: ByteRange,
    head: [u8; HEAD_BYTES],
    head_len: usize,
}

/// A fragment.
#[derive(Clone, Copy, Debug)]
pub(super) struct XrceFragment<'a> {
    pub sequence: u16,
    pub last: bool,
    /// Number of bytes without the header.
    pub len: u64,
    pub bytes: &'a [u8],
    /// The byte range of the fragment's frame.
    pub range: ByteRange,
}

/// A reassembled submessage.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompleteSubmessage {
    pub extent: ByteRange,
    pub len: u64,
    pub head: [u8; HEAD_BYTES],
    pub head_len: usize,
}

impl XrceStream {
    /// Notes a message with this sequence number. Returns whether it was captured before.
    pub fn see(&mut self, sequence: u16) -> bool {
        let Some((newest, bits)) = self.seen else {
            self.seen = Some((sequence, 1));
            return false;
        };
        let ahead = sequence.wrapping_sub(newest);
        let behind = newest.wrapping_sub(sequence);
        if behind < WINDOW {
            let bit = 1 << behind;
            self.seen = Some((newest, bits | bit));
            return bits & bit != 0;
        }
        if ahead < WINDOW {
            self.seen = Some((sequence, bits << ahead | 1));
        } else {
            // A number so far away belongs to a new session.
            self.seen = Some((sequence, 1));
            self.fragments.clear();
        }
        false
    }

    fn has_seen(&self, sequence: u16) -> bool {
        self.seen.is_some_and(|(newest, bits)| {
            let behind = newest.wrapping_sub(sequence);
            behind < WINDOW && bits & (1 << behind) != 0
        })
    }

    /// True if a submessage starts with this fragment: the message before it is the last fragment of another submessage, or
    /// not a fragment. If no earlier message is known, the fragment must look like the start of a submessage.
    fn starts(&self, sequence: u16, looks_like_one: bool) -> bool {
        let before = sequence.wrapping_sub(1);
        match self.fragments.iter().find(|fragment| fragment.sequence == before) {
            Some(fragment) => fragment.last,
            None => looks_like_one && (self.has_seen(before) || !self.knows_before(sequence)),
        }
    }

    fn knows_before(&self, sequence: u16) -> bool {
        (2..WINDOW).any(|back| self.has_seen(sequence.wrapping_sub(back)))
    }

    /// Adds a new fragment. `looks_like_one` says that it looks like the start of a submessage. Returns the submessage that is
    /// complete with it.
    pub fn add(
        &mut self,
        fragment: XrceFragment<'_>,
        looks_like_one: bool,
    ) -> Option<CompleteSubmessage> {
        if self.fragments.len() == MAX_FRAGMENTS {
            self.fragments.clear();
        }
        let mut head = [0; HEAD_BYTES];
        let head_len = fragment.bytes.len().min(HEAD_BYTES);
        for (to, from) in head.iter_mut().zip(fragment.bytes) {
            *to = *from;
        }
        let fragment = StoredFragment {
            sequence: fragment.sequence,
            last: fragment.last,
            first: self.starts(fragment.sequence, looks_like_one),
            len: fragment.len,
            range: fragment.range,
            head,
            head_len,
        };
        // The fragment nearly always is the newest, so the search starts at the end.
        let index =
            self.fragments.iter().rposition(|other| precedes(other.sequence, fragment.sequence));
        let index = index.map_or(0, |before| before.saturating_add(1));
        self.fragments.insert(index, fragment);
        self.take_complete(index)
    }

    /// Removes and returns the submessage of the fragment at this index, if it is complete.
    fn take_complete(&mut self, index: usize) -> Option<CompleteSubmessage> {
        let follows = |a: &StoredFragment, b: &StoredFragment| {
            !a.last && a.sequence.wrapping_add(1) == b.sequence
        };
        let mut first = index;
        while !self.fragments.get(first)?.first {
            let before = first.checked_sub(1)?;
            if !follows(self.fragments.get(before)?, self.fragments.get(first)?) {
                return None;
            }
            first = before;
        }
        let mut last = index;
        while !self.fragments.get(last)?.last {
            if !follows(self.fragments.get(last)?, self.fragments.get(last.saturating_add(1))?) {
                return None;
            }
            last.grow(1);
        }
        let mut parts = self.fragments.drain(first..=last);
        let start = parts.next()?;
        let mut complete = CompleteSubmessage {
            extent: start.range,
            len: start.len,
            head: start.head,
            head_len: start.head_len,
        };
        for part in parts {
            complete.append_head(&part);
            complete.len.grow(part.len);
            complete.extent.start = complete.extent.start.min(part.range.start);
            complete.extent.end = complete.extent.end.max(part.range.end);
        }
        Some(complete)
    }
}

impl CompleteSubmessage {
    /// Appends a fragment's bytes to the head, if no bytes before it are missing.
    fn append_head(&mut self, part: &StoredFragment) {
        if self.head_len as u64 != self.len {
            return;
        }
        let bytes = part.head.get(..part.head_len).unwrap_or_default();
        let room = self.head.get_mut(self.head_len..).unwrap_or_default();
        self.head_len.grow(bytes.len().min(room.len()));
        for (to, from) in room.iter_mut().zip(bytes) {
            *to = *from;
        }
    }
}

/// True if `a` is before `b`, in sequence numbers that wrap around (§8.4.3).
fn precedes(a: u16, b: u16) -> bool {
    (1..0x8000).contains(&b.wrapping_sub(a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::Offset;

    fn add(stream: &mut XrceStream, sequence: u16, last: bool) -> Option<(u64, u64)> {
        assert!(!stream.see(sequence));
        let range = ByteRange::new(Offset(u64::from(sequence) * 10), 10);
        let bytes = [7, 1, 0, 0, 9];
        let fragment = XrceFragment { sequence, last, len: 5, bytes: &bytes, range };
        stream.add(fragment, true).map(|complete| (complete.len, complete.extent.len()))
    }

    #[test]
    fn a_number_counts_once() {
        let mut stream = XrceStream::default();
        for (sequence, before) in
            [(5, false), (5, true), (7, false), (6, false), (6, true), (5, true), (200, false)]
        {
            assert_eq!(stream.see(sequence), before, "{sequence}");
        }
        let mut stream = XrceStream::default();
        assert!(!stream.see(0xFFFF) && !stream.see(0) && stream.see(0xFFFF) && stream.see(0));
    }

    #[test]
    fn numbers_go_round_and_round() {
        let mut stream = XrceStream::default();
        for number in 0..200_000_u32 {
            let sequence = (number & 0xFFFF) as u16;
            assert!(!stream.see(sequence), "{number}");
        }
    }

    #[test]
    fn fragments_come_in_any_order() {
        let mut stream = XrceStream::default();
        assert!(!stream.see(0xFFFD));
        assert_eq!(add(&mut stream, 0xFFFE, false), None);
        assert_eq!(add(&mut stream, 0, true), None);
        assert_eq!(add(&mut stream, 2, true), None);
        assert_eq!(add(&mut stream, 0xFFFF, false), Some((15, 0xFFFF * 10 + 10)));
        assert!(stream.see(0xFFFF));
        assert_eq!(add(&mut stream, 1, false), Some((10, 20)));
        assert!(stream.fragments.is_empty());
    }

    #[test]
    fn stored_fragments_are_bounded() {
        let mut stream = XrceStream::default();
        for sequence in 0..5000 {
            assert_eq!(add(&mut stream, sequence, false), None);
            assert!(stream.fragments.len() <= MAX_FRAGMENTS);
        }
        let mut streams = XrceStreams::default();
        for number in 0..=255 {
            assert!(!streams.of((Side::A, 1, number)).see(1));
        }
        assert_eq!(streams.open.len(), MAX_STREAMS);
    }
}
