//! The conversations that are known.

mod lookup;

use super::conversation::{Conversation, State};
use super::direction::Flow;
use super::server_protocols::{ServerEnd, ServerProtocols};
use super::window::Claim;
use crate::config::Config;
use crate::ids::{Direction, ends, scope_of};
use rustc_hash::FxHashMap;
use slab::Slab;
use std::net::{IpAddr, SocketAddr};
use wirelap_events::{FlowKey, Nanos, NetNs, Pid, Saturate, Seq, TcpFields, tcp_flags};
use wirelap_protocols::{Memories, Protocol, Side, by_name};

/// The most bytes that a flow sends while a packet of it is on its way to another namespace of this
/// host.
const NEAR: u32 = 1 << 20;

/// The most bytes that a flow sends while a packet of it is on its way to another host.
const NEAR_FAR: u32 = 1 << 28;

/// Conversations between the same addresses that are told apart by where they are.
const TWINS: usize = 64;

/// Every conversation.
#[derive(Default)]
pub struct FlowTable {
    slab: Slab<Conversation>,
    by_key: FxHashMap<FlowKey, Direction>,
    /// Older ones between the same addresses that may go on in other namespaces, the newest last.
    twins: FxHashMap<FlowKey, Vec<Direction>>,
    /// Conversations at each address: the address of many is a server's.
    endpoints: FxHashMap<(SocketAddr, NetNs), u32>,
    overrides: Vec<(u16, &'static dyn Protocol)>,
    /// Distance that the numbers of one flow may have between two places.
    near: u32,
    /// The first address of the host that an address is of, for hosts that are known to have several.
    hosts: FxHashMap<IpAddr, IpAddr>,
    /// That of the host whose loopback addresses are in a namespace.
    loopbacks: FxHashMap<NetNs, IpAddr>,
    /// Ports that programs here listen on.
    listening: Vec<u16>,
    serial: u64,
    /// Bytes of memory that all conversations hold on to.
    held: usize,
    /// Conversations before this index were shrunk.
    shrunk: usize,
    /// State that the decoders of each protocol share.
    memories: Memories,
    /// Protocols that servers speak, by address.
    known: ServerProtocols,
}

impl FlowTable {
    /// No conversations yet.
    pub fn new(config: &Config) -> FlowTable {
        let overrides =
            config.decode.iter().filter_map(|(port, name)| Some((*port, by_name(name)?))).collect();
        let (mut hosts, mut loopbacks) = (FxHashMap::default(), FxHashMap::default());
        for host in &config.hosts {
            let Some(&first) = host.addresses.iter().min() else { continue };
            hosts.extend(host.addresses.iter().map(|&address| (address, first)));
            loopbacks.insert(host.netns, first);
        }
        let has_hosts = config.packets_only || !config.hosts.is_empty();
        let near = if has_hosts { NEAR_FAR } else { NEAR };
        let listening = config.listening.clone();
        FlowTable { overrides, near, hosts, loopbacks, listening, ..FlowTable::default() }
    }

    /// The one address that stands for all of a host, and the namespace that it is told by: a host that talks to itself at an
    /// address that others reach it at serves there for all.
    pub fn place(&self, addr: SocketAddr, scope: NetNs) -> (SocketAddr, NetNs) {
        let is_loopback = addr.ip().is_loopback();
        let first =
            if is_loopback { self.loopbacks.get(&scope) } else { self.hosts.get(&addr.ip()) };
        match first {
            Some(&first) => (SocketAddr::new(first, addr.port()), NetNs(0)),
            None => (addr, scope_of(addr, scope)),
        }
    }

    /// Looks at how much memory a conversation holds on to. Returns what all of them do.
    pub fn weigh(&mut self, direction: Direction) -> usize {
        if let Some(conversation) = self.get_mut(direction) {
            let now = conversation.held_bytes();
            let before = std::mem::replace(&mut conversation.held, now);
            self.held.shrink(before);
            self.held.grow(now);
        }
        self.held
    }

    /// Number of conversations that are kept.
    pub fn count(&self) -> usize {
        self.slab.len()
    }

    /// Names and the like that decoders learned and had to forget, so that their memory is bounded.
    pub fn forgotten(&self) -> u64 {
        self.memories.forgotten()
    }

    /// The conversation of a direction, while it is kept.
    #[inline]
    pub fn get(&self, direction: Direction) -> Option<&Conversation> {
        self.slab.get(direction.index).filter(|found| found.serial == direction.serial)
    }

    /// The conversation of a direction, while it is kept.
    #[inline]
    pub fn get_mut(&mut self, direction: Direction) -> Option<&mut Conversation> {
        self.slab.get_mut(direction.index).filter(|found| found.serial == direction.serial)
    }

    /// The flow of a direction, while it is kept.
    #[inline]
    pub fn flow(&self, direction: Direction) -> Option<&Flow> {
        Some(self.get(direction)?.flow(direction.side))
    }

