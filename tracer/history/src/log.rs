//! What has happened, found by comparing successive snapshots.

use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use wirelap_correlate::trust::reliability;
use wirelap_correlate::{Group, Reliability, Severity, Snapshot, VerdictKind};
use wirelap_events::{GroupId, Nanos, Pid};

/// The most entries that are kept.
const ENTRIES: usize = 10_000;
/// A row is silent when it has delivered nothing for so long.
const SILENT: Nanos = Nanos(3_000_000_000);
/// The most processes of a row whose end is an entry.
const PROCESSES: usize = 4_096;
/// The beginning or end of a verdict is an entry when it has lasted so long, so that one that comes and goes fills no log.
const SETTLED: Nanos = Nanos(2_000_000_000);

/// Something that has happened.
#[derive(Clone, Debug, PartialEq)]
pub enum LogEvent {
    /// A row has appeared.
    RowAppeared,
    /// A row delivers nothing any more.
    RowSilent,
    /// A silent row delivers again, after so long.
    RowSpeaks(Nanos),
    /// A process of a row has ended.
    ProcessGone {
        /// Its role.
        role: String,
        /// Its name.
        comm: String,
        /// Its id.
        pid: Pid,
    },
    /// A verdict holds from now on.
    VerdictBegan(VerdictKind, Severity),
    /// A verdict holds no more.
    VerdictEnded(VerdictKind),
    /// Events did not fit into the ring buffer.
    EventsLost(u64),
    /// A row can be trusted more or less than before.
    Trust(Reliability),
    /// So many messages ought to have arrived and have not.
    Overdue(u64),
    /// No message is overdue any more.
    NothingOverdue,
    /// What became of something that the user has asked for, as a sentence.
    Note(String),
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEntry {
    /// When.
    pub at: Nanos,
    /// The row: its id, and its middleware, broker and address; `None` if it concerns no single row.
    pub row: Option<(GroupId, String)>,
    /// What.
    pub event: LogEvent,
}

/// What is remembered of a row.
#[derive(Clone, Debug, Default)]
struct RowState {
    delivered: u64,
    last: Nanos,
    silent: bool,
    reliability: Option<Reliability>,
    overdue: bool,
    /// The verdicts that hold, and since when a change of each has been seen.
    verdicts: FxHashMap<VerdictKind, (bool, Option<Nanos>)>,
    /// The processes that have ended.
    gone: Vec<Pid>,
}

/// What has happened, in order; the oldest entries go.
#[derive(Clone, Debug, Default)]
pub struct Log {
    entries: VecDeque<LogEntry>,
    rows: FxHashMap<GroupId, RowState>,
    forgotten: u64,
}

impl Log {
    /// The entries, the newest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &LogEntry> + '_ {
        self.entries.iter().rev()
    }

    /// How many older entries were removed.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Adds a sentence.
    pub fn note(&mut self, at: Nanos, sentence: String) {
        self.push(LogEntry { at, row: None, event: LogEvent::Note(sentence) });
    }

    /// Adds what is different in a newer snapshot.
    pub fn compare(&mut self, before: &Snapshot, now: &Snapshot) {
        let lost = now.trust.lost().saturating_sub(before.trust.lost());
        if lost > 0 {
            self.push(LogEntry { at: now.at, row: None, event: LogEvent::EventsLost(lost) });
        }
        for group in &now.groups {
            let known = self.rows.contains_key(&group.id);
            let mut state = self.rows.remove(&group.id).unwrap_or_default();
            let mut events = Vec::new();
            if !known {
                events.push(LogEvent::RowAppeared);
            }
            state.compare(group, now, &mut events);
            self.rows.insert(group.id, state);
            let name = name(group);
            for event in events {
                let row = Some((group.id, name.clone()));
                self.push(LogEntry { at: now.at, row, event });
            }
        }
    }

    fn push(&mut self, entry: LogEntry) {
        if self.entries.len() >= ENTRIES {
            self.entries.pop_front();
            self.forgotten = self.forgotten.saturating_add(1);
        }
        self.entries.push_back(entry);
    }
}

impl RowState {
    fn compare(&mut self, group: &Group, now: &Snapshot, events: &mut Vec<LogEvent>) {
        self.traffic(group, now.at, events);
        self.processes(group, events);
        for (kind, severity) in held(group) {
            self.verdict(kind, true, Some(severity), now.at, events);
        }
        let known: Vec<VerdictKind> = self.verdicts.keys().copied().collect();
        for kind in known {
            if !held(group).any(|(held, _)| held == kind) {
                self.verdict(kind, false, None, now.at, events);
            }
        }
        let trust = reliability(&group.doubts(&now.trust));
        if self.reliability.replace(trust).is_some_and(|before| before != trust) {
            events.push(LogEvent::Trust(trust));
        }
        let overdue = group.why.open.iter().map(|open| open.messages).fold(0, u64::saturating_add);
        match (std::mem::replace(&mut self.overdue, overdue > 0), overdue > 0) {
            (false, true) => events.push(LogEvent::Overdue(overdue)),
            (true, false) => events.push(LogEvent::NothingOverdue),
            _ => {}
        }
    }

