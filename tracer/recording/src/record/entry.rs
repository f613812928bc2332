//! Entries of a recording.

use wirelap_events::{Event, Nanos};

/// One entry of a recording. Entries are in the order in which they were taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// Something that was seen.
    Event(Event<'a>),
    /// A socket of an earlier file of the same recording, repeated so that each file can be read alone.
    Known(Event<'a>),
    /// Whoever took the events had taken in all up to this time when the tick was written. Messages that wait for
    /// slower hooks are completed by ticks, so a replay of the ticks completes them alike.
    Tick(Nanos),
    /// Text that the recorder wrote down beside the events.
    Note(Note<'a>),
    /// Keys of TLS connections, as the text of a key log (RFC 9850).
    TlsKeys(&'a [u8]),
}

/// Text on a subject that the recorder wrote down. Both are the program's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note<'a> {
    /// Subject of the note, e.g. `environment`.
    pub subject: &'a str,
    /// Text of the note, mostly JSON.
    pub text: &'a str,
}
