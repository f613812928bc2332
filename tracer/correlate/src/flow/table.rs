//! The conversations that are known.

use super::known::Known;
use super::{Conversation, Flow, State};
use crate::config::Config;
use rustc_hash::FxHashMap;
use slab::Slab;
use std::net::{IpAddr, SocketAddr};
use wirelap_events::{FlowId, FlowKey, Nanos, NetNs, Pid, Seq};
use wirelap_protocols::{Memories, Protocol, Side, by_name};

/// One direction of one conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Way {
    pub index: usize,
    /// The conversation's serial number: an index may be used again.
    pub serial: u64,
    pub side: Side,
}

impl Way {
    /// The other direction.
    pub fn back(self) -> Way {
        Way { side: other(self.side), ..self }
    }

    /// Its name outside of here.
    pub fn id(self) -> FlowId {
        FlowId(self.serial << 1 | self.side as u64)
    }
}

pub fn other(side: Side) -> Side {
    match side {
        Side::A => Side::B,
        Side::B => Side::A,
    }
}

/// Who is at an end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The process, if it is on this host and known.
    pub pid: Option<Pid>,
    pub addr: SocketAddr,
    pub scope: NetNs,
}

impl Node {
    /// Whether it is the same process, or the same address of a process that is not known (or has
    /// several workers behind one address).
    pub fn is(&self, other: &Node) -> bool {
        (self.pid.is_some() && self.pid == other.pid)
            || (self.addr == other.addr && self.scope == other.scope)
    }
}

/// Every conversation.
#[derive(Default)]
pub struct FlowTable {
    slab: Slab<Conversation>,
    by_key: FxHashMap<FlowKey, Way>,
    /// Conversations at each address: the address of many is a server's.
    endpoints: FxHashMap<(SocketAddr, NetNs), u32>,
    overrides: Vec<(u16, &'static dyn Protocol)>,
    /// The first address of the host that an address is of, for hosts that are known to have several.
    hosts: FxHashMap<IpAddr, IpAddr>,
    /// Ports that programs here listen on.
    listening: Vec<u16>,
    serial: u64,
    /// Conversations before this index were shrunk.
    shrunk: usize,
    /// What the conversations of each protocol have learned.
    memories: Memories,
    /// What they speak, by the address that serves.
    known: Known,
}

impl FlowTable {
    pub fn new(config: &Config) -> FlowTable {
        let overrides =
            config.decode.iter().filter_map(|(port, name)| Some((*port, by_name(name)?))).collect();
        let of_host = |all: &Vec<IpAddr>| {
            let first = all.iter().min().copied();
            all.iter().filter_map(move |&one| Some((one, first?))).collect::<Vec<_>>()
        };
        let hosts = config.hosts.iter().flat_map(of_host).collect();
        FlowTable { overrides, hosts, listening: config.listening.clone(), ..FlowTable::default() }
    }

    /// The one address that stands for all of a host.
    pub fn place(&self, addr: SocketAddr) -> SocketAddr {
        match self.hosts.get(&addr.ip()) {
            Some(&first) => SocketAddr::new(first, addr.port()),
            None => addr,
        }
    }

    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Names and the like that decoders learned and had to forget, so that their memory is bounded.
    pub fn forgotten(&self) -> u64 {
        self.memories.forgotten()
    }

    pub fn get(&self, way: Way) -> Option<&Conversation> {
        self.slab.get(way.index).filter(|found| found.serial == way.serial)
    }

    pub fn get_mut(&mut self, way: Way) -> Option<&mut Conversation> {
        self.slab.get_mut(way.index).filter(|found| found.serial == way.serial)
    }

    pub fn flow(&self, way: Way) -> Option<&Flow> {
        Some(self.get(way)?.flow(way.side))
    }

    pub fn flow_mut(&mut self, way: Way) -> Option<&mut Flow> {
        Some(self.get_mut(way)?.flow_mut(way.side))
    }

