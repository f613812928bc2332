//! Single messages that are kept whole: the slowest, some of the latest, and those that did not arrive.

use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;
use wirelap_correlate::DelayCause;
use wirelap_events::{Delivery, FlowKey, GroupId, Nanos, Size, Stage};

/// The fate of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageFate {
    /// The message was followed from its first send to its last read.
    Delivered,
    /// The message is in no latency: it is of the warm-up, or an end of it was not seen.
    Aside,
    /// The message was not seen to be delivered.
    Undelivered {
        /// True if it was under way when the observation ended.
        at_end: bool,
    },
}

/// A message that is kept whole.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptMessage {
    /// The message's legs, as far as it came.
    pub delivery: Arc<Delivery>,
    /// The message's one-way latency; `None` if it is not known.
    pub one_way: Option<Nanos>,
    /// The cause that cost the message most time, beyond a typical message's; `None` if nothing stands out.
    pub cause: Option<DelayCause>,
    /// The message's fate.
    pub fate: MessageFate,
}

impl KeptMessage {
    /// The row.
    pub fn group(&self) -> GroupId {
        self.delivery.group
    }

    /// The time at which the message was first seen; zero if that is not known.
    pub fn began(&self) -> Nanos {
        self.delivery.begins().unwrap_or_default()
    }

    /// The time at which the message was read, or was seen last.
    pub fn ended(&self) -> Nanos {
        let read = self.delivery.legs.last().and_then(|leg| leg.times.get(Stage::Read));
        let last = || self.delivery.legs.last()?.times.seen().next_back().map(|(_, at)| at);
        read.or_else(last).unwrap_or_default()
    }

    /// The memory that it takes, in bytes.
    fn bytes(&self) -> usize {
        let hops = self.delivery.legs.iter().flat_map(|leg| [&leg.chain, &leg.before]);
        let hops = hops.map(|hops| size_of_val(hops.as_slice()));
        (Size::of::<KeptMessage>(1) + Size::of::<Delivery>(1) + Size::sum(hops)).0
    }

    /// The flow of its first leg.
    pub fn flow(&self) -> Option<FlowKey> {
        self.delivery.legs.first().map(|leg| leg.flow)
    }
}

/// Number of messages of each list that a row keeps.
const SLOWEST: usize = 64;
const LATEST: usize = 256;
const UNDELIVERED: usize = 128;

/// The most rows whose messages are kept.
const ROWS: usize = 1_024;

/// The messages of a row, each list with what it is ordered by first in front.
#[derive(Clone, Debug, Default)]
struct OfRow {
    /// The slowest first.
    slowest: VecDeque<KeptMessage>,
    /// The newest first, as in the other lists.
    latest: VecDeque<KeptMessage>,
    undelivered: VecDeque<KeptMessage>,
    aside: VecDeque<KeptMessage>,
    /// The memory that all of them take, in bytes. A message that is in two lists counts twice.
    bytes: Size,
}

/// Single messages by row, a bounded number of each kind and in bounded memory.
#[derive(Clone, Debug)]
pub struct MessageStore {
    rows: FxHashMap<GroupId, OfRow>,
    bytes: Size,
    budget: usize,
}

impl MessageStore {
    /// Keeps messages in at most about `budget` bytes. Beyond them, the row whose messages take most gives up some.
    pub(crate) fn new(budget: usize) -> MessageStore {
        MessageStore { rows: FxHashMap::default(), bytes: Size(0), budget }
    }

    /// Adds a message of a row, which ended after those that were added before.
    pub(crate) fn add(&mut self, group: GroupId, message: KeptMessage) {
        if self.rows.len() >= ROWS && !self.rows.contains_key(&group) {
            return;
        }
        let row = self.rows.entry(group).or_default();
        let before = row.bytes;
        row.add(message);
        self.bytes = self.bytes + row.bytes - before;
        self.shrink();
    }

