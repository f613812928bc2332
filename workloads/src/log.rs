//! What a workload notes about its messages: counts, truth and round trips.

use crate::tally::Tally;
use crate::truth_log::TruthLog;
use anyhow::Result;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wirelap_contract::{Done, Spec, Stamp, TruthKind, TruthRecord};
use wirelap_events::Nanos;
use wirelap_harness::rtt::RoundTrips;

/// Shared by the main thread and the library's.
#[derive(Clone)]
pub struct SharedLog(Arc<Mutex<Log>>);

/// The notes.
pub struct Log {
    truth: TruthLog,
    tally: Tally,
    round_trips: RoundTrips,
}

impl SharedLog {
    /// An empty log; creates the truth file.
    pub fn create(spec: &Spec) -> Result<SharedLog> {
        let log = Log {
            truth: TruthLog::create(spec)?,
            tally: Tally::default(),
            round_trips: RoundTrips::expecting(spec.messages),
        };
        Ok(SharedLog(Arc::new(Mutex::new(log))))
    }

    /// The notes, for a moment.
    pub fn lock(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the truth file and sums up.
    pub fn finish(&self) -> Result<Done> {
        let mut log = self.lock();
        log.truth.write()?;
        Ok(Done { rtt: log.round_trips.summary(), ..log.tally.done() })
    }
}

impl Log {
    /// The library has taken a message at `at` that was meant to leave at `intended`.
    pub fn published(&mut self, stamp: Stamp, at: Nanos, intended: Nanos) {
        self.tally.sent(stamp, at);
        self.truth.push(TruthRecord { kind: TruthKind::Publish, stamp, at, aux: intended.0 });
    }

    /// The callback got a message. Returns how many different ones came so far, warm-up left out.
    pub fn delivered(&mut self, stamp: Stamp, at: Nanos) -> u64 {
        self.truth.push(TruthRecord { kind: TruthKind::Deliver, stamp, at, aux: 0 });
        self.tally.received(stamp, at)
    }

    /// The ping `stamp` was answered at `at`, `rtt` after it was published.
    pub fn answered(&mut self, stamp: Stamp, at: Nanos, rtt: Nanos) {
        self.truth.push(TruthRecord { kind: TruthKind::RoundTrip, stamp, at, aux: rtt.0 });
        if !stamp.warmup {
            self.round_trips.push(rtt);
        }
    }
}
