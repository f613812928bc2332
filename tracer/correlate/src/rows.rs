//! Rows: which conversation belongs to which, and what they add up to.

use crate::config::Label;
use crate::reached::Reached;
use crate::ring::Ring;
use crate::snapshot::{Counts, Holes, Overhead};
use crate::stats::RowStats;
use crate::why::{Evidence, Numbers};
use rustc_hash::FxHashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use wirelap_events::{FlowKey, GroupId, Leg, Nanos, NetNs, Pid};
use wirelap_protocols::{Protocol, Topology};

/// What makes conversations one row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum RowKey {
    Label(usize),
    /// The address that serves.
    Server(&'static str, NetNs, SocketAddr),
    /// The domain, for protocols that compute their ports from one.
    Domain(&'static str, u32),
    /// Beyond [`LIMIT`].
    Rest,
}

/// What a process did in a row's messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Role {
    pub publishes: bool,
    pub forwards: bool,
    pub subscribes: bool,
}

impl Role {
    pub fn name(self) -> &'static str {
        match (self.publishes, self.forwards, self.subscribes) {
            (_, true, _) => "broker",
            (true, false, true) => "peer",
            (true, false, false) => "publisher",
            (false, false, _) => "subscriber",
        }
    }
}

/// One row.
#[derive(Debug)]
pub struct Row {
    pub middleware: String,
    pub broker: Option<String>,
    pub endpoint: Option<SocketAddr>,
    /// The namespace of `endpoint`.
    pub scope: NetNs,
    /// The process that serves, once known.
    pub server: Option<Pid>,
    pub is_brokered: bool,
    pub counts: Counts,
    /// Deliveries of the warm-up: their bytes are in the ledger.
    pub warmed_up: u64,
    pub stats: RowStats,
    /// Bytes of conversations that are no longer kept.
    pub past: Overhead,
    /// What of those is not known.
    pub past_holes: Holes,
    pub roles: FxHashMap<Pid, Role>,
    /// Deliveries whose first seen stage is later than the send.
    pub without_send: u64,
    /// Legs that ended at another host.
    pub to_remote: u64,
    /// Legs whose payload was in shared memory.
    pub shared: u64,
    /// Messages on the way to the server, and from it, that are there by a batch's own account and cannot be read.
    pub unread: [u64; 2],
    /// Whom messages reach.
    pub reached: Reached,
    /// Legs of which no packet was seen.
    pub framed: u64,
    pub domain: Option<u32>,
    /// When there were keep-alives and discovery, the last times.
    upkeep: Ring<Nanos, 32>,
    upkeep_latest: Nanos,
    /// The numbers of our own workloads' messages.
    pub numbers: Numbers,
    /// Why its messages take so long.
    pub evidence: Evidence,
}

/// A keep-alive this long before a message is sent may still be in its way.
const BESIDE: Nanos = Nanos::from_millis(1);

impl Row {
    /// There was a keep-alive, or discovery.
    pub fn note_upkeep(&mut self, at: Nanos) {
        self.upkeep.push(at);
        self.upkeep_latest = self.upkeep_latest.max(at);
    }

    /// Whether there was a keep-alive or discovery while a message was on a leg.
    pub fn had_upkeep(&self, leg: &Leg) -> bool {
        let mut stages = leg.times.seen();
        let Some((_, from)) = stages.next() else { return false };
        let to = stages.next_back().map_or(from, |(_, at)| at);
        // Most rows have none for a long time.
        self.upkeep_latest >= from - BESIDE
            && self.upkeep.iter().any(|&at| at >= from - BESIDE && at <= to)
    }
}

/// Rows that are told apart; conversations beyond share one.
const LIMIT: usize = 256;

/// Processes that are listed in a row.
pub const PROCESSES: usize = 256;

/// Every row.
#[derive(Debug, Default)]
pub struct Rows {
    labels: Vec<Label>,
    keys: FxHashMap<RowKey, GroupId>,
    all: Vec<Row>,
}

