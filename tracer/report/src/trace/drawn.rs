//! The legs that are already drawn: a leg that several deliveries share is drawn once.

use super::json::TrackLane;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use wirelap_events::Saturate;
use wirelap_events::{FlowKey, MessageId, Nanos, StageTimes, TaskId};

/// Number of legs that are remembered. A shared leg that was forgotten is drawn again.
const LIMIT: usize = 65_536;

/// Identifies a leg: legs of two deliveries with equal keys are the same. A leg that the next leg cut short has another
/// last stage and so another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DrawnLegKey {
    pub message: MessageId,
    pub flow: FlowKey,
    pub reader: Option<TaskId>,
    pub first: Option<Nanos>,
    pub last: Option<Nanos>,
    /// The end of the leg before this one, which is the beginning of the dwell.
    pub since: Option<Nanos>,
}

impl DrawnLegKey {
    pub fn times(times: &StageTimes) -> (Option<Nanos>, Option<Nanos>) {
        (times.seen().next().map(|(_, at)| at), times.seen().next_back().map(|(_, at)| at))
    }
}

/// A leg that was drawn.
#[derive(Clone, Copy, Debug)]
pub struct DrawnLeg {
    pub id: u64,
    /// The beginning of an arrow to the next leg; `None` if no slice of this leg is shown.
    pub end: Option<(TrackLane, Nanos)>,
}

/// The most recently drawn legs.
#[derive(Debug, Default)]
pub struct DrawnLegs {
    legs: FxHashMap<DrawnLegKey, DrawnLeg>,
    order: VecDeque<DrawnLegKey>,
    ids: u64,
}

impl DrawnLegs {
    pub fn get(&self, key: &DrawnLegKey) -> Option<DrawnLeg> {
        self.legs.get(key).copied()
    }

    pub fn new_id(&mut self) -> u64 {
        self.ids.grow(1);
        self.ids
    }

    pub fn add(&mut self, key: DrawnLegKey, drawn: DrawnLeg) {
        if self.order.len() >= LIMIT
            && let Some(oldest) = self.order.pop_front()
        {
            self.legs.remove(&oldest);
        }
        self.legs.insert(key, drawn);
        self.order.push_back(key);
    }
}
