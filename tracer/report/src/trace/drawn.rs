//! Legs that several deliveries share are drawn once.

use super::json::Place;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use wirelap_events::Saturate;
use wirelap_events::{FlowKey, MessageId, Nanos, StageTimes, TaskId};

/// Legs that are remembered; one that was forgotten is drawn again.
const LIMIT: usize = 65_536;

/// What makes a leg the same in two deliveries. One that the next leg cut off short is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub message: MessageId,
    pub flow: FlowKey,
    pub reader: Option<TaskId>,
    pub first: Option<Nanos>,
    pub last: Option<Nanos>,
    /// Where the leg before was left, which the dwell begins with.
    pub since: Option<Nanos>,
}

impl Key {
    pub fn times(times: &StageTimes) -> (Option<Nanos>, Option<Nanos>) {
        (times.seen().next().map(|(_, at)| at), times.seen().next_back().map(|(_, at)| at))
    }
}

/// A leg that was drawn.
#[derive(Clone, Copy, Debug)]
pub struct Drawn {
    pub id: u64,
    /// Where an arrow to the next leg begins; `None` if nothing of it is shown.
    pub end: Option<(Place, Nanos)>,
}

/// The legs that were drawn last.
#[derive(Debug, Default)]
pub struct DrawnLegs {
    legs: FxHashMap<Key, Drawn>,
    order: VecDeque<Key>,
    ids: u64,
}

impl DrawnLegs {
    pub fn get(&self, key: &Key) -> Option<Drawn> {
        self.legs.get(key).copied()
    }

    pub fn new_id(&mut self) -> u64 {
        self.ids.grow(1);
        self.ids
    }

    pub fn add(&mut self, key: Key, drawn: Drawn) {
        if self.order.len() >= LIMIT
            && let Some(oldest) = self.order.pop_front()
        {
            self.legs.remove(&oldest);
        }
        self.legs.insert(key, drawn);
        self.order.push_back(key);
    }
}
