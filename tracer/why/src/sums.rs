//! Sums over messages of about the same latency.

use arrayvec::ArrayVec;
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

/// Presence of keep-alives or discovery beside a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Upkeep {
    /// While it was under way, or just before.
    pub beside: bool,
    /// In as long a time some while before that: where there are many, or messages take long, that is no wonder.
    pub before: bool,
}

/// Times that are told apart in which messages had keep-alives beside them.
const EPISODES: usize = 8;

/// Times from … until …, none of which meet.
#[derive(Clone, Debug, Default)]
pub struct Episodes(pub ArrayVec<(Nanos, Nanos), EPISODES>);

impl Episodes {
    pub fn add(&mut self, from: Nanos, to: Nanos) {
        let (mut from, mut to) = (from, to);
        self.0.retain(|&mut (begins, ends)| {
            let meet = begins <= to && from <= ends;
            if meet {
                (from, to) = (from.min(begins), to.max(ends));
            }
            !meet
        });
        // More than there is room for make no difference.
        let _ = self.0.try_push((from, to));
    }
}

/// Messages of about the same latency.
#[derive(Clone, Debug, Default)]
pub struct LatencyClass {
    pub messages: u64,
    /// Messages with a keep-alive or discovery beside them.
    pub beside_upkeep: u64,
    /// Messages with a keep-alive or discovery in as long a time some while before.
    pub upkeep_before: u64,
    /// Times in which messages with one beside them were under way.
    pub episodes: Episodes,
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
    pub beside_upkeep: f64,
    pub upkeep_before: f64,
    episodes: Episodes,
    /// The least latency among them.
    pub least: Nanos,
    /// By slot, in nanoseconds.
    times: Vec<f64>,
}

impl Sums {
    pub fn add(&mut self, class: &LatencyClass, part: f64) {
        self.messages += class.messages as f64 * part;
        self.beside_upkeep += class.beside_upkeep as f64 * part;
        self.upkeep_before += class.upkeep_before as f64 * part;
        class.episodes.0.iter().for_each(|&(from, to)| self.episodes.add(from, to));
        self.least = if self.least == Nanos(0) { class.least } else { self.least.min(class.least) };
        if self.times.len() < class.sums.len() {
            self.times.resize(class.sums.len(), 0.0);
        }
        for (sum, more) in self.times.iter_mut().zip(&class.sums) {
            *sum += *more as f64 * part;
        }
    }

    /// Number of times in which messages with a keep-alive beside them were under way, as far as they are told apart.
    pub fn upkeeps(&self) -> usize {
        self.episodes.0.len()
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
