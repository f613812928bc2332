//! Processes that pass messages on: brokers, proxies and routers.

use super::open::LegState;
use crate::ids::Node;
use rustc_hash::{FxHashMap, FxHashSet};
use std::net::SocketAddr;
use wirelap_events::{Nanos, NetNs, Pid};

/// Processes that are known to forward.
const FORWARDERS: usize = 65_536;

/// Messages that a process has handed on to another server before it is a proxy: a bridge shows that it is a broker by then.
const RELAYED: u32 = 2;

/// What is known of the processes that pass messages on.
#[derive(Debug, Default)]
pub struct Forwarders {
    pids: FxHashSet<Pid>,
    addrs: FxHashSet<(SocketAddr, NetNs)>,
    /// Processes that hand on what they get from clients to other clients of theirs: brokers.
    brokers: FxHashSet<Pid>,
    /// Processes that hand on what they get from clients to another server, and how many messages: proxies. A broker
    /// that also does so (a bridge) is a broker.
    relays: FxHashMap<Pid, u32>,
    /// When each receiver was last found to have got bytes in which messages may be that were not found.
    missed: FxHashMap<Receiver, Nanos>,
    /// The one that was learned last.
    last: Option<Node>,
}

/// A process, or the address of one that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Receiver {
    Process(Pid),
    Address(SocketAddr, NetNs),
}

impl Receiver {
    pub fn at(node: &Node) -> Receiver {
        node.pid.map_or(Receiver::Address(node.addr, node.scope), Receiver::Process)
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
            self.last = Some(node);
        }
    }

    /// What the process is that a message goes on from.
    pub fn learn_role(&mut self, leg: &LegState, to_server: bool) {
        let Some(pid) = leg.receiver().pid.filter(|_| !leg.stays_inside()) else { return };
        match (leg.to_server, to_server) {
            (true, false) => {
                if self.brokers.len() < FORWARDERS {
                    self.brokers.insert(pid);
                }
                self.relays.remove(&pid);
            }
            // From a client to a server, or from a server to a client.
            (true, true) | (false, false) => {
                let is_known = self.relays.contains_key(&pid);
                if !self.brokers.contains(&pid) && (is_known || self.relays.len() < FORWARDERS) {
                    let count = self.relays.entry(pid).or_default();
                    *count = count.saturating_add(1);
                }
            }
            (false, true) => {}
        }
    }

    /// Whether a process only hands on to a server what its clients say, and back.
    pub fn is_relay(&self, pid: Pid) -> bool {
        self.relays.get(&pid).is_some_and(|&count| count >= RELAYED)
    }

    /// Somebody has got bytes that no packet event brought, or that could not be decoded.
    pub fn missed(&mut self, receiver: Receiver, at: Nanos) {
        // Of so many, only those are of interest that missed something lately.
        if self.missed.len() >= FORWARDERS {
            self.missed.clear();
        }
        self.missed.insert(receiver, at);
    }

    /// Whether a message of which no earlier leg was found may only be passed on here: this process passes messages on, and
    /// since `since` it has got bytes in which messages may be that were not found.
    pub fn may_have_missed(&self, node: &Node, since: Nanos) -> bool {
        self.missed.get(&Receiver::at(node)).is_some_and(|&at| at >= since) && self.forwards(node)
    }

    /// Whether this process, or who is at this address, has passed a message on.
    pub fn forwards(&self, node: &Node) -> bool {
        node.pid.is_some_and(|pid| self.pids.contains(&pid))
            || self.addrs.contains(&(node.addr, node.scope))
    }
}
