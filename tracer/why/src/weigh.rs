//! The cost of each cause: to the typical message, and to each of the slow ones.
//!
//! A slow message is weighed against the typical one, cause by cause, and each cause against the messages that it hits:
//! three messages of three seconds hide nothing of what every tenth loses to something else.

use super::breakdown::{Breakdown, Cell};
use super::explanation::{Cause, Severity, Verdict};
use super::kind::VerdictKind;
use super::sums::{Excess, Sums};
use wirelap_events::{Nanos, Segment};
use wirelap_limits::kinds::UNEXPLAINED;
use wirelap_limits::rules::{
    MIN_MESSAGES_IN_TAIL, MIN_SLOW_MESSAGES, MINOR_CAUSE, SLOW_BEYOND_CHANCE, SLOWEST_PART,
};
use wirelap_limits::{LeastCost, TimeLimits};

/// The typical message of a row, and the slow ones.
pub struct Measured<'a> {
    breakdown: &'a Breakdown,
    pub middle: Sums,
    /// Latency of a typical message in all, in nanoseconds.
    pub median: f64,
    pub tail: Option<Sums>,
    /// Mean of what the slowest 1 % took longer.
    pub excess: f64,
    /// Time by which all messages slower than three quarters of them exceed the typical one,
    /// together.
    slow: f64,
    /// As many messages must lose much on average for a cause to matter.
    least: f64,
}

/// A cause's part of them, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    pub median: f64,
    pub median_share: f64,
    pub tail: f64,
    pub tail_share: f64,
    /// The messages that it hits, and what it takes of them beyond the typical.
    pub hit: Excess,
    pub slow_share: f64,
    /// Latency of a typical message in all.
    whole: f64,
    /// As many messages must lose much on average for a cause to matter.
    least: f64,
}

/// The cell in which the hits of a cause are kept: those of a kind by leg, those of time without a cause by
/// segment, too.
pub fn hit_cell(leg: usize, segment: Segment, cause: Cause) -> Cell {
    let segment = if cause == Cause::Ordinary { segment } else { Segment::Wire };
    Cell { leg, segment, cause }
}

impl<'a> Measured<'a> {
    pub fn new(breakdown: &'a Breakdown) -> Measured<'a> {
        let messages = breakdown.messages();
        let middle = breakdown.middle();
        let median = middle.mean_latency();
        // One in a hundred, and of few messages at least ten, but never so many that they are no tail.
        let count = (messages / SLOWEST_PART)
            .max(MIN_MESSAGES_IN_TAIL)
            .min(messages / MIN_MESSAGES_IN_TAIL);
        let tail = (count > 0).then(|| breakdown.slowest(count));
        let excess = tail.as_ref().map_or(0.0, |tail| tail.mean_latency() - median);
        let slow = breakdown.slow(median).latency;
        Measured { breakdown, middle, median, tail, excess, slow, least: count.max(1) as f64 }
    }

    pub fn messages(&self) -> u64 {
        self.breakdown.messages()
    }

    /// The cost of a kind of cause on a leg. As much as by these limits may make a message slow.
    pub fn kind(&self, leg: usize, kind: VerdictKind, limits: &TimeLimits) -> Cost {
        let cause = Cause::Of(kind);
        let mut cost = self.share(|cell| cell.leg == leg && cell.cause == cause);
        self.add_hits(&mut cost, hit_cell(leg, Segment::Wire, cause), limits);
        cost
    }

    /// The cost of time without a cause.
    pub fn unexplained(&self, leg: usize, segment: Segment) -> Cost {
        let cell = Cell { leg, segment, cause: Cause::Ordinary };
        let mut cost = self.share(|other| *other == cell);
        self.add_hits(&mut cost, cell, &UNEXPLAINED);
        cost
    }

    fn add_hits(&self, cost: &mut Cost, cell: Cell, limits: &TimeLimits) {
        let least = limits.slow.time.0 as f64 / 2.0;
        cost.hit = self.breakdown.excess(cell, cost.median, self.median, least);
        cost.slow_share = ratio(cost.hit.time, self.slow.max(cost.hit.time));
    }

    /// The part of all cells that `fit`.
    fn share(&self, fits: impl Fn(&Cell) -> bool) -> Cost {
        let mut cost = Cost { whole: self.median, least: self.least, ..Cost::default() };
        for (slot, _) in self.breakdown.cells().iter().enumerate().filter(|(_, c)| fits(c)) {
            let median = self.middle.mean(slot);
            cost.median += median;
            cost.tail += self.tail.as_ref().map_or(0.0, |tail| tail.mean(slot) - median);
        }
        cost.median_share = ratio(cost.median, self.median);
        cost.tail_share = ratio(cost.tail, self.excess);
        cost
    }
}

impl Cost {
    /// Messages that it hits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // `as` saturates.
    pub fn messages(&self) -> u64 {
        self.hit.messages.round() as u64
    }

