//! A recording whose next entry can be looked at while others are, too.

use super::recording::Recording;
use crate::record::{Entry, LocatedEntry};
use std::io::Read;

/// Selection of entries that are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedEntries {
    /// All but ticks.
    AllButTicks,
    /// Packets, and the keys that they are read with.
    Packets,
}

impl WantedEntries {
    fn has(self, entry: &LocatedEntry) -> bool {
        match self {
            WantedEntries::AllButTicks => !matches!(entry, LocatedEntry::Tick(_)),
            WantedEntries::Packets => {
                let is_of_packets = entry.is_packet() || entry.is_loss();
                is_of_packets || matches!(entry, LocatedEntry::TlsKeys(_))
            }
        }
    }
}

/// One entry of a recording after the other; each stays until the next one is asked for.
#[derive(Debug)]
pub struct Peek<'r, R> {
    recording: &'r mut Recording<R>,
    wanted: WantedEntries,
    entry: Option<LocatedEntry>,
}

impl<'r, R: Read> Peek<'r, R> {
    /// Nothing is read yet.
    pub fn new(recording: &'r mut Recording<R>, wanted: WantedEntries) -> Peek<'r, R> {
        Peek { recording, wanted, entry: None }
    }

    /// Goes on to the next entry. Whether there is one.
    pub fn advance(&mut self) -> bool {
        self.entry = loop {
            match self.recording.next_located() {
                Some(entry) if !self.wanted.has(&entry) => {}
                end_or_entry => break end_or_entry,
            }
        };
        self.entry.is_some()
    }

    /// The entry at hand.
    pub fn entry(&self) -> Option<Entry<'_>> {
        let entry = self.entry.as_ref()?;
        Some(entry.entry(|range| self.recording.bytes(range)))
    }

    /// The recording that the entries are of.
    pub fn recording(&self) -> &Recording<R> {
        self.recording
    }
}
