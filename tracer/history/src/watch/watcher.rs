//! Detection of conditions that have begun to hold.

use super::condition::{Condition, ConditionSubject, Figure, Happening};
use crate::log::{EventLog, LogEvent};
use crate::slice::{RowSlice, Slice, Update};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::sync::Arc;
use wirelap_compare::criterion::Beyond;
use wirelap_correlate::{Group, Snapshot};
use wirelap_events::{GroupId, Nanos};

/// The time that figures are of.
const WINDOW: Nanos = Nanos(1_000_000_000);

/// That a condition has begun to hold, or has lasted long enough.
#[derive(Clone, Debug, PartialEq)]
pub struct MetCondition {
    /// The condition.
    pub condition: Condition,
    /// The middleware, the broker and the address of the row; `None` if it concerns no single row.
    pub row: Option<String>,
    /// The time at which it was found.
    pub at: Nanos,
    /// By what.
    pub evidence: ConditionEvidence,
}

/// By what it was found that a condition holds.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionEvidence {
    /// The value of the figure: nanoseconds, or messages a second.
    Value(f64),
    /// The event that has happened.
    Event(LogEvent),
}

/// The state of a condition for a row.
#[derive(Clone, Copy, Debug, Default)]
struct Holding {
    since: Option<Nanos>,
    is_found: bool,
}

/// Finds out which conditions have begun to hold. A condition that goes on is found once; when it has not held in between, again.
///
/// Figures are of the last second. A second without deliveries has no latencies: it neither begins nor ends that a latency is beyond a limit.
#[derive(Debug)]
pub struct Watcher {
    conditions: Vec<Condition>,
    holding: FxHashMap<(usize, GroupId), Holding>,
    /// The deliveries of the last second.
    slices: VecDeque<Slice>,
    /// The time at which each row was seen first.
    first: FxHashMap<GroupId, Nanos>,
    latest: Arc<Snapshot>,
    log: EventLog,
}

impl Watcher {
    /// Watches for these conditions.
    pub fn new(conditions: Vec<Condition>) -> Watcher {
        Watcher {
            conditions,
            holding: FxHashMap::default(),
            slices: VecDeque::new(),
            first: FxHashMap::default(),
            latest: Arc::default(),
            log: EventLog::default(),
        }
    }

    /// Takes in an update. Returns what has begun to hold.
    pub fn update(&mut self, update: Update) -> Vec<MetCondition> {
        let Update { snapshot, slice } = update;
        let mut found = self.happenings(&snapshot);
        let from = snapshot.at - WINDOW;
        self.slices.push_back(slice);
        while self.slices.len() > 1 && self.slices.front().is_some_and(|old| old.from < from) {
            self.slices.pop_front();
        }
        for group in &snapshot.groups {
            let first = *self.first.entry(group.id).or_insert(snapshot.at);
            self.figures(group, &snapshot, snapshot.at - first >= WINDOW, &mut found);
        }
        let rows: FxHashSet<GroupId> = snapshot.groups.iter().map(|group| group.id).collect();
        self.first.retain(|group, _| rows.contains(group));
        self.holding.retain(|(_, group), _| rows.contains(group));
        self.latest = snapshot;
        found
    }

    /// The newest snapshot.
    pub fn latest(&self) -> &Arc<Snapshot> {
        &self.latest
    }

    /// Findings of the conditions that the log's new entries of this snapshot fulfil.
    fn happenings(&mut self, now: &Snapshot) -> Vec<MetCondition> {
        let entries = |log: &EventLog| log.forgotten().saturating_add(log.iter().len() as u64);
        let before = entries(&self.log);
        self.log.compare(&self.latest, now);
        let new = usize::try_from(entries(&self.log).saturating_sub(before)).unwrap_or(usize::MAX);
        let mut found = Vec::new();
        for entry in self.log.iter().take(new) {
            let Some(happening) = happening(&entry.event) else { continue };
            let id = entry.row.as_ref().map(|(id, _)| *id);
            let group = now.groups.iter().find(|group| Some(group.id) == id);
            let is_meant = |condition: &&Condition| {
                condition.subject == ConditionSubject::Happening(happening)
                    && group.is_none_or(|group| condition.concerns(group))
            };
            if let Some(condition) = self.conditions.iter().find(is_meant) {
                found.push(MetCondition {
                    condition: condition.clone(),
                    row: entry.row.as_ref().map(|(_, name)| name.clone()),
                    at: entry.at,
                    evidence: ConditionEvidence::Event(entry.event.clone()),
                });
            }
        }
        found.reverse();
        found
    }

