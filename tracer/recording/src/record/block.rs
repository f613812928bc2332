//! The records of one block, read.

use super::cursor::RecordCursor;
use super::entry::Entry;
use super::located::LocatedEntry;
use crate::wire::Bytes;
use wirelap_events::{Event, Nanos};

/// Records that were written together ([`RecordBuffer::move_to`](super::RecordBuffer::move_to)), handed out one after the other.
#[derive(Debug, Default)]
pub struct RecordBlock {
    bytes: Vec<u8>,
    entries: Vec<LocatedEntry>,
    next: usize,
    unreadable: usize,
}

impl RecordBlock {
    /// Reads records. Those that cannot be read are left out, and counted.
    pub fn read(bytes: Vec<u8>) -> RecordBlock {
        let mut block = RecordBlock { bytes, ..RecordBlock::default() };
        let Some(mut cursor) = RecordCursor::with_base(Bytes(&block.bytes), block.bytes.len())
        else {
            block.unreadable = 1;
            return block;
        };
        loop {
            match cursor.next(&block.bytes) {
                Ok(Some(entry)) => block.entries.push(entry),
                Ok(None) => return block,
                Err(_) => block.unreadable = block.unreadable.saturating_add(1),
            }
        }
    }

    /// Number of records that could not be read.
    pub fn unreadable(&self) -> usize {
        self.unreadable
    }

    /// The next entry; `None` once all were handed out.
    pub fn peek(&self) -> Option<Entry<'_>> {
        self.entries.get(self.next).map(|entry| self.entry(entry))
    }

    /// The time of the next entry; `None` of a note, and at the end.
    pub fn next_at(&self) -> Option<Nanos> {
        match self.entries.get(self.next)? {
            LocatedEntry::Event { event, .. } | LocatedEntry::Assembled { event, .. } => {
                Some(event.at)
            }
            LocatedEntry::Tick(at) => Some(*at),
            LocatedEntry::Note { .. } | LocatedEntry::TlsKeys(_) => None,
        }
    }

    /// Goes on to the entry after the next one.
    pub fn advance(&mut self) {
        self.next = self.next.saturating_add(1);
    }

    /// True once all entries were handed out.
    pub fn is_over(&self) -> bool {
        self.next >= self.entries.len()
    }

    /// The last tick of the block, whether it was handed out or not.
    pub fn last_tick(&self) -> Option<Nanos> {
        self.entries.iter().rev().find_map(|entry| match entry {
            LocatedEntry::Tick(at) => Some(*at),
            _ => None,
        })
    }

    /// All events of the block, whether they were handed out or not.
    pub fn events(&self) -> impl Iterator<Item = Event<'_>> {
        self.entries.iter().filter_map(|entry| match self.entry(entry) {
            Entry::Event(event) => Some(event),
            _ => None,
        })
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
    use wirelap_events::{Body, Cpu, ProcessEnd};

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
        let mut block = RecordBlock::read(bytes);
        assert_eq!((block.last_tick(), block.events().count()), (Some(Nanos(90)), 1));
        let mut entries = Vec::new();
        let mut times = Vec::new();
        while !block.is_over() {
            times.push(block.next_at());
            entries.push(format!("{:?}", block.peek().unwrap()));
            block.advance();
        }
        let written = [Entry::Note(note), Entry::Event(event), Entry::Tick(Nanos(90))];
        assert_eq!(entries, written.map(|entry| format!("{entry:?}")));
        assert_eq!(times, [None, Some(Nanos(70)), Some(Nanos(90))]);
    }

    #[test]
    fn bytes_that_are_no_records_are_counted() {
        for len in 0..40 {
            let block = RecordBlock::read(vec![0xFF; len]);
            assert!(block.unreadable() > 0 && block.is_over(), "{len}");
        }
    }
}
