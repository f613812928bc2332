//! Records → entries.

use super::located::LocatedEntry;
use super::{body, kind};
use crate::wire::{Bytes, WireValue};
use std::ops::Range;
use wirelap_events::{Body, Cpu, Event, Nanos};

/// Position of a reader among the records of a block.
#[derive(Clone, Copy, Debug)]
pub struct RecordCursor {
    /// Offset of the next record in the block.
    at: usize,
    /// End of the last record in the block.
    end: usize,
    /// The time of the last record that was read.
    last: Nanos,
}

/// Why a record gives no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreadableRecord {
    /// A later version wrote it.
    LaterVersion,
    /// The record does not have the fields of its kind.
    Malformed,
}

impl RecordCursor {
    /// In front of records that take these bytes of their block. `base` is the time that stands before them.
    pub fn new(records: Range<usize>, base: Nanos) -> RecordCursor {
        RecordCursor { at: records.start, end: records.end, last: base }
    }

    /// In front of records that end at `end` in their block, and the time before them; `None` if that is not there.
    pub fn with_base(mut from: Bytes<'_>, end: usize) -> Option<RecordCursor> {
        let base = Nanos::take(&mut from)?;
        Some(RecordCursor::new(end.saturating_sub(from.0.len())..end, base))
    }

    /// Offset of the next record in the block.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next record of the block, given all its bytes. `Ok(None)` at the end.
    ///
    /// # Errors
    /// The record gives no entry. Nothing behind it can be read if its length is wrong: then the cursor is at the end.
    pub fn next(&mut self, block: &[u8]) -> Result<Option<LocatedEntry>, UnreadableRecord> {
        let mut rest = Bytes(block.get(self.at..self.end).unwrap_or_default());
        if rest.0.is_empty() {
            return Ok(None);
        }
        self.at = self.end;
        let len = rest.unsigned().and_then(|len| usize::try_from(len).ok());
        let record = len.and_then(|len| rest.take(len)).ok_or(UnreadableRecord::Malformed)?;
        self.at = self.end.saturating_sub(rest.0.len());
        self.read(Bytes(record)).map(Some)
    }

    /// Reads a record that ends where the next one begins.
    fn read(&mut self, mut from: Bytes<'_>) -> Result<LocatedEntry, UnreadableRecord> {
        let [kind] = from.array().ok_or(UnreadableRecord::Malformed)?;
        match kind {
            kind::TICK => self.time(&mut from).map(LocatedEntry::Tick),
            kind::NOTE => self.note(from),
            kind::KNOWN => self.event(kind::FIRST_EVENT, from, true),
            kind if body::is_known(kind) => self.event(kind, from, false),
            _ => return Err(UnreadableRecord::LaterVersion),
        }
        .ok_or(UnreadableRecord::Malformed)
    }

    fn time(&mut self, from: &mut Bytes<'_>) -> Option<Nanos> {
        let difference = from.signed()?;
        self.last = Nanos(self.last.0.wrapping_add(difference.cast_unsigned()));
        Some(self.last)
    }

    fn event(&mut self, kind: u8, mut from: Bytes<'_>, known: bool) -> Option<LocatedEntry> {
        let at = self.time(&mut from)?;
        let cpu = Cpu::take(&mut from)?;
        let body = body::take(kind, at, &mut from)?;
        let payload = if matches!(body, Body::Packet(_)) { self.bytes(&mut from)? } else { 0..0 };
        Some(LocatedEntry::Event { event: Event { at, cpu, body }, payload, known })
    }

    fn note(&self, mut from: Bytes<'_>) -> Option<LocatedEntry> {
        let mut rest = from;
        let len = usize::try_from(rest.unsigned()?).ok()?;
        std::str::from_utf8(rest.take(len)?).ok()?;
        std::str::from_utf8(rest.0).ok()?;
        let subject = self.bytes(&mut from)?;
        Some(LocatedEntry::Note { text: subject.end..self.at, subject })
    }

    /// Takes a length and so many bytes. Returns where in the block the bytes are.
    fn bytes(&self, from: &mut Bytes<'_>) -> Option<Range<usize>> {
        let len = usize::try_from(from.unsigned()?).ok()?;
        let start = self.at.saturating_sub(from.0.len());
        from.take(len)?;
        Some(start..start.saturating_add(len))
    }
}
