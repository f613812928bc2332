//! The state of a session, for metrics.

use crate::row::MeasuredRow;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use wirelap_correlate::Snapshot;
use wirelap_events::GroupId;
use wirelap_history::{RowSlice, Update};

/// The most rows that are told apart.
const ROWS: usize = 1_024;

/// The state of a session. Counters never fall.
#[derive(Debug)]
pub struct Measured {
    rows: Vec<MeasuredRow>,
    at: FxHashMap<GroupId, usize>,
    snapshot: Arc<Snapshot>,
    /// When counting began.
    pub since: SystemTime,
    /// Spans that `--otlp` has sent and dropped so far, if it is there.
    pub spans: Option<[Arc<AtomicU64>; 2]>,
}

impl Default for Measured {
    fn default() -> Measured {
        Measured {
            rows: Vec::new(),
            at: FxHashMap::default(),
            snapshot: Arc::default(),
            since: SystemTime::now(),
            spans: None,
        }
    }
}

impl Measured {
    /// The rows that have appeared, the oldest first.
    pub fn rows(&self) -> &[MeasuredRow] {
        &self.rows
    }

    /// The latest snapshot.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Takes a snapshot, and what was delivered since the one before.
    pub fn take(&mut self, update: &Update) {
        let snapshot = &update.snapshot;
        for &(part, whole) in &snapshot.united {
            self.unite(part, whole);
        }
        for group in &snapshot.groups {
            if let Some(row) = self.row(group.id) {
                row.update(group, &snapshot.trust);
            }
        }
        for slice in &update.slice.rows {
            if let Some(row) = self.row(slice.group) {
                row.times.merge(slice);
            }
        }
        self.tell_apart();
        self.snapshot = Arc::clone(snapshot);
    }

    fn row(&mut self, id: GroupId) -> Option<&mut MeasuredRow> {
        let at = match self.at.get(&id) {
            Some(&at) => at,
            None if self.rows.len() < ROWS => {
                self.at.insert(id, self.rows.len());
                let times = RowSlice::new(id);
                self.rows.push(MeasuredRow { id, times, ..MeasuredRow::default() });
                self.rows.len().saturating_sub(1)
            }
            None => return None,
        };
        self.rows.get_mut(at)
    }

    /// Adds a row's distributions to the one that it has turned out to be a part of, and forgets it. The counts of the whole have its
    /// messages already.
    fn unite(&mut self, part: GroupId, whole: GroupId) {
        let Some(at) = self.at.get(&part).copied() else { return };
        let removed = self.rows.remove(at);
        self.at = self.rows.iter().enumerate().map(|(at, row)| (row.id, at)).collect();
        if let Some(row) = self.row(whole) {
            row.times.merge(&removed.times);
        }
    }

    /// Gives a number to rows whose labels an earlier row has: no two rows are one series.
    fn tell_apart(&mut self) {
        let mut seen = FxHashSet::default();
        for row in &mut self.rows {
            // The number of an earlier time goes, unless an update has replaced all labels.
            row.labels.retain(|(name, _)| *name != NUMBER);
            if !seen.insert(row.labels.clone()) {
                row.labels.push((NUMBER, row.id.0.to_string()));
            }
        }
    }
}

/// The label with the number of a row that has the same name and address as an earlier one.
const NUMBER: &str = "row";

/// The same, shared between the thread that takes updates and those that are scraped.
#[derive(Clone, Debug, Default)]
pub struct SharedMeasured(Arc<Mutex<Measured>>);

impl SharedMeasured {
    /// The state, for a short time alone.
    pub fn lock(&self) -> MutexGuard<'_, Measured> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
