//! Rows: which conversation belongs to which, and what they add up to.

use super::deferred::DeferredFigures;
use super::row::Row;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::net::SocketAddr;
use wirelap_events::{FlowKey, GroupId, NetNs, Pid, Saturate, TopicId, Transport};
use wirelap_flow::{Label, normal, scope_of};
use wirelap_protocols::{MessageRouting, Protocol};

/// The key that makes conversations one row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum RowKey {
    /// The first label of a name.
    Label(usize),
    /// The address that serves, and where, for one that cannot leave its namespace.
    Server(&'static str, NetNs, SocketAddr),
    /// The same address in a further namespace, where somebody else serves.
    ServerIn(&'static str, NetNs, SocketAddr),
    /// The process that serves, at whatever addresses; of peers, which serve for themselves, its port too.
    Process(&'static str, Pid, u16),
    /// The domain, for protocols that compute their ports from one.
    Domain(&'static str, u32),
    /// Beyond [`LIMIT`].
    Other,
}

/// A participant of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Member {
    Process(Pid),
    /// By the name that its protocol tells.
    Participant(TopicId),
}

/// The processes and addresses at the ends of a conversation, as far as they are known.
#[derive(Clone, Copy, Debug)]
pub struct RowEnds<'a> {
    pub pids: &'a [Pid],
    pub participants: [Option<TopicId>; 2],
}

impl RowEnds<'_> {
    fn members(&self) -> impl Iterator<Item = Member> {
        let participants = self.participants.into_iter().flatten().map(Member::Participant);
        self.pids.iter().copied().map(Member::Process).chain(participants)
    }
}

/// The server in a conversation, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    pub addr: SocketAddr,
    /// The namespace that the address is told by.
    pub scope: NetNs,
    pub pid: Option<Pid>,
    /// The namespace of its socket.
    pub netns: Option<NetNs>,
}

/// Rows that are told apart; conversations beyond share one.
const LIMIT: usize = 256;

/// Names that rows are known by.
const KEYS: usize = 65_536;

/// Every row.
#[derive(Debug, Default)]
pub struct Rows {
    labels: Vec<Label>,
    keys: FxHashMap<RowKey, GroupId>,
    all: Vec<Row>,
    /// Rows that have turned out to be another one.
    joined: FxHashMap<GroupId, GroupId>,
    /// The domain that a process or participant takes part in, by protocol; `None` for one in several.
    members: FxHashMap<(&'static str, Member), Option<u32>>,
    /// Number of times that the domain of a member became known, or turned out to be another one.
    enrolled: u64,
    /// Number of muted rows.
    pub(super) muted: usize,
    /// Deliveries to be added to the figures of rows elsewhere, where that is wanted.
    deferred: Option<Box<DeferredFigures>>,
}

impl Rows {
    pub fn new(labels: Vec<Label>) -> Rows {
        Rows { labels, ..Rows::default() }
    }

    /// This many rows that nobody has named.
    #[cfg(test)]
    pub(super) fn of_nobody(count: usize) -> Rows {
        Rows { all: std::iter::repeat_with(Row::empty).take(count).collect(), ..Rows::default() }
    }

    pub fn add_label(&mut self, label: Label) {
        self.labels.push(label);
    }

    /// From now on what deliveries add to their rows is only noted, to be taken with [`Rows::deferred`]; or it is added here again.
    pub fn defer(&mut self, is_deferred: bool) {
        self.deferred = is_deferred.then(Box::default);
    }

    /// Deliveries to be added to the figures of rows elsewhere; `None` where they are added here.
    pub fn deferred(&mut self) -> Option<&mut DeferredFigures> {
        self.deferred.as_deref_mut()
    }

    /// Counts what bears on which conversation belongs to which row.
    pub fn version(&self) -> u64 {
        (self.labels.len().saturating_add(self.joined.len()) as u64).saturating_add(self.enrolled)
    }

