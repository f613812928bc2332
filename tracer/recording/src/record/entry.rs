//! What a recording holds.

use wirelap_events::{Event, Nanos};

/// What a recording holds, in the order in which it was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// Something that was seen.
    Event(Event<'a>),
    /// A socket of an earlier file of the same recording, repeated so that each file can be read alone.
    Known(Event<'a>),
    /// Whoever took the events had taken in all up to this time when the tick was written. Messages that wait for
    /// slower hooks are completed by ticks, so a replay of the ticks completes them alike.
    Tick(Nanos),
    /// What the recorder wrote down beside the events.
    Note(Note<'a>),
    /// Keys of TLS connections, as the text of a key log (RFC 9850).
    TlsKeys(&'a [u8]),
}

/// What the recorder wrote down: text on a subject. Both are the program's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note<'a> {
    /// What the note is about, e.g. `environment`.
    pub subject: &'a str,
    /// What the note says, mostly JSON.
    pub text: &'a str,
}
