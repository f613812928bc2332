//! Sums of the rows, and of events that belong to no row.

use super::totals::Totals;
use crate::join::GivenUp;
use crate::rows::{Row, Rows};
use rustc_hash::{FxHashMap, FxHashSet};
use std::net::SocketAddr;
use wirelap_events::{GroupId, Nanos, NetNs, Pid, Saturate, TopicId, Total, Wake};
use wirelap_figures::{
    BreakdownQuery, BreakdownTable, ClientNames, Dimension, MessageEnd, Owner, Pauses, ReaderGroup,
};
use wirelap_flow::{
    Conversation, Direction, EndedUnknown, FlowEnds, Holes, Label, Ledger, Overhead,
    ProbeConnections, Unknown, UnknownKey, UnknownTraffic,
};
use wirelap_why::{LagTable, Shortfalls};

/// The shortest wait of which it is counted for its row who had the CPU.
const WAITED: Nanos = Nanos::from_micros(20);

/// Processes whose unknown reads are counted.
const MAX_UNKNOWN_READERS: usize = 1024;

/// The rows, and what belongs to none.
#[derive(Debug)]
pub struct Accounts {
    /// Every row.
    pub rows: Rows,
    /// Counters over everything.
    pub totals: Totals,
    /// Rows by what the user asked for.
    pub breakdown: Option<Box<BreakdownTable>>,
    /// The breakdown query: which of these rows a snapshot lists.
    pub query: BreakdownQuery,
    /// The names that clients gave themselves, and their groups.
    pub clients: ClientNames,
    /// The progress of each subscriber on each topic.
    pub lag: LagTable,
    /// Messages that subscribers should have and have not.
    pub shortfalls: Shortfalls,
    probe_connections: ProbeConnections,
    /// Traffic that was not decoded, of conversations that are no longer kept.
    unknown: EndedUnknown,
    /// The processes of the reads that were counted as unknown since that was last asked.
    unknown_readers: FxHashSet<Pid>,
    /// Reads of which it will not be known what they took, by process.
    unknown_reads: FxHashMap<Pid, u64>,
}

impl Accounts {
    /// Nothing counted yet. The caller has named these rows.
    pub fn new(labels: Vec<Label>, query: BreakdownQuery) -> Accounts {
        Accounts {
            rows: Rows::new(labels),
            totals: Totals::default(),
            breakdown: BreakdownTable::new(&query.by).map(Box::new),
            query,
            clients: ClientNames::default(),
            lag: LagTable::default(),
            shortfalls: Shortfalls::default(),
            probe_connections: ProbeConnections::default(),
            unknown: EndedUnknown::default(),
            unknown_readers: FxHashSet::default(),
            unknown_reads: FxHashMap::default(),
        }
    }

    /// Other rows are asked for, or others of them. Rows by something else begin anew at `now`.
    pub fn ask(&mut self, query: BreakdownQuery, now: Nanos) {
        if query.by != self.query.by {
            self.breakdown = BreakdownTable::new(&query.by).map(Box::new);
            if let Some(table) = &mut self.breakdown {
                table.since = Some(now);
            }
        }
        self.query = query;
    }

    /// A thread of a row's processes waited for a CPU.
    pub fn waited(&mut self, at: Nanos, wake: &Wake) {
        if at - wake.woken >= WAITED {
            let is_its = |row: &&mut Row| row.roles.contains_key(&wake.task.pid) && !row.is_muted();
            let its = self.rows.iter_mut().filter(is_its);
            its.for_each(|row| row.evidence.waited(at, wake));
        }
    }

    /// Counts a read of this process of which it will not be known what it took.
    pub fn unknown_read(&mut self, pid: Pid) {
        self.totals.unknown_reads.grow(1);
        if self.unknown_reads.len() < MAX_UNKNOWN_READERS || self.unknown_reads.contains_key(&pid) {
            self.unknown_reads.entry(pid).or_default().grow(1);
        }
        self.unknown_readers.insert(pid);
    }

    /// Reads of a row's processes of which it will not be known what they took.
    pub fn unknown_reads_of(&self, row: &Row) -> u64 {
        if self.unknown_reads.is_empty() {
            return 0;
        }
        row.roles.keys().filter_map(|pid| self.unknown_reads.get(pid).copied()).total()
    }

