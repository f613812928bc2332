//! Hooks that are attached when the events show that they are needed.

use super::Capture;
use crate::attach;
use crate::hooks::AttachTime;
use std::collections::HashSet;
use wirelap_events::{
    Body, Event, Packet, PacketHook, ReadCall, ReadKind, SendCall, SendKind, Socket, SocketId,
    Transport,
};

/// Which hooks that are attached later are needed, by the events seen.
#[derive(Default)]
pub(super) struct Needs {
    qdisc: bool,
    datagram_sent: bool,
    datagram_read: bool,
    read_from_elsewhere: bool,
    /// Open TCP sockets whose peers may be on other hosts.
    elsewhere: HashSet<SocketId>,
}

impl Needs {
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

    fn has(&self, when: AttachTime) -> bool {
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

impl Capture {
    /// Attaches the hooks that were left for later and are needed now.
    pub(super) fn attach_later(&mut self) {
        let (ebpf, links, needs) = (&mut self.ebpf, &mut self.links, &self.needs);
        self.later.retain(|&(when, hook)| {
            let is_needed = needs.has(when);
            if is_needed && let Err(refused) = attach::attach_hook(ebpf, links, hook) {
                let reason = refused.reason;
                // The observation is missing then, as on a kernel without the hook.
                tracing::warn!(hook = hook.name, reason, "a hook cannot be attached");
            }
            !is_needed
        });
    }
}
