//! The connections that carry what an agent sends, which it leaves out: otherwise it would observe what it sends, send that, and so on.
//!
//! They are those of the agent's ancestors (sshd, which runs it), on the collector's host those of the processes that its steward has
//! started (ssh), and those that are named: a router between agents and collector is nobody's ancestor. Workloads of `run --place` are started by
//! the steward as well, and are what is to be observed.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::net::SocketAddr;
use wirelap_events::{Body, Event, FlowKey, NetNs, Pid, Socket, SocketId, Transport};

/// The most ancestors that are looked at.
const MAX_ANCESTORS: usize = 16;

/// The most sockets and processes that are remembered.
const MAX_KNOWN: usize = 65_536;

/// Name of the process that starts the commands which reach other hosts.
const STEWARD: &str = "wirelap-steward";

/// Name of a process of `wirelap-workload` (`proc(5)`, `/proc/pid/comm`: 15 bytes).
const WORKLOAD: &str = "wirelap-workloa";

/// The connections that carry what this agent sends.
#[derive(Debug, Default)]
pub struct Carriers {
    ancestors: HashSet<Pid>,
    /// The steward that has started this agent, if one has.
    steward: Option<u32>,
    /// Processes that were looked at, and whether they carry.
    looked_at: HashMap<Pid, bool>,
    open: HashMap<SocketId, Socket>,
    sockets: HashSet<SocketId>,
    flows: HashSet<FlowKey>,
    /// Flows of connections that were named.
    named: HashSet<FlowKey>,
    /// Sockets that are to be muted.
    news: Vec<SocketId>,
}

impl Carriers {
    /// Looks at the processes that this one comes from.
    pub fn of_this_process() -> Carriers {
        let mut carriers = Carriers::default();
        let mut pid = std::process::id();
        for generation in 0..MAX_ANCESTORS {
            let Some(parent) = parent(pid).filter(|parent| *parent > 1) else { break };
            if generation == 0 && is_called(parent, STEWARD) {
                carriers.steward = Some(parent);
                break;
            }
            carriers.ancestors.insert(Pid(parent));
            pid = parent;
        }
        carriers
    }

    /// True if an event is of such a connection.
    pub fn is_one(&mut self, event: &Event<'_>) -> bool {
        match &event.body {
            Body::Socket(socket) => {
                if self.open.len() < MAX_KNOWN {
                    self.open.insert(socket.id, *socket);
                }
                if self.is_of_named(socket) {
                    self.mute(socket.id);
                }
                self.sockets.contains(&socket.id)
            }
            Body::Closed(id) => {
                self.open.remove(id);
                self.sockets.contains(id)
            }
            Body::Send(call) => self.is_call(call.socket, call.task.pid),
            Body::Read(call) => self.is_call(call.socket, call.task.pid),
            Body::Ready(ready) => self.sockets.contains(&ready.socket),
            Body::Retransmit(sent) => self.sockets.contains(&sent.socket),
            Body::Packet(packet) => !self.flows.is_empty() && self.flows.contains(&packet.flow),
            Body::Drop(dropped) => !self.flows.is_empty() && self.flows.contains(&dropped.flow),
            _ => false,
        }
    }

    /// Leaves out the TCP connection between two addresses, at whichever of its ends this host is.
    pub fn add(&mut self, one: SocketAddr, other: SocketAddr) {
        if self.named.len() >= MAX_KNOWN {
            return;
        }
        let flow = FlowKey::new(Transport::Tcp, one, other, NetNs(0));
        self.named.extend([flow, flow.reversed()]);
        // Packets of a flow that cannot leave a namespace are those of a socket, which is known.
        self.flows.extend([flow, flow.reversed()]);
        let found: Vec<SocketId> = self
            .open
            .values()
            .filter(|socket| self.is_of_named(socket))
            .map(|one| one.id)
            .collect();
        for socket in found {
            self.mute(socket);
        }
    }

    /// The open sockets that are observed.
    pub fn open_sockets(&self) -> impl Iterator<Item = &Socket> {
        self.open.values().filter(|socket| !self.sockets.contains(&socket.id))
    }

    /// The sockets that were found to carry since the last call.
    pub fn news(&mut self) -> Vec<SocketId> {
        std::mem::take(&mut self.news)
    }

    /// True if the socket's connection was named, in whichever namespace.
    fn is_of_named(&self, socket: &Socket) -> bool {
        let flow = socket.tx_flow().filter(|_| !self.named.is_empty());
        flow.is_some_and(|flow| self.named.contains(&FlowKey { scope: NetNs(0), ..flow }))
    }

