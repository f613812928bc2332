//! Sockets, and how they were found.

use super::{Comm, TaskId};
use crate::{FlowKey, NetNs, Seq, SocketId, Transport};
use std::net::SocketAddr;

/// Way in which a socket was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketOrigin {
    /// The socket was open before wirelap attached.
    Existing,
    /// The socket made an active open: `connect`.
    Connected,
    /// The socket comes from a passive open: `accept`.
    Accepted,
    /// The socket was found by its first traffic.
    FirstSeen,
}

/// A socket. The event's `at` is the time when it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    /// The socket cookie.
    pub id: SocketId,
    /// The network namespace.
    pub netns: NetNs,
    /// TCP or UDP.
    pub transport: Transport,
    /// The local address; the IP address may be unspecified (`0.0.0.0`) for UDP.
    pub local: SocketAddr,
    /// The address of the peer; `None` for an unconnected UDP socket.
    pub remote: Option<SocketAddr>,
    /// The thread in whose context the socket was found. In softirq this is not the owner: then the pid is 0.
    pub task: TaskId,
    /// The name of that thread's process.
    pub comm: Comm,
    /// Way in which the socket was found.
    pub origin: SocketOrigin,
    /// TCP: the sequence number that the next byte to be sent will have (`tcp_sock.write_seq`).
    pub tx_next: Option<Seq>,
    /// TCP: the sequence number that the next byte to be read has (`tcp_sock.copied_seq`).
    pub rx_next: Option<Seq>,
    /// TCP: the socket carries an MPTCP connection (`tcp_sock.is_mptcp`, RFC 8684): the application calls another one.
    pub is_subflow: bool,
}

impl Socket {
    /// The flow that this socket sends; `None` without a peer.
    pub fn tx_flow(&self) -> Option<FlowKey> {
        Some(FlowKey::new(self.transport, self.local, self.remote?, self.netns))
    }

    /// The flow that this socket receives; `None` without a peer.
    pub fn rx_flow(&self) -> Option<FlowKey> {
        self.tx_flow().map(FlowKey::reversed)
    }
}
