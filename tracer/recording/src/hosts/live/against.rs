//! Samples that contradict what is known of two clocks: a clock was set, or a few packets were mistaken for others.

use super::tangents::Tangents;
use crate::hosts::clocks::{FASTEST, Sample};
use wirelap_events::{Nanos, Saturate};

/// Fewer packets may be mistaken ones.
const MIN_PACKETS: u32 = 3;

/// A smaller part of the packets of a direction, one in so many, may be mistaken ones.
const MIN_SHARE: u32 = 50;

/// Refreshes after which a few packets, after which others agree again, are taken for mistaken ones.
const PATIENCE: u32 = 2;

/// Limits of the drift of any two clocks.
const ANY_RATES: [f64; 2] = [-FASTEST, FASTEST];

/// The first packet that shows a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstAgainst {
    /// Its times by the clocks of the first host and of the second.
    pub times: [Nanos; 2],
    /// Its number among the samples of all pairs.
    pub serial: u64,
}

/// Two clocks before and after one of them was set.
#[derive(Clone, Copy, Debug)]
pub struct PairStep {
    /// The first packet that shows it.
    pub first: FirstAgainst,
    /// Limits of the difference then as it was before.
    before: [i64; 2],
    after: Tangents,
}

impl PairStep {
    /// A step since which samples have left these limits.
    fn new(first: FirstAgainst, before: &Tangents, after: Tangents) -> PairStep {
        PairStep { first, before: before.limits(first.times[0], ANY_RATES), after }
    }

    /// Takes in a sample of the clocks as they are since.
    pub fn add(&mut self, sample: Sample) {
        self.after.add(sample, self.first.times[0], ANY_RATES);
    }

    /// The samples since.
    pub fn after(&self) -> Tangents {
        self.after
    }

    /// Nanoseconds by which the second clock was set forward, or the first one back: at least and at most.
    pub fn by(&self) -> [i64; 2] {
        let ([low, high], [least, most]) =
            (self.after.limits(self.first.times[0], ANY_RATES), self.before);
        [
            if low == i64::MIN { low } else { low.saturating_sub(most) },
            if high == i64::MAX { high } else { high.saturating_sub(least) },
        ]
    }

    /// True if the rates of the clocks explain it.
    pub fn may_be_none(&self) -> bool {
        let [least, most] = self.by();
        least <= 0 && most >= 0
    }
}

/// Samples of one direction since the first contradiction.
#[derive(Clone, Copy, Debug, Default)]
struct Direction {
    against: u32,
    all: u32,
    /// The last one does not contradict.
    is_over: bool,
}

/// Samples that contradict what is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contradictions {
    directions: [Direction; 2],
    pings: u32,
    refreshes: u32,
    /// Refreshes in which it was not known whose clock was set.
    open: u32,
    first: Option<FirstAgainst>,
    /// The samples since then that agree with the first one.
    after: Tangents,
}

impl Contradictions {
    /// Takes in a sample that contradicts, or one that does not.
    pub fn add(&mut self, sample: &Sample, contradicts: bool, is_ping: bool, serial: u64) {
        if !contradicts && self.first.is_none() {
            return;
        }
        let direction = &mut self.directions[usize::from(!sample.from_first)];
        direction.all.grow(1);
        let was_over = std::mem::replace(&mut direction.is_over, !contradicts);
        if contradicts {
            let times = [sample.at, Nanos(sample.at.0.saturating_add_signed(sample.later))];
            let new = FirstAgainst { times, serial };
            // The one before is rather a mistaken packet than the step.
            let is_alone = was_over && direction.against < MIN_PACKETS;
            direction.against.grow(1);
            self.pings.grow(is_ping.into());
            if self.first.is_none() || is_alone {
                (self.first, self.after) = (Some(new), Tangents::default());
            }
        }
        // A packet that was on its way while the clock was set is of the clock before.
        if !self.after.agree_with(sample, ANY_RATES) {
            self.after = Tangents::default();
        }
        let at = self.after.newest().max(sample.at);
        self.after.add(*sample, at, ANY_RATES);
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Time of the first one by the clock of the host on a side.
    pub fn since(&self, side: usize) -> Option<Nanos> {
        Some(self.first?.times[side])
    }

    /// Whose clock was set is not known. Returns true if other pairs have had time to show it.
    pub fn is_left_open(&mut self) -> bool {
        self.open.grow(1);
        self.open > PATIENCE
    }

    /// The step, if enough samples show it, from what was known before. Called at each refresh. A question cannot be mistaken for
    /// another one.
    pub fn step(&mut self, before: &Tangents) -> Option<PairStep> {
        let is_enough = |direction: &Direction| {
            let share = direction.against.saturating_mul(MIN_SHARE);
            direction.against >= MIN_PACKETS && share >= direction.all
        };
        if self.pings > 0 || self.directions.iter().any(is_enough) {
            return Some(PairStep::new(self.first?, before, self.after));
        }
        let is_over = self.directions.iter().all(|way| way.is_over || way.against == 0);
        self.refreshes.grow((self.first.is_some() && is_over).into());
        if self.refreshes > PATIENCE {
            *self = Contradictions::default();
        }
        None
    }
}
