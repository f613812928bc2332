//! Need for the hooks that are attached later, by the events seen.

use crate::hooks::AttachTime;
use std::collections::HashSet;
use wirelap_events::{
    Body, Event, FlowKey, PacketHook, ReadCall, ReadKind, Socket, SocketId, Transport,
};

/// Need for the hooks that are attached later, by the events seen.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub(super) struct Needs {
    qdisc: bool,
    datagram_sent: bool,
    datagram_seen: bool,
    datagram_read: bool,
    loss: bool,
    read_from_elsewhere: bool,
    /// Open TCP sockets whose peers may be on other hosts; `None` if no hook waits for a read from one, or there was one.
    elsewhere: Option<HashSet<SocketId>>,
}

impl Needs {
    /// Watches for the events that hooks attached at these times wait for.
    pub fn of(times: impl IntoIterator<Item = AttachTime>) -> Needs {
        let is_of_peers =
            |when| matches!(when, AttachTime::PacketsNeeded | AttachTime::ReadinessNeeded);
        let waits = times.into_iter().any(is_of_peers);
        Needs { elsewhere: waits.then(HashSet::new), ..Needs::default() }
    }

    /// Takes an event in.
    pub fn add(&mut self, event: &Event<'_>) {
        match event.body {
            Body::Packet(packet) => {
                self.qdisc |= packet.hook == PacketHook::Xmit && packet.queued.is_none();
                let is_udp = is_udp(&packet.flow);
                self.datagram_seen |= is_udp;
                self.datagram_sent |= is_udp && packet.socket.is_some();
            }
            Body::Drop(dropped) => {
                self.loss = true;
                self.datagram_sent |= is_udp(&dropped.flow) && dropped.outward;
            }
            Body::Retransmit(_) => self.loss = true,
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
            AttachTime::ReadinessNeeded => {
                self.datagram_seen || self.datagram_read || self.read_from_elsewhere || self.loss
            }
            AttachTime::DatagramRead => self.datagram_read,
            AttachTime::PacketsNeeded => self.datagram_read || self.read_from_elsewhere,
            AttachTime::Always | AttachTime::Udp => false,
        }
    }
}

fn is_udp(flow: &FlowKey) -> bool {
    flow.transport == Transport::Udp
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

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{
        Comm, Cpu, Nanos, NetNs, Pid, Retransmit, Seq, SocketOrigin, TaskId, Tid,
    };

    fn event(body: Body<'_>) -> Event<'_> {
        Event { at: Nanos(1), cpu: Cpu(0), body }
    }

    fn needs() -> Needs {
        Needs::of([AttachTime::ReadinessNeeded])
    }

    fn task() -> TaskId {
        TaskId { pid: Pid(1), tid: Tid(1) }
    }

    /// A TCP socket is read whose peer has this address.
    fn after_read_from(peer: &str) -> Needs {
        let socket = Socket {
            id: SocketId(5),
            netns: NetNs(9),
            transport: Transport::Tcp,
            local: "10.0.0.1:1".parse().unwrap(),
            remote: Some(peer.parse().unwrap()),
            task: task(),
            comm: Comm::default(),
            origin: SocketOrigin::Connected,
            tx_next: None,
            rx_next: None,
            is_subflow: false,
        };
        let kind = ReadKind::Stream { end: Seq(1), len: 1 };
        let mut needs = needs();
        needs.add(&event(Body::Socket(socket)));
        assert!(!needs.has(AttachTime::ReadinessNeeded));
        needs.add(&event(Body::Read(ReadCall { socket: SocketId(5), task: task(), kind })));
        needs
    }

    #[test]
    fn readiness_is_needed_of_what_comes_from_elsewhere() {
        assert!(after_read_from("10.0.0.2:2").has(AttachTime::ReadinessNeeded));
        assert!(!after_read_from("10.0.0.1:2").has(AttachTime::ReadinessNeeded));
    }

    #[test]
    fn readiness_is_needed_once_something_was_lost() {
        let mut needs = needs();
        let lost = Retransmit { socket: SocketId(5), start: Seq(1), len: 1, recovery: None };
        assert!(!needs.has(AttachTime::ReadinessNeeded));
        needs.add(&event(Body::Retransmit(lost)));
        assert!(needs.has(AttachTime::ReadinessNeeded));
        assert!(!needs.has(AttachTime::PacketsNeeded) && !needs.has(AttachTime::DatagramSent));
    }
}
