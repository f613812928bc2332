//! Need for the hooks that are attached later, by the events seen.

use crate::hooks::AttachTime;
use std::collections::HashSet;
use wirelap_events::{
    Body, Event, Packet, PacketHook, ReadCall, ReadKind, SendCall, SendKind, Socket, SocketId,
    Transport,
};

/// Need for the hooks that are attached later, by the events seen.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub(super) struct Needs {
    qdisc: bool,
    datagram_sent: bool,
    datagram_read: bool,
    read_from_elsewhere: bool,
    /// Open TCP sockets whose peers may be on other hosts; `None` if no hook waits for a read from one, or there was one.
    elsewhere: Option<HashSet<SocketId>>,
}

impl Needs {
    /// Watches for the events that hooks attached at these times wait for.
    pub fn of(times: impl IntoIterator<Item = AttachTime>) -> Needs {
        let waits = times.into_iter().any(|when| when == AttachTime::PacketsNeeded);
        Needs { elsewhere: waits.then(HashSet::new), ..Needs::default() }
    }

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
            Body::Socket(_) | Body::Closed(_) | Body::Read(_) => self.add_of_peers(&event.body),
            _ => {}
        }
    }

    fn add_of_peers(&mut self, body: &Body<'_>) {
        let Some(elsewhere) = &mut self.elsewhere else { return };
        match body {
            Body::Socket(socket) if may_be_elsewhere(socket) => {
                elsewhere.insert(socket.id);
            }
            Body::Closed(socket) => {
                elsewhere.remove(socket);
            }
            Body::Read(read) if elsewhere.contains(&read.socket) => {
                self.read_from_elsewhere = true;
                self.elsewhere = None;
            }
            _ => {}
        }
    }

    /// True if the hooks are needed that are attached at this time.
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

/// True if the peer of a TCP socket may be on another host. Both ends on one host usually have the same address; those in two
/// network namespaces have not, and cannot be told from ends on two hosts.
fn may_be_elsewhere(socket: &Socket) -> bool {
    let is_here = |peer: std::net::SocketAddr| {
        peer.ip() == socket.local.ip()
            || (peer.ip().to_canonical().is_loopback()
                && socket.local.ip().to_canonical().is_loopback())
    };
    socket.transport == Transport::Tcp && socket.remote.is_some_and(|peer| !is_here(peer))
}
