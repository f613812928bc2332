//! Ends of the records of one direction, by their headers (RFC 8446 §5.1): a reader's text comes with the end of its record.

use crate::flow::Piece;
use arrayvec::ArrayVec;
use std::collections::VecDeque;
use wirelap_events::{ByteRange, Offset};

/// Bytes of a record's header: type, 3, minor version, length (2).
pub const HEADER: u64 = 5;

const APPLICATION_DATA: u8 = 23;

/// The longest record: 2¹⁴ bytes, and what encryption may add (RFC 5246 §6.2.3).
const LONGEST: u16 = 16_384 + 2048;

/// Records that are remembered.
const REMEMBERED: usize = 512;

/// The records with application data that have passed.
#[derive(Debug, Default)]
#[allow(clippy::cast_possible_truncation)] // HEADER is 5.
pub struct Records {
    /// Start of the next header; `None` while that is not known.
    next: Option<Offset>,
    /// The bytes of it that have passed.
    header: ArrayVec<u8, { HEADER as usize }>,
    passed: VecDeque<ByteRange>,
}

impl Records {
    /// Bytes of memory that it uses.
    pub fn held_bytes(&self) -> usize {
        self.passed.capacity().saturating_mul(size_of::<ByteRange>())
    }

    /// The record that ends there, if it has passed and was recognised.
    pub fn ending_at(&self, end: Offset) -> Option<ByteRange> {
        let at = self.passed.partition_point(|record| record.end < end);
        self.passed.get(at).copied().filter(|record| record.end == end)
    }

    /// The first record from `after` to `upto` that can have a text of this length, rather one that has no other text.
    pub fn with_text(
        &self,
        (after, upto): (Offset, Offset),
        text: u64,
        overhead: u64,
    ) -> Option<ByteRange> {
        let first = self.passed.partition_point(|record| record.start < after);
        let behind = self.passed.iter().skip(first);
        let candidates = behind.take_while(|record| record.end <= upto);
        let room = |record: &ByteRange| {
            record.len().saturating_sub(HEADER).checked_sub(overhead)?.checked_sub(text)
        };
        let mut exact = candidates.clone().filter(|record| room(record) == Some(0));
        exact.next().or_else(|| candidates.clone().find(|record| room(record).is_some())).copied()
    }

    /// The next bytes of the direction.
    pub fn piece(&mut self, piece: Piece<'_>) {
        if let Piece::Bytes { at, bytes, .. } = piece {
            self.bytes(at, bytes);
        }
        let has_hole = !matches!(piece, Piece::Bytes { missing: 0, .. });
        if has_hole && self.next.is_some_and(|next| next < piece.end()) {
            self.lose();
        }
    }

    fn lose(&mut self) {
        self.next = None;
        self.header.clear();
    }

    fn bytes(&mut self, at: Offset, bytes: &[u8]) {
        let (mut at, mut rest) = (at, bytes);
        while !rest.is_empty() {
            // Most packets begin with a record. A guess that is wrong ends with the next header.
            let next = *self.next.get_or_insert(at);
            let wanted = next.plus(self.header.len() as u64);
            let skip = usize::try_from(wanted.0.saturating_sub(at.0)).unwrap_or(usize::MAX);
            let Some(found) = rest.get(skip..) else { return };
            let taken = found.len().min(self.header.remaining_capacity());
            let (head, behind) = found.split_at(taken);
            self.header.extend(head.iter().copied());
            (at, rest) = (wanted.plus(taken as u64), behind);
            if self.header.is_full() && self.end_header(next).is_none() {
                return self.lose();
            }
        }
    }

    /// The header at `start` is complete; `None` if it is none.
    fn end_header(&mut self, start: Offset) -> Option<()> {
        let [kind, major, minor, high, low] = *self.header.as_slice() else { return None };
        let len = u16::from_be_bytes([high, low]);
        if !(20..=24).contains(&kind) || major != 3 || minor > 4 || !(1..=LONGEST).contains(&len) {
            return None;
        }
        let record = ByteRange::new(start, HEADER.saturating_add(len.into()));
        if kind == APPLICATION_DATA {
            if self.passed.len() >= REMEMBERED {
                self.passed.pop_front();
            }
            self.passed.push_back(record);
        }
        self.next = Some(record.end);
        self.header.clear();
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, len: u8) -> Vec<u8> {
        let mut record = vec![kind, 3, 3, 0, len];
        record.resize(5 + usize::from(len), 7);
        record
    }

    /// The ends of records with application data in a stream that comes in pieces of this size.
    fn ends(stream: &[u8], size: usize) -> Vec<u64> {
        let mut records = Records::default();
        for (n, bytes) in stream.chunks(size).enumerate() {
            let at = Offset((n * size) as u64);
            records.piece(Piece::Bytes { at, bytes, missing: 0 });
        }
        (0..=stream.len() as u64).filter(|&end| records.ending_at(Offset(end)).is_some()).collect()
    }

    #[test]
    fn records_end_where_their_headers_say() {
        let stream = [record(22, 30), record(23, 40), record(23, 20), record(21, 19)].concat();
        for size in [1, 3, 5, 6, 44, 200] {
            assert_eq!(ends(&stream, size), [80, 105], "{size}");
        }
    }

    #[test]
    fn after_a_hole_it_goes_on_with_a_packet_that_begins_with_a_record() {
        let stream = [record(23, 40), record(23, 40)].concat();
        let mut records = Records::default();
        records.piece(Piece::Bytes { at: Offset(0), bytes: &stream[..50], missing: 0 });
        records.piece(Piece::Gap { at: Offset(50), len: 100 });
        records.piece(Piece::Bytes { at: Offset(150), bytes: &[9; 30], missing: 0 });
        records.piece(Piece::Bytes { at: Offset(180), bytes: &record(23, 25), missing: 0 });
        assert!(records.ending_at(Offset(45)).is_some());
        assert!(records.ending_at(Offset(210)).is_some());
        assert!(records.ending_at(Offset(180)).is_none());
    }

    #[test]
    fn a_hole_inside_a_record_does_no_harm() {
        let mut records = Records::default();
        let first = record(23, 40);
        records.piece(Piece::Bytes { at: Offset(0), bytes: &first[..10], missing: 35 });
        records.piece(Piece::Bytes { at: Offset(45), bytes: &record(23, 25), missing: 0 });
        assert_eq!(records.ending_at(Offset(75)), Some(ByteRange::new(Offset(45), 30)));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut records = Records::default();
        for n in 0..2_000_u64 {
            let bytes = record(23, 20);
            records.piece(Piece::Bytes { at: Offset(n * 25), bytes: &bytes, missing: 0 });
        }
        assert_eq!(records.passed.len(), REMEMBERED);
    }
}
