//! Processes that pass messages on: brokers, proxies and routers.

use super::new_leg::Toward;
use super::open::LegState;
use rustc_hash::{FxHashMap, FxHashSet};
use std::net::SocketAddr;
use wirelap_events::{Nanos, NetNs, Pid, Saturate};
use wirelap_flow::Node;
use wirelap_limits::deliveries::{
    MAX_PROXY_MISTAKES, MIN_RELAYED_BY_PROXY, RELAYED_FOR_EACH_MISTAKE,
};

/// Processes that are known to forward.
const FORWARDERS: usize = 65_536;

/// Numbers of messages that a process has handed on, by whom they went to.
#[derive(Clone, Copy, Debug, Default)]
struct Handed {
    /// From clients to other clients of its own, as brokers do.
    to_clients: u32,
    /// From clients to another server, and back, as proxies do. A broker that also does so (a bridge) is a broker.
    through: u32,
    /// From or to another server as its equal, as only brokers do.
    as_peer: u32,
}

impl Handed {
    fn is_relay(self) -> bool {
        self.through >= MIN_RELAYED_BY_PROXY
            && self.as_peer == 0
            && self.to_clients <= MAX_PROXY_MISTAKES
            && self.through >= self.to_clients.saturating_mul(RELAYED_FOR_EACH_MISTAKE)
    }
}

/// The processes that pass messages on, as far as they are known.
#[derive(Debug, Default)]
pub struct Forwarders {
    pids: FxHashSet<Pid>,
    addrs: FxHashSet<(SocketAddr, NetNs)>,
    /// By what they say that they are.
    parties: FxHashSet<u32>,
    /// Processes that were seen to pass nothing on for as long as that may take.
    sinks: FxHashSet<Receiver>,
    /// Processes that somebody has subscribed at.
    publishers: FxHashSet<Receiver>,
    /// Number of messages that each process has handed on, by receiver.
    roles: FxHashMap<Pid, Handed>,
    /// Processes that servers have sent messages to.
    clients: FxHashSet<Pid>,
    /// Time at which each receiver was last found to have got bytes in which messages may be that were not found.
    missed: FxHashMap<Receiver, Nanos>,
    /// Time at which each receiver last got bytes of which it is not known yet what they are.
    unknown: FxHashMap<Receiver, Nanos>,
    /// The one that was learned last.
    last: Option<Node>,
    /// Processes that messages come to as to a server, and the one of these that got the last.
    servers: FxHashSet<Pid>,
    last_server: Option<Pid>,
}

/// A process, or the address of one that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Receiver {
    Process(Pid),
    /// An end known by the ID that it gives itself.
    Party(u32),
    Address(SocketAddr, NetNs),
}

impl Receiver {
    pub fn at(node: &Node) -> Receiver {
        match (node.pid, node.party) {
            (Some(pid), _) => Receiver::Process(pid),
            (None, Some(party)) => Receiver::Party(party.id),
            (None, None) => Receiver::Address(node.addr, node.scope),
        }
    }
}

impl Forwarders {
    /// The receiver of a leg has passed its message on.
    pub fn learn(&mut self, leg: &LegState) {
        let node = *leg.receiver();
        if self.last != Some(node) && self.addrs.len() < FORWARDERS {
            // Of a process that talks to itself only this socket forwards.
            self.pids.extend(node.pid.filter(|_| !leg.stays_inside()));
            self.addrs.insert((node.addr, node.scope));
            self.parties.extend(node.party.map(|party| party.id));
            self.last = Some(node);
        }
    }

    /// A message came to a process as to a server.
    pub fn learn_server(&mut self, pid: Pid) {
        if self.last_server != Some(pid) && self.servers.len() < FORWARDERS {
            self.servers.insert(pid);
            self.last_server = Some(pid);
        }
    }

    /// True if messages come to a process as to a server.
    pub fn is_server(&self, pid: Pid) -> bool {
        self.servers.contains(&pid)
    }

    /// Learns the part of the process that a message goes on from.
    pub fn learn_role(&mut self, leg: &LegState, next: Toward) {
        if let Some(count) = self.handed(leg, next) {
            count.grow(1);
        }
    }

    /// A message went on from another leg than was learned.
    pub fn unlearn_role(&mut self, leg: &LegState, next: Toward) {
        if let Some(count) = self.handed(leg, next) {
            count.shrink(1);
        }
    }

