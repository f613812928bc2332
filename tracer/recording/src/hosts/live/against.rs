//! Samples that contradict what is known of two clocks: a clock was set, or a few packets were mistaken for others.

use crate::hosts::clocks::Sample;
use wirelap_events::{Nanos, Saturate};

/// Fewer packets may be mistaken ones.
const MIN_PACKETS: u32 = 3;

/// A smaller part of the packets of a direction, one in so many, may be mistaken ones.
const MIN_SHARE: u32 = 50;

/// Refreshes after which a few packets are taken for mistaken ones.
const PATIENCE: u32 = 3;

/// A step of one of two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The first packet that shows it, by the clocks of the first host and of the second.
    pub times: [Nanos; 2],
    /// Number of that packet among the samples of all pairs.
    pub serial: u64,
    /// By how much the second clock was set forward, or the first one back, in nanoseconds.
    pub by: i64,
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
    step: Option<Step>,
}

impl Contradictions {
    /// Takes in a sample, and by how much the second clock must have been set forward if it contradicts.
    pub fn add(&mut self, sample: &Sample, by: Option<i64>, is_ping: bool, serial: u64) {
        if by.is_none() && self.step.is_none() {
            return;
        }
        let direction = &mut self.directions[usize::from(!sample.from_first)];
        direction.all.grow(1);
        let was_over = std::mem::replace(&mut direction.is_over, by.is_none());
        let Some(by) = by else { return };
        let times = [sample.at, Nanos(sample.at.0.saturating_add_signed(sample.later))];
        let new = Step { times, serial, by };
        // What was before is rather a mistaken packet than the step.
        let is_alone = was_over && direction.against < MIN_PACKETS;
        direction.against.grow(1);
        self.pings.grow(is_ping.into());
        let step = self.step.get_or_insert(new);
        if is_alone {
            *step = new;
        }
        if by.unsigned_abs() > step.by.unsigned_abs() {
            step.by = by;
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.step.is_none()
    }

    /// The step, if enough samples show it. Called at each refresh. A question cannot be mistaken for another one.
    pub fn step(&mut self) -> Option<Step> {
        let is_enough = |direction: &Direction| {
            let share = direction.against.saturating_mul(MIN_SHARE);
            direction.against >= MIN_PACKETS && share >= direction.all
        };
        if self.pings > 0 || self.directions.iter().any(is_enough) {
            return self.step;
        }
        self.refreshes.grow(self.step.is_some().into());
        if self.refreshes > PATIENCE {
            *self = Contradictions::default();
        }
        None
    }
}