    fn traffic(&mut self, group: &Group, at: Nanos, events: &mut Vec<LogEvent>) {
        if group.messages.delivered != self.delivered {
            self.delivered = group.messages.delivered;
            if std::mem::take(&mut self.silent) {
                events.push(LogEvent::RowSpeaks(at - self.last));
            }
            self.last = at;
        } else if self.delivered > 0 && !self.silent && at - self.last >= SILENT {
            self.silent = true;
            events.push(LogEvent::RowSilent);
        }
    }

    fn processes(&mut self, group: &Group, events: &mut Vec<LogEvent>) {
        for process in &group.processes {
            let is_known = self.gone.contains(&process.pid) || self.gone.len() >= PROCESSES;
            if process.ended && !is_known {
                self.gone.push(process.pid);
                let (role, comm, pid) = (process.role.clone(), process.comm.clone(), process.pid);
                events.push(LogEvent::ProcessGone { role, comm, pid });
            }
        }
    }

    /// A verdict holds, or holds no more; that is an entry once it has stayed so for a while.
    fn verdict(
        &mut self,
        kind: VerdictKind,
        holds: bool,
        severity: Option<Severity>,
        at: Nanos,
        events: &mut Vec<LogEvent>,
    ) {
        let (said, changed) = self.verdicts.entry(kind).or_insert((false, None));
        if *said == holds {
            *changed = None;
            return;
        }
        let since = *changed.get_or_insert(at);
        if at - since >= SETTLED {
            (*said, *changed) = (holds, None);
            events.push(match severity {
                Some(severity) => LogEvent::VerdictBegan(kind, severity),
                None => LogEvent::VerdictEnded(kind),
            });
        }
    }
}

/// The middleware, the broker and the address of a row, as far as they are known.
fn name(group: &Group) -> String {
    let endpoint = group.endpoint.map(|endpoint| endpoint.to_string());
    let parts = [Some(group.middleware.as_str()), group.broker.as_deref(), endpoint.as_deref()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The verdicts that hold now.
fn held(group: &Group) -> impl Iterator<Item = (VerdictKind, Severity)> + '_ {
    let verdicts = group.why.verdicts.iter().filter(|verdict| verdict.is_still_so());
    verdicts.map(|verdict| (verdict.kind, verdict.severity))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(ms: u64, delivered: u64) -> Snapshot {
        let mut group = Group { id: GroupId(7), middleware: "mqtt".into(), ..Group::default() };
        group.messages.delivered = delivered;
        Snapshot { at: Nanos::from_millis(ms), groups: vec![group], ..Snapshot::default() }
    }

    fn events(snapshots: &[Snapshot]) -> Vec<LogEvent> {
        let mut log = Log::default();
        let mut before = Snapshot::default();
        for snapshot in snapshots {
            log.compare(&before, snapshot);
            before = snapshot.clone();
        }
        let mut all: Vec<_> = log.iter().map(|entry| entry.event.clone()).collect();
        all.reverse();
        all
    }

    #[test]
    fn a_row_appears_falls_silent_and_speaks_again() {
        let all = [snapshot(1_000, 5), snapshot(2_000, 5), snapshot(4_500, 5), snapshot(9_000, 6)];
        let silence = Nanos::from_millis(8_000);
        assert_eq!(
            events(&all),
            [LogEvent::RowAppeared, LogEvent::RowSilent, LogEvent::RowSpeaks(silence)]
        );
    }

    #[test]
    fn lost_events_are_an_entry_each_time() {
        let lost = |ms, count| {
            let mut snapshot = snapshot(ms, 0);
            let probe = wirelap_events::Probe::Rx;
            snapshot.trust.events_lost = vec![wirelap_correlate::ProbeLoss { probe, count }];
            snapshot
        };
        let all = [lost(1_000, 0), lost(1_250, 10), lost(1_500, 10), lost(1_750, 25)];
        assert_eq!(
            events(&all),
            [
                LogEvent::RowAppeared,
                LogEvent::EventsLost(10),
                LogEvent::Trust(Reliability::Unusable),
                LogEvent::EventsLost(15)
            ]
        );
    }

    #[test]
    fn a_process_ends_once_and_its_row_is_named_after_its_server() {
        let with = |ms, ended| {
            let mut snapshot = snapshot(ms, 0);
            let process = wirelap_correlate::Process { pid: Pid(1), ended, ..Default::default() };
            snapshot.groups[0].processes = vec![process];
            snapshot.groups[0].endpoint = Some(([127, 0, 0, 1], 1883).into());
            snapshot
        };
        let all = [with(1_000, false), with(1_250, true), with(1_500, true)];
        let (role, comm) = (String::new(), String::new());
        let gone = LogEvent::ProcessGone { role, comm, pid: Pid(1) };
        assert_eq!(events(&all), [LogEvent::RowAppeared, gone]);
        let mut log = Log::default();
        log.compare(&Snapshot::default(), &all[0]);
        let row = log.iter().next().and_then(|entry| entry.row.clone());
        assert_eq!(row.unwrap().1, "mqtt 127.0.0.1:1883");
    }

    #[test]
    fn the_log_is_bounded() {
        let mut log = Log::default();
        for at in 0..25_000u64 {
            log.push(LogEntry { at: Nanos(at), row: None, event: LogEvent::EventsLost(1) });
        }
        assert_eq!((log.iter().len(), log.forgotten()), (ENTRIES, 15_000));
        assert_eq!(log.iter().next().map(|entry| entry.at), Some(Nanos(24_999)));
    }
}
