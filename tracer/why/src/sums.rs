//! Sums over messages of about the same latency.

use wirelap_events::{Nanos, Total};

/// Messages that lost much time to one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hits {
    pub messages: u64,
    /// Time that these messages spent on it, in nanoseconds.
    pub time: u64,
    /// Sum of their whole latencies, in nanoseconds.
    pub latency: u64,
}

/// Time that messages lost to one cause beyond what a typical one spends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Excess {
    /// Messages that it is much of.
    pub messages: f64,
    /// Time that they spent on it beyond the typical, in nanoseconds.
    pub time: f64,
    /// Time that they took longer than a typical message, in nanoseconds.
    pub latency: f64,
}

/// Messages of about the same latency.
#[derive(Clone, Debug, Default)]
pub struct LatencyClass {
    pub messages: u64,
    pub least: Nanos,
    /// By slot.
    pub sums: Vec<u64>,
    /// By slot.
    pub hits: Vec<Hits>,
}

/// Sums over a set of messages.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    pub messages: f64,
    /// The least latency among them.
    pub least: Nanos,
    /// By slot, in nanoseconds.
    times: Vec<f64>,
}

impl Sums {
    pub fn add(&mut self, class: &LatencyClass, part: f64) {
        self.messages += class.messages as f64 * part;
        self.least = if self.least == Nanos(0) { class.least } else { self.least.min(class.least) };
        if self.times.len() < class.sums.len() {
            self.times.resize(class.sums.len(), 0.0);
        }
        for (sum, more) in self.times.iter_mut().zip(&class.sums) {
            *sum += *more as f64 * part;
        }
    }

    /// A message's mean time in a slot, in nanoseconds.
    pub fn mean(&self, slot: usize) -> f64 {
        self.times.get(slot).map_or(0.0, |sum| sum / self.messages.max(1.0))
    }

    /// A message's mean time in all.
    pub fn mean_latency(&self) -> f64 {
        self.times.iter().total::<f64>() / self.messages.max(1.0)
    }
}
