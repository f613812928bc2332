//! The text of TLS records, where a library was seen to encrypt it, or the keys are known (`decryption.rs`).
//!
//! ```text
//! flow |5| record, encrypted |tag|5| record … |tag|      text |   message   |  message …
//!      ^ sent with this text ^                ^               ^ lies in the record there
//! ```
//!
//! A record waits until the flow's bytes have come so far; then its text is read in its place. What is found in the text
//! lies where the record lies: from its first byte, if it begins with the record, to its last, if it ends with it, because
//! nobody can read a record before it is complete.

use std::collections::VecDeque;
use wirelap_events::{ByteRange, Offset, PlainText, Saturate, Total};
use wirelap_protocols::Side;

/// Bytes of text that may wait in one direction.
const WAITING_BYTES: usize = 1 << 20;

/// Records that may wait, and whose places are remembered, in one direction.
const RECORDS: usize = 1024;

/// Bytes of a record's header (RFC 8446 §5.1).
const HEADER: u64 = 5;

/// The text in both directions.
#[derive(Debug, Default)]
pub struct TlsText {
    lanes: [Lane; 2],
}

/// The text of one direction.
#[derive(Debug, Default)]
pub(super) struct Lane {
    waiting: VecDeque<WaitingRecord>,
    waiting_bytes: usize,
    /// Where the next text starts, once there was one: in the text, and in the sender's count modulo 2³².
    next: Option<(Offset, u32)>,
    places: VecDeque<RecordPlace>,
    /// One past the last record that was added.
    end: Offset,
}

/// A record that has not come yet.
#[derive(Debug)]
pub(super) struct WaitingRecord {
    pub(super) place: RecordPlace,
    pub(super) text: Vec<u8>,
}

/// Where the text of a record lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordPlace {
    pub(super) text: ByteRange,
    record: ByteRange,
}

impl RecordPlace {
    /// The record's byte with the byte of the text at this position.
    fn inside(&self, at: Offset) -> Offset {
        let into = HEADER.saturating_add(at.0.saturating_sub(self.text.start.0));
        self.record.start.plus(into.min(self.record.len()))
    }
}

impl Lane {
    /// A record will come that begins here.
    pub(super) fn add(&mut self, start: Offset, plain: &PlainText<'_>) {
        let record = ByteRange::new(start, u64::from(plain.record_len));
        // A call that is repeated sends the same record again.
        if record.start < self.end {
            return;
        }
        self.end = record.end;
        let first = self.next.map_or(Offset::START, |(at, count)| {
            at.plus(u64::from(plain.text_start.wrapping_sub(count)))
        });
        let text = ByteRange::new(first, u64::from(plain.len));
        self.next = Some((text.end, plain.text_start.wrapping_add(plain.len)));
        if self.waiting.len() >= RECORDS
            && let Some(oldest) = self.waiting.pop_front()
        {
            self.waiting_bytes.shrink(oldest.text.len());
        }
        // Beyond what may wait, only the length of the text is kept.
        let has_room = self.waiting_bytes.saturating_add(plain.text.len()) <= WAITING_BYTES;
        let kept = if has_room { plain.text.to_vec() } else { Vec::new() };
        self.waiting_bytes.grow(kept.len());
        self.waiting.push_back(WaitingRecord { place: RecordPlace { text, record }, text: kept });
    }

    /// The next record, if all of it has come.
    pub(super) fn take(&mut self, upto: Offset) -> Option<WaitingRecord> {
        let next = self.waiting.pop_front_if(|next| next.place.record.end <= upto)?;
        self.waiting_bytes.shrink(next.text.len());
        self.remember(next.place);
        Some(next)
    }

    /// A record that has come, with so much text.
    fn opened(&mut self, record: ByteRange, len: u64) -> RecordPlace {
        let first = self.next.map_or(Offset::START, |(at, _)| at);
        let place = RecordPlace { text: ByteRange::new(first, len), record };
        self.next = Some((place.text.end, 0));
        self.end = self.end.max(record.end);
        self.remember(place);
        place
    }

    fn remember(&mut self, place: RecordPlace) {
        if self.places.len() >= RECORDS {
            self.places.pop_front();
        }
        self.places.push_back(place);
    }

    /// The place with the byte of the text at `at`, or the nearest that is remembered.
    fn place(&self, at: Offset) -> Option<&RecordPlace> {
        let behind = self.places.partition_point(|place| place.text.start <= at);
        self.places.get(behind.saturating_sub(1))
    }