    fn mute(&mut self, socket: SocketId) {
        if self.sockets.insert(socket) {
            self.news.push(socket);
            if let Some(flow) = self.open.get(&socket).and_then(Socket::tx_flow) {
                self.flows.extend([flow, flow.reversed()]);
            }
        }
    }

    fn is_call(&mut self, socket: SocketId, pid: Pid) -> bool {
        if self.sockets.contains(&socket) {
            return true;
        }
        let carries = self.carries(pid);
        if carries {
            self.mute(socket);
        }
        carries
    }

    fn carries(&mut self, pid: Pid) -> bool {
        if self.ancestors.contains(&pid) {
            return true;
        }
        let Some(steward) = self.steward else { return false };
        if let Some(known) = self.looked_at.get(&pid) {
            return *known;
        }
        let carries = parent(pid.0) == Some(steward) && !is_called(pid.0, WORKLOAD);
        if self.looked_at.len() < MAX_KNOWN {
            self.looked_at.insert(pid, carries);
        }
        carries
    }
}

/// True if a process has this name.
fn is_called(pid: u32, name: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim_end() == name)
}

/// The parent of a process (`proc(5)`, `/proc/pid/stat`).
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{
        Comm, Cpu, Nanos, NetNs, ReadCall, ReadKind, Seq, SocketOrigin, TaskId, Tid, Transport,
    };

    #[test]
    fn what_an_ancestor_sends_is_left_out_and_nothing_else() {
        let parent = parent(std::process::id()).unwrap();
        let mut carriers = Carriers { ancestors: [Pid(parent)].into(), ..Carriers::default() };
        let event = |body| Event { at: Nanos(1), cpu: Cpu(0), body };
        let socket = |id, port| Socket {
            id: SocketId(id),
            netns: NetNs(1),
            transport: Transport::Tcp,
            local: ([10, 0, 0, 1], port).into(),
            remote: Some(([10, 0, 0, 2], 22).into()),
            task: TaskId::default(),
            comm: Comm::default(),
            origin: SocketOrigin::Existing,
            tx_next: None,
            rx_next: None,
            is_subflow: false,
        };
        let read = |id, pid| {
            let task = TaskId { pid: Pid(pid), tid: Tid(1) };
            let kind = ReadKind::Stream { end: Seq(1), len: 1 };
            Body::Read(ReadCall { socket: SocketId(id), task, kind })
        };
        for id in [1, 2] {
            assert!(!carriers.is_one(&event(Body::Socket(socket(id, 1_000)))));
        }
        assert!(!carriers.is_one(&event(read(1, parent + 1_000_000))));
        assert!(carriers.is_one(&event(read(2, parent))));
        assert_eq!(carriers.news(), [SocketId(2)]);
        assert!(carriers.is_one(&event(read(2, 7))), "whoever reads it");
        assert!(carriers.is_one(&event(Body::Closed(SocketId(2)))));
        assert!(!carriers.is_one(&event(Body::Closed(SocketId(1)))));
        assert_eq!(carriers.flows.len(), 2);
    }

    #[test]
    fn a_connection_that_is_named_is_left_out_at_either_end_whether_it_is_open_already_or_not() {
        let mut carriers = Carriers::default();
        let [router, agent] = [([10, 0, 0, 2], 7_447).into(), ([10, 0, 0, 1], 9).into()];
        let event = |id, local, remote| {
            let socket = Socket {
                id: SocketId(id),
                netns: NetNs(1),
                transport: Transport::Tcp,
                local,
                remote: Some(remote),
                task: TaskId::default(),
                comm: Comm::default(),
                origin: SocketOrigin::Existing,
                tx_next: None,
                rx_next: None,
                is_subflow: false,
            };
            Event { at: Nanos(1), cpu: Cpu(0), body: Body::Socket(socket) }
        };
        let other = ([10, 0, 0, 1], 10).into();
        assert!(!carriers.is_one(&event(1, router, agent)));
        assert!(!carriers.is_one(&event(2, router, other)));
        carriers.add(agent, router);
        assert_eq!(carriers.news(), [SocketId(1)]);
        assert!(carriers.is_one(&event(3, agent, router)));
        assert_eq!(carriers.news(), [SocketId(3)]);
        assert!(!carriers.is_one(&event(4, other, router)));
        assert_eq!(carriers.open_sockets().map(|socket| socket.id.0).min(), Some(2));
    }
}
