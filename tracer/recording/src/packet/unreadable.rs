//! Why a captured packet gives no event.

use super::fragments::Fragment;

/// Why a captured packet gives no event: it cannot carry messages, or that cannot be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnreadablePacket {
    /// The packet is not IP, or neither TCP nor UDP.
    Protocol,
    /// The packet is an IP fragment, which is a part of a datagram.
    Fragment(Fragment),
    /// The packet's headers were not captured as a whole, or contradict each other.
    Cut,
    /// The packet's link header is of a type that is not read.
    Link,
}