    /// The flow of a direction, while it is kept.
    #[inline]
    pub fn flow_mut(&mut self, direction: Direction) -> Option<&mut Flow> {
        Some(self.get_mut(direction)?.flow_mut(direction.side))
    }

    /// All conversations, each with the direction from [`Side::A`].
    pub fn iter(&self) -> impl Iterator<Item = (Direction, &Conversation)> {
        self.slab.iter().map(|(index, one)| (direction_of(index, one), one))
    }

    /// All conversations.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Conversation> {
        self.slab.iter_mut().map(|(_, conversation)| conversation)
    }

    /// Programs listen on these TCP ports, too.
    pub fn learn_listening(&mut self, ports: &[u16]) {
        self.listening.extend(ports);
        self.listening.sort_unstable();
        self.listening.dedup();
    }

    /// Packets with these addresses are of a conversation that has others, too.
    pub fn add_alias(&mut self, key: FlowKey, direction: Direction) {
        let (key, direction) = match direction.side {
            Side::A => (key, direction),
            Side::B => (key.reversed(), direction.back()),
        };
        let known = self.find(key).filter(|known| known.serial != direction.serial);
        if known.and_then(|known| self.get(known)).is_some_and(Conversation::is_held) {
            return;
        }
        let Some(conversation) = self.get_mut(direction) else { return };
        if conversation.flows.iter().any(|flow| flow.key == key) {
            return;
        }
        let aliases = &mut conversation.translation_mut().aliases;
        if !aliases.contains(&key) && aliases.try_push(key).is_err() {
            return;
        }
        self.place_first(key, direction);
        self.place_first(key.reversed(), direction.back());
    }

    /// Packets with these addresses are of this one, unless their numbers go on in an older one.
    fn place_first(&mut self, key: FlowKey, direction: Direction) {
        if let Some(older) = self.by_key.insert(key, direction)
            && older.serial != direction.serial
        {
            self.place_behind(key, older);
        }
    }

    /// Packets with these addresses are of this one if their numbers go on there.
    fn place_behind(&mut self, key: FlowKey, direction: Direction) {
        if self.get(direction).is_none_or(|conversation| conversation.life.is_closed) {
            return;
        }
        let twins = self.twins.entry(key).or_default();
        if twins.len() < TWINS {
            twins.push(direction);
        }
    }

    /// A new conversation, in place of any older one between the same addresses: that one keeps the
    /// sockets that are bound to it, and the packets whose numbers go on there. One that sockets of this host have open stays
    /// in its place.
    pub fn add(&mut self, key: FlowKey, netns: NetNs, now: Nanos, config: &Config) -> Direction {
        self.serial.grow(1);
        let mut conversation = Conversation::new(
            self.serial,
            key,
            now,
            config,
            self.memories.clone(),
            self.known.clone(),
        );
        conversation.places.namespaces.add(netns);
        let is_held =
            self.find(key).and_then(|older| self.get(older)).is_some_and(Conversation::is_held);
        if is_held {
            conversation.places.claim = Claim::Refused;
        }
        let ports = [key.src.port(), key.dst.port()];
        let transport = key.transport;
        if let Some((_, protocol)) = self.overrides.iter().find(|(port, protocol)| {
            ports.contains(port) && protocol.transports().contains(&transport)
        }) {
            conversation.decide_named(*protocol);
        }
        let index = self.slab.insert(conversation);
        let direction = Direction { index, serial: self.serial, side: Side::A };
        for (key, direction) in [(key, direction), (key.reversed(), direction.back())] {
            if is_held {
                self.place_behind(key, direction);
            } else {
                self.place_first(key, direction);
            }
        }
        for end in ends(key) {
            self.endpoints.entry(end).or_default().grow(1);
        }
        direction
    }

    /// The conversation that a SYN belongs to: one that it is a copy of, or that nothing was carried in yet. An answer tells
    /// whose SYN it answers.
    pub fn opened_by(&mut self, key: FlowKey, netns: NetNs, tcp: &TcpFields) -> Option<Direction> {
        let newest = self.find(key)?;
        let is_answer = tcp.flags & tcp_flags::ACK != 0;
        let is_copy = |direction: &Direction| {
            self.flow(*direction).is_some_and(|flow| flow.start.isn == Some(tcp.seq))
        };
        let is_next = |direction: &Direction| {
            let Some(conversation) = self.get(*direction) else { return false };
            let asked = conversation.flow(direction.side.other()).start.isn;
            let answers =
                is_answer && (tcp.ack.0 == 0 || asked.is_none_or(|isn| isn.plus(1) == tcp.ack));
            let is_here = conversation.places.namespaces.has(netns)
                || conversation.places.namespaces.is_empty();
            let flow = conversation.flow(direction.side);
            flow.is_fresh() && flow.fits(tcp.seq) && (answers || (!is_answer && is_here))
        };
        let all = || std::iter::once(newest).chain(self.older(key));
        let direction = all().find(is_copy).or_else(|| all().find(is_next))?;
        self.get_mut(direction)?.places.namespaces.add(netns);
        Some(direction)
    }

