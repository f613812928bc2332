//! The events of a session, found by comparing successive snapshots.
//!
//! | module | what |
//! |---|---|
//! | `entry` | what an entry says |
//! | `row` | what happens to one row |
//! | `steady` | states that count once they have lasted |

mod entry;
mod row;
mod steady;

pub use entry::{LogEntry, LogEvent};
pub(crate) use row::name as row_name;

use row::{RowState, name};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::mem::discriminant;
use wirelap_correlate::Snapshot;
use wirelap_events::{EventLosses, GroupId, HostClock, HostState, Nanos};

/// The most entries that are kept.
const ENTRIES: usize = 10_000;
/// Losses of events in so long a time are one entry.
const ONE_LOSS: Nanos = Nanos(4_000_000_000);

/// The events of a session, in order; the oldest entries go.
#[derive(Clone, Debug, Default)]
pub struct EventLog {
    entries: VecDeque<LogEntry>,
    rows: FxHashMap<GroupId, RowState>,
    forgotten: u64,
}

impl EventLog {
    /// The entries, the newest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &LogEntry> + '_ {
        self.entries.iter().rev()
    }

    /// Number of older entries that were removed.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Adds a sentence.
    pub fn note(&mut self, at: Nanos, sentence: String) {
        self.push(LogEntry { at, row: None, event: LogEvent::Note(sentence) });
    }

    /// Adds what is different in a newer snapshot.
    pub fn compare(&mut self, before: &Snapshot, now: &Snapshot) {
        for (part, _) in &now.united {
            self.rows.remove(part);
        }
        self.lost(now.trust.losses().since(before.trust.losses()), now.at);
        for host in &now.hosts {
            let before = before.hosts.iter().find(|one| one.number == host.number);
            if before.is_none_or(|before| !is_alike(before, host)) {
                let (name, what) = (host.name.clone(), host.words());
                let is_well = host.is_well();
                let event = LogEvent::Host { name, what, is_well };
                self.push(LogEntry { at: now.at, row: None, event });
            }
            let steps =
                host.step_count.saturating_sub(before.map_or(0, |before| before.step_count));
            let old = host.steps.len().saturating_sub(usize::try_from(steps).unwrap_or(usize::MAX));
            for step in host.steps.iter().skip(old) {
                let (name, what) = (host.name.clone(), format!("its clock has {}", step.words()));
                let event = LogEvent::Host { name, what, is_well: false };
                self.push(LogEntry { at: now.at, row: None, event });
            }
        }
        for group in &now.groups {
            let mut events = Vec::new();
            let state = self.rows.entry(group.id).or_insert_with(|| {
                events.push(LogEvent::RowAppeared);
                RowState::new(now.at)
            });
            state.compare(group, now, &mut events);
            for event in events {
                let row = Some((group.id, name(group)));
                self.push(LogEntry { at: now.at, row, event });
            }
        }
    }

    /// Adds a loss of events: to the entry of the last one, if that is recent.
    fn lost(&mut self, more: EventLosses, at: Nanos) {
        if more.events == 0 {
            return;
        }
        let recent = self.entries.iter_mut().rev().take_while(|entry| at - entry.at < ONE_LOSS);
        for entry in recent {
            if let LogEvent::EventsLost(sum) = &mut entry.event {
                *sum = sum.plus(more);
                return;
            }
        }
        self.push(LogEntry { at, row: None, event: LogEvent::EventsLost(more) });
    }

    fn push(&mut self, entry: LogEntry) {
        if self.entries.len() >= ENTRIES {
            self.entries.pop_front();
            self.forgotten = self.forgotten.saturating_add(1);
        }
        self.entries.push_back(entry);
    }
}

/// True if a host does the same as before, whatever its figures are.
fn is_alike(before: &HostState, now: &HostState) -> bool {
    let is = |state: &HostState| {
        let stepped = matches!(state.clock, HostClock::Stepped(_));
        (discriminant(&state.status), stepped, state.restarts)
    };
    is(before) == is(now)
}

#[cfg(test)]
mod tests;
