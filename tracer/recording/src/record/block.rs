//! The records of one block, read one after the other.

use super::cursor::RecordCursor;
use super::entry::Entry;
use super::located::LocatedEntry;
use crate::wire::Bytes;
use wirelap_events::Nanos;

/// Records that were written together ([`RecordBuffer::move_to`](super::RecordBuffer::move_to)). They are read as they are handed out, so
/// that those that wait take no more memory than their bytes.
#[derive(Debug)]
pub struct RecordBlock {
    bytes: Vec<u8>,
    cursor: Option<RecordCursor>,
    next: Option<LocatedEntry>,
}

/// Findings of a look at all records of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockSurvey {
    /// The last tick.
    pub last_tick: Option<Nanos>,
    /// Number of records that could not be read.
    pub unreadable: usize,
}

impl RecordBlock {
    /// A block of these bytes.
    pub fn new(bytes: Vec<u8>) -> RecordBlock {
        let cursor = RecordCursor::with_base(Bytes(&bytes), bytes.len());
        let mut block = RecordBlock { bytes, cursor, next: None };
        block.advance();
        block
    }

    /// Bytes that it takes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Looks at all entries, whether they were handed out or not.
    pub fn survey(&self, mut look: impl FnMut(&Entry<'_>)) -> BlockSurvey {
        let mut found = BlockSurvey::default();
        let start = RecordCursor::with_base(Bytes(&self.bytes), self.bytes.len());
        let Some(mut cursor) = start else { return BlockSurvey { unreadable: 1, ..found } };
        loop {
            match cursor.next(&self.bytes) {
                Ok(Some(LocatedEntry::Tick(at))) => found.last_tick = Some(at),
                Ok(Some(entry)) => look(&self.entry(&entry)),
                Ok(None) => return found,
                Err(_) => found.unreadable = found.unreadable.saturating_add(1),
            }
        }
    }

    /// The next entry; `None` once all were handed out.
    pub fn peek(&self) -> Option<Entry<'_>> {
        self.next.as_ref().map(|entry| self.entry(entry))
    }

    /// Goes on to the entry after the next one. Records that cannot be read are left out.
    pub fn advance(&mut self) {
        self.next = self.cursor.as_mut().and_then(|cursor| {
            loop {
                if let Ok(next) = cursor.next(&self.bytes) {
                    return next;
                }
            }
        });
    }

    fn entry<'a>(&'a self, entry: &'a LocatedEntry) -> Entry<'a> {
        entry.entry(|range| self.bytes.get(range).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::super::RecordBuffer;
    use super::super::entry::Note;
    use super::*;
    use wirelap_events::{Body, Cpu, Event, ProcessEnd};

    #[test]
    fn a_block_gives_what_was_written() {
        let mut records = RecordBuffer::default();
        let event = Event { at: Nanos(70), cpu: Cpu(1), body: Body::Ended(ProcessEnd::default()) };
        let note = Note { subject: "name", text: "{}" };
        records.note(note);
        records.event(&event, false);
        records.tick(Nanos(90));
        let mut bytes = Vec::new();
        records.move_to(&mut bytes);
        let mut block = RecordBlock::new(bytes);
        let mut seen = 0;
        let found = block.survey(|_| seen += 1);
        assert_eq!((seen, found.last_tick, found.unreadable), (2, Some(Nanos(90)), 0));
        let mut entries = Vec::new();
        while let Some(entry) = block.peek() {
            entries.push(format!("{entry:?}"));
            block.advance();
        }
        let written = [Entry::Note(note), Entry::Event(event), Entry::Tick(Nanos(90))];
        assert_eq!(entries, written.map(|entry| format!("{entry:?}")));
    }

    #[test]
    fn bytes_that_are_no_records_are_counted() {
        for len in 0..40 {
            let block = RecordBlock::new(vec![0xFF; len]);
            let found = block.survey(|entry| panic!("{entry:?}"));
            assert!(found.unreadable > 0 && block.peek().is_none(), "{len}");
        }
    }
}
