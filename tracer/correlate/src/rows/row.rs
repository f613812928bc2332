//! Sums of the conversations of one row.

use super::counts::Counts;
use super::implementation::Implementation;
use super::own_pauses::OwnPauses;
use super::topic_readers::TopicReaders;
use crate::bytes::{Holes, Overhead};
use crate::flow::Unheard;
use crate::limits::deliveries::{UPKEEP_COMPARISON, UPKEEP_MEMORY};
use crate::stats::{Partial, Pauses, Ring, RowStats};
use crate::why::{Evidence, Numbers, Upkeep};
use rustc_hash::FxHashMap;
use std::net::SocketAddr;
use wirelap_events::{Leg, Nanos, NetNs, Pid, Saturate};
use wirelap_protocols::UnseenParties;

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

/// One row.
#[derive(Debug)]
pub struct Row {
    pub middleware: String,
    /// The protocol of its first conversation, by its name.
    pub protocol: &'static str,
    pub broker: Option<String>,
    pub endpoint: Option<SocketAddr>,
    /// The process that serves, once known.
    pub server: Option<Pid>,
    /// The namespace of its socket, once known.
    pub(super) netns: Option<NetNs>,
    /// The caller has named it.
    pub(super) is_label: bool,
    pub is_brokered: bool,
    pub counts: Counts,
    /// Deliveries of the warm-up: their bytes are in the ledger.
    pub warmed_up: u64,
    pub stats: RowStats,
    /// Bytes of conversations that are no longer kept.
    pub past: Overhead,
    /// The parts of those bytes that are not known.
    pub past_holes: Holes,
    pub roles: FxHashMap<Pid, ProcessRole>,
    /// Deliveries whose first seen stage is later than the send.
    pub without_send: u64,
    /// Legs that ended at another host.
    pub to_remote: u64,
    /// Legs in MPTCP connections.
    pub in_subflows: u64,
    /// Messages that two readers were sent of which only one should have been.
    pub read_twice: u64,
    /// Messages that are in no figure, or do not reach whom they are for.
    pub unheard: Unheard,
    /// The implementation of the protocol that its programs use.
    pub implementation: Implementation,
    /// Participants whose messages are not seen.
    pub unseen_parties: UnseenParties,
    /// Messages without a name and with too little payload to be found again behind who passes them on.
    pub nameless: u64,
    /// Deliveries of which it is not known which of several equal messages they brought.
    pub guessed: u64,
    /// Legs whose payload was in shared memory.
    pub shared: u64,
    /// Reads of its processes that took datagrams of which it is not known which they were.
    pub unknown_reads: u64,
    /// Messages on the way to the server, and from it, that are there by a batch's own account and cannot be read.
    pub unread: [u64; 2],
    /// Readers that messages of each topic reach.
    pub readers: TopicReaders,
    /// Legs of which no packet was seen.
    pub framed: u64,
    /// Messages that were read from a log, and that were not seen, or are not remembered, on their way there.
    pub read_from_log: u64,
    pub domain: Option<u32>,
    /// Times of the latest keep-alives and discovery.
    upkeep: Ring<Nanos, 32>,
    upkeep_latest: Nanos,
    /// The numbers of our own workloads' messages.
    pub numbers: Numbers,
    /// Why its messages take so long.
    pub evidence: Evidence,
    /// Messages that this host shows in part; most rows have none.
    pub partial: Option<Box<Partial>>,
    /// Why those take so long here.
    pub partial_evidence: Evidence,
    /// Until when a message that is read may have been sent before observation began: of a row whose connections were open before.
    pub joined_until: Nanos,
    /// The pauses of a row that is or was muted.
    pub(super) own_pauses: Option<Box<OwnPauses>>,
}