    /// The row that a row has turned out to be; most are themselves.
    pub fn root(&self, id: GroupId) -> GroupId {
        if self.joined.is_empty() {
            return id;
        }
        std::iter::successors(Some(id), |id| self.joined.get(id).copied()).last().unwrap_or(id)
    }

    /// The rows that have turned out to be another one, and which one that is.
    pub fn united(&self) -> Vec<(GroupId, GroupId)> {
        let mut all: Vec<_> = self.joined.keys().map(|&part| (part, self.root(part))).collect();
        all.sort_unstable();
        all
    }

    /// One row is a part of another one from now on, unless they are of different protocols.
    pub fn join(&mut self, part: GroupId, whole: GroupId) {
        let (part, whole) = (self.root(part), self.root(whole));
        let protocol = |id| self.get(id).map(|row| row.name.protocol);
        // What the caller has named stays as it is.
        let is_named = |id| self.get(id).is_none_or(|row| row.name.is_label);
        if is_named(part) || is_named(whole) || protocol(part) != protocol(whole) {
            return;
        }
        let Some(from) = self.all.get_mut(part.0 as usize).filter(|_| part != whole) else {
            return;
        };
        let gone = std::mem::replace(from, Row::empty());
        if let Some(into) = self.all.get_mut(whole.0 as usize) {
            into.absorb(gone);
        }
        self.joined.insert(part, whole);
        self.count_muted();
    }

    /// The row of the server at an address.
    pub fn at(&self, addr: SocketAddr, scope: NetNs) -> Option<GroupId> {
        let scope = scope_of(addr, scope);
        let served = self.keys.iter().filter(|(key, _)| {
            matches!(key, RowKey::Server(_, of, at) if *of == scope && *at == normal(addr))
        });
        let served = served.map(|(_, &id)| self.root(id)).min_by_key(|id| id.0);
        // The caller's own workloads are told by their processes.
        let is_named =
            |row: &Row| row.name.is_label && row.endpoint.map(normal) == Some(normal(addr));
        served.or_else(|| self.iter().find(|(_, row)| is_named(row)).map(|(id, _)| id))
    }

    /// The row of a server: that at its address, or else that of its process at the same port of other addresses.
    pub fn of_server(&self, server: Server) -> Option<GroupId> {
        let by_address = self.at(server.addr, server.scope);
        by_address.or_else(|| self.of_process(server.pid?, server.netns, server.addr.port()))
    }

    /// The row of a process that serves at a port, at whatever addresses.
    fn of_process(&self, pid: Pid, netns: Option<NetNs>, port: u16) -> Option<GroupId> {
        let serves_here = |row: &Row| {
            row.server == Some(pid)
                && (row.netns.is_none() || netns.is_none() || row.netns == netns)
        };
        let at_port = self.keys.iter().filter(|(key, _)| {
            matches!(key, RowKey::Server(_, _, at) | RowKey::ServerIn(_, _, at) if at.port() == port)
        });
        let rows = at_port.map(|(_, &id)| self.root(id));
        let served = rows.filter(|&id| self.get(id).is_some_and(serves_here)).min_by_key(|id| id.0);
        // The caller's own workloads are told by their processes.
        let is_named = |row: &Row| {
            row.name.is_label
                && row.endpoint.is_some_and(|at| at.port() == port)
                && serves_here(row)
        };
        served.or_else(|| self.iter().find(|(_, row)| is_named(row)).map(|(id, _)| id))
    }

    /// The rows of a process that serves them and passes their messages on, at whatever addresses.
    pub fn of_broker(&self, pid: Pid) -> impl Iterator<Item = GroupId> + '_ {
        let passes_on = move |row: &Row| {
            row.server == Some(pid)
                && (row.is_brokered || row.roles.get(&pid).is_some_and(|role| role.forwards))
        };
        self.iter().filter(move |(_, row)| passes_on(row)).map(|(id, _)| id)
    }