    /// Where in the flow something begins that begins there in the text.
    pub(super) fn start(&self, at: Offset) -> Offset {
        let Some(place) = self.place(at) else { return at };
        if at <= place.text.start { place.record.start } else { place.inside(at) }
    }

    /// Where in the flow something ends that ends there in the text.
    pub(super) fn end(&self, at: Offset) -> Offset {
        let last = Offset(at.0.saturating_sub(1));
        let Some(place) = self.place(last) else { return at };
        if at >= place.text.end { place.record.end } else { place.inside(at) }
    }

    pub(super) fn range(&self, range: ByteRange) -> ByteRange {
        let start = self.start(range.start);
        // What is compressed has no bytes of its own.
        let end = if range.is_empty() { start } else { self.end(range.end) };
        ByteRange { start, end: end.max(start) }
    }
}

impl TlsText {
    /// The text of one direction.
    pub(super) fn lane(&self, side: Side) -> &Lane {
        &self.lanes[side as usize]
    }

    /// The text of one direction, to be changed.
    pub(super) fn lane_mut(&mut self, side: Side) -> &mut Lane {
        &mut self.lanes[side as usize]
    }

    /// A record of one side has come, with so much text.
    pub(super) fn opened(&mut self, side: Side, record: ByteRange, len: u64) -> RecordPlace {
        self.lanes[side as usize].opened(record, len)
    }

    /// The same with `side` in place of `theirs`.
    pub(super) fn mapped(mut self, side: Side, theirs: Side) -> TlsText {
        if side != theirs {
            self.lanes.reverse();
        }
        self
    }

    /// Bytes of memory that it uses.
    pub fn held_bytes(&self) -> usize {
        let of = |lane: &Lane| {
            let waiting = lane.waiting.len().saturating_mul(size_of::<WaitingRecord>());
            let places = lane.places.len().saturating_mul(size_of::<RecordPlace>());
            lane.waiting_bytes.saturating_add(waiting).saturating_add(places)
        };
        self.lanes.iter().map(of).total()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{Seq, SocketId, TaskId};

    fn plain(text_start: u32, text: &[u8]) -> PlainText<'_> {
        let len = u32::try_from(text.len()).unwrap();
        PlainText {
            socket: SocketId(1),
            task: TaskId::default(),
            start: Seq(0),
            record_len: len + 22,
            text_start,
            len,
            text,
        }
    }

    fn at(offset: u64) -> Offset {
        Offset::START.plus(offset)
    }

    fn lane() -> Lane {
        let mut lane = Lane::default();
        lane.add(at(100), &plain(0, b"0123456789"));
        lane.add(at(132), &plain(10, b"abcde"));
        lane
    }

    #[test]
    fn a_record_is_read_when_all_of_it_has_come() {
        let mut lane = lane();
        assert!(lane.take(at(131)).is_none());
        assert_eq!(lane.take(at(140)).unwrap().text, b"0123456789");
        assert!(lane.take(at(158)).is_none());
        let last = lane.take(at(159)).unwrap();
        assert_eq!((last.place.text, lane.waiting_bytes), (ByteRange::new(at(10), 5), 0));
    }

    #[test]
    fn a_message_lies_where_its_records_lie() {
        let mut lane = lane();
        while lane.take(at(1000)).is_some() {}
        let place = |start, len| {
            let range = lane.range(ByteRange::new(at(start), len));
            (range.start.0 - at(0).0, range.end.0 - at(0).0)
        };
        assert_eq!(place(0, 10), (100, 132), "the whole record");
        assert_eq!(place(0, 4), (100, 109), "a part of it");
        assert_eq!(place(4, 8), (109, 139), "over two");
        assert_eq!(place(12, 3), (139, 159));
    }

    #[test]
    fn a_record_that_is_sent_again_is_one() {
        let mut lane = lane();
        lane.add(at(132), &plain(15, b"abcde"));
        assert_eq!(lane.waiting.len(), 2);
    }

    #[test]
    fn a_text_that_was_lost_leaves_a_hole() {
        let mut lane = lane();
        lane.add(at(300), &plain(35, b"xyz"));
        assert_eq!(lane.waiting.back().unwrap().place.text.start, at(35));
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut lane = Lane::default();
        let text = vec![7; 16_384];
        for n in 0..3000_u32 {
            lane.add(at(u64::from(n) * 17_000), &plain(n * 16_384, &text));
        }
        assert!(lane.waiting.len() <= RECORDS && lane.waiting_bytes <= WAITING_BYTES);
    }
}
