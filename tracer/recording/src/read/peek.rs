//! A recording whose next entry can be looked at while others are, too.

use super::{Found, Recording};
use crate::record::Entry;
use std::io::Read;
use wirelap_events::{Body, Event};

/// Which entries are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All but ticks.
    AllButTicks,
    /// Packets alone.
    Packets,
}

/// One entry of a recording after the other; each stays until the next one is asked for.
#[derive(Debug)]
pub struct Peek<'r, R> {
    recording: &'r mut Recording<R>,
    wanted: Wanted,
    found: Option<Found>,
}

impl<'r, R: Read> Peek<'r, R> {
    /// Nothing read yet.
    pub fn new(recording: &'r mut Recording<R>, wanted: Wanted) -> Peek<'r, R> {
        Peek { recording, wanted, found: None }
    }

    /// Goes on to the next entry. Whether there is one.
    pub fn advance(&mut self) -> bool {
        self.found = loop {
            let Some(found) = self.recording.find() else { break None };
            let is_wanted = match (&found, self.wanted) {
                (Found::Tick(_), _) | (Found::Note { .. }, Wanted::Packets) => false,
                (_, Wanted::AllButTicks) => true,
                (Found::Event { event, known, .. }, Wanted::Packets) => is_packet(event) && !known,
            };
            if is_wanted {
                break Some(found);
            }
        };
        self.found.is_some()
    }

    /// The entry at hand.
    pub fn entry(&self) -> Option<Entry<'_>> {
        let found = self.found.clone()?;
        Some(found.entry(|range| self.recording.input.range(range)))
    }

    /// The recording that it is of.
    pub fn recording(&self) -> &Recording<R> {
        self.recording
    }
}

fn is_packet(event: &Event<'_>) -> bool {
    matches!(event.body, Body::Packet(_))
}
