//! Single messages that are kept whole: the slowest, some of the latest, and those that did not arrive.

use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;
use wirelap_correlate::DelayCause;
use wirelap_events::{Delivery, FlowKey, GroupId, Nanos, Stage};

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageFate {
    /// It was followed from its first send to its last read.
    Delivered,
    /// It is in no latency: a message of the warm-up, or an end of it was not seen.
    Aside,
    /// It was not seen to be delivered.
    Undelivered {
        /// Whether it was under way when the observation ended.
        at_end: bool,
    },
}

/// A message that is kept whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Its legs, as far as it came.
    pub delivery: Arc<Delivery>,
    /// Its one-way latency; `None` if it is not known.
    pub one_way: Option<Nanos>,
    /// What it lost most time to, beyond what a typical message does; `None` if nothing stands out.
    pub cause: Option<DelayCause>,
    /// What became of it.
    pub fate: MessageFate,
}

impl Message {
    /// The row.
    pub fn group(&self) -> GroupId {
        self.delivery.group
    }

    /// When it was first seen; zero if that is not known.
    pub fn began(&self) -> Nanos {
        self.delivery.begins().unwrap_or_default()
    }

    /// When it was read, or was seen last.
    pub fn ended(&self) -> Nanos {
        let read = self.delivery.legs.last().and_then(|leg| leg.times.get(Stage::Read));
        let last = || self.delivery.legs.last()?.times.seen().next_back().map(|(_, at)| at);
        read.or_else(last).unwrap_or_default()
    }

    /// The flow of its first leg.
    pub fn flow(&self) -> Option<FlowKey> {
        self.delivery.legs.first().map(|leg| leg.flow)
    }
}

/// How many messages of each list a row keeps.
const SLOWEST: usize = 64;
const LATEST: usize = 256;
const UNDELIVERED: usize = 128;

/// The most rows whose messages are kept.
const ROWS: usize = 1_024;

#[derive(Clone, Debug, Default)]
struct OfRow {
    /// The slowest first.
    slowest: Vec<Message>,
    /// The newest last.
    latest: VecDeque<Message>,
    undelivered: VecDeque<Message>,
    aside: VecDeque<Message>,
}

/// Single messages by row, a bounded number of each kind.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    rows: FxHashMap<GroupId, OfRow>,
}

impl Messages {
    /// Adds a message.
    pub fn add(&mut self, message: Message) {
        if self.rows.len() >= ROWS && !self.rows.contains_key(&message.group()) {
            return;
        }
        let row = self.rows.entry(message.group()).or_default();
        match message.fate {
            MessageFate::Undelivered { .. } => push(&mut row.undelivered, message, UNDELIVERED),
            MessageFate::Aside => push(&mut row.aside, message, UNDELIVERED),
            MessageFate::Delivered => {
                insert_slow(&mut row.slowest, &message, SLOWEST);
                push(&mut row.latest, message, LATEST);
            }
        }
    }

    /// The slowest messages of a row since the beginning, the slowest first.
    pub fn slowest(&self, group: GroupId) -> impl Iterator<Item = &Message> + '_ {
        self.rows.get(&group).into_iter().flat_map(|row| &row.slowest)
    }

    /// Some of the latest delivered messages of a row, the newest first: at high rates a sample.
    pub fn latest(&self, group: GroupId) -> impl Iterator<Item = &Message> + '_ {
        self.rows.get(&group).into_iter().flat_map(|row| row.latest.iter().rev())
    }

    /// The latest messages of a row that were not seen to be delivered, the newest first.
    pub fn undelivered(&self, group: GroupId) -> impl Iterator<Item = &Message> + '_ {
        self.rows.get(&group).into_iter().flat_map(|row| row.undelivered.iter().rev())
    }

    /// The latest messages of a row that are in no latency, the newest first.
    pub fn aside(&self, group: GroupId) -> impl Iterator<Item = &Message> + '_ {
        self.rows.get(&group).into_iter().flat_map(|row| row.aside.iter().rev())
    }

    /// The kept message on the connection of this one's first leg that began last before it.
    pub fn before(&self, message: &Message) -> Option<&Message> {
        self.neighbours(message)
            .filter(|one| order(one) < order(message))
            .max_by_key(|one| order(one))
    }

    /// The kept message on the connection of this one's first leg that began first after it.
    pub fn after(&self, message: &Message) -> Option<&Message> {
        self.neighbours(message)
            .filter(|one| order(one) > order(message))
            .min_by_key(|one| order(one))
    }

    /// All kept messages on the connection of a message's first leg.
    fn neighbours(&self, message: &Message) -> impl Iterator<Item = &Message> + '_ {
        let (group, flow) = (message.group(), message.flow());
        let all = self.slowest(group).chain(self.latest(group)).chain(self.undelivered(group));
        all.chain(self.aside(group)).filter(move |one| one.flow() == flow)
    }
}

/// Messages of a connection are ordered by when they began, and equal times by their numbers.
fn order(message: &Message) -> (Nanos, u64) {
    (message.began(), message.delivery.message.0)
}

fn push(list: &mut VecDeque<Message>, message: Message, limit: usize) {
    if list.len() >= limit {
        list.pop_front();
    }
    list.push_back(message);
}

/// Inserts a message into a list whose first is the slowest, if it is one of the slowest.
pub(crate) fn insert_slow(list: &mut Vec<Message>, message: &Message, limit: usize) {
    let at = list.partition_point(|one| one.one_way >= message.one_way);
    if at >= limit {
        return;
    }
    list.truncate(limit.saturating_sub(1));
    list.insert(at, message.clone());
}
