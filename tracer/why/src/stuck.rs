//! Bytes that do not arrive, though TCP sends them again and again.

use std::net::SocketAddr;
use wirelap_events::{Comm, DropCause, Nanos, NetNs, Pid};

/// The place at which this host threw packets away.
#[derive(Clone, Debug, PartialEq)]
pub struct DropPlace {
    /// The reason.
    pub cause: DropCause,
    /// Number of packets.
    pub packets: u32,
    /// The network namespace, with its name if it has one; `None` if it is not known.
    pub netns: Option<(NetNs, Option<String>)>,
    /// The MTU of the device that they were to leave by, where they were too big for it.
    pub mtu: Option<u32>,
}

/// A connection whose bytes do not arrive.
#[derive(Clone, Debug, PartialEq)]
pub struct StuckConnection {
    /// The sending process, if it is known.
    pub sender: Option<(Pid, Comm)>,
    /// The sender's and the receiver's address.
    pub ends: (SocketAddr, SocketAddr),
    /// Time from the observation's beginning until the first of the bytes had left first.
    pub after: Nanos,
    /// For how long it has been under way.
    pub age: Nanos,
    /// Number of times that TCP sent it again.
    pub resent: u32,
    /// Bytes that were written from there on.
    pub bytes: u64,
    /// The place at which this host threw it away, if it did.
    pub dropped: Option<DropPlace>,
}
