//! The picture of the moment.

use crate::Correlator;
use crate::rows::Row;
use crate::snapshot::{
    Group, Overhead, ProbeLoss, Process, Scheduling, Snapshot, TracerCost, Trust, Why,
};
use wirelap_events::{GroupId, Nanos, Probe};

impl Correlator {
    /// Everything known at `now`. The caller adds what only it can know: the tracer's own cost, and the
    /// processes' CPU time and memory.
    pub fn snapshot(&self, now: Nanos) -> Snapshot {
        let now = now.max(self.now);
        let since = self.since.unwrap_or(now);
        let overheads = self.overheads();
        let groups = self.rows.iter().zip(overheads);
        let groups = groups.map(|((id, row), overhead)| self.group(id, row, &overhead, now));
        let groups = groups.filter(|group| {
            group.overhead.packets > 0 || group.messages.sent + group.messages.delivered > 0
        });
        let groups: Vec<Group> = groups.collect();
        Snapshot {
            at: now,
            since,
            trust: self.trust(&groups, since, now),
            notes: self.notes(),
            groups,
        }
    }

    fn overheads(&self) -> Vec<Overhead> {
        let mut all: Vec<Overhead> = self.rows.iter().map(|(_, row)| row.past).collect();
        for (_, conversation) in self.flows.iter() {
            if let Some((row, _)) = conversation.row
                && let Some(sum) = all.get_mut(row.0 as usize)
            {
                conversation.ledger.add_to(sum);
            }
        }
        let open = self.flows.iter().map(|(_, conversation)| conversation);
        self.strays.add_to(self.rows.iter().map(|(_, row)| row), open, &mut all);
        all
    }

    fn group(&self, id: GroupId, row: &Row, overhead: &Overhead, now: Nanos) -> Group {
        let counts = row.counts;
        let served_by = row.server.filter(|_| row.is_brokered);
        let server = served_by.and_then(|pid| self.sockets.name(pid)).map(str::to_owned);
        let forwards = || {
            let (pid, _) =
                row.roles.iter().filter(|(_, role)| role.forwards).min_by_key(|r| r.0)?;
            self.sockets.name(*pid).map(str::to_owned)
        };
        Group {
            id,
            middleware: row.middleware.clone(),
            broker: row.broker.clone().or_else(|| server.or_else(forwards)),
            endpoint: row.endpoint,
            messages: counts,
            rate: row.stats.rate_over(counts.delivered, now - self.since.unwrap_or(now)),
            rate_active: row.stats.rate(),
            rate_now: row.stats.history.rate_now(now),
            payload_bytes: row.stats.payload.quantile(0.5),
            one_way: row.stats.one_way(),
            sched_gap: row.stats.sched_gap.summary(),
            segments: row.stats.segments(),
            overhead: Overhead { deliveries: counts.delivered + row.warmed_up, ..*overhead },
            why: Why::default(),
            processes: self.processes(row),
            history: row.stats.history.points(now),
            coverage: share(counts.matched, counts.delivered),
            notes: notes_of(row),
        }
    }

    fn processes(&self, row: &Row) -> Vec<Process> {
        let mut all: Vec<_> = row
            .roles
            .iter()
            .map(|(&pid, role)| Process {
                role: role.name().to_owned(),
                pid,
                comm: self.sockets.name(pid).unwrap_or_default().to_owned(),
                cpu_share: None,
                rss_bytes: None,
                scheduling: Scheduling::default(),
            })
            .collect();
        all.sort_by_key(|process| process.pid);
        all
    }

    fn trust(&self, groups: &[Group], since: Nanos, now: Nanos) -> Trust {
        let sum = |of: fn(&Group) -> u64| groups.iter().map(of).sum::<u64>();
        let lost = Probe::ALL.into_iter().zip(self.lost).filter(|&(_, count)| count > 0);
        let closed = self.window.closed_since.map_or(Nanos(0), |closed| now - closed);
        let closed = self.window.closed_for + closed;
        let whole = now - since;
        Trust {
            coverage: share(sum(|g| g.messages.matched), sum(|g| g.messages.delivered)),
            events_lost: lost.map(|(probe, count)| ProbeLoss { probe, count }).collect(),
            events: self.totals.events,
            uncaptured_bytes: self.totals.uncaptured,
            undecoded_bytes: self.totals.undecoded,
            evicted: self.totals.evicted + self.totals.mark_evictions + self.flows.forgotten(),
            window_share: if whole == Nanos(0) {
                1.0
            } else {
                (whole - closed).as_secs_f64() / whole.as_secs_f64()
            },
            tracer: TracerCost::default(),
        }
    }

    fn notes(&self) -> Vec<String> {
        let totals = &self.totals;
        let mut notes = Vec::new();
        let mut note = |count: u64, text: &str| {
            if count > 0 {
                notes.push(text.replace("{}", &count.to_string()));
            }
        };
        note(totals.unknown_bytes, "{} payload bytes were in no protocol that wirelap knows.");
        note(
            totals.unknown_sockets,
            "{} events were of sockets that had not come into view, and were left out.",
        );
        note(
            totals.anomalies,
            "{} times contradicted others (clocks of two CPUs) and were left out.",
        );
        notes
    }
}

fn notes_of(row: &Row) -> Vec<String> {
    let mut notes = Vec::new();
    if row.without_send > 0 {
        notes.push(format!(
            "The send call was not seen on this kernel or host for {} deliveries: their one-way \
             latency starts at the first stage that was.",
            row.without_send
        ));
    }
    if row.to_remote > 0 {
        notes.push(format!(
            "{} legs end at another host: whether and when they were read there is not known here.",
            row.to_remote
        ));
    }
    if row.shared > 0 {
        notes.push(format!(
            "{} times a message's payload was in shared memory: only where it lies travelled, and the \
             bytes and sizes here are of that.",
            row.shared
        ));
    }
    if let Some(domain) = row.domain {
        notes.push(format!("Domain {domain}, told from its port numbers."));
    }
    notes
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}