    /// A row has turned out to be a part of another one.
    pub(crate) fn unite(&mut self, part: GroupId, whole: GroupId) {
        let Some(part) = self.rows.remove(&part) else { return };
        let row = self.rows.entry(whole).or_default();
        self.bytes = self.bytes - part.bytes - row.bytes;
        row.unite(part);
        self.bytes += row.bytes;
    }

    fn shrink(&mut self) {
        while self.bytes > self.budget {
            let most = self.rows.values_mut().max_by_key(|row| row.bytes);
            let Some(gone) = most.and_then(OfRow::drop_one) else { return };
            self.bytes -= gone;
        }
    }

    /// The memory that all messages take, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.0
    }

    /// The slowest messages of a row since the beginning, the slowest first.
    pub fn slowest(&self, group: GroupId) -> impl Iterator<Item = &KeptMessage> + '_ {
        self.rows.get(&group).into_iter().flat_map(|row| &row.slowest)
    }

    /// Some of the latest delivered messages of a row, the newest first: at high rates a sample.
    pub fn latest(&self, group: GroupId) -> impl Iterator<Item = &KeptMessage> + '_ {
        self.rows.get(&group).into_iter().flat_map(|row| &row.latest)
    }

    /// The latest messages of a row that were not seen to be delivered, the newest first.
    pub fn undelivered(&self, group: GroupId) -> impl Iterator<Item = &KeptMessage> + '_ {
        self.rows.get(&group).into_iter().flat_map(|row| &row.undelivered)
    }

    /// The latest messages of a row that are in no latency, the newest first.
    pub fn aside(&self, group: GroupId) -> impl Iterator<Item = &KeptMessage> + '_ {
        self.rows.get(&group).into_iter().flat_map(|row| &row.aside)
    }

    /// The kept message on the connection of this one's first leg that began last before it.
    pub fn before(&self, message: &KeptMessage) -> Option<&KeptMessage> {
        self.neighbours(message)
            .filter(|one| order(one) < order(message))
            .max_by_key(|one| order(one))
    }

    /// The kept message on the connection of this one's first leg that began first after it.
    pub fn after(&self, message: &KeptMessage) -> Option<&KeptMessage> {
        self.neighbours(message)
            .filter(|one| order(one) > order(message))
            .min_by_key(|one| order(one))
    }

    /// All kept messages on the connection of a message's first leg.
    fn neighbours(&self, message: &KeptMessage) -> impl Iterator<Item = &KeptMessage> + '_ {
        let flow = message.flow();
        let lists = self.rows.values().flat_map(|row| {
            [&row.slowest, &row.latest, &row.undelivered, &row.aside].into_iter().flatten()
        });
        lists.filter(move |one| one.flow() == flow)
    }
}

/// Messages of a connection are ordered by when they began, and equal times by their numbers.
fn order(message: &KeptMessage) -> (Nanos, u64) {
    (message.began(), message.delivery.message.0)
}

/// A list of a row, where a message belongs in it, and how many it may have.
type ListPlace = (fn(&mut OfRow) -> &mut VecDeque<KeptMessage>, usize, usize);

impl OfRow {
    fn add(&mut self, message: KeptMessage) {
        match message.fate {
            MessageFate::Undelivered { .. } => {
                self.insert((|row| &mut row.undelivered, 0, UNDELIVERED), message);
            }
            MessageFate::Aside => self.insert((|row| &mut row.aside, 0, UNDELIVERED), message),
            MessageFate::Delivered => {
                let at = self.slowest.partition_point(|one| one.one_way >= message.one_way);
                self.insert((|row| &mut row.slowest, at, SLOWEST), message.clone());
                self.insert((|row| &mut row.latest, 0, LATEST), message);
            }
        }
    }

    /// Inserts a message into a list, and drops the last one if there are too many.
    fn insert(&mut self, (list_of, at, limit): ListPlace, message: KeptMessage) {
        if at >= limit {
            return;
        }
        let added = message.bytes();
        let list = list_of(self);
        list.insert(at.min(list.len()), message);
        let gone = if list.len() > limit { list.pop_back() } else { None };
        let gone = gone.map_or(0, |message| message.bytes());
        self.bytes = self.bytes + added - gone;
    }

