//! Attempts to find a conversation's protocol.

/// Attempts that were made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attempts {
    pub packets: u32,
}
