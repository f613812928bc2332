//! An entry that was read, its bytes still where they are.

use super::entry::{Entry, Note};
use std::ops::Range;
use wirelap_events::{Body, Event, Nanos};

/// An entry that was read. Payload and text stay where they are, and are given as their place in the block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocatedEntry {
    /// A packet's event has no payload; `payload` is where that is, and `0..0` for other events.
    Event {
        event: Event<'static>,
        payload: Range<usize>,
        /// A socket of an earlier file.
        known: bool,
    },
    /// A datagram that came in several packets.
    Assembled {
        event: Event<'static>,
        payload: Box<[u8]>,
    },
    Tick(Nanos),
    Note {
        subject: Range<usize>,
        text: Range<usize>,
    },
    TlsKeys(Range<usize>),
}

impl LocatedEntry {
    /// The entry with its bytes, of which `bytes` gives each range.
    pub fn entry<'a>(&'a self, bytes: impl Fn(Range<usize>) -> &'a [u8]) -> Entry<'a> {
        match self {
            LocatedEntry::Event { event, payload, known } => {
                let mut entry = if *known { Entry::Known(*event) } else { Entry::Event(*event) };
                if let Entry::Known(event) | Entry::Event(event) = &mut entry
                    && let Body::Packet(packet) = &mut event.body
                {
                    packet.payload = bytes(payload.clone());
                }
                entry
            }
            LocatedEntry::Assembled { event, payload } => {
                let mut event: Event<'a> = *event;
                if let Body::Packet(packet) = &mut event.body {
                    packet.payload = payload;
                }
                Entry::Event(event)
            }
            LocatedEntry::Tick(at) => Entry::Tick(*at),
            LocatedEntry::Note { subject, text } => {
                // Only text is read as a note.
                let text_of =
                    |range: &Range<usize>| str::from_utf8(bytes(range.clone())).unwrap_or_default();
                Entry::Note(Note { subject: text_of(subject), text: text_of(text) })
            }
            LocatedEntry::TlsKeys(text) => Entry::TlsKeys(bytes(text.clone())),
        }
    }

    /// The same entry in a buffer in which its block begins at `start`.
    #[must_use]
    pub fn in_buffer(mut self, start: usize) -> LocatedEntry {
        let shift = |range: &mut Range<usize>| {
            *range = range.start.saturating_add(start)..range.end.saturating_add(start);
        };
        match &mut self {
            LocatedEntry::Event { payload, .. } => shift(payload),
            LocatedEntry::TlsKeys(text) => shift(text),
            LocatedEntry::Note { subject, text } => {
                shift(subject);
                shift(text);
            }
            LocatedEntry::Assembled { .. } | LocatedEntry::Tick(_) => {}
        }
        self
    }

    /// The same entry with its bytes, which are in `from`, appended to `to`.
    #[must_use]
    pub fn moved(mut self, from: &[u8], to: &mut Vec<u8>) -> LocatedEntry {
        let mut append = |range: &mut Range<usize>| {
            let start = to.len();
            to.extend_from_slice(from.get(range.clone()).unwrap_or_default());
            *range = start..to.len();
        };
        match &mut self {
            LocatedEntry::Event { payload, .. } => append(payload),
            LocatedEntry::TlsKeys(text) => append(text),
            LocatedEntry::Note { subject, text } => {
                append(subject);
                append(text);
            }
            LocatedEntry::Assembled { .. } | LocatedEntry::Tick(_) => {}
        }
        self
    }

    /// True if this is a packet that was seen.
    pub fn is_packet(&self) -> bool {
        match self {
            LocatedEntry::Event { event, known: false, .. } => {
                matches!(event.body, Body::Packet(_))
            }
            LocatedEntry::Assembled { .. } => true,
            _ => false,
        }
    }

    /// True if this says that packets are missing.
    pub fn is_loss(&self) -> bool {
        matches!(self, LocatedEntry::Event { event, .. } if matches!(event.body, Body::Lost(_)))
    }
}