    /// Adds the conditions on figures that have begun to hold for a row.
    fn figures(
        &mut self,
        group: &Group,
        now: &Snapshot,
        is_old: bool,
        found: &mut Vec<MetCondition>,
    ) {
        let mut latencies = None;
        for (index, condition) in self.conditions.iter().enumerate() {
            let ConditionSubject::Figure { figure, beyond, limit, lasting } = condition.subject
            else {
                continue;
            };
            if !condition.concerns(group) {
                continue;
            }
            let value = match figure {
                Figure::Throughput => {
                    (is_old && group.rate_now.is_known()).then_some(group.rate_now.msg_per_s)
                }
                latency => {
                    let row = latencies.get_or_insert_with(|| delivered(&self.slices, group, now));
                    latency_of(row, latency)
                }
            };
            // Without a value it goes on as it was.
            let Some(value) = value else { continue };
            let holding = self.holding.entry((index, group.id)).or_default();
            let is_beyond = match beyond {
                Beyond::Above => value > limit,
                Beyond::Below => value < limit,
            };
            if !is_beyond {
                *holding = Holding::default();
                continue;
            }
            let since = *holding.since.get_or_insert(now.at);
            if now.at - since >= lasting && !std::mem::replace(&mut holding.is_found, true) {
                found.push(MetCondition {
                    condition: condition.clone(),
                    row: Some(crate::log::row_name(group)),
                    at: now.at,
                    evidence: ConditionEvidence::Value(value),
                });
            }
        }
    }
}

/// The deliveries in the last second of a row, and of the rows that have turned out to be a part of it.
fn delivered(slices: &VecDeque<Slice>, group: &Group, now: &Snapshot) -> RowSlice {
    let is_of =
        |row: &&RowSlice| row.group == group.id || now.united.contains(&(row.group, group.id));
    let mut sum = RowSlice::new(group.id);
    for row in slices.iter().flat_map(|slice| &slice.rows).filter(is_of) {
        sum.one_way.merge(&row.one_way);
    }
    sum
}

/// A latency in nanoseconds; `None` if nothing was delivered.
fn latency_of(row: &RowSlice, figure: Figure) -> Option<f64> {
    let latency = match figure {
        Figure::Quantile(thousandths) => row.one_way.quantile(f64::from(thousandths) / 1_000.0),
        _ => row.one_way.max(),
    };
    (row.matched() > 0).then_some(latency.0 as f64)
}