    pub fn iter(&self) -> impl Iterator<Item = (Way, &Conversation)> {
        self.slab.iter().map(|(index, conversation)| (way_of(index, conversation), conversation))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Conversation> {
        self.slab.iter_mut().map(|(_, conversation)| conversation)
    }

    pub fn find(&self, key: FlowKey) -> Option<Way> {
        self.by_key.get(&key).copied()
    }

    /// A new conversation, in place of any older one between the same addresses: that one keeps the
    /// sockets that are bound to it, but no new packets.
    pub fn add(&mut self, key: FlowKey, now: Nanos, config: &Config) -> Way {
        self.serial += 1;
        let mut conversation = Conversation::new(
            self.serial,
            key,
            now,
            config,
            self.memories.clone(),
            self.known.clone(),
        );
        let ports = [key.src.port(), key.dst.port()];
        let transport = key.transport;
        if let Some((_, protocol)) = self.overrides.iter().find(|(port, protocol)| {
            ports.contains(port) && protocol.transports().contains(&transport)
        }) {
            conversation.decide(*protocol);
        }
        let way = Way { index: self.slab.insert(conversation), serial: self.serial, side: Side::A };
        self.by_key.insert(key, way);
        self.by_key.insert(key.reversed(), way.back());
        for end in ends(key) {
            *self.endpoints.entry(end).or_default() += 1;
        }
        way
    }

    /// The conversation that a SYN belongs to: the present one if nothing was carried yet or the SYN is
    /// a copy.
    pub fn opened_by(&self, key: FlowKey, isn: Seq) -> Option<Way> {
        self.find(key).filter(|&way| {
            self.flow(way).is_some_and(|flow| flow.isn == Some(isn) || flow.is_fresh())
        })
    }

    pub fn remove(&mut self, way: Way) -> Option<Conversation> {
        self.get(way)?;
        let gone = self.slab.try_remove(way.index)?;
        let key = gone.flows[0].key;
        for key in [key, key.reversed()] {
            if self.by_key.get(&key).is_some_and(|w| w.serial == gone.serial) {
                self.by_key.remove(&key);
            }
        }
        for end in ends(key) {
            if let Some(count) = self.endpoints.get_mut(&end) {
                *count -= 1;
                if *count == 0 {
                    self.endpoints.remove(&end);
                }
            }
        }
        Some(gone)
    }

    /// The end that serves: the one that accepted the conversation; else the one that its frames tell; else the one at a
    /// port that a program listens on, or that the user or the protocol names; else the one that talks to several; else the one at the lower port.
    pub fn server(&self, way: Way) -> Option<Side> {
        let conversation = self.get(way)?;
        if conversation.server.is_some() {
            return conversation.server;
        }
        if let State::Decoding(_, connection) = &conversation.state
            && let Some(server) = connection.server()
        {
            return Some(server);
        }
        let key = conversation.flows[0].key;
        let known = |port: u16| {
            self.listening.contains(&port)
                || self.overrides.iter().any(|&(p, _)| p == port)
                || conversation
                    .protocol()
                    .is_some_and(|protocol| protocol.ports(key.transport).contains(&port))
        };
        let [a, b] = ends(key);
        let rank = |end: (SocketAddr, NetNs)| {
            let talks = self.endpoints.get(&end).copied().unwrap_or_default();
            (known(end.0.port()), talks, u16::MAX - end.0.port())
        };
        Some(if rank(a) > rank(b) { Side::A } else { Side::B })
    }

    /// Frees what conversations without an event since `limit` keep for speed: some of all on each
    /// call.
    pub fn shrink_some(&mut self, limit: Nanos) {
        const AT_ONCE: usize = 1024;
        let end = self.slab.capacity().min(self.shrunk + AT_ONCE);
        for index in self.shrunk..end {
            if let Some(conversation) = self.slab.get_mut(index)
                && conversation.seen < limit
                && !conversation.active
            {
                conversation.flows.iter_mut().for_each(Flow::shrink);
            }
        }
        self.shrunk = if end == self.slab.capacity() { 0 } else { end };
    }

    /// The conversations longest without an event: an eighth of all, at least one.
    pub fn idlest(&self) -> Vec<Way> {
        let mut all: Vec<_> = self.iter().map(|(way, conv)| (rank_idle(conv), way)).collect();
        let count = (all.len() / 8).max(1).min(all.len());
        if count < all.len() {
            all.select_nth_unstable_by_key(count, |(seen, way)| (*seen, way.serial));
        }
        all.truncate(count);
        all.sort_unstable_by_key(|(seen, way)| (*seen, way.serial));
        all.into_iter().map(|(_, way)| way).collect()
    }
}

/// Conversations that nothing is read from go first.
fn rank_idle(conversation: &Conversation) -> (bool, Nanos) {
    (!matches!(conversation.state, State::Ignored), conversation.seen)
}

fn way_of(index: usize, conversation: &Conversation) -> Way {
    Way { index, serial: conversation.serial, side: Side::A }
}

pub(super) fn ends(key: FlowKey) -> [(SocketAddr, NetNs); 2] {
    [(key.src, key.scope), (key.dst, key.scope)]
}
