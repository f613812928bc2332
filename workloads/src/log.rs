//! Notes of a workload about its messages: counts, truth and round trips.

use crate::tally::MessageTally;
use crate::truth_log::TruthLog;
use anyhow::Result;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wirelap_contract::{Done, Spec, Stamp, TruthKind, TruthRecord};
use wirelap_events::Nanos;
use wirelap_harness::control;
use wirelap_harness::rtt::RoundTripTimes;

/// Shared by the main thread and the library's.
#[derive(Clone)]
pub struct SharedLog(Arc<Mutex<WorkloadLog>>);

/// The notes.
pub struct WorkloadLog {
    truth: TruthLog,
    tally: MessageTally,
    round_trips: RoundTripTimes,
    /// DONE was printed.
    is_done: bool,
}

impl SharedLog {
    /// An empty log; creates the truth file.
    pub fn create(spec: &Spec) -> Result<SharedLog> {
        let log = WorkloadLog {
            truth: TruthLog::create(spec)?,
            tally: MessageTally::default(),
            round_trips: RoundTripTimes::expecting(spec.messages),
            is_done: false,
        };
        Ok(SharedLog(Arc::new(Mutex::new(log))))
    }

    /// The notes, for a moment.
    pub fn lock(&self) -> MutexGuard<'_, WorkloadLog> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the truth file, and prints DONE if it was not printed before.
    pub fn say_done(&self) -> Result<()> {
        let mut log = self.lock();
        log.truth.write()?;
        if std::mem::replace(&mut log.is_done, true) {
            return Ok(());
        }
        let done = Done { rtt: log.round_trips.summary(), ..log.tally.done() };
        drop(log);
        control::say(&done.to_line());
        Ok(())
    }

    /// Writes the truth file.
    pub fn write_truth(&self) -> Result<()> {
        self.lock().truth.write()
    }
}

impl WorkloadLog {
    /// The library has taken a message at `at` that was meant to leave at `intended`.
    pub fn published(&mut self, stamp: Stamp, at: Nanos, intended: Nanos) {
        self.tally.sent(stamp, at);
        self.truth.push(TruthRecord { kind: TruthKind::Publish, stamp, at, aux: intended.0 });
    }

    /// The callback of a subscriber got a message. Returns how many came so far, each counted once for each subscriber, warm-up
    /// left out.
    pub fn delivered(&mut self, subscriber: u32, stamp: Stamp, at: Nanos) -> u64 {
        let aux = u64::from(subscriber);
        self.truth.push(TruthRecord { kind: TruthKind::Deliver, stamp, at, aux });
        self.tally.received(subscriber, stamp, at)
    }

    /// A publisher in a thread of its own has sent this.
    pub fn sent_apart(&mut self, tally: &MessageTally) {
        self.tally.add_sent(tally);
    }

    /// A connection was meant to be opened `took` before it was ready, at `at`.
    pub fn connected(&mut self, seq: u32, at: Nanos, took: Nanos) {
        let stamp = Stamp { stream: 0, seq, reply: false, warmup: false };
        self.tally.sent(stamp, at);
        self.round_trips.push(took);
    }

    /// The ping `stamp` was answered at `at`, `rtt` after it was published.
    pub fn answered(&mut self, stamp: Stamp, at: Nanos, rtt: Nanos) {
        self.truth.push(TruthRecord { kind: TruthKind::RoundTrip, stamp, at, aux: rtt.0 });
        if !stamp.warmup {
            self.round_trips.push(rtt);
        }
    }
}