    /// The processes that have read since that was last asked what will not be known.
    pub fn take_unknown_readers(&mut self) -> FxHashSet<Pid> {
        std::mem::take(&mut self.unknown_readers)
    }

    /// Keeps what a conversation that is forgotten added up to.
    pub fn keep(&mut self, row: Option<GroupId>, mut gone: Conversation) {
        self.totals.hide(gone.take_hidden());
        self.clients.forget(gone.serial);
        match row.and_then(|row| self.rows.get_mut(row)) {
            // It came into view since its row was muted.
            Some(row) if row.is_muted() && gone.muted_until == Nanos(0) => {}
            Some(row) => {
                gone.add_bytes_to(&mut row.past.overhead);
                row.past.holes += gone.holes();
            }
            None => {
                if let Some(server) = gone.probed_server() {
                    self.probe_connections.keep(server, &gone.ledger);
                }
            }
        }
    }

    /// Keeps what a conversation that is forgotten adds to what is not known of a row.
    pub fn keep_hidden(&mut self, row: GroupId, holes: Holes) {
        if let Some(row) = self.rows.get_mut(row) {
            row.past.holes += holes;
        }
    }

    /// Keeps what a conversation that is forgotten adds to the traffic that is not decoded.
    pub fn keep_unknown(&mut self, key: UnknownKey, row: UnknownTraffic) {
        self.unknown.add(key, row);
    }

    /// The traffic that is not decoded, with that of the `open` conversations.
    pub fn unknown(
        &self,
        open: impl Iterator<Item = (UnknownKey, UnknownTraffic)>,
        now: Nanos,
    ) -> Unknown {
        self.unknown.with(open, now)
    }

    /// Adds the probe connections, past and `open`, to the sums of the rows whose server they went to.
    pub fn add_probe_connections(
        &self,
        open: &[((SocketAddr, NetNs), &Ledger)],
        sums: &mut [Overhead],
    ) {
        let row_at = |(addr, scope)| Some(self.rows.at(addr, scope)?.0 as usize);
        self.probe_connections.add_to(open, row_at, sums);
    }

    /// Adds a delivery that is not followed to the rows that the user asked for.
    pub fn note_unfollowed(
        &mut self,
        (group, topic): (GroupId, Option<TopicId>),
        (direction, ends): (Direction, &FlowEnds),
        read_in: ReaderGroup,
        payload_len: u64,
    ) {
        let Some(breakdown) = &mut self.breakdown else { return };
        let (flow, reader) = (direction.back().id(), &ends.receiver);
        let read_in = match read_in {
            ReaderGroup::Unknown if breakdown.by.contains(&Dimension::Group) => {
                let owner = reader.pid.map_or(Owner::Address(reader.addr.ip()), Owner::Process);
                self.clients.group(flow, owner).map_or(ReaderGroup::Unknown, ReaderGroup::Named)
            }
            read_in => read_in,
        };
        let end = MessageEnd {
            flow,
            addresses: [reader.addr, ends.sender.addr],
            pid: reader.pid,
            client: self.clients.of(flow),
            group: read_in,
            link: None,
        };
        let of = (self.rows.root(group), topic);
        breakdown.delivered(of, &end, payload_len, None, Nanos(0));
    }

    /// Counts what was left of a message that is given up. `all`: the pauses of the observation, in one of which it may have begun, or which
    /// began when it was on its way.
    pub fn count_leftover(&mut self, gone: &GivenUp, all: &Pauses) {
        if let Some(row) = self.rows.get_mut(gone.row) {
            let pauses = row.pauses(all);
            let (was_cut, may_be_cut) = (pauses.has_cut(gone.at), row.may_be_cut(all, gone.at));
            let read = gone.left.unjoined.saturating_add(gone.left.from_elsewhere);
            let window = pauses.windows().at(gone.at);
            row.counts.delivered.grow(read);
            row.stats.delivered_late(window, gone.at, read, gone.payload_len);
            let unjoined = gone.left.unjoined.saturating_sub(gone.left.delayed);
            row.evidence.losses.unjoined.grow(unjoined);
            row.counts.of_unfollowed(was_cut || may_be_cut).grow(gone.left.unjoined);
            let unread =
                if was_cut { &mut row.counts.unfinished } else { &mut row.counts.never_read };
            unread.grow(gone.left.unread);
        }
    }
}
