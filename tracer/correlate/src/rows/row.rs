//! Sums of the conversations of one row.

use super::counts::Counts;
use super::implementation::Implementation;
use super::own_pauses::OwnPauses;
use super::refusals::Refusals;
use super::topic_readers::TopicReaders;
use rustc_hash::FxHashMap;
use std::net::SocketAddr;
use wirelap_events::{Nanos, NetNs, Pid, Saturate};
use wirelap_figures::{LocalRequests, Partial, Pauses, RowStats, UncertainCounts};
use wirelap_flow::{Holes, Overhead};
use wirelap_why::{Evidence, Numbers};

/// Processes that are listed in a row.
pub const PROCESSES: usize = 256;

/// The role of a process in a row's messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessRole {
    pub publishes: bool,
    pub forwards: bool,
    pub subscribes: bool,
}

impl ProcessRole {
    pub fn name(self) -> &'static str {
        match (self.publishes, self.forwards, self.subscribes) {
            (_, true, _) => "broker",
            (true, false, true) => "peer",
            (true, false, false) => "publisher",
            (false, false, _) => "subscriber",
        }
    }
}

/// The name of a row.
#[derive(Debug)]
pub struct RowName {
    pub middleware: String,
    /// The protocol of its first conversation, by its name.
    pub protocol: &'static str,
    pub broker: Option<String>,
    pub domain: Option<u32>,
    /// The caller has named it.
    pub(super) is_label: bool,
}

/// Bytes of a row's conversations that are no longer kept.
#[derive(Debug, Default)]
pub struct PastBytes {
    pub overhead: Overhead,
    /// The parts of those bytes that are not known.
    pub holes: Holes,
}

/// Counts of a row that notes and verdicts tell.
#[derive(Clone, Copy, Debug, Default)]
pub struct NotedCounts {
    /// Legs in MPTCP connections.
    pub in_subflows: u64,
    /// Legs whose payload was in shared memory.
    pub shared: u64,
    /// Legs of which no packet was seen.
    pub framed: u64,
    /// Messages on the way to the server, and from it, that are there by a batch's own account and cannot be read.
    pub unread: [u64; 2],
    /// Messages that were read from a log, and that were not seen, or are not remembered, on their way there.
    pub read_from_log: u64,
}

impl NotedCounts {
    /// Messages that cannot be read, in both directions.
    pub fn unread(&self) -> u64 {
        self.unread[0].saturating_add(self.unread[1])
    }

    fn add(&mut self, other: NotedCounts) {
        self.in_subflows.grow(other.in_subflows);
        self.shared.grow(other.shared);
        self.framed.grow(other.framed);
        self.unread.iter_mut().zip(other.unread).for_each(|(sum, unread)| sum.grow(unread));
        self.read_from_log.grow(other.read_from_log);
    }
}

/// Messages that this host shows in part.
#[derive(Debug, Default)]
pub struct PartialMessages {
    /// The figures of these messages; most rows have none.
    pub figures: Option<Box<Partial>>,
    /// Why they take so long here.
    pub evidence: Evidence,
}

/// Requests whose both ends are on this host.
#[derive(Debug, Default)]
pub struct RowRequests {
    /// The figures of these requests.
    pub figures: LocalRequests,
    /// Why they take so long.
    pub evidence: Evidence,
}

/// One row.
#[derive(Debug)]
pub struct Row {
    pub name: RowName,
    pub endpoint: Option<SocketAddr>,
    /// The process that serves, once known.
    pub server: Option<Pid>,
    /// The namespace of its socket, once known.
    pub(super) netns: Option<NetNs>,
    pub is_brokered: bool,
    pub counts: Counts,
    /// Deliveries of the warm-up: their bytes are in the ledger.
    pub warmed_up: u64,
    pub stats: RowStats,
    pub past: PastBytes,
    pub roles: FxHashMap<Pid, ProcessRole>,
    pub uncertain: UncertainCounts,
    pub noted: NotedCounts,
    pub refusals: Refusals,
    /// The implementation of the protocol that its programs use.
    pub implementation: Implementation,
    /// Readers that messages of each topic reach.
    pub readers: TopicReaders,
    /// The numbers of our own workloads' messages.
    pub numbers: Numbers,
    /// Why its messages take so long.
    pub evidence: Evidence,
    pub partial: PartialMessages,
    pub requests: Option<Box<RowRequests>>,
    /// Until when a message that is read may have been sent before observation began: of a row whose connections were open before.
    pub joined_until: Nanos,
    /// Pauses of its own, of one that is or was muted.
    pub(super) own_pauses: Option<Box<OwnPauses>>,
}

