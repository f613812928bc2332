//! Sockets coming into view.

use super::{Comm, TaskId};
use crate::{FlowKey, NetNs, Seq, SocketId, Transport};
use std::net::SocketAddr;

/// How a socket came into view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was open before wirelap attached.
    Existing,
    /// An active open: `connect`.
    Connected,
    /// A passive open: `accept`.
    Accepted,
    /// Its first traffic was seen.
    FirstSeen,
}

/// A socket. `at` is when it came into view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Its cookie.
    pub id: SocketId,
    /// Its network namespace.
    pub netns: NetNs,
    /// TCP or UDP.
    pub transport: Transport,
    /// Its own address; the address part may be unspecified (`0.0.0.0`) for UDP.
    pub local: SocketAddr,
    /// Its peer; `None` for an unconnected UDP socket.
    pub remote: Option<SocketAddr>,
    /// The thread in whose context it was seen; may be another's in softirq (then pid 0).
    pub task: TaskId,
    /// The name of that thread's process.
    pub comm: Comm,
    /// How it came into view.
    pub origin: Origin,
    /// TCP: the sequence number that the next byte to be sent will have (`tcp_sock.write_seq`).
    pub tx_next: Option<Seq>,
    /// TCP: the sequence number that the next byte to be read has (`tcp_sock.copied_seq`).
    pub rx_next: Option<Seq>,
}

impl Socket {
    /// The flow of what this socket sends, when it has one peer.
    pub fn tx_flow(&self) -> Option<FlowKey> {
        Some(FlowKey::new(self.transport, self.local, self.remote?, self.netns))
    }

    /// The flow of what this socket receives, when it has one peer.
    pub fn rx_flow(&self) -> Option<FlowKey> {
        self.tx_flow().map(FlowKey::reversed)
    }
}
