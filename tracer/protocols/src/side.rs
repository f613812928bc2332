//! The ends of a conversation.

/// One of the two ends of a conversation. Which end is the client is found out by the protocol's decoder, because a
/// conversation that was joined in mid-stream does not show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The end that opened the conversation; if it was joined in mid-stream, the end that was captured sending first.
    A,
    /// The other end.
    B,
}

impl Side {
    /// The opposite end.
    #[must_use]
    pub fn other(self) -> Side {
        match self {
            Side::A => Side::B,
            Side::B => Side::A,
        }
    }
}