    /// Adds the messages of another row.
    fn unite(&mut self, other: OfRow) {
        for message in other.slowest {
            let at = self.slowest.partition_point(|one| one.one_way >= message.one_way);
            self.insert((|row| &mut row.slowest, at, SLOWEST), message);
        }
        let newer = |list: &VecDeque<KeptMessage>, message: &KeptMessage| {
            list.partition_point(|one| one.ended() >= message.ended())
        };
        for message in other.latest {
            let at = newer(&self.latest, &message);
            self.insert((|row| &mut row.latest, at, LATEST), message);
        }
        for message in other.undelivered {
            let at = newer(&self.undelivered, &message);
            self.insert((|row| &mut row.undelivered, at, UNDELIVERED), message);
        }
        for message in other.aside {
            let at = newer(&self.aside, &message);
            self.insert((|row| &mut row.aside, at, UNDELIVERED), message);
        }
    }

    /// Drops the last message of the longest list. Returns its bytes.
    fn drop_one(&mut self) -> Option<usize> {
        let lists = [&mut self.slowest, &mut self.latest, &mut self.undelivered, &mut self.aside];
        let message = lists.into_iter().max_by_key(|list| list.len())?.pop_back()?;
        self.bytes -= message.bytes();
        Some(message.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::MessageId;
    use wirelap_test_support::delivered::{delivery, leg};

    fn message(id: u64, group: u32, one_way: u64) -> KeptMessage {
        let leg = leg(&[(Stage::Send, id * 1_000), (Stage::Read, id * 1_000 + one_way)]);
        let delivery =
            Delivery { message: MessageId(id), group: GroupId(group), ..delivery([leg]) };
        let (one_way, fate) = (delivery.one_way(), MessageFate::Delivered);
        KeptMessage { delivery: Arc::new(delivery), one_way, cause: None, fate }
    }

    fn ids<'a>(messages: impl Iterator<Item = &'a KeptMessage>) -> Vec<u64> {
        messages.map(|message| message.delivery.message.0).collect()
    }

    #[test]
    fn beyond_the_budget_the_row_with_most_gives_up_some() {
        let mut messages = MessageStore::new(40 * message(1, 1, 1).bytes());
        for id in 0..1_000 {
            let group = if id % 100 == 99 { 2 } else { 1 };
            messages.add(GroupId(group), message(id, group, 1_000 - id % 7));
            assert!(messages.bytes() <= messages.budget);
        }
        assert_eq!(ids(messages.latest(GroupId(2))).len(), 10);
        assert_eq!(ids(messages.latest(GroupId(1)))[0], 998);
        let slowest: Vec<_> = messages.slowest(GroupId(1)).map(|one| one.one_way).collect();
        assert!(slowest.len() > 5 && slowest.is_sorted_by(|a, b| a >= b));
        let rows = [1, 2].map(GroupId);
        let counted = Size::sum(rows.map(|group| messages.rows[&group].bytes));
        assert_eq!(counted, messages.bytes());
    }

    #[test]
    fn the_messages_of_a_part_are_among_those_of_the_whole() {
        let mut messages = MessageStore::new(usize::MAX);
        for id in 0..20 {
            let group = u32::try_from(id % 2).unwrap();
            messages.add(GroupId(group), message(id, group, 500 - id));
        }
        let bytes = messages.bytes();
        messages.unite(GroupId(1), GroupId(0));
        assert_eq!(ids(messages.latest(GroupId(0))), (0..20).rev().collect::<Vec<_>>());
        assert_eq!(ids(messages.slowest(GroupId(0))), (0..20).collect::<Vec<_>>());
        assert_eq!((messages.latest(GroupId(1)).count(), messages.bytes()), (0, bytes));
        let middle = messages.latest(GroupId(0)).nth(10).unwrap();
        assert_eq!(ids(messages.before(middle).into_iter().chain(messages.after(middle))), [8, 10]);
    }
}
