//! The text of one direction, and where in the flow it lies.

#[cfg(test)]
mod tests;

use super::records::{HEADER, Records};
use crate::flow::Piece;
use std::collections::VecDeque;
use wirelap_events::{ByteRange, Offset, PlainText, Saturate};

/// Bytes of text that may wait in one direction.
const WAITING_BYTES: usize = 1 << 20;

/// Records that may wait, and whose places are remembered, in one direction.
const RECORDS: usize = 1024;

/// Bytes that encryption adds to a text: a tag at least, and at most padding, a counter and a code
/// besides.
const OVERHEAD: std::ops::RangeInclusive<u64> = 16..=80;

/// Bytes that TLS 1.3 adds to a text.
const USUAL_OVERHEAD: u64 = 17;

/// The end whose library the text of a direction is from: the first one that told some, as the text counts once even if
/// both are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextSource {
    Sender,
    Reader,
}

/// The text of one direction.
#[derive(Debug, Default)]
pub struct Lane {
    source: Option<TextSource>,
    waiting: VecDeque<WaitingRecord>,
    waiting_bytes: usize,
    /// Start of the next text, once there was one: in the text, and in the program's count modulo 2³².
    next: Option<(Offset, u32)>,
    /// Bytes that have passed before the first text.
    silent: u64,
    places: VecDeque<RecordPlace>,
    /// The text's first byte of which the PDU is not complete.
    open: Option<Offset>,
    /// One past the last record that was added.
    end: Offset,
    /// The records that have passed, unless the text is the sender's.
    records: Records,
    /// Bytes that encryption added to the record before.
    overhead: Option<u64>,
}

/// The bytes that a reader's call had read from its socket: `TextPlace::Read`.
#[derive(Clone, Copy, Debug)]
pub struct ReadPlace {
    /// One past the last byte that was read from the socket.
    pub end: Offset,
    /// Bytes that were read from the socket for this text.
    pub taken: u32,
    /// The library reads as much as there is, and not record by record.
    pub ahead: bool,
}

/// A record that has not come yet.
#[derive(Debug)]
pub struct WaitingRecord {
    pub place: RecordPlace,
    pub text: Vec<u8>,
}

/// The places of a record in the flow and in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordPlace {
    pub text: ByteRange,
    pub record: ByteRange,
    /// One past the flow's byte with which the text can be used.
    pub usable: Offset,
}

impl RecordPlace {
    fn new(text: ByteRange, record: ByteRange) -> RecordPlace {
        RecordPlace { text, record, usable: record.end }
    }

    /// The record's byte with the byte of the text at this position.
    fn inside(&self, at: Offset) -> Offset {
        let into = HEADER.saturating_add(at.0.saturating_sub(self.text.start.0));
        self.record.start.plus(into.min(self.record.len().saturating_sub(1)))
    }
}

impl Lane {
    /// Bytes of memory that it uses.
    pub fn held_bytes(&self) -> usize {
        let waiting = self.waiting.len().saturating_mul(size_of::<WaitingRecord>());
        let places = self.places.len().saturating_mul(size_of::<RecordPlace>());
        let lists = waiting.saturating_add(places).saturating_add(self.records.held_bytes());
        self.waiting_bytes.saturating_add(lists)
    }

    /// The next bytes of the direction.
    pub fn passes(&mut self, piece: Piece<'_>) {
        if self.next.is_none() {
            self.silent.grow(piece.size());
        }
        if self.source != Some(TextSource::Sender) {
            self.records.piece(piece);
        }
    }

    /// Bytes that have passed without any text of this direction.
    pub fn silent_bytes(&self) -> u64 {
        if self.next.is_none() { self.silent } else { 0 }
    }

    /// A record of `record_len` bytes at `start` is about to be sent.
    pub fn sent(&mut self, start: Offset, record_len: u32, plain: &PlainText<'_>) {
        if *self.source.get_or_insert(TextSource::Sender) != TextSource::Sender {
            return;
        }
        let record = ByteRange::new(start, u64::from(record_len));
        // A call that is repeated sends the same record again.
        if record.start < self.end {
            return;
        }
        self.end = record.end;
        let text = self.text_range(plain);
        if self.waiting.len() >= RECORDS
            && let Some(oldest) = self.waiting.pop_front()
        {
            self.waiting_bytes.shrink(oldest.text.len());
        }
        // Beyond what may wait, only the length of the text is kept.
        let has_room = self.waiting_bytes.saturating_add(plain.text.len()) <= WAITING_BYTES;
        let kept = if has_room { plain.text.to_vec() } else { Vec::new() };
        self.waiting_bytes.grow(kept.len());
        self.waiting.push_back(WaitingRecord { place: RecordPlace::new(text, record), text: kept });
    }

    /// A text was read. Returns where it lies in the text, unless it is known from the sender.
    pub fn read(&mut self, read: &ReadPlace, plain: &PlainText<'_>) -> Option<ByteRange> {
        if *self.source.get_or_insert(TextSource::Reader) != TextSource::Reader {
            return None;
        }
        let text = self.text_range(plain);
        let is_new = read.taken > 0 || (read.ahead && self.left(text.start) < text.len());
        if !is_new {
            let place = self.places.back_mut()?;
            place.text.end = place.text.end.max(text.end);
            return Some(text);
        }
        self.is_complete(text.start);
        let overhead = self.overhead.unwrap_or(USUAL_OVERHEAD);
        let passed = if read.ahead {
            self.records.with_text((self.end, read.end), text.len(), overhead)
        } else {
            self.records.ending_at(read.end)
        };
        let record = passed.unwrap_or_else(|| self.guess(read, text));
        self.end = self.end.max(record.end);
        let body = record.len().saturating_sub(HEADER);
        let all = body.saturating_sub(overhead).max(text.len());
        self.remember(RecordPlace::new(ByteRange::new(text.start, all), record));
        Some(text)
    }

