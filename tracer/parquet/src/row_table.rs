//! The deliveries of a capture, which are of the rows of its report.

use crate::sampler::Sampler;
use crate::writer::WrittenTable;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use wirelap_correlate::{DelayCause, DeliverySink, Group, Snapshot};
use wirelap_events::{Delivery, GroupId, Nanos, SampleStatus, TopicId};
use wirelap_report::SampleOrigin;

/// The time after which names that were not told are asked for again.
const ASK_AGAIN: Nanos = Nanos::from_millis(1_000);

/// Takes all deliveries of a correlator as rows of a table. The names of the report's rows come later than their first deliveries, with a
/// snapshot.
#[derive(Debug)]
pub struct RowTable {
    sampler: Sampler,
    /// The difference from the clock of events to the wall clock in nanoseconds.
    wall_offset_ns: Option<i64>,
    origins: FxHashMap<GroupId, RowOrigin>,
    /// The time at which names were asked for last.
    asked_at: Option<Nanos>,
    /// The name of the host that observes.
    host: Option<String>,
    /// The files by time, if there are several.
    pieces: Option<Pieces>,
    /// The receiver of the result, at the end of a table that nobody finishes.
    result: Option<SyncSender<WrittenTable>>,
}

/// Files by time.
#[derive(Clone, Copy, Debug)]
struct Pieces {
    /// The time that a file covers.
    length: Nanos,
    /// The beginning of the present file.
    began: Option<Nanos>,
    wall_offset: fn() -> i64,
}

/// The origin of the deliveries of a row of the report.
#[derive(Debug)]
struct RowOrigin {
    index: usize,
    /// The names that it has; `None` until they are told.
    named: Option<SampleOrigin>,
}

impl RowTable {
    /// A table without rows.
    pub fn new(sampler: Sampler) -> RowTable {
        RowTable {
            sampler,
            wall_offset_ns: None,
            origins: FxHashMap::default(),
            asked_at: None,
            host: None,
            pieces: None,
            result: None,
        }
    }

    /// Begins a file each time that snapshots have covered this time. `wall_offset` is the difference from the clock of events to the wall
    /// clock in nanoseconds at the moment; a clock that is set makes the next file's times right.
    #[must_use]
    pub fn in_pieces(mut self, length: Nanos, wall_offset: fn() -> i64) -> RowTable {
        self.pieces = Some(Pieces { length, began: None, wall_offset });
        self.wall_offset_ns = Some(wall_offset());
        self
    }

    /// Sets the name of the host that observes.
    #[must_use]
    pub fn of_host(mut self, host: Option<String>) -> RowTable {
        self.host = host;
        self
    }

    /// Sets the receiver of the result, which has room for it. The table is finished when it is dropped.
    #[must_use]
    pub fn with_result(mut self, result: SyncSender<WrittenTable>) -> RowTable {
        self.result = Some(result);
        self
    }

    /// Sets the difference from the clock of events to the wall clock in nanoseconds. Call it before the first delivery.
    pub fn set_wall_offset(&mut self, offset: i64) {
        self.wall_offset_ns = Some(offset);
    }

    /// True if a snapshot is needed for the names of rows. `at` is the time of the events.
    pub fn needs_snapshot(&mut self, at: Nanos) -> bool {
        let is_early = self.asked_at.is_some_and(|asked| at < asked + ASK_AGAIN);
        if !self.sampler.needs_names() || is_early && !self.sampler.is_full() {
            return false;
        }
        self.asked_at = Some(at);
        true
    }

    /// Takes the names of rows.
    pub fn name_rows(&mut self, groups: &[Group]) {
        for group in groups {
            let Some(row) = self.origins.get_mut(&group.id) else { continue };
            let origin = SampleOrigin {
                middleware: group.middleware.clone(),
                broker: group.broker.clone(),
                host: self.host.clone(),
                wall_offset_ns: self.wall_offset_ns,
                ..SampleOrigin::default()
            };
            if row.named.as_ref() != Some(&origin) {
                self.sampler.name(row.index, origin.clone());
                row.named = Some(origin);
            }
        }
    }

    /// Writes what is left and completes the file.
    pub fn finish(&mut self) -> WrittenTable {
        self.sampler.finish()
    }

    fn take(&mut self, delivery: &Delivery, status: SampleStatus) {
        let sampler = &mut self.sampler;
        let new = || RowOrigin { index: sampler.add_nameless(), named: None };
        let origin = self.origins.entry(delivery.group).or_insert_with(new).index;
        self.sampler.delivery(origin, delivery, status);
    }
}

impl DeliverySink for RowTable {
    fn delivery(&mut self, delivery: &Delivery) {
        self.judged(delivery, None);
    }

    fn judged(&mut self, delivery: &Delivery, _: Option<DelayCause>) {
        self.take(delivery, SampleStatus::Counted);
    }

    fn aside(&mut self, delivery: &Delivery) {
        let status = match delivery.stamp {
            Some(stamp) if stamp.warmup => SampleStatus::WarmUp,
            _ => SampleStatus::of_uncovered(delivery),
        };
        self.take(delivery, status);
    }

    fn takes_topics(&self) -> bool {
        true
    }

    fn needs_topic(&self, topic: TopicId) -> bool {
        self.sampler.needs_topic(topic)
    }

    fn topic(&mut self, topic: TopicId, name: &[u8]) {
        self.sampler.topic(topic, name);
    }

    fn published(&mut self, snapshot: &Arc<Snapshot>) {
        self.name_rows(&snapshot.groups);
        let Some(pieces) = &mut self.pieces else { return };
        let began = *pieces.began.get_or_insert(snapshot.at);
        if snapshot.at >= began + pieces.length {
            pieces.began = Some(snapshot.at);
            self.wall_offset_ns = Some((pieces.wall_offset)());
            self.sampler.end_file();
            self.name_rows(&snapshot.groups);
        }
    }
}

impl Drop for RowTable {
    fn drop(&mut self) {
        if let Some(result) = self.result.take() {
            // Whoever waits for it has left room for one.
            let _ = result.try_send(self.sampler.finish());
        }
    }
}

#[cfg(test)]
mod tests;