impl Rows {
    pub fn new(labels: Vec<Label>) -> Rows {
        Rows { labels, ..Rows::default() }
    }

    pub fn add_label(&mut self, label: Label) {
        self.labels.push(label);
    }

    pub fn labels(&self) -> usize {
        self.labels.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (GroupId, &Row)> {
        (0..).map(GroupId).zip(&self.all)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Row> {
        self.all.iter_mut()
    }

    pub fn get(&self, id: GroupId) -> Option<&Row> {
        self.all.get(id.0 as usize)
    }

    pub fn get_mut(&mut self, id: GroupId) -> Option<&mut Row> {
        self.all.get_mut(id.0 as usize)
    }

    /// A row of the name that the caller has given to these processes, if there is one.
    pub fn labelled(&self, pids: &[Pid]) -> Option<GroupId> {
        let name = &self.labels.get(self.label_of(pids)?)?.name;
        let same = self.labels.iter().enumerate().filter(|(_, label)| label.name == *name);
        same.map(|(index, _)| RowKey::Label(index)).find_map(|key| self.keys.get(&key).copied())
    }

    fn label_of(&self, pids: &[Pid]) -> Option<usize> {
        self.labels.iter().position(|label| label.pids.iter().any(|pid| pids.contains(pid)))
    }

    /// The row of a conversation. A label by process beats one by port.
    pub fn row_of(
        &mut self,
        protocol: &'static dyn Protocol,
        key: FlowKey,
        server: SocketAddr,
        pids: &[Pid],
    ) -> GroupId {
        let ports = [key.src.port(), key.dst.port()];
        let label = self.label_of(pids).or_else(|| {
            self.labels.iter().position(|l| l.ports.iter().any(|port| ports.contains(port)))
        });
        let domain = || ports.iter().find_map(|&port| protocol.domain(port));
        let mut row_key = match (label, domain()) {
            (Some(label), _) => RowKey::Label(label),
            (None, Some(domain)) => RowKey::Domain(protocol.name(), domain),
            (None, None) => RowKey::Server(protocol.name(), key.scope, normal(server)),
        };
        if self.all.len() >= LIMIT && !self.keys.contains_key(&row_key) {
            row_key = RowKey::Rest;
        }
        if let Some(&id) = self.keys.get(&row_key) {
            return id;
        }
        let id = GroupId(u32::try_from(self.all.len()).unwrap_or(u32::MAX));
        self.all.push(self.new_row(&row_key, protocol, server, key.scope));
        self.keys.insert(row_key, id);
        id
    }

    fn new_row(
        &self,
        key: &RowKey,
        protocol: &dyn Protocol,
        server: SocketAddr,
        scope: NetNs,
    ) -> Row {
        let label = match key {
            RowKey::Label(index) => self.labels.get(*index),
            _ => None,
        };
        let domain = match key {
            RowKey::Domain(_, domain) => Some(*domain),
            _ => None,
        };
        let name = if *key == RowKey::Rest { "other" } else { protocol.name() };
        Row {
            middleware: label.map_or_else(|| name.to_owned(), |label| label.name.clone()),
            broker: label.and_then(|label| label.broker.clone()),
            endpoint: (domain.is_none() && *key != RowKey::Rest).then_some(server),
            scope,
            server: None,
            is_brokered: protocol.topology() == Topology::Brokered,
            counts: Counts::default(),
            warmed_up: 0,
            stats: RowStats::new(),
            past: Overhead::default(),
            past_holes: Holes::default(),
            roles: FxHashMap::default(),
            without_send: 0,
            to_remote: 0,
            shared: 0,
            unread: [0; 2],
            reached: Reached::default(),
            framed: 0,
            domain,
            upkeep: Ring::default(),
            upkeep_latest: Nanos(0),
            numbers: Numbers::default(),
            evidence: Evidence::default(),
        }
    }
}

/// One broker listens on both loopback addresses.
pub fn normal(server: SocketAddr) -> SocketAddr {
    if server.ip().is_loopback() {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), server.port())
    } else {
        server
    }
}
