//! What packets alone tell of a message: nothing else is seen in captures of other programs.

use wirelap_events::{Heard, Nanos};

/// When the packet with a message's last byte passed the packet hooks, for a message of which nothing else was seen, in a flow without
/// losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTimes {
    pub xmit: Option<Nanos>,
    pub rx: Option<Nanos>,
    /// The acknowledgement of the last byte.
    pub heard: Option<Heard>,
}