impl Row {
    pub(super) fn empty() -> Row {
        let name = RowName {
            middleware: String::new(),
            protocol: "",
            broker: None,
            domain: None,
            is_label: false,
        };
        Row {
            name,
            endpoint: None,
            server: None,
            netns: None,
            is_brokered: false,
            counts: Counts::default(),
            warmed_up: 0,
            stats: RowStats::default(),
            past: PastBytes::default(),
            roles: FxHashMap::default(),
            uncertain: UncertainCounts::default(),
            refusals: Refusals::default(),
            noted: NotedCounts::default(),
            implementation: Implementation::Unknown,
            readers: TopicReaders::default(),
            numbers: Numbers::default(),
            evidence: Evidence::default(),
            partial: PartialMessages::default(),
            requests: None,
            joined_until: Nanos(0),
            own_pauses: None,
        }
    }

    /// This process serves in one of its conversations. It takes the place of another one that does not run any more.
    pub(super) fn is_served_by(&mut self, pid: Option<Pid>, is_running: &dyn Fn(Pid) -> bool) {
        let Some(pid) = pid.filter(|&pid| self.server != Some(pid)) else { return };
        let Some(before) = self.server else {
            self.server = Some(pid);
            return;
        };
        if is_running(before) || !is_running(pid) {
            return;
        }
        self.server = Some(pid);
        // What its predecessor did is its part from now on, before it has done anything.
        if self.roles.get(&before).is_some_and(|role| role.forwards) && self.roles.len() < PROCESSES
        {
            self.roles.entry(pid).or_default().forwards = true;
        }
    }

    /// The caller has named it.
    pub fn has_told_name(&self) -> bool {
        self.name.is_label
    }

    /// A pause has ended.
    pub(super) fn resume(&mut self, pauses: &Pauses, now: Nanos) {
        // As many are on their way at one edge of a window as at the other. What is missing beyond that could not be read.
        let missing = self.counts.unfinished.saturating_sub(self.counts.cut);
        self.stats.resume(pauses, now, missing);
        if let Some(partial) = &mut self.partial.figures {
            partial.here.resume(pauses, now, 0);
        }
    }

    /// Returns the sums of messages that this host shows in part, which are made if there are none.
    pub fn partial_mut(&mut self) -> &mut Partial {
        self.partial.figures.get_or_insert_default()
    }

    /// Takes over the figures of its deliveries, which were added up elsewhere: none was added here.
    pub(super) fn adopt_figures(&mut self, figures: Row) {
        self.counts += figures.counts;
        self.warmed_up.grow(figures.warmed_up);
        self.stats = figures.stats;
        self.evidence.adopt(figures.evidence);
    }

    /// Returns the sums of requests whose both ends are on this host, which are made if there are none.
    pub fn requests_mut(&mut self) -> &mut RowRequests {
        self.requests.get_or_insert_default()
    }

    /// Adds what another one has, which has turned out to be the same.
    pub(super) fn absorb(&mut self, other: Row) {
        self.joined_until = self.joined_until.max(other.joined_until);
        self.adopt_pauses(other.own_pauses);
        self.counts += other.counts;
        self.warmed_up.grow(other.warmed_up);
        self.stats.merge(other.stats);
        self.past.overhead += &other.past.overhead;
        self.past.holes += other.past.holes;
        self.noted.add(other.noted);
        self.refusals.absorb(other.refusals);
        self.uncertain.add(other.uncertain);
        self.implementation.add(other.implementation);
        self.readers.absorb(other.readers);
        for (pid, role) in other.roles {
            let mine = self.roles.entry(pid).or_default();
            mine.publishes |= role.publishes;
            mine.forwards |= role.forwards;
            mine.subscribes |= role.subscribes;
        }
        self.evidence.merge(&other.evidence);
        self.partial.evidence.merge(&other.partial.evidence);
        if let Some(requests) = other.requests {
            let mine = self.requests.get_or_insert_default();
            mine.figures.merge(requests.figures);
            mine.evidence.merge(&requests.evidence);
        }
        match (&mut self.partial.figures, other.partial.figures) {
            (Some(mine), Some(theirs)) => mine.merge(*theirs),
            (mine, Some(theirs)) => *mine = Some(theirs),
            (_, None) => {}
        }
    }
}
