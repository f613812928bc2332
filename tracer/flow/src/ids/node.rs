//! The process or address at an end of a flow.

use std::net::SocketAddr;
use wirelap_events::{FlowKey, NetNs, Pid};
use wirelap_protocols::Party;

/// The process or address at an end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The process, if it is on this host and known.
    pub pid: Option<Pid>,
    /// Its address.
    pub addr: SocketAddr,
    /// The namespace that its address is of, if that is one of a single host.
    pub scope: NetNs,
    /// The namespace of its socket, if that is on this host and known.
    pub netns: Option<NetNs>,
    /// The ID that the end gives itself, where its protocol has one.
    pub party: Option<Party>,
}

impl Node {
    /// True if both are the same process, or the same address of a process that is not known (or has several workers behind one
    /// address), or give themselves the same ID, at whatever addresses. The same address in two namespaces is two ends.
    pub fn is(&self, other: &Node) -> bool {
        let is_another = self.pid.zip(other.pid).is_some_and(|(a, b)| a != b);
        let says_so = self.party.zip(other.party).is_some_and(|(own, other)| own.id == other.id);
        let is_elsewhere = self.netns.zip(other.netns).is_some_and(|(a, b)| a != b);
        (self.pid.is_some() && self.pid == other.pid)
            || (self.addr == other.addr && self.scope == other.scope && !is_elsewhere)
            || (says_so && !is_another)
    }
}

/// A flow's addresses, and who is at its ends. Many legs share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEnds {
    /// The addresses.
    pub flow: FlowKey,
    /// The end that sends.
    pub sender: Node,
    /// The end that receives.
    pub receiver: Node,
}
