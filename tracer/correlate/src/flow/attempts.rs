//! How often a conversation's protocol was looked for.

/// What has been tried.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attempts {
    pub packets: u32,
}