fn happening(event: &LogEvent) -> Option<Happening> {
    match event {
        LogEvent::VerdictBegan(..) => Some(Happening::Verdict),
        LogEvent::EventsLost(_) => Some(Happening::Loss),
        LogEvent::Overdue(_) => Some(Happening::Overdue),
        LogEvent::RowSilent => Some(Happening::Silent),
        LogEvent::ProcessGone { .. } => Some(Happening::Ended),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_correlate::{ProbeLoss, Process, Rate};
    use wirelap_events::Probe;

    const QUARTER: u64 = 250_000_000;
    const MS: u64 = 1_000_000;

    fn watcher(conditions: &[&str]) -> Watcher {
        Watcher::new(conditions.iter().map(|text| text.parse().unwrap()).collect())
    }

    fn group(id: u32, middleware: &str) -> Group {
        Group { id: GroupId(id), middleware: middleware.into(), ..Group::default() }
    }

    /// The update of a quarter of a second, with so many deliveries of row 1 of so long.
    fn update(number: u64, latencies: &[u64]) -> Update {
        let (from, to) = (Nanos(number * QUARTER), Nanos((number + 1) * QUARTER));
        let mut row = RowSlice::new(GroupId(1));
        for latency in latencies {
            row.one_way.add(latency * MS);
        }
        let rows = if latencies.is_empty() { vec![] } else { vec![row] };
        let groups = vec![group(1, "mqtt"), group(2, "nats")];
        let snapshot = Snapshot { at: to, groups, ..Snapshot::default() };
        Update { snapshot: Arc::new(snapshot), slice: Slice { from, to, rows, ..Slice::default() } }
    }

    /// The numbers of the quarters of a second in which something was found.
    fn found(watcher: &mut Watcher, quarters: impl Iterator<Item = (u64, Vec<u64>)>) -> Vec<u64> {
        let is_found = |(number, latencies): (u64, Vec<u64>)| {
            (!watcher.update(update(number, &latencies)).is_empty()).then_some(number)
        };
        quarters.filter_map(is_found).collect()
    }

    #[test]
    fn a_condition_that_goes_on_is_found_once_and_later_again() {
        let slow = |number: u64| (10..30).contains(&number) || number >= 50;
        let quarters = (0..60).map(|number| (number, vec![if slow(number) { 20 } else { 1 }]));
        assert_eq!(found(&mut watcher(&["p99>10ms"]), quarters), [10, 50]);
    }

    #[test]
    fn it_has_to_last() {
        let slow = |number: u64| (10..14).contains(&number) || (20..50).contains(&number);
        let quarters =
            || (0..60).map(move |number| (number, vec![if slow(number) { 20 } else { 1 }]));
        assert_eq!(found(&mut watcher(&["p99>10ms for 5s"]), quarters()), [40]);
        assert_eq!(found(&mut watcher(&["mqtt:p99>10ms for 5s"]), quarters()), [40]);
        assert_eq!(found(&mut watcher(&["nats:p99>10ms for 5s"]), quarters()), [] as [u64; 0]);
    }

    #[test]
    fn a_second_without_deliveries_says_nothing_of_latencies() {
        let quarters = (0..60).map(|number| match number {
            10 | 40 => (number, vec![20]),
            11..40 => (number, vec![]),
            _ => (number, vec![1; 400]),
        });
        assert_eq!(found(&mut watcher(&["max>10ms for 5s"]), quarters), [40]);
    }

    #[test]
    fn the_evidence_is_the_value() {
        let mut watcher = watcher(&["p50>1s", "max>10ms"]);
        let all = watcher.update(update(0, &[1, 2, 300]));
        let [finding] = &all[..] else { panic!("{all:?}") };
        assert_eq!(finding.evidence, ConditionEvidence::Value((300 * MS) as f64));
        assert_eq!((finding.row.as_deref(), finding.at), (Some("mqtt"), Nanos(QUARTER)));
    }

    #[test]
    fn what_a_row_that_was_united_delivered_counts() {
        let mut watcher = watcher(&["max>10ms"]);
        let mut first = update(0, &[20]);
        let mut snapshot = Snapshot::clone(&first.snapshot);
        snapshot.groups.remove(0);
        snapshot.united.push((GroupId(1), GroupId(2)));
        first.snapshot = Arc::new(snapshot);
        assert_eq!(watcher.update(first)[0].row.as_deref(), Some("nats"));
    }

    #[test]
    fn throughput_counts_once_a_row_is_there_for_a_second() {
        let mut watcher = watcher(&["throughput<100 for 1s"]);
        let numbers = (0..12).filter(|number| {
            let mut update = update(*number, &[]);
            let mut snapshot = Snapshot::clone(&update.snapshot);
            let rate = Rate { msg_per_s: 1_000.0, ..Rate::default() };
            snapshot.groups.iter_mut().skip(1).for_each(|group| group.rate_now = rate);
            update.snapshot = Arc::new(snapshot);
            !watcher.update(update).is_empty()
        });
        assert_eq!(numbers.collect::<Vec<_>>(), [8]);
    }

    #[test]
    fn what_happens_is_found_once() {
        let mut watcher = watcher(&["loss", "mqtt:ended"]);
        let mut with = |number: u64, lost: u64, ended: bool| -> Vec<String> {
            let mut update = update(number, &[]);
            let mut snapshot = Snapshot::clone(&update.snapshot);
            snapshot.trust.events_lost = vec![ProbeLoss { probe: Probe::Read, count: lost }];
            for group in &mut snapshot.groups {
                group.processes = vec![Process { ended, ..Process::default() }];
            }
            update.snapshot = Arc::new(snapshot);
            watcher.update(update).into_iter().map(|one| one.condition.to_string()).collect()
        };
        let found: [Vec<String>; 5] = [
            with(0, 0, false),
            with(1, 9, false),
            with(2, 12, true),
            with(3, 12, true),
            with(40, 13, true),
        ];
        assert_eq!(found.map(|all| all.join(" ")), ["", "loss", "mqtt:ended", "", "loss"]);
    }
}
