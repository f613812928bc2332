//! What was seen of each stream: sequence numbers, and submessages in parts (DDS-XRCE 1.0 §8.4.14).
//!
//! A reliable stream sends messages again, in any order. A fragment is the only submessage of its kind
//! in a message, so the message's number is the fragment's.

use crate::Side;
use wirelap_events::ByteRange;
use wirelap_events::{Saturate, Total};

/// The most streams of a conversation that are followed; then the one silent for longest goes.
const MAX_STREAMS: usize = 16;

/// The most fragments of a stream that wait; more than that is not put together.
const MAX_PIECES: usize = 1024;

/// Bytes kept of each fragment, and of all of them together: the header, and the start of the payload.
const HEAD_BYTES: usize = 256;

/// How far back a number is known to have been there.
const WINDOW: u16 = 128;

/// Who sends, in which session, on which stream.
pub(super) type Lane = (Side, u8, u8);

/// The streams of a conversation.
#[derive(Debug, Default)]
pub(super) struct Streams {
    open: Vec<(Lane, Stream)>,
    clock: u64,
}

impl Streams {
    /// Bytes of memory that they take.
    pub fn held_bytes(&self) -> usize {
        let pieces = self.open.iter().map(|(_, stream)| stream.pieces.capacity());
        pieces.total::<usize>().saturating_mul(size_of::<Piece>())
    }

    pub fn of(&mut self, lane: Lane) -> &mut Stream {
        self.clock.grow(1);
        let index = self.open.iter().position(|(known, _)| *known == lane);
        let index = index.unwrap_or_else(|| self.begin(lane));
        let stream = &mut self.open[index].1;
        stream.used = self.clock;
        stream
    }

    fn begin(&mut self, lane: Lane) -> usize {
        if self.open.len() < MAX_STREAMS {
            self.open.push((lane, Stream::default()));
            return self.open.len().saturating_sub(1);
        }
        let idle = self.open.iter().enumerate().min_by_key(|(_, (_, stream))| stream.used);
        let index = idle.map_or(0, |(index, _)| index);
        self.open[index] = (lane, Stream::default());
        index
    }

    /// A session begins again.
    pub fn forget(&mut self, session: u8) {
        self.open.retain(|((_, known, _), _)| *known != session);
    }

    /// Bytes of a side were missed for good.
    pub fn gap(&mut self, side: Side) {
        for (_, stream) in self.open.iter_mut().filter(|((known, ..), _)| *known == side) {
            stream.pieces.clear();
        }
    }
}

/// One stream.
#[derive(Debug, Default)]
pub(super) struct Stream {
    used: u64,
    /// The newest number, and a bit for each of those before it, itself first.
    seen: Option<(u16, u128)>,
    /// In the order of their numbers.
    pieces: Vec<Piece>,
}

/// A fragment that waits.
#[derive(Debug)]
struct Piece {
    sequence: u16,
    last: bool,
    /// It is known that a submessage starts with it.
    first: bool,
    len: u64,
    range: ByteRange,
    head: [u8; HEAD_BYTES],
    head_len: usize,
}

/// What a fragment is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment<'a> {
    pub sequence: u16,
    pub last: bool,
    /// Bytes of it, without its header.
    pub len: u64,
    pub bytes: &'a [u8],
    /// Where its frame is.
    pub range: ByteRange,
}

/// All fragments of a submessage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole {
    pub extent: ByteRange,
    pub len: u64,
    pub head: [u8; HEAD_BYTES],
    pub head_len: usize,
}

