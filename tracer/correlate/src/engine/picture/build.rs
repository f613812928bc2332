//! The picture of the moment.

use super::super::sockets::Sockets;
use super::Picture;
use super::notes::{notes_of, notes_of_all};
use crate::rows::{Counts, Row, Rows};
use crate::view::{Group, Muted, ProbeEvents, ProbeLoss, Process, Snapshot, TracerCost, Trust};
use wirelap_events::{GroupId, Nanos, Probe, Segment, Total, TraceDetail};
use wirelap_figures::{Partial, PartialView, SegmentStat, TracedSeconds, UncertainCounts};
use wirelap_flow::{Conversation, Holes, Overhead, Unseen};
use wirelap_why::{Overdue, Why};

/// Figures that all rows have in common.
struct Moment {
    now: Nanos,
    /// Messages that have not arrived, by row.
    open: Vec<(GroupId, Overdue)>,
    traced: TracedSeconds,
}

impl Picture<'_> {
    /// Everything known at `now`. The caller adds what only it can know: the tracer's own cost, and the
    /// processes' CPU time and memory.
    pub fn snapshot(&self, now: Nanos) -> Snapshot {
        let now = now.max(self.seen.coverage.now());
        let since = self.seen.coverage.since().unwrap_or(now);
        let overheads = self.overheads();
        let holes = self.holes();
        let open = match self.overdue_at_end {
            Some(open) => open.to_vec(),
            None => self.deliveries.overdue(now, self.seen),
        };
        let moment = Moment { now, open, traced: self.seen.coverage.pauses().traced_seconds(now) };
        let groups = self.accounts.rows.iter().zip(overheads).zip(holes);
        let groups = groups
            .map(|(((id, row), overhead), holes)| self.group(id, row, &overhead, holes, &moment));
        let groups = groups.filter(|group| {
            group.overhead.packets > 0
                || group.messages.sent.saturating_add(group.messages.delivered) > 0
        });
        let mut groups: Vec<Group> = groups.collect();
        self.tell_brokers_apart(&mut groups);
        self.tell_peers_apart(&mut groups);
        self.note_encrypted(&mut groups);
        let mut notes = notes_of_all(
            &self.accounts.totals,
            self.seen.conversations.tls_counts(),
            self.unread_websockets(),
            self.detail,
        );
        notes.extend(self.unread_before(now));
        Snapshot {
            hosts: Vec::new(),
            at: now,
            since,
            united: self.accounts.rows.united(),
            trust: self.trust(&groups, since, now),
            notes,
            breakdown: self.breakdown(&groups, since),
            unix_servers: Vec::new(),
            slow: self.slow_subscribers(),
            groups,
            unknown: self.unknown(now),
            ros: self.seen.conversations.ros(),
        }
    }

    pub(super) fn overheads(&self) -> Vec<Overhead> {
        let mut all: Vec<Overhead> =
            self.accounts.rows.iter().map(|(_, row)| row.past.overhead).collect();
        let mut open = Vec::new();
        for (direction, conversation) in self.seen.conversations.flows().iter() {
            let row = conversation.row.map(|(row, _)| self.accounts.rows.root(row));
            let row = row
                .or_else(|| self.seen.conversations.labelled_row(direction, &self.accounts.rows));
            if row.is_some_and(|row| is_uncounted(conversation, row, &self.accounts.rows)) {
                continue;
            }
            if let Some(sum) = row.and_then(|row| all.get_mut(row.0 as usize)) {
                conversation.add_bytes_to(sum);
            } else {
                let server = conversation.probed_server();
                open.extend(server.map(|server| (server, &conversation.ledger)));
            }
        }
        self.accounts.add_probe_connections(&open, &mut all);
        all
    }

    /// The parts of each row's traffic that are not known.
    pub(super) fn holes(&self) -> Vec<Holes> {
        let mut all: Vec<Holes> =
            self.accounts.rows.iter().map(|(_, row)| row.past.holes).collect();
        let (conversations, rows) = (self.seen.conversations, &self.accounts.rows);
        for (direction, conversation) in conversations.flows().iter() {
            let row = conversation.row.map(|(row, _)| rows.root(row));
            let of_row = row.map(|row| (row, conversation.holes()));
            for (row, holes) in of_row.into_iter().chain(conversations.hidden_of(direction, rows)) {
                if !is_uncounted(conversation, row, rows)
                    && let Some(sum) = all.get_mut(row.0 as usize)
                {
                    *sum += holes;
                }
            }
        }
        all
    }

    fn group(
        &self,
        id: GroupId,
        row: &Row,
        overhead: &Overhead,
        holes: Holes,
        moment: &Moment,
    ) -> Group {
        let Moment { now, ref open, ref traced } = *moment;
        let all_pauses = self.seen.coverage.pauses();
        let muted = row.muted_for(all_pauses, now).map(|time| Muted { now: row.is_muted(), time });
        // The figures of a muted row stay as they were.
        let (now, pauses) = (row.shown_at(now), row.pauses(all_pauses));
        let own_traced = muted.map(|_| pauses.traced_seconds(now));
        let traced = own_traced.as_ref().unwrap_or(traced);
        let counts = row.counts;
        let partial = row.partial.figures.as_deref();
        // Where nothing was followed from end to end, the rates are those of what was seen in part.
        let rates = partial.filter(|_| counts.delivered == 0).map_or(&row.stats, |p| &p.here);
        let passed = partial.filter(|_| counts.delivered == 0).map(Partial::deliveries);
        let since = self.seen.coverage.since();
        let delivered = passed.unwrap_or(counts.delivered);
        let from_elsewhere = partial.map_or(0, |p| p.count(PartialView::Receiver));
        let broker = broker_of(row, self.seen.conversations.sockets());
        let known = (id, broker.as_deref());
        let evidence = self.evidence_of(row, known, overhead, holes, now);
        let not_subscribing = evidence.shared_names.iter().filter(|shared| !shared.subscribes);
        let shared_names = not_subscribing.cloned().collect();
        let mut why = Why { detail: self.detail, ..evidence.explain() };
        let of_row = open
            .iter()
            .filter(|(row, _)| self.accounts.rows.root(*row) == id)
            .map(|(_, overdue)| *overdue);
        why.hold_up(of_row.collect(), &evidence.setting, now);
        if let Some(requests) = &row.requests {
            why.add_requests(&requests.evidence, &evidence.setting);
        }
        why.verdicts.iter_mut().for_each(|one| one.locate(|pid| self.deliveries.is_relay(pid)));
        Group {
            id,
            middleware: row.name.middleware.clone(),
            broker,
            endpoint: row.endpoint,
            messages: counts,
            rate: rates.rate_over(delivered, since.unwrap_or(now), now, pauses),
            rate_active: rates.rate(now, pauses),
            rate_now: rates.rate_now(now, pauses),
            rate_sums: rates.sums(now, pauses),
            payload_bytes: rates.payload.quantile(0.5),
            one_way: row.stats.one_way(),
            one_way_error: row.stats.one_way_error(),
            sched_gap: row.stats.sched_gap.summary(),
            segments: self.segments(row),
            overhead: Overhead {
                deliveries: if self.detail == TraceDetail::Ends && overhead.packets == 0 {
                    0
                } else {
                    counts.delivered.saturating_add(row.warmed_up)
                },
                ..*overhead
            },
            why,
            processes: self.processes(row),
            history: rates.points(now, pauses, traced),
            coverage: counts.coverage(from_elsewhere),
            holes: Holes { unread_messages: row.noted.unread(), ..holes },
            uncertain: UncertainCounts {
                perhaps_read: row.counts.never_read.min(self.accounts.unknown_reads_of(row)),
                ..row.uncertain
            },
            partial: partial.map(|partial| Box::new(partial.figures())),
            requests: row.requests.as_ref().map(|requests| Box::new(requests.figures.figures())),
            refusals: row.refusals.clone(),
            shared_names,
            notes: notes_of(row, muted),
            muted,
        }
    }

    /// The time of a row's messages by segment. Without calls, `busy` is only the time up to the last packet, and nothing is known of the
    /// time in the socket: both are left out.
    fn segments(&self, row: &Row) -> Vec<SegmentStat> {
        let mut segments = row.stats.segments();
        if self.deliveries.packets_only() {
            segments.retain(|one| !matches!(one.segment, Segment::Busy | Segment::SocketTx));
        }
        segments
    }

    fn processes(&self, row: &Row) -> Vec<Process> {
        let mut all: Vec<_> = row
            .roles
            .iter()
            .map(|(&pid, role)| Process {
                role: if self.deliveries.is_relay(pid) { "proxy" } else { role.name() }.to_owned(),
                pid,
                comm: self.seen.conversations.sockets().name(pid).unwrap_or_default().to_owned(),
                cpu_share: None,
                major_faults: None,
                rss_bytes: None,
                ended: false,
                unix: None,
                place: self.seen.host.places().of(pid),
                namespace: self.seen.host.places().namespace_of(pid),
                scheduling: self.seen.host.processes().of(pid),
            })
            .collect();
        all.sort_by_key(|process| process.pid);
        all
    }

    /// Number of events of each probe that has reported any.
    fn reported(&self) -> Vec<ProbeEvents> {
        let counts = Probe::ALL.into_iter().zip(self.accounts.totals.by_probe);
        let counts = counts.filter(|&(_, events)| events > 0);
        counts.map(|(probe, events)| ProbeEvents { probe, events, filtered: None }).collect()
    }

    fn trust(&self, groups: &[Group], since: Nanos, now: Nanos) -> Trust {
        let unseen = |of: fn(&Holes) -> Unseen| {
            let all = groups.iter().map(|group| of(&group.holes));
            all.fold(Unseen::default(), |mut sum, one| {
                sum += one;
                sum
            })
        };
        let lost = Probe::ALL.into_iter().map(|probe| (probe, self.seen.coverage.lost_by(probe)));
        let lost = lost.filter(|&(_, count)| count > 0);
        let mut all = Counts::default();
        for group in groups {
            all += group.messages;
        }
        let closed = self.seen.coverage.pauses().paused(now);
        let whole = now - since;
        Trust {
            coverage: all.coverage(0),
            packets_only: self.deliveries.packets_only(),
            events_lost: lost.map(|(probe, count)| ProbeLoss { probe, count }).collect(),
            skipped_runs: self.seen.coverage.skipped(),
            stated_losses: self.seen.coverage.stated(),
            fragmented_datagrams: self.seen.coverage.fragmented(),
            late_events: self.seen.coverage.late(),
            events: self.accounts.totals.events,
            reported: self.reported(),
            uncaptured_bytes: self.accounts.totals.uncaptured,
            undecoded_bytes: self.accounts.totals.undecoded,
            unread_messages: self
                .accounts
                .rows
                .iter()
                .flat_map(|(_, row)| row.noted.unread)
                .total(),
            unread_packets: groups.iter().map(|group| group.holes.unread_packets).total(),
            unseen_sent: unseen(|holes| holes.sent),
            unseen_received: unseen(|holes| holes.received),
            evicted: self
                .accounts
                .totals
                .evicted
                .saturating_add(self.accounts.totals.mark_evictions)
                .saturating_add(self.seen.conversations.flows().forgotten()),
            paused: closed,
            window_share: share_of(whole - closed, whole),
            tracer: TracerCost::default(),
            detail: self.detail,
            budget: None,
        }
    }
}

/// True if a conversation is in no figure: it has come into view since its row was muted, and that it is of the row was just found.
fn is_uncounted(conversation: &Conversation, row: GroupId, rows: &Rows) -> bool {
    conversation.muted_until == Nanos(0) && rows.is_muted(row)
}

/// A part of a time; all of it if there is none.
fn share_of(part: Nanos, whole: Nanos) -> f64 {
    if whole == Nanos(0) { 1.0 } else { part.as_secs_f64() / whole.as_secs_f64() }
}

/// The broker's name: as told, or else that of the process that serves or forwards.
pub fn broker_of(row: &Row, sockets: &Sockets) -> Option<String> {
    let served_by = row.server.filter(|_| row.is_brokered);
    let server = || served_by.and_then(|pid| sockets.name(pid));
    let forwards = || {
        let forwarders = row.roles.iter().filter(|(_, role)| role.forwards);
        sockets.name(*forwarders.min_by_key(|role| role.0)?.0)
    };
    row.name.broker.clone().or_else(|| server().or_else(forwards).map(str::to_owned))
}