    /// The counter of messages that go on as this one does.
    fn handed(&mut self, leg: &LegState, next: Toward) -> Option<&mut u32> {
        let pid = leg.receiver().pid.filter(|_| !leg.stays_inside())?;
        if self.roles.len() >= FORWARDERS && !self.roles.contains_key(&pid) {
            return None;
        }
        let handed = self.roles.entry(pid).or_default();
        match (leg.reader.toward, next) {
            (Toward::Server, Toward::Client) => Some(&mut handed.to_clients),
            // From a client to a server, or from a server to a client.
            (Toward::Server, Toward::Server) | (Toward::Client, Toward::Client) => {
                Some(&mut handed.through)
            }
            (Toward::Peer, _) | (_, Toward::Peer) => Some(&mut handed.as_peer),
            (Toward::Client, Toward::Server) => None,
        }
    }

    /// Notes that a server sends a process a message.
    pub fn note_client(&mut self, pid: Pid) {
        if self.clients.len() < FORWARDERS {
            self.clients.insert(pid);
        }
    }

    /// True if a process that sends clients messages hands through what servers send it.
    pub fn is_client(&self, pid: Pid) -> bool {
        self.clients.contains(&pid)
    }

    /// True if a process has ever handed on to a server what its clients say, or back.
    pub fn hands_through(&self, pid: Pid) -> bool {
        self.roles.get(&pid).is_some_and(|handed| handed.through > 0)
    }

    /// True if a process only hands on to a server what its clients say, and back.
    pub fn is_relay(&self, pid: Pid) -> bool {
        self.roles.get(&pid).is_some_and(|handed| handed.is_relay())
    }

    /// True if a process that is a server has passed on too little to be known as a proxy, and nothing as a broker does.
    pub fn may_be_relay(&self, pid: Pid) -> bool {
        let is_open = |handed: &Handed| {
            handed.to_clients == 0 && handed.as_peer == 0 && handed.through < MIN_RELAYED_BY_PROXY
        };
        self.is_server(pid)
            && self.roles.get(&pid).is_none_or(is_open)
            && !self.sinks.contains(&Receiver::Process(pid))
    }

    /// Somebody has got bytes that no packet event brought, or that could not be decoded.
    pub fn note_missed(&mut self, receiver: Receiver, at: Nanos) {
        note(&mut self.missed, receiver, at);
    }

    /// Somebody has got bytes of which it is not known yet what they are.
    pub fn note_unknown(&mut self, receiver: Receiver, at: Nanos) {
        note(&mut self.unknown, receiver, at);
    }

    /// True if a message of which no earlier leg was found may only be passed on here: this process passes messages on, and
    /// since `since` it has got bytes in which messages may be that were not found; or it says that it is a router, and has got
    /// bytes of which it is not known yet what they are.
    pub fn may_have_missed(&self, node: &Node, since: Nanos) -> bool {
        let receiver = Receiver::at(node);
        let has_missed = self.missed.get(&receiver).is_some_and(|&at| at >= since);
        let is_router = || node.party.is_some_and(|party| party.is_router);
        has_missed && self.forwards(node) || self.has_got_unknown(receiver, since) && is_router()
    }

    /// True if a receiver has got bytes since a time of which it is not known yet what they are.
    pub fn has_got_unknown(&self, receiver: Receiver, since: Nanos) -> bool {
        self.unknown.get(&receiver).is_some_and(|&at| at >= since)
    }

    /// Nothing that a process got was passed on for as long as that may take: what it gets ends there, as far as is known.
    pub fn note_sink(&mut self, node: &Node) {
        if self.sinks.len() < FORWARDERS {
            self.sinks.insert(Receiver::at(node));
        }
    }

    /// A process may pass messages on from now on: somebody has subscribed there.
    pub fn note_subscriber(&mut self, node: &Node) {
        self.sinks.remove(&Receiver::at(node));
        if self.publishers.len() < FORWARDERS {
            self.publishers.insert(Receiver::at(node));
        }
    }

    /// True if somebody has subscribed at a process.
    pub fn has_subscribers(&self, node: &Node) -> bool {
        self.publishers.contains(&Receiver::at(node))
    }

    /// True if it is not known yet whether a process passes messages on.
    pub fn is_undecided(&self, node: &Node) -> bool {
        !self.forwards(node) && !self.sinks.contains(&Receiver::at(node))
    }

    /// True if this process, or who is at this address or says that it is this, has passed a message on.
    pub fn forwards(&self, node: &Node) -> bool {
        node.pid.is_some_and(|pid| self.pids.contains(&pid))
            || self.addrs.contains(&(node.addr, node.scope))
            || node.party.is_some_and(|party| self.parties.contains(&party.id))
    }
}

/// Notes when something happened to a receiver.
fn note(all: &mut FxHashMap<Receiver, Nanos>, receiver: Receiver, at: Nanos) {
    // Of so many, only those are of interest to which it happened lately.
    if all.len() >= FORWARDERS {
        all.clear();
    }
    all.insert(receiver, at);
}