impl Stream {
    /// A message with this number is here. Returns whether it was before.
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
            // Too far away to be the same session.
            self.seen = Some((sequence, 1));
            self.pieces.clear();
        }
        false
    }

    fn has_seen(&self, sequence: u16) -> bool {
        self.seen.is_some_and(|(newest, bits)| {
            let behind = newest.wrapping_sub(sequence);
            behind < WINDOW && bits & (1 << behind) != 0
        })
    }

    /// Whether a submessage starts with this fragment, as far as is known: what was before it is no
    /// fragment that goes on. On a stream of which nothing is known before it, it must look like one.
    fn starts(&self, sequence: u16, looks_like_one: bool) -> bool {
        let before = sequence.wrapping_sub(1);
        match self.pieces.iter().find(|piece| piece.sequence == before) {
            Some(piece) => piece.last,
            None => looks_like_one && (self.has_seen(before) || !self.knows_before(sequence)),
        }
    }

    fn knows_before(&self, sequence: u16) -> bool {
        (2..WINDOW).any(|back| self.has_seen(sequence.wrapping_sub(back)))
    }

    /// Takes a fragment that was not here before. `looks_like_one` tells that a submessage could start
    /// with it. Returns the submessage that is complete with it.
    pub fn add(&mut self, fragment: Fragment<'_>, looks_like_one: bool) -> Option<Whole> {
        if self.pieces.len() == MAX_PIECES {
            self.pieces.clear();
        }
        let mut head = [0; HEAD_BYTES];
        let head_len = fragment.bytes.len().min(HEAD_BYTES);
        for (to, from) in head.iter_mut().zip(fragment.bytes) {
            *to = *from;
        }
        let piece = Piece {
            sequence: fragment.sequence,
            last: fragment.last,
            first: self.starts(fragment.sequence, looks_like_one),
            len: fragment.len,
            range: fragment.range,
            head,
            head_len,
        };
        // Nearly always the newest.
        let place = self.pieces.iter().rposition(|other| precedes(other.sequence, piece.sequence));
        let place = place.map_or(0, |before| before.saturating_add(1));
        self.pieces.insert(place, piece);
        self.take_whole(place)
    }

    /// Takes the submessage that the piece at this place belongs to, if it is complete.
    fn take_whole(&mut self, place: usize) -> Option<Whole> {
        let follows = |a: &Piece, b: &Piece| !a.last && a.sequence.wrapping_add(1) == b.sequence;
        let mut first = place;
        while !self.pieces.get(first)?.first {
            let before = first.checked_sub(1)?;
            if !follows(self.pieces.get(before)?, self.pieces.get(first)?) {
                return None;
            }
            first = before;
        }
        let mut last = place;
        while !self.pieces.get(last)?.last {
            if !follows(self.pieces.get(last)?, self.pieces.get(last.saturating_add(1))?) {
                return None;
            }
            last.grow(1);
        }
        let mut parts = self.pieces.drain(first..=last);
        let start = parts.next()?;
        let mut whole = Whole {
            extent: start.range,
            len: start.len,
            head: start.head,
            head_len: start.head_len,
        };
        for part in parts {
            whole.append_head(&part);
            whole.len.grow(part.len);
            whole.extent.start = whole.extent.start.min(part.range.start);
            whole.extent.end = whole.extent.end.max(part.range.end);
        }
        Some(whole)
    }
}

impl Whole {
    /// Goes on with the head where nothing is missing before this part.
    fn append_head(&mut self, part: &Piece) {
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

/// Whether `a` is before `b`, in numbers that wrap (§8.4.3).
fn precedes(a: u16, b: u16) -> bool {
    (1..0x8000).contains(&b.wrapping_sub(a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::Offset;

    fn add(stream: &mut Stream, sequence: u16, last: bool) -> Option<(u64, u64)> {
        assert!(!stream.see(sequence));
        let range = ByteRange::new(Offset(u64::from(sequence) * 10), 10);
        let bytes = [7, 1, 0, 0, 9];
        let fragment = Fragment { sequence, last, len: 5, bytes: &bytes, range };
        stream.add(fragment, true).map(|whole| (whole.len, whole.extent.len()))
    }

    #[test]
    fn a_number_counts_once() {
        let mut stream = Stream::default();
        for (sequence, before) in
            [(5, false), (5, true), (7, false), (6, false), (6, true), (5, true), (200, false)]
        {
            assert_eq!(stream.see(sequence), before, "{sequence}");
        }
        let mut stream = Stream::default();
        assert!(!stream.see(0xFFFF) && !stream.see(0) && stream.see(0xFFFF) && stream.see(0));
    }

    #[test]
    fn numbers_go_round_and_round() {
        let mut stream = Stream::default();
        for number in 0..200_000_u32 {
            let sequence = (number & 0xFFFF) as u16;
            assert!(!stream.see(sequence), "{number}");
        }
    }

    #[test]
    fn fragments_come_in_any_order() {
        let mut stream = Stream::default();
        assert!(!stream.see(0xFFFD));
        assert_eq!(add(&mut stream, 0xFFFE, false), None);
        assert_eq!(add(&mut stream, 0, true), None);
        assert_eq!(add(&mut stream, 2, true), None);
        assert_eq!(add(&mut stream, 0xFFFF, false), Some((15, 0xFFFF * 10 + 10)));
        assert!(stream.see(0xFFFF));
        assert_eq!(add(&mut stream, 1, false), Some((10, 20)));
        assert!(stream.pieces.is_empty());
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut stream = Stream::default();
        for sequence in 0..5000 {
            assert_eq!(add(&mut stream, sequence, false), None);
            assert!(stream.pieces.len() <= MAX_PIECES);
        }
        let mut streams = Streams::default();
        for number in 0..=255 {
            assert!(!streams.of((Side::A, 1, number)).see(1));
        }
        assert_eq!(streams.open.len(), MAX_STREAMS);
    }
}
