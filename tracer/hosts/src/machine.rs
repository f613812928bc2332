//! Hosts that share a kernel: containers or network namespaces of one machine, each with an agent of its own.
//!
//! Every agent of a kernel sees all of it. Here a network namespace belongs to the agent that runs in it, and all others belong to the
//! first agent of the machine, so that every event is taken from one agent.

use rustc_hash::FxHashMap;
use wirelap_events::{Body, Event, NetNs, Pid, SocketId};

/// The most sockets and processes whose namespace is remembered.
const MAX_KNOWN: usize = 1 << 18;

/// A kernel that several agents run on.
#[derive(Debug, Default)]
pub struct Machine {
    /// Hosts with the network namespaces that their agents run in; the first one has all other namespaces.
    members: Vec<(usize, NetNs)>,
    sockets: FxHashMap<SocketId, NetNs>,
    processes: FxHashMap<Pid, NetNs>,
}

impl Machine {
    /// An agent runs in a network namespace. Returns false if another one runs there already, which has it then.
    pub fn join(&mut self, host: usize, netns: NetNs) -> bool {
        self.leave(host);
        let is_taken = self.members.iter().any(|&(_, taken)| taken == netns);
        if !is_taken {
            self.members.push((host, netns));
            self.members.sort_unstable();
        }
        !is_taken
    }

    /// An agent has ended.
    pub fn leave(&mut self, host: usize) {
        self.members.retain(|&(member, _)| member != host);
    }

    /// The namespaces that agents run in, first that of the agent which has all others.
    pub fn namespaces(&self) -> Vec<NetNs> {
        self.members.iter().map(|&(_, netns)| netns).collect()
    }

    /// True if some events of one agent are another one's.
    pub fn is_shared(&self) -> bool {
        self.members.len() > 1
    }

    /// The host whose agent runs in a namespace, or that has it because none does.
    pub fn owner_of(&self, netns: NetNs) -> Option<usize> {
        let member = self.members.iter().find(|&&(_, own)| own == netns);
        member.or(self.members.first()).map(|&(host, _)| host)
    }

    /// The sockets that are known of a namespace.
    pub fn sockets_in(&self, netns: NetNs) -> Vec<SocketId> {
        let inside = self.sockets.iter().filter(|(_, of)| **of == netns);
        inside.map(|(id, _)| *id).collect()
    }

    /// Remembers the namespace of a socket and of its process. All events go through this, also before a second agent runs.
    pub fn learn(&mut self, event: &Event<'_>) {
        let Body::Socket(socket) = &event.body else { return };
        if self.sockets.len() < MAX_KNOWN {
            self.sockets.insert(socket.id, socket.netns);
        }
        if self.processes.len() < MAX_KNOWN && socket.task.pid.0 != 0 {
            self.processes.insert(socket.task.pid, socket.netns);
        }
    }

    /// The agents that run on it: hosts with the namespaces of their agents.
    pub fn set_members(&mut self, members: impl IntoIterator<Item = (usize, NetNs)>) {
        self.members.clear();
        for (host, netns) in members {
            self.join(host, netns);
        }
    }

    /// The host that an event is of; `None` if it is of every host that reports it.
    pub fn owner(&mut self, event: &Event<'_>) -> Option<usize> {
        let netns = match &event.body {
            Body::Socket(socket) => Some(socket.netns),
            Body::Closed(id) => self.sockets.get(id).copied(),
            Body::Send(call) => self.of_call(call.socket, call.task.pid),
            Body::Read(call) => self.of_call(call.socket, call.task.pid),
            Body::Ready(ready) => self.sockets.get(&ready.socket).copied(),
            Body::Retransmit(sent) => self.sockets.get(&sent.socket).copied(),
            Body::Packet(packet) => Some(packet.netns),
            Body::Drop(dropped) => Some(dropped.netns),
            Body::Wake(wake) => self.processes.get(&wake.task.pid).copied(),
            Body::State(state) => self.processes.get(&state.task.pid).copied(),
            Body::Ended(end) => self.processes.get(&end.task.pid).copied(),
            Body::Quota(_) => None,
            Body::Plain(_)
            | Body::Written(_)
            | Body::Lost(_)
            | Body::Window(_)
            | Body::Waiting(_) => {
                return None;
            }
        };
        netns.map_or_else(
            || self.members.first().map(|&(host, _)| host),
            |netns| self.owner_of(netns),
        )
    }

    /// The namespace of a socket that a process uses.
    fn of_call(&mut self, socket: SocketId, pid: Pid) -> Option<NetNs> {
        let netns = self.sockets.get(&socket).copied()?;
        if self.processes.len() < MAX_KNOWN {
            self.processes.insert(pid, netns);
        }
        Some(netns)
    }
}

/// A socket of the process 1000, 1001 … in the namespace 10, 11 … of the first host, the second …
#[cfg(test)]
pub fn socket_of(host: usize, id: u64) -> wirelap_events::Socket {
    use wirelap_events::{Comm, Socket, SocketOrigin, TaskId, Tid, Transport};
    let host = u32::try_from(host).unwrap_or_default();
    Socket {
        id: SocketId(id),
        netns: NetNs(10 + host),
        transport: Transport::Tcp,
        local: ([10, 0, 0, 1], 1).into(),
        remote: None,
        task: TaskId { pid: Pid(1_000 + host), tid: Tid(1) },
        comm: Comm::default(),
        origin: SocketOrigin::FirstSeen,
        tx_next: None,
        rx_next: None,
        is_subflow: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{Cpu, Nanos, Ready, ReadyKind, Socket, TaskId, Tid, Wake};

    fn event(body: Body<'static>) -> Event<'static> {
        Event { at: Nanos(1), cpu: Cpu(0), body }
    }

    #[test]
    fn a_namespace_is_of_the_agent_in_it_and_others_of_the_first() {
        let mut machine = Machine::default();
        assert!(machine.join(0, NetNs(10)) && machine.join(2, NetNs(20)));
        assert!(!machine.join(3, NetNs(20)), "the second agent of a namespace has nothing");
        let owners = [10, 20, 30].map(|netns| machine.owner_of(NetNs(netns)));
        assert_eq!(owners, [Some(0), Some(2), Some(0)]);
        let task = TaskId { pid: Pid(7), tid: Tid(8) };
        let socket = Socket { id: SocketId(5), netns: NetNs(20), task, ..socket_of(0, 1) };
        let mut owner = |body| machine.owner(&event(body));
        assert_eq!(owner(Body::Socket(socket)), Some(2));
        machine.learn(&event(Body::Socket(socket)));
        let mut owner = |body| machine.owner(&event(body));
        let ready =
            Ready { socket: SocketId(5), kind: ReadyKind::Datagram { packet: None, seen: None } };
        assert_eq!(owner(Body::Ready(ready)), Some(2));
        assert_eq!(owner(Body::Wake(Wake { task, ..Wake::default() })), Some(2));
        assert_eq!(owner(Body::Closed(SocketId(6))), Some(0));
        assert_eq!(owner(Body::Window(true)), None);
        machine.leave(0);
        assert_eq!(machine.owner_of(NetNs(10)), Some(2));
    }
}
