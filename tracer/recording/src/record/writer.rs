//! Entries → records.

use super::entry::Note;
use super::{body, kind};
use crate::wire::{WireValue, put_signed, put_unsigned};
use wirelap_events::{Event, Nanos};

/// Records, one behind the other.
#[derive(Debug, Default)]
pub struct RecordBuffer {
    bytes: Vec<u8>,
    /// The time of the first record.
    base: Nanos,
    /// The time of the last record.
    last: Nanos,
    /// The record that is being written.
    scratch: Vec<u8>,
}

impl RecordBuffer {
    /// Bytes of all records.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Moves all records behind `out`, after the time that the first one's difference is from.
    pub fn move_to(&mut self, out: &mut Vec<u8>) {
        self.base.put(out);
        out.append(&mut self.bytes);
    }

    /// Appends that all events up to this time have been taken.
    pub fn tick(&mut self, at: Nanos) {
        self.begin(kind::TICK);
        self.time(at);
        self.end();
    }

    /// Appends a note.
    pub fn note(&mut self, note: Note<'_>) {
        if self.bytes.is_empty() {
            // A note has no time, so the next record's time is a difference from 0.
            (self.base, self.last) = (Nanos(0), Nanos(0));
        }
        self.begin(kind::NOTE);
        put_unsigned(&mut self.scratch, note.subject.len() as u64);
        self.scratch.extend_from_slice(note.subject.as_bytes());
        self.scratch.extend_from_slice(note.text.as_bytes());
        self.end();
    }

    /// Appends an event. `known`: it is a socket of an earlier file.
    pub fn event(&mut self, event: &Event<'_>, known: bool) {
        self.begin(if known { kind::KNOWN } else { body::kind(&event.body) });
        self.time(event.at);
        event.cpu.put(&mut self.scratch);
        body::put(event, &mut self.scratch);
        self.end();
    }

    fn begin(&mut self, kind: u8) {
        self.scratch.clear();
        self.scratch.push(kind);
    }

    fn time(&mut self, at: Nanos) {
        if self.bytes.is_empty() {
            (self.base, self.last) = (at, at);
        }
        put_signed(&mut self.scratch, at.0.wrapping_sub(self.last.0).cast_signed());
        self.last = at;
    }

    fn end(&mut self) {
        put_unsigned(&mut self.bytes, self.scratch.len() as u64);
        self.bytes.extend_from_slice(&self.scratch);
    }
}