    /// Bytes of the last record's text from this one on.
    fn left(&self, from: Offset) -> u64 {
        self.places.back().map_or(0, |last| last.text.end.0.saturating_sub(from.0))
    }

    /// The text of the last record ends where the next one's starts.
    fn is_complete(&mut self, next: Offset) {
        let Some(last) = self.places.back_mut() else { return };
        last.text.end = last.text.end.min(next);
        let body = last.record.len().saturating_sub(HEADER);
        let added = body.saturating_sub(last.text.len());
        if OVERHEAD.contains(&added) {
            self.overhead = Some(added);
        }
    }

    /// Guesses the place of a record whose header did not pass, or was not captured.
    fn guess(&self, read: &ReadPlace, text: ByteRange) -> ByteRange {
        let overhead = self.overhead.unwrap_or(USUAL_OVERHEAD);
        let least = text.len().saturating_add(HEADER).saturating_add(overhead);
        // Most calls read one record.
        let len = least.max(u64::from(read.taken));
        let start = Offset(read.end.0.saturating_sub(len)).max(self.end);
        ByteRange { start, end: read.end.max(start) }
    }

    /// The range of a text among those that were seen.
    fn text_range(&mut self, plain: &PlainText<'_>) -> ByteRange {
        let first = self.next.map_or(Offset::START, |(at, count)| {
            at.plus(u64::from(plain.text_start.wrapping_sub(count)))
        });
        let text = ByteRange::new(first, u64::from(plain.len));
        self.next = Some((text.end, plain.text_start.wrapping_add(plain.len)));
        text
    }

    /// The next record that was sent, if all of it has come.
    pub fn take(&mut self, upto: Offset) -> Option<WaitingRecord> {
        let next = self.waiting.pop_front_if(|next| next.place.record.end <= upto)?;
        self.waiting_bytes.shrink(next.text.len());
        self.remember(next.place);
        Some(next)
    }

    /// A record that has come and was opened, with so much text. Returns where that lies among the texts.
    pub fn opened(&mut self, record: ByteRange, len: u64) -> ByteRange {
        self.carried(record, record.end, len)
    }

    /// A text of this length that lies in a record or datagram, and can be used with the flow's bytes before `usable`. Returns where it
    /// lies among the texts.
    pub fn carried(&mut self, record: ByteRange, usable: Offset, len: u64) -> ByteRange {
        let first = self.next.map_or(Offset::START, |(at, _)| at);
        let text = ByteRange::new(first, len);
        self.next = Some((text.end, 0));
        self.end = self.end.max(record.end);
        self.remember(RecordPlace { usable, ..RecordPlace::new(text, record) });
        text
    }

    fn remember(&mut self, place: RecordPlace) {
        if self.places.len() >= RECORDS {
            // Where an incomplete message begins is needed once it is complete.
            let is_open = |next: &RecordPlace| self.open.is_some_and(|at| at < next.text.start);
            let is_wanted = self.places.get(1).is_some_and(is_open);
            self.places.remove(usize::from(is_wanted));
        }
        self.places.push_back(place);
    }

    /// The place with the byte of the text at `at`, or the nearest that is remembered.
    fn place(&self, at: Offset) -> Option<&RecordPlace> {
        let behind = self.places.partition_point(|place| place.text.start <= at);
        self.places.get(behind.saturating_sub(1))
    }

    /// Sets the first byte of the text of which the PDU is not complete.
    pub fn set_open(&mut self, at: Option<Offset>) {
        self.open = at;
    }

    /// The place in the flow of the first byte of which the PDU is not complete.
    pub fn open_from(&self) -> Option<Offset> {
        self.open.map(|at| self.start(at))
    }

    /// The place in the flow with which the text before `at` can be used.
    pub fn usable(&self, at: Offset) -> Offset {
        let last = Offset(at.0.saturating_sub(1));
        let usable = self.place(last).filter(|place| place.usable > place.record.end);
        usable.map_or_else(|| self.end(at), |place| place.usable)
    }

    /// Converts a start in the text to a place in the flow.
    pub fn start(&self, at: Offset) -> Offset {
        let Some(place) = self.place(at) else { return at };
        if at <= place.text.start { place.record.start } else { place.inside(at) }
    }

    /// Converts an end in the text to a place in the flow.
    pub fn end(&self, at: Offset) -> Offset {
        let last = Offset(at.0.saturating_sub(1));
        let Some(place) = self.place(last) else { return at };
        if at >= place.text.end { place.record.end } else { place.inside(at) }
    }

    /// Converts a range in the text to one in the flow.
    pub fn range(&self, range: ByteRange) -> ByteRange {
        let start = self.start(range.start);
        // What is compressed has no bytes of its own.
        let end = if range.is_empty() { start } else { self.end(range.end) };
        ByteRange { start, end: end.max(start) }
    }
}
