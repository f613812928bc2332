//! The beginning and the end of a conversation.

use wirelap_events::Nanos;
use wirelap_protocols::Side;

/// The beginning and the end of a conversation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lifetime {
    /// Time at which the conversation was opened, if that was seen.
    pub opened: Option<Nanos>,
    /// A number for the first bytes of whoever spoke first; 0 if they were not seen.
    pub opening: u32,
    /// The last event.
    pub seen: Nanos,
    /// An end is gone: soon no packet is expected any more.
    pub is_closed: bool,
    /// The side that sent the first FIN or RST.
    pub closed_by: Option<Side>,
    /// The side from which the first RST came, and when.
    pub reset: Option<(Side, Nanos)>,
}

impl Lifetime {
    /// Notes an event at `at`. Returns the time since the one before.
    pub fn note_event(&mut self, at: Nanos) -> Nanos {
        let since = at - self.seen;
        self.seen = self.seen.max(at);
        since
    }
}