impl Row {
    pub(super) fn empty() -> Row {
        Row {
            middleware: String::new(),
            protocol: "",
            broker: None,
            endpoint: None,
            server: None,
            netns: None,
            is_label: false,
            is_brokered: false,
            counts: Counts::default(),
            warmed_up: 0,
            stats: RowStats::new(),
            past: Overhead::default(),
            past_holes: Holes::default(),
            roles: FxHashMap::default(),
            without_send: 0,
            to_remote: 0,
            in_subflows: 0,
            read_twice: 0,
            unheard: Unheard::default(),
            implementation: Implementation::Unknown,
            unseen_parties: UnseenParties::default(),
            nameless: 0,
            guessed: 0,
            shared: 0,
            unknown_reads: 0,
            unread: [0; 2],
            readers: TopicReaders::default(),
            framed: 0,
            read_from_log: 0,
            domain: None,
            upkeep: Ring::default(),
            upkeep_latest: Nanos(0),
            numbers: Numbers::default(),
            evidence: Evidence::default(),
            partial: None,
            partial_evidence: Evidence::default(),
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
        self.is_label
    }

    /// A pause has ended.
    pub(super) fn resume(&mut self, pauses: &Pauses, now: Nanos) {
        // As many are on their way at one edge of a window as at the other. What is missing beyond that could not be read.
        let missing = self.counts.unfinished.saturating_sub(self.counts.cut);
        self.stats.resume(pauses, now, missing);
        if let Some(partial) = &mut self.partial {
            partial.here.resume(pauses, now, 0);
        }
    }

    /// Returns the sums of messages that this host shows in part, which are made if there are none.
    pub fn partial_mut(&mut self) -> &mut Partial {
        self.partial.get_or_insert_with(|| Box::new(Partial::new()))
    }

    /// There was a keep-alive, or discovery.
    pub fn note_upkeep(&mut self, at: Nanos) {
        self.upkeep.push(at);
        self.upkeep_latest = self.upkeep_latest.max(at);
    }

    /// Takes over the figures of its deliveries, which were added up elsewhere: none was added here.
    pub(super) fn adopt_figures(&mut self, figures: Row) {
        self.counts += figures.counts;
        self.warmed_up.grow(figures.warmed_up);
        self.stats = figures.stats;
        (self.upkeep, self.upkeep_latest) = (figures.upkeep, figures.upkeep_latest);
        self.evidence.adopt(figures.evidence);
    }

    /// Adds what another one has, which has turned out to be the same.
    pub(super) fn absorb(&mut self, other: Row) {
        self.joined_until = self.joined_until.max(other.joined_until);
        self.adopt_pauses(other.own_pauses);
        self.counts += other.counts;
        self.warmed_up.grow(other.warmed_up);
        self.stats.merge(other.stats);
        self.past += &other.past;
        self.past_holes += other.past_holes;
        self.framed.grow(other.framed);
        self.read_from_log.grow(other.read_from_log);
        self.without_send.grow(other.without_send);
        self.to_remote.grow(other.to_remote);
        self.in_subflows.grow(other.in_subflows);
        self.read_twice.grow(other.read_twice);
        self.unheard.add(other.unheard);
        self.implementation.add(other.implementation);
        self.unseen_parties.add(other.unseen_parties);
        self.nameless.grow(other.nameless);
        self.guessed.grow(other.guessed);
        self.shared.grow(other.shared);
        self.unknown_reads.grow(other.unknown_reads);
        self.unread.iter_mut().zip(other.unread).for_each(|(sum, unread)| sum.grow(unread));
        self.readers.absorb(other.readers);
        for (pid, role) in other.roles {
            let mine = self.roles.entry(pid).or_default();
            mine.publishes |= role.publishes;
            mine.forwards |= role.forwards;
            mine.subscribes |= role.subscribes;
        }
        self.upkeep_latest = self.upkeep_latest.max(other.upkeep_latest);
        self.evidence.merge(&other.evidence);
        self.partial_evidence.merge(&other.partial_evidence);
        match (&mut self.partial, other.partial) {
            (Some(mine), Some(theirs)) => mine.merge(*theirs),
            (mine, Some(theirs)) => *mine = Some(theirs),
            (_, None) => {}
        }
    }

    /// Tells whether there was a keep-alive or discovery while a message was on a leg, and in as long a time
    /// before.
    pub fn had_upkeep(&self, leg: &Leg) -> Upkeep {
        let mut stages = leg.times.seen();
        let Some((_, from)) = stages.next() else { return Upkeep::default() };
        let to = stages.next_back().map_or(from, |(_, at)| at);
        let from = from - UPKEEP_MEMORY;
        let earlier = Nanos((to - from).0.saturating_mul(UPKEEP_COMPARISON));
        // Most rows have none for a long time.
        if self.upkeep_latest < from - earlier {
            return Upkeep::default();
        }
        let within = |from: Nanos, to: Nanos| self.upkeep.iter().any(|&at| at >= from && at <= to);
        let before = within(from - earlier, to - earlier);
        Upkeep { beside: within(from, to), before }
    }
}
