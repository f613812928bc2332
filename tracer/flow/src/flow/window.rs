//! The last acknowledgement of a direction's receiver.

use wirelap_events::Seq;

/// The last acknowledgement of a direction's receiver, and segments that do not fit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    /// The sequence number that the receiver acknowledged last.
    pub acked: Option<Seq>,
    /// The receiver's own socket was seen to do so.
    pub is_own: bool,
    /// End of the last segment that did not fit, and the number of those in a row.
    pub strange: Option<(Seq, u8)>,
}

/// Possibility that a socket of this host has the conversation open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Claim {
    /// Sockets of this host may have it open, as far as is known.
    #[default]
    Possible,
    /// Sockets of this host have another one open between the same addresses, and none has this one.
    Refused,
}