    /// Forgets a conversation. Returns it.
    pub fn remove(&mut self, direction: Direction) -> Option<Conversation> {
        self.get(direction)?;
        let gone = self.slab.try_remove(direction.index)?;
        self.held.shrink(gone.held);
        let key = gone.flows[0].key;
        for key in
            gone.places.aliases().iter().copied().chain([key]).flat_map(|key| [key, key.reversed()])
        {
            self.forget_key(key, gone.serial);
        }
        for end in ends(key) {
            if let Some(count) = self.endpoints.get_mut(&end) {
                count.shrink(1);
                if *count == 0 {
                    self.endpoints.remove(&end);
                }
            }
        }
        Some(gone)
    }

    /// A conversation with this key is gone; an older one between the same addresses has its place.
    fn forget_key(&mut self, key: FlowKey, serial: u64) {
        if let Some(twins) = self.twins.get_mut(&key) {
            twins.retain(|twin| twin.serial != serial);
            if twins.is_empty() {
                self.twins.remove(&key);
            }
        }
        if self.by_key.get(&key).is_some_and(|direction| direction.serial == serial) {
            match self.twins.get_mut(&key).and_then(Vec::pop) {
                Some(older) => self.by_key.insert(key, older),
                None => self.by_key.remove(&key),
            };
        }
    }

    /// The end that serves: the one that accepted the conversation; else the one that its frames tell; else the one at a
    /// port that a program listens on, or that the user or the protocol names; else the one that talks to several; else the
    /// one at the lower port.
    pub fn server(&self, direction: Direction) -> Option<Side> {
        let conversation = self.get(direction)?;
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
            (known(end.0.port()), talks, u16::MAX.saturating_sub(end.0.port()))
        };
        Some(if rank(a) > rank(b) { Side::A } else { Side::B })
    }

    /// Notes who is at the ends of a conversation whose protocol is not known yet: the processes at [`Side::A`] and
    /// [`Side::B`], and the namespaces of their sockets.
    pub fn note_processes(&mut self, direction: Direction, processes: [Option<(Pid, NetNs)>; 2]) {
        let Some(conversation) = self.get(direction) else { return };
        let of = |side: Side| {
            let scope = conversation.flow(side).key.scope;
            let (addr, scope) = self.place(conversation.end(side), scope);
            ServerEnd { process: processes[side as usize], ..ServerEnd::new(addr, scope) }
        };
        let ends = [of(Side::A), of(Side::B)];
        if let Some(conversation) = self.get_mut(direction) {
            conversation.search.ends = ends;
        }
    }

    /// A conversation with the server at this end speaks the protocol.
    pub fn learn(&self, server: &ServerEnd, protocol: &'static dyn Protocol) {
        self.known.learn(server, protocol.name());
    }

    /// Frees what conversations without an event since `limit` keep for speed: some of all on each call.
    pub fn shrink_some(&mut self, limit: Nanos) {
        const AT_ONCE: usize = 1024;
        let end = self.slab.capacity().min(self.shrunk.saturating_add(AT_ONCE));
        for index in self.shrunk..end {
            if let Some(conversation) = self.slab.get_mut(index)
                && conversation.life.seen < limit
                && !conversation.active
            {
                conversation.flows.iter_mut().for_each(Flow::shrink);
            }
        }
        self.shrunk = if end == self.slab.capacity() { 0 } else { end };
    }

    /// The conversations of a choice that are longest without an event: an eighth of all of them,
    /// at least one.
    pub fn idlest(&self, of: impl Fn(Direction, &Conversation) -> bool) -> Vec<Direction> {
        let some = self.iter().filter(|(direction, conversation)| of(*direction, conversation));
        let mut all: Vec<_> = some.map(|(direction, conv)| (rank_idle(conv), direction)).collect();
        let count = (all.len() / 8).max(1).min(all.len());
        if count < all.len() {
            all.select_nth_unstable_by_key(count, |(seen, direction)| (*seen, direction.serial));
        }
        all.truncate(count);
        all.sort_unstable_by_key(|(seen, direction)| (*seen, direction.serial));
        all.into_iter().map(|(_, direction)| direction).collect()
    }
}

/// Conversations that are nobody's or that nothing is read from go first.
fn rank_idle(conversation: &Conversation) -> (bool, bool, Nanos) {
    let is_read = !matches!(conversation.state, State::Ignored);
    (conversation.places.claim == Claim::Possible, is_read, conversation.life.seen)
}

/// The number that a segment acknowledges; `None` without an acknowledgement.
fn acknowledged(tcp: &TcpFields) -> Option<Seq> {
    (tcp.flags & tcp_flags::ACK != 0).then_some(tcp.ack)
}

fn direction_of(index: usize, conversation: &Conversation) -> Direction {
    Direction { index, serial: conversation.serial, side: Side::A }
}
