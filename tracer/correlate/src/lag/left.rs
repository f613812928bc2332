//! Subscribers whose connections were closed while they were behind.

use super::behind::Behind;
use super::table::{LagTable, Pair, PairKey, TopicKey};
use super::view::Lag;
use crate::flow::ClosedConnection;
use crate::ids::Direction;
use rustc_hash::{FxHashMap, FxHashSet};
use wirelap_events::{GroupId, Nanos, TopicId};

/// Subscribers that are remembered. Of more, the first.
const KEPT: usize = 256;

/// A subscriber that is gone, and what it had not got of a topic.
#[derive(Clone, Copy, Debug)]
pub struct LeftBehind {
    pub group: GroupId,
    pub client: Option<TopicId>,
    /// By how much it was behind.
    pub lag: Lag,
    pub closed: ClosedConnection,
    /// The direction on which the subscriber got its messages.
    pub direction: Direction,
    /// The group in which it read.
    members: Option<TopicId>,
    topic: TopicKey,
    /// The number of the last message that was sent to it.
    sent: u64,
    /// Time at which the subscriber was last seen to be behind.
    at: Nanos,
    /// True if the subscriber has connected again and goes on where it was, or another member of
    /// its group does.
    has_resumed: bool,
}

/// All of them, the oldest first.
#[derive(Debug, Default)]
pub struct AllLeftBehind {
    all: Vec<LeftBehind>,
    known: FxHashSet<PairKey>,
}

impl AllLeftBehind {
    /// A subscriber's connection was closed when it was behind on a topic, as was last seen at `at`.
    pub fn note(
        &mut self,
        (key, behind, lag): (PairKey, &Behind, Lag),
        closed: ClosedConnection,
        table: &LagTable,
        at: Nanos,
    ) {
        if self.all.len() >= KEPT || !self.known.insert(key) {
            return;
        }
        let pair = table.pair(key);
        self.all.push(LeftBehind {
            group: behind.group,
            client: behind.client,
            members: behind.members,
            lag,
            closed,
            direction: behind.direction,
            topic: (pair.map_or(behind.group, |pair| pair.group), key.1),
            sent: pair.map_or(0, |pair| pair.sent),
            at,
            has_resumed: false,
        });
    }

    /// Looks whose topic another member of its group has taken over, which gets what it had not got. `group_of` is the group of a
    /// subscriber.
    pub fn look_for_taken_over(
        &mut self,
        table: &LagTable,
        group_of: impl Fn(&Pair) -> Option<TopicId>,
    ) {
        if self.all.iter().all(|one| one.has_resumed || one.members.is_none()) {
            return;
        }
        for (key, pair) in table.pairs().filter(|(_, pair)| pair.taken_over > Nanos(0)) {
            let members = group_of(pair);
            let is_its = |one: &&mut LeftBehind| {
                one.members.is_some()
                    && one.members == members
                    && one.topic == (pair.group, key.1)
                    && pair.taken_over > one.at
            };
            self.all.iter_mut().filter(is_its).for_each(|one| one.has_resumed = true);
        }
    }

    /// Looks who has come back by the same name and gets what it had not got: its session was kept.
    pub fn look_for_returned(
        &mut self,
        table: &LagTable,
        name_of: impl Fn(PairKey) -> Option<TopicId>,
    ) {
        if self.all.iter().all(|one| one.has_resumed || one.client.is_none()) {
            return;
        }
        let mut newest: FxHashMap<(TopicKey, TopicId), (Nanos, u64)> = FxHashMap::default();
        for (key, pair) in table.pairs() {
            if let Some(name) = name_of(key) {
                let known = newest.entry(((pair.group, key.1), name)).or_default();
                *known = (*known).max((pair.began, pair.first));
            }
        }
        for one in &mut self.all {
            let again = one.client.and_then(|client| newest.get(&(one.topic, client)));
            one.has_resumed |= again.is_some_and(|&(began, first)| {
                began > one.at && first <= one.sent.saturating_add(1)
            });
        }
    }

    /// Those that have not come back.
    pub fn iter(&self) -> impl Iterator<Item = &LeftBehind> {
        self.all.iter().filter(|one| !one.has_resumed)
    }
}
