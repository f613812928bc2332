//! Attempts to find a conversation's protocol.

/// Attempts that were made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attempts {
    /// Number of packets that were looked at.
    pub packets: u32,
}