    /// Mean of what it takes of a message that it hits.
    pub fn each(&self) -> f64 {
        ratio(self.hit.time, self.hit.messages)
    }

    /// True if the cost matters by these limits.
    pub fn passes(&self, limits: &TimeLimits) -> bool {
        self.is_typical(limits) || self.is_slow(limits)
    }

    /// True if it takes much of the typical message.
    pub fn is_typical(&self, limits: &TimeLimits) -> bool {
        self.is_at_least(&limits.typical)
    }

    /// True if it takes so much of the typical message.
    pub fn is_at_least(&self, least: &LeastCost) -> bool {
        self.median >= least.time.0 as f64 && self.median_share >= least.share
    }

    /// True if it takes much of messages that would be typical without it.
    fn is_slow(&self, limits: &TimeLimits) -> bool {
        let time = limits.slow.time.0 as f64;
        // A message that takes hardly longer than the others is not slow.
        let stands_out = self.each() >= self.whole / 2.0;
        !self.is_chance(limits)
            && stands_out
            && self.hit.time >= self.least * time
            && self.hit.time >= self.hit.latency * limits.slow.share
    }

    /// True if the messages that it hits are so few that they may be slow by chance.
    pub fn is_chance(&self, limits: &TimeLimits) -> bool {
        let is_single = self.hit.messages < MIN_SLOW_MESSAGES;
        is_single && self.each() < SLOW_BEYOND_CHANCE * limits.slow.time.0 as f64
    }

    /// True if it hits few messages, and takes little of what slow ones lose.
    pub fn is_minor(&self, limits: &TimeLimits) -> bool {
        let is_little = self.hit.messages < self.least && self.slow_share < MINOR_CAUSE;
        is_little && !self.is_typical(limits)
    }

    /// Time that it takes of messages that another cause makes slow.
    pub fn in_hits_of(&self, other: &Cost) -> f64 {
        self.median * other.hit.messages + self.hit.time.min(self.each() * other.hit.messages)
    }

    /// The same cost beside what is left of the messages' time without another cause.
    pub fn without(&self, other: &Cost) -> Cost {
        let whole = (self.whole - other.median).max(self.median);
        let latency = (self.hit.latency - other.in_hits_of(self)).max(self.hit.time);
        Cost {
            whole,
            median_share: ratio(self.median, whole),
            hit: Excess { latency, ..self.hit },
            ..*self
        }
    }

    /// The part of it that one of several processes has.
    pub fn part(&self, share: f64) -> Cost {
        Cost {
            median: self.median * share,
            median_share: self.median_share * share,
            tail: self.tail * share,
            tail_share: self.tail_share * share,
            hit: Excess {
                messages: self.hit.messages * share,
                time: self.hit.time * share,
                latency: self.hit.latency * share,
            },
            slow_share: self.slow_share * share,
            ..*self
        }
    }

    /// The figures of a verdict.
    pub fn verdict(&self, kind: VerdictKind, severity: Severity) -> Verdict {
        Verdict {
            median: Nanos::from_f64(self.median),
            median_share: self.median_share.clamp(0.0, 1.0),
            tail: Nanos::from_f64(self.tail),
            tail_share: self.tail_share.clamp(0.0, 1.0),
            slow_messages: self.messages(),
            slow: Nanos::from_f64(self.each()),
            slow_share: self.slow_share.clamp(0.0, 1.0),
            ..Verdict::new(kind, severity)
        }
    }
}

pub fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
