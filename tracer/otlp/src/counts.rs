//! The counts of spans, which several threads read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The spans that were taken by the Collector, and those that were dropped.
#[derive(Clone, Debug, Default)]
pub struct SpanCounts {
    /// Spans that the Collector has taken.
    pub sent: Arc<AtomicU64>,
    /// Spans that were dropped: there was no room for them, or the Collector refused them.
    pub dropped: Arc<AtomicU64>,
}

impl SpanCounts {
    /// The spans that were sent by now.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// The spans that were dropped by now.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(crate) fn add_sent(&self, spans: u64) {
        self.sent.fetch_add(spans, Ordering::Relaxed);
    }

    pub(crate) fn add_dropped(&self, spans: u64) {
        self.dropped.fetch_add(spans, Ordering::Relaxed);
    }
}
