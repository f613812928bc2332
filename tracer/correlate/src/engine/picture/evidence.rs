//! Evidence for why the messages of each row took as long as they did.

use super::Picture;
use super::build::broker_of;
use crate::rows::{ProcessRole, Row};
use wirelap_events::{DroppedPacket, GroupId, Nanos, NetNs, Pid, Saturate, TaskId};
use wirelap_flow::{ClientOf, ClosedBy, Direction, GoneServer, Holes, Overhead, Takeover};
use wirelap_limits::network::LEAST_STUCK;
use wirelap_protocols::MessageRouting;
use wirelap_why::{
    DropPlace, Evidence, Losses, LostSegments, MissedBy, MostLeft, NameUser, ServerGone, Setting,
    SharedName, StuckConnection, Throttled,
};

impl Picture<'_> {
    /// Why each row's messages took as long as they did, by the row's name. For adding up repetitions.
    pub fn evidence(&self) -> Vec<(String, Evidence)> {
        let rows = self.accounts.rows.iter().zip(self.overheads()).zip(self.holes());
        rows.map(|(((id, row), overhead), holes)| {
            let broker = broker_of(row, self.seen.conversations.sockets());
            let known = (id, broker.as_deref());
            let evidence = self.evidence_of(row, known, &overhead, holes, self.seen.coverage.now());
            (row.name.middleware.clone(), evidence)
        })
        .collect()
    }

    pub(super) fn evidence_of(
        &self,
        row: &Row,
        (id, broker): (GroupId, Option<&str>),
        overhead: &Overhead,
        holes: Holes,
        now: Nanos,
    ) -> Evidence {
        let mut evidence = row.evidence.clone();
        if row.counts.matched == 0 {
            evidence.merge(&row.partial.evidence);
        }
        evidence.losses = Losses {
            sent: row.counts.sent,
            delivered: row.counts.delivered,
            duplicates: row.counts.duplicates,
            shared: row.noted.shared,
            skipped: row.numbers.missing(),
            segments: LostSegments {
                resent: overhead.detail.retransmissions,
                ..evidence.losses.segments
            },
            hidden: self
                .accounts
                .totals
                .uncaptured
                .saturating_add(self.accounts.totals.undecoded)
                .saturating_add(overhead.opaque)
                .div_ceil(row.stats.payload.quantile(0.5).max(1))
                .saturating_add(row.noted.unread())
                .saturating_add(self.accounts.unknown_reads_of(row))
                .saturating_add(holes.sent.packets),
            ..evidence.losses
        };
        if self.seen.coverage.stated() > 0 {
            // When they were missed is not known.
            (evidence.losses.swallowed, evidence.losses.unread) = (0, 0);
        }
        if holes.encrypted_connections > 0 {
            // What nobody seems to have got may have gone on where nothing is read.
            evidence.losses.unmatched = 0;
        }
        self.deliveries.count_abandoned((id, row), &mut evidence.losses, now, self.seen);
        self.add_shortfalls(id, &mut evidence);
        self.lose_servers((id, row), &mut evidence, now);
        self.share_names(id, &mut evidence);
        evidence.stuck = self.stuck(id, now);
        let requests = row.requests.iter().flat_map(|requests| requests.evidence.tasks());
        let tasks: Vec<TaskId> = evidence.tasks().chain(requests).collect();
        let losses = &evidence.losses;
        let full = losses.datagrams.full_sockets.all().map(|(pid, _)| pid);
        let left = losses.left_behind.most.and_then(|most| most.closed.pid);
        let missed = evidence.missed.most.as_ref().and_then(|most| most.pid);
        let named = row
            .roles
            .keys()
            .copied()
            .chain(full)
            .chain(losses.abandoned.left_by)
            .chain(losses.abandoned.session_of)
            .chain(losses.passed_over.by)
            .chain(losses.put_back.all().filter_map(|(_, count)| count.by))
            .chain(losses.not_kept.by)
            .chain(losses.away.by)
            .chain(left)
            .chain(missed)
            .chain(tasks.iter().map(|task| task.pid));
        let names =
            named.filter_map(|pid| Some((pid, self.seen.conversations.sockets().comm(pid)?)));
        evidence.setting = Setting {
            middleware: row.name.middleware.clone(),
            protocol: row.name.protocol,
            implementation: row.implementation.name(),
            broker: broker.map(str::to_owned),
            since: self.seen.coverage.since(),
            saturating: false,
            sampled: row.pauses(self.seen.coverage.pauses()).has_paused()
                || self.seen.coverage.lost() > 0,
            names: names.collect(),
            busy: tasks
                .iter()
                .map(|task| task.tid)
                .filter_map(|tid| Some((tid, self.seen.host.threads().busy(tid, now)?)))
                .collect(),
            members: row.roles.keys().copied().collect(),
            quotas: self.seen.host.quotas().all(),
            throttled: self.throttled(row, now),
        };
        evidence
    }

    /// Adds what subscribers of the row have missed, and what they had not got when their connections were closed.
    fn add_shortfalls(&self, id: GroupId, evidence: &mut Evidence) {
        let conversations = self.seen.conversations;
        let since = self.seen.coverage.since();
        let lost = self.accounts.shortfalls.lost().into_iter();
        for one in lost.filter(|one| self.accounts.rows.root(one.group) == id) {
            if let Some((lag, closed)) = one.left_behind() {
                // That the broker was gone may have turned out since.
                let closing = conversations.closing_of((one.subscriber.direction, closed.pid));
                let closing = closing.filter(|_| closed.by != ClosedBy::Between);
                let closed = closing.unwrap_or(closed);
                evidence.losses.left_behind.count(MostLeft { lag, closed });
                evidence.losses.left_unsent.grow(lag.unsent);
            }
            if let Some(count) = one.missed {
                let topic = one.topic.and_then(|topic| conversations.topic(topic));
                evidence.missed.count(MissedBy {
                    pid: one.subscriber.pid,
                    topic: topic.map(|name| String::from_utf8_lossy(name).into_owned()),
                    from: count.since - since.unwrap_or(count.since),
                    count,
                });
            }
        }
    }

    /// The row's connections whose bytes do not arrive. A proxy that speaks TCP itself and has no time for that is no hole in the path.
    fn stuck(&self, id: GroupId, now: Nanos) -> Vec<StuckConnection> {
        let conversations = self.seen.conversations;
        let since = self.seen.coverage.since();
        let all = conversations.stuck(&self.accounts.rows).into_iter();
        let late = all.filter(|(row, _, stuck)| *row == id && now >= stuck.from + LEAST_STUCK);
        let is_at_proxy = |direction: Direction| {
            let node = conversations.node(direction.back());
            node.is_some_and(|node| self.deliveries.is_unseen_proxy(&node))
        };
        let late = late
            .filter(|(_, direction, stuck)| stuck.dropped.is_some() || !is_at_proxy(*direction));
        late.filter_map(|(_, direction, stuck)| {
            let key = conversations.flows().flow(direction)?.key;
            let sender = conversations.sender_of(direction);
            let comm = |pid| Some((pid, conversations.sockets().comm(pid)?));
            let place = |drop: DroppedPacket| DropPlace {
                cause: drop.cause,
                packets: stuck.drops,
                netns: (drop.netns != NetNs(0))
                    .then(|| (drop.netns, self.seen.host.places().namespace(drop.netns))),
                mtu: (drop.mtu > 0).then_some(drop.mtu),
            };
            Some(StuckConnection {
                sender: sender.and_then(comm),
                ends: (key.src, key.dst),
                after: stuck.from - since.unwrap_or(stuck.from),
                age: now - stuck.from,
                resent: stuck.resent,
                bytes: stuck.bytes,
                dropped: stuck.dropped.map(place),
            })
        })
        .collect()
    }

    /// Servers of the row that went while clients were connected to them.
    fn lose_servers(&self, (id, row): (GroupId, &Row), evidence: &mut Evidence, now: Nanos) {
        let conversations = self.seen.conversations;
        let since = self.seen.coverage.since();
        let named = |pid: Pid| (pid, conversations.sockets().comm(pid).unwrap_or_default());
        let is_brokered = wirelap_protocols::by_name(row.name.protocol)
            .is_some_and(|protocol| protocol.topology() == MessageRouting::Brokered);
        let forwards = |pid: Pid| row.roles.get(&pid).is_some_and(|role| role.forwards);
        let is_its =
            |gone: &&GoneServer| gone.row.is_some_and(|row| self.accounts.rows.root(row) == id);
        for gone in conversations.gone_servers().filter(is_its) {
            let clients = gone.clients.iter().filter_map(|client| match client {
                ClientOf::Process(pid) => Some(named(*pid)),
                ClientOf::Host(_) => None,
            });
            let outlives = |client: &ClientOf| conversations.has_outlived(*client, gone.at, now);
            evidence.lose_server(ServerGone {
                address: gone.server.0,
                process: gone.pid.map(|pid| (pid, conversations.sockets().comm(pid))),
                end: gone.end,
                after: gone.at - since.unwrap_or(gone.at),
                connections: gone.connections,
                clients: clients.collect(),
                is_broker: is_brokered || gone.pid.is_some_and(forwards),
                is_outlived: gone.refused > 0
                    || gone.again.is_some()
                    || gone.clients.iter().any(outlives),
                refused: gone.refused,
                again: gone.again.map(|(at, pid)| (at - gone.at, named(pid))),
            });
        }
    }

    /// Names that several clients of the row use at the same time.
    fn share_names(&self, id: GroupId, evidence: &mut Evidence) {
        let conversations = self.seen.conversations;
        let since = self.seen.coverage.since();
        let user = |client: &ClientOf| match *client {
            ClientOf::Process(pid) => NameUser::Process(pid, conversations.sockets().comm(pid)),
            ClientOf::Host(address) => NameUser::Host(address),
        };
        let is_its =
            |one: &&Takeover| one.row.is_some_and(|row| self.accounts.rows.root(row) == id);
        for one in conversations.takeovers().filter(is_its) {
            let name = conversations.client_name(one.name).unwrap_or_default();
            evidence.share_name(SharedName {
                name: String::from_utf8_lossy(name).into_owned(),
                clients: one.clients.iter().map(user).collect(),
                times: one.times,
                taken_back: one.taken_back,
                subscribes: one.subscribes,
                first: one.first - since.unwrap_or(one.first),
                last: one.last - since.unwrap_or(one.last),
            });
        }
    }

    /// The row's processes that waited for CPU quota.
    fn throttled(&self, row: &Row, now: Nanos) -> Vec<Throttled> {
        let watched = now - self.seen.coverage.since().unwrap_or(now);
        let of = |(&pid, role): (&Pid, &ProcessRole)| {
            let (task, cgroup, time) = self.seen.host.processes().throttled(pid)?;
            let (leg, only_reads) = match (role.publishes, role.forwards) {
                (true, _) => (0, false),
                (false, true) => (1, false),
                (false, false) => (usize::from(row.is_brokered), true),
            };
            Some(Throttled { task, cgroup, time, watched, leg, only_reads })
        };
        let mut all: Vec<Throttled> = row.roles.iter().filter_map(of).collect();
        all.sort_by_key(|one| one.task.pid);
        all
    }
}
