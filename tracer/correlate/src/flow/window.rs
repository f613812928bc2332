//! How far the receiver of a direction is.

use wirelap_events::Seq;

/// How far the receiver of a direction is, and what does not fit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    /// What it acknowledged last.
    pub acked: Option<Seq>,
    /// The receiver's own socket was seen to do so.
    pub is_own: bool,
    /// Where the last segment ended that did not fit, and how many there were in a row.
    pub strange: Option<(Seq, u8)>,
}

/// Whether a conversation can be somebody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    Possible,
    /// Sockets of this host have another one open between the same addresses, and none has this one.
    Refused,
}
