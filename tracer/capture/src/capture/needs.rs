//! Which hooks that are attached later are needed, by the events seen.

use crate::hooks::AttachTime;
use std::collections::HashSet;
use wirelap_events::{
    Body, Event, Packet, PacketHook, ReadCall, ReadKind, SendCall, SendKind, Socket, SocketId,
    Transport,
};

/// Which hooks that are attached later are needed, by the events seen.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub(super) struct Needs {
    qdisc: bool,
    datagram_sent: bool,
    datagram_read: bool,
    read_from_elsewhere: bool,
    /// Open TCP sockets whose peers may be on other hosts.
    elsewhere: HashSet<SocketId>,
}

impl Needs {
    /// Takes an event in.
    pub fn add(&mut self, event: &Event<'_>) {
        match event.body {
            Body::Packet(Packet { hook: PacketHook::Xmit, queued: None, .. }) => self.qdisc = true,
            Body::Send(SendCall { kind: SendKind::Datagram { entered: None, .. }, .. }) => {
                self.datagram_sent = true;
            }
            Body::Read(ReadCall { kind: ReadKind::Datagram { .. }, .. }) => {
                self.datagram_read = true;
            }
            Body::Read(ReadCall { socket, .. }) if !self.read_from_elsewhere => {
                self.read_from_elsewhere = self.elsewhere.contains(&socket);
            }
            Body::Socket(socket) if !self.read_from_elsewhere && may_be_elsewhere(&socket) => {
                self.elsewhere.insert(socket.id);
            }
            Body::Closed(socket) => {
                self.elsewhere.remove(&socket);
            }
            _ => {}
        }
    }

    /// Whether the hooks are needed that are attached at this time.
    pub fn has(&self, when: AttachTime) -> bool {
        match when {
            AttachTime::QdiscSeen => self.qdisc,
            AttachTime::DatagramSent => self.datagram_sent,
            AttachTime::DatagramRead => self.datagram_read,
            AttachTime::PacketsNeeded => self.datagram_read || self.read_from_elsewhere,
            AttachTime::Always | AttachTime::Udp => false,
        }
    }
}

/// Whether the peer of a TCP socket may be on another host. Both ends on one host usually have the same address; those in two
/// network namespaces have not, and cannot be told from ends on two hosts.
fn may_be_elsewhere(socket: &Socket) -> bool {
    let is_here = |peer: std::net::SocketAddr| {
        peer.ip() == socket.local.ip()
            || (peer.ip().to_canonical().is_loopback()
                && socket.local.ip().to_canonical().is_loopback())
    };
    socket.transport == Transport::Tcp && socket.remote.is_some_and(|peer| !is_here(peer))
}