    pub fn iter(&self) -> impl Iterator<Item = (GroupId, &Row)> {
        (0..).map(GroupId).zip(&self.all)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Row> {
        self.all.iter_mut()
    }

    pub fn get(&self, id: GroupId) -> Option<&Row> {
        self.all.get(self.root(id).0 as usize)
    }

    pub fn get_mut(&mut self, id: GroupId) -> Option<&mut Row> {
        let id = self.root(id);
        self.all.get_mut(id.0 as usize)
    }

    /// The row of the name that the caller has given to these processes, if there is one.
    pub fn labelled(&self, pids: &[Pid]) -> Option<GroupId> {
        self.known(&self.label_of(pids)?)
    }

    fn label_of(&self, pids: &[Pid]) -> Option<RowKey> {
        self.label(|label| label.pids.iter().any(|pid| pids.contains(pid)))
    }

    /// The row of the first label that fits: labels of one name share one row.
    fn label(&self, fits: impl Fn(&Label) -> bool) -> Option<RowKey> {
        let name = &self.labels.iter().find(|label| fits(label))?.name;
        self.labels.iter().position(|label| label.name == *name).map(RowKey::Label)
    }

    /// The row of a conversation. A label by process beats one by port. `is_running` tells which processes have a connection.
    pub fn row_of(
        &mut self,
        protocol: &'static dyn Protocol,
        key: FlowKey,
        server: Server,
        ends: RowEnds<'_>,
        is_running: &dyn Fn(Pid) -> bool,
    ) -> GroupId {
        let row = self.find_row(protocol, key, server, ends);
        if let Some(row) = self.get_mut(row) {
            row.is_served_by(server.pid, is_running);
        }
        row
    }

    fn find_row(
        &mut self,
        protocol: &'static dyn Protocol,
        key: FlowKey,
        server: Server,
        ends: RowEnds<'_>,
    ) -> GroupId {
        let ports = [key.src.port(), key.dst.port()];
        let by_port = |label: &Label| label.ports.iter().any(|port| ports.contains(port));
        let label = self.label_of(ends.pids).or_else(|| self.label(by_port));
        // Ports of TCP are anybody's.
        let is_told = key.transport == Transport::Udp;
        let domain = || ports.iter().filter(|_| is_told).find_map(|&port| protocol.domain(port));
        match (label, domain()) {
            (Some(label), _) => self.find_or_add(label, protocol, server.addr),
            (None, Some(domain)) => {
                for member in ends.members() {
                    self.enrol(protocol.name(), member, domain);
                }
                let domain = RowKey::Domain(protocol.name(), domain);
                self.find_or_add(domain, protocol, server.addr)
            }
            (None, None) => self.without_domain(protocol, server, ends),
        }
    }

    /// A process or participant talks at a port of this domain.
    fn enrol(&mut self, protocol: &'static str, member: Member, domain: u32) {
        let is_full = self.members.len() >= KEYS;
        match self.members.entry((protocol, member)) {
            Entry::Occupied(known) if known.get().is_none_or(|known| known == domain) => return,
            Entry::Occupied(mut known) => *known.get_mut() = None,
            Entry::Vacant(_) if is_full => return,
            Entry::Vacant(vacant) => drop(vacant.insert(Some(domain))),
        }
        self.enrolled.grow(1);
    }

    /// The row of a conversation at ports that tell no domain: that of the domain that one of its processes or participants
    /// is known to take part in (a DDS participant may have its own data sent to any port).
    fn without_domain(
        &mut self,
        protocol: &'static dyn Protocol,
        server: Server,
        ends: RowEnds<'_>,
    ) -> GroupId {
        let name = protocol.name();
        let known = |member: Member| self.members.get(&(name, member)).copied().flatten();
        let Some(domain) = ends.members().find_map(known) else {
            return self.served_by(protocol, server);
        };
        let row = self.find_or_add(RowKey::Domain(name, domain), protocol, server.addr);
        // What it had before that was known.
        let addr = normal(server.addr);
        let process = server.pid.map(|pid| RowKey::Process(name, pid, addr.port()));
        for key in process.into_iter().chain([RowKey::Server(name, server.scope, addr)]) {
            if let Some(part) = self.known(&key).filter(|&part| part != row) {
                self.join(part, row);
            }
        }
        row
    }

    fn known(&self, key: &RowKey) -> Option<GroupId> {
        self.keys.get(key).map(|&id| self.root(id))
    }

    fn find_or_add(
        &mut self,
        mut row_key: RowKey,
        protocol: &'static dyn Protocol,
        server: SocketAddr,
    ) -> GroupId {
        if self.all.len() >= LIMIT && !self.keys.contains_key(&row_key) {
            row_key = RowKey::Other;
        }
        if let Some(id) = self.known(&row_key) {
            return id;
        }
        let id = GroupId(u32::try_from(self.all.len()).unwrap_or(u32::MAX));
        self.all.push(self.new_row(&row_key, protocol, server));
        self.keys.insert(row_key, id);
        id
    }

    /// The row of a server: that of its process, which may serve at several addresses, or else that of its address, behind
    /// which there may be several processes. The same address in two namespaces is two servers.
    fn served_by(&mut self, protocol: &'static dyn Protocol, server: Server) -> GroupId {
        let (name, addr) = (protocol.name(), normal(server.addr));
        let is_broker = protocol.topology() == MessageRouting::Brokered;
        let port = if is_broker { 0 } else { addr.port() };
        let process = server.pid.map(|pid| RowKey::Process(name, pid, port));
        let by_process = process.as_ref().and_then(|process| self.known(process));
        let mut at = RowKey::Server(name, server.scope, addr);
        if let Some(row) = self.known(&at).and_then(|id| self.get(id))
            && let (Some(there), Some(here)) = (row.netns, server.netns)
            && there != here
            && by_process.is_none()
        {
            at = RowKey::ServerIn(name, here, addr);
        }
        let id = match (by_process, self.known(&at)) {
            (Some(process), Some(address)) if process != address => {
                if self.is_nobodys(address, server.pid) {
                    self.join(address, process);
                }
                process
            }
            (Some(process), _) => {
                self.keys.entry(at).or_insert(process);
                process
            }
            (None, _) => self.find_or_add(at, protocol, server.addr),
        };
        if let Some(process) = process.filter(|_| self.keys.len() < KEYS) {
            self.keys.entry(process).or_insert(id);
        }
        let is_usual = |at: SocketAddr| protocol.ports(Transport::Tcp).contains(&at.port());
        if let Some(row) = self.get_mut(id) {
            row.netns = row.netns.or(server.netns);
            // A broker may talk at other ports to its controllers or to other brokers.
            let found_elsewhere = row.endpoint.is_some_and(|at| !is_usual(at));
            if is_broker && found_elsewhere && is_usual(server.addr) {
                row.endpoint = Some(server.addr);
            }
        }
        id
    }

    /// True if the row of an address may be this process's: no other one is known to serve there.
    fn is_nobodys(&self, row: GroupId, pid: Option<Pid>) -> bool {
        self.get(row).is_some_and(|row| row.server.is_none_or(|server| Some(server) == pid))
    }

    fn new_row(&self, key: &RowKey, protocol: &dyn Protocol, server: SocketAddr) -> Row {
        let label = match key {
            RowKey::Label(index) => self.labels.get(*index),
            _ => None,
        };
        let domain = match key {
            RowKey::Domain(_, domain) => Some(*domain),
            _ => None,
        };
        let name = if *key == RowKey::Other { "other" } else { protocol.name() };
        let mut row = Row::empty();
        row.name.middleware = label.map_or_else(|| name.to_owned(), |label| label.name.clone());
        row.name.protocol = protocol.name();
        row.name.broker = label.and_then(|label| label.broker.clone());
        row.endpoint = (domain.is_none() && *key != RowKey::Other).then_some(server);
        row.name.is_label = label.is_some();
        row.is_brokered = protocol.topology() == MessageRouting::Brokered;
        row.name.domain = domain;
        row
    }
}
