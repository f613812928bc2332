//! The number of messages of each topic, and the last one that was sent to each subscriber.

use super::ages::Ages;
use super::missed::{Missed, Missing};
use crate::ids::{Direction, Way};
use crate::join::TakesAll;
use rustc_hash::FxHashMap;
use wirelap_events::{FlowId, GroupId, Nanos, Saturate, TopicId};

/// Topics whose messages are counted.
pub(super) const TOPICS: usize = 16_384;

/// Subscribers of topics that are followed.
const PAIRS: usize = 65_536;

/// From so many of them on, those that have got all make room for others, if they have been idle for long.
pub(super) const MANY: usize = PAIRS / 4;

/// A topic that had no message for so long makes room for another one.
pub(super) const IDLE: Nanos = Nanos::from_millis(60_000);

/// A subscription that lags behind another one of its connection for so long is not used any more.
const SUPERSEDED: Nanos = Nanos::from_millis(250);

/// A subscriber gets all messages of a topic if it got so many of a hundred, and so many at least.
const ALL: (u32, u16) = (90, 10);

/// Messages in a row that a subscriber did not get count as so many at most: a broker may drop what it cannot send.
const SKIPPED: u16 = 4;

/// One in so many messages may be skipped by a subscriber that gets them in turn.
const FEW_SKIPPED: u32 = 10;

/// A long time at the server is forgotten by one part in so many with each message.
const DWELL_FADES: u64 = 8;

/// So many messages back it is remembered whether a subscriber gets all.
const REMEMBERED: u16 = 256;

/// A topic of a row.
pub type TopicKey = (GroupId, u64);

/// A topic and who gets its messages, by what the broker sends to it.
pub type PairKey = ((FlowId, u32), u64);

/// The messages of a topic.
#[derive(Debug, Default)]
pub(super) struct Topic {
    pub(super) published: u64,
    pub(super) last: Nanos,
    ages: Ages,
    /// The number of the newest message that was sent to anybody.
    pub(super) newest_sent: u64,
    /// Some subscriber may still get messages from this number on.
    pub(super) awaited_from: Option<u64>,
    /// Somebody is gone who may have got a share of them.
    pub(super) had_share: bool,
}

/// The progress of a subscriber on a topic.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// From the broker to the subscriber.
    pub direction: Direction,
    pub group: GroupId,
    pub topic: Option<TopicId>,
    /// The number of the first message that was sent to it; 0 if that was an earlier one than are known.
    pub first: u64,
    /// Time at which the first message was sent to the subscriber.
    pub began: Nanos,
    /// The number of the newest message that was sent to it, and when it was. As long as it has no place, it has got no later one.
    pub sent: u64,
    pub at: Nanos,
    /// True once the subscriber got a message whose number is known. Before that it gets what was published before observation began,
    /// or was forgotten, and all that is known may still come.
    pub has_place: bool,
    /// The longest time lately from when a message came to its server to when it was sent, of which no other one with its content
    /// waited.
    pub dwell: Option<Nanos>,
    /// Time at which the subscriber had last taken over the topic's messages from another member of its group; 0 if it
    /// never has.
    pub taken_over: Nanos,
    /// Messages that it got, and those between that it did not.
    got: u16,
    skipped: u16,
    /// Messages that the subscriber missed since it got all.
    pub missed: Missed,
}

/// Topics, and who gets their messages.
#[derive(Debug, Default)]
pub struct LagTable {
    pub(super) topics: FxHashMap<TopicKey, Topic>,
    pub(super) pairs: FxHashMap<PairKey, Pair>,
    /// Topics of which some subscriber may still get messages, at the last sweep.
    pub(super) awaited: Vec<TopicKey>,
    /// Subscribers that have missed messages.
    pub(super) missing: FxHashMap<PairKey, Missing>,
}

impl LagTable {
    /// A message of a topic is sent to the broker. Its number, 1 for the first; `None` if there are too many topics.
    pub fn published(&mut self, topic: TopicKey, at: Nanos) -> Option<u64> {
        if self.topics.len() >= TOPICS && !self.topics.contains_key(&topic) {
            return None;
        }
        let topic = self.topics.entry(topic).or_default();
        topic.published.grow(1);
        topic.last = topic.last.max(at);
        topic.ages.add(topic.published, at);
        Some(topic.published)
    }

    /// Notes that message `number` of a topic is sent to a subscriber. Returns its progress; `None` if there are too many.
    pub fn sent(
        &mut self,
        way: Way,
        of: TopicKey,
        (topic, number): (Option<TopicId>, u64),
        at: Nanos,
    ) -> Option<&mut Pair> {
        let known = self.topics.get_mut(&of);
        let published = known.map_or(0, |topic| {
            topic.newest_sent = topic.newest_sent.max(number);
            topic.published
        });
        let pair = self.pair_of(way, of, (topic, number, published), at)?;
        pair.find_place(number);
        pair.count(number, at);
        Some(pair)
    }

    /// The subscriber of a topic that a message is sent to, which has this number or is taken for it, when so many were published.
    fn pair_of(
        &mut self,
        way: Way,
        (group, subject): TopicKey,
        (topic, number, published): (Option<TopicId>, u64, u64),
        at: Nanos,
    ) -> Option<&mut Pair> {
        let key = (way.id(), subject);
        if self.pairs.len() >= PAIRS && !self.pairs.contains_key(&key) {
            return None;
        }
        let first = Pair {
            direction: way.direction,
            group,
            topic,
            first: number,
            began: at,
            sent: number.saturating_sub(1),
            at,
            has_place: false,
            dwell: None,
            taken_over: Nanos(0),
            got: 0,
            skipped: 0,
            missed: Missed::after(published),
        };
        let pair = self.pairs.entry(key).or_insert(first);
        if pair.group != group {
            // The row turned out to be another one, whose messages have numbers of their own.
            *pair = first;
        }
        Some(pair)
    }

    /// True if somebody is gone who may have got a share of a topic's messages.
    pub(super) fn had_share(&self, topic: TopicKey) -> bool {
        self.topics.get(&topic).is_some_and(|topic| topic.had_share)
    }

    /// Before message `number` comes, its subscriber has unsubscribed from something, not before `at` as far as is known. It gets the
    /// topic's messages from `now` on.
    pub fn unsubscribed(&mut self, key: PairKey, number: u64, at: Nanos, now: Nanos) {
        if let Some(pair) = self.pairs.get_mut(&key).filter(|pair| pair.at <= at) {
            pair.missed.begin_again(number);
            pair.began = pair.began.max(now);
        }
    }

    /// The last message that was sent to a subscriber is this one: a number of others before it were not sent to it, as was thought.
    /// The first of those that turned out to be others was taken for the one `before`, and is the one `after`.
    pub fn left_out(
        &mut self,
        key: PairKey,
        (before, after): (u64, u64),
        (number, messages): (u64, u64),
        at: Nanos,
    ) {
        if let Some(pair) = self.pairs.get_mut(&key).filter(|pair| pair.sent < number) {
            if pair.first == before {
                (pair.first, pair.sent) = (after, number);
                return pair.missed.begin_again(number);
            }
            let last = number.saturating_sub(messages).saturating_sub(1);
            pair.missed.got(last, number, at);
            let skipped = u16::try_from(messages).unwrap_or(u16::MAX).min(SKIPPED);
            pair.skipped = pair.skipped.saturating_add(skipped);
            pair.sent = number;
        }
    }

    /// A subscriber of a topic took over messages of it from another member of its group.
    pub fn took_over(&mut self, way: Way, subject: u64, at: Nanos) {
        if let Some(pair) = self.pairs.get_mut(&(way.id(), subject)) {
            pair.taken_over = pair.taken_over.max(at);
        }
    }

    /// A message of a topic is sent to a subscriber of which only that is known: it was published before observation began, or came too
    /// late to be joined to what was published. Messages of a topic come in their order, so it is the one after the last, unless some
    /// were dropped. Of who got none that is known, it is only known that it is behind by no less.
    pub fn sent_late(
        &mut self,
        way: Way,
        (group, subject): TopicKey,
        topic: Option<TopicId>,
        at: Nanos,
    ) {
        let Some(published) = self.topics.get(&(group, subject)).map(|topic| topic.published)
        else {
            return;
        };
        let known = self.pairs.get(&(way.id(), subject)).filter(|pair| pair.group == group);
        let is_first = known.is_none();
        let sent = known.map_or(published, |pair| pair.sent);
        let number = sent.saturating_add(1).min(published);
        let numbers = (topic, number, published);
        if let Some(pair) = self.pair_of(way, (group, subject), numbers, at) {
            pair.count(number, at);
            pair.missed.guessed();
            if is_first {
                pair.first = 0;
            }
        }
    }

    /// The number of the message that a subscriber gets next; `None` if it gets only a share, or that is not known yet.
    pub fn next(&self, key: PairKey) -> Option<u64> {
        let pair = self.pairs.get(&key).filter(|pair| pair.has_place && pair.gets_all())?;
        Some(pair.sent.saturating_add(1))
    }

    /// All subscribers with their topics, and how far each is.
    pub fn pairs(&self) -> impl Iterator<Item = (PairKey, &Pair)> {
        self.pairs.iter().map(|(&key, pair)| (key, pair))
    }

    /// The progress of a subscriber on a topic; `None` if it got nothing of it.
    pub fn pair(&self, key: PairKey) -> Option<&Pair> {
        self.pairs.get(&key)
    }

    /// Messages of its topic that were published after the last one that was sent to a subscriber, and a time at which the first of
    /// them had been; `None` if there are none, or the subscriber gets only a share of them.
    pub fn unsent(&self, key: PairKey, pair: &Pair, now: Nanos) -> Option<(u64, Nanos)> {
        self.topics.get(&(pair.group, key.1))?.unsent(pair, now)
    }

    /// Observation pauses: what has been published is sent in the pause, or it is not known that it was not.
    pub fn interrupt(&mut self) {
        for (&(_, subject), pair) in &mut self.pairs {
            let topic = self.topics.get(&(pair.group, subject));
            pair.sent = topic.map_or(pair.sent, |topic| pair.sent.max(topic.published));
            pair.missed.begin_again(pair.sent);
        }
    }

    /// Forgets subscriptions of which another one on the same connection has taken the place: a client that fetches may
    /// subscribe anew each time.
    pub fn drop_superseded(&mut self, now: Nanos) {
        let mut newest: FxHashMap<(FlowId, u64), u64> = FxHashMap::default();
        for (&((flow, subscription), subject), pair) in &self.pairs {
            if subscription != 0 && pair.has_place {
                let sent = newest.entry((flow, subject)).or_default();
                *sent = pair.sent.max(*sent);
            }
        }
        self.pairs.retain(|&((flow, subscription), subject), pair| {
            let newest = newest.get(&(flow, subject)).copied().unwrap_or_default();
            subscription == 0
                || !pair.has_place
                || pair.sent >= newest
                || pair.at + SUPERSEDED > now
        });
    }

    /// Forgets pairs that are not to be kept, by their topic and how far they are.
    pub fn retain_pairs(&mut self, is_kept: impl Fn(u64, &Pair) -> bool) {
        self.pairs.retain(|&(_, subject), pair| is_kept(subject, pair));
    }

    /// Forgets the topics of rows, and who gets their messages.
    pub fn forget(&mut self, is_gone: impl Fn(GroupId) -> bool) {
        self.topics.retain(|(group, _), _| !is_gone(*group));
        self.pairs.retain(|_, pair| !is_gone(pair.group));
        self.missing.retain(|_, one| !is_gone(one.group));
    }
}

impl Pair {
    /// A message that it gets has this number. What it was taken to have got before tells nothing.
    fn find_place(&mut self, number: u64) {
        if !std::mem::replace(&mut self.has_place, true) && self.got > 0 {
            self.sent = number.saturating_sub(1);
            (self.got, self.skipped) = (0, 0);
            self.missed.begin_again(self.sent);
        }
    }

    /// Counts message `number`, which the subscriber gets at `at`.
    fn count(&mut self, number: u64, at: Nanos) {
        self.missed.got(self.sent, number, at);
        self.at = self.at.max(at);
        self.got = self.got.saturating_add(1);
        if number > self.sent {
            let between = number.saturating_sub(self.sent).saturating_sub(1);
            let between = u16::try_from(between).unwrap_or(u16::MAX);
            self.skipped = self.skipped.saturating_add(between.min(SKIPPED));
            self.sent = number;
        } else {
            // Another publisher's message overtook it.
            self.skipped = self.skipped.saturating_sub(1);
        }
        if self.got.saturating_add(self.skipped) >= REMEMBERED {
            (self.got, self.skipped) = (self.got / 2, self.skipped / 2);
        }
    }

    /// A message waited so long at its server, alone with its content.
    pub fn had_dwell(&mut self, dwell: Nanos) {
        let before = self.dwell.unwrap_or_default();
        self.dwell = Some(dwell.max(before - Nanos(before.0 / DWELL_FADES)));
    }

    /// True if it gets all messages of the topic, or has done so as long as it got few.
    pub fn takes_all(&self) -> TakesAll {
        let skips_few = u32::from(self.skipped).saturating_mul(FEW_SKIPPED) <= u32::from(self.got);
        match (self.gets_all(), skips_few) {
            (true, _) => TakesAll::Yes,
            (false, true) => TakesAll::Perhaps,
            (false, false) => TakesAll::No,
        }
    }

    /// True if the subscriber gets all messages of the topic, as far as is known.
    pub(super) fn gets_all(&self) -> bool {
        let (percent, least) = ALL;
        let all = u32::from(self.got.saturating_add(self.skipped));
        self.got >= least && u32::from(self.got).saturating_mul(100) >= all.saturating_mul(percent)
    }
}

impl Topic {
    pub(super) fn unsent(&self, pair: &Pair, now: Nanos) -> Option<(u64, Nanos)> {
        let unsent = self.published.saturating_sub(pair.sent);
        (pair.gets_all() && unsent > 0).then(|| {
            let since = self.ages.published_by(pair.sent.saturating_add(1));
            (unsent, since.unwrap_or(now))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_protocols::Side;

    const TOPIC: TopicKey = (GroupId(0), 7);

    fn way(serial: u64) -> Way {
        Way { direction: Direction { index: 0, serial, side: Side::B }, subscription: 0 }
    }

    fn at(n: u64) -> Nanos {
        Nanos::from_millis(n * 100)
    }

    fn unsent(table: &LagTable, serial: u64, now: u64) -> Option<(u64, Nanos)> {
        let key = (way(serial).id(), 7);
        table.unsent(key, table.pair(key).unwrap(), at(now))
    }

    #[test]
    fn a_subscriber_is_behind_by_what_came_after_its_last() {
        let mut table = LagTable::default();
        for n in 1..=50 {
            let number = table.published(TOPIC, at(n)).unwrap();
            table.sent(way(1), TOPIC, (None, number), at(n));
            if n <= 30 {
                table.sent(way(2), TOPIC, (None, number), at(n));
            }
        }
        assert_eq!(unsent(&table, 1, 50), None);
        let (messages, since) = unsent(&table, 2, 50).unwrap();
        assert_eq!(messages, 20);
        assert!(since >= at(31) && since <= at(33), "{since}");
    }

    #[test]
    fn who_gets_a_share_is_not_behind() {
        let mut table = LagTable::default();
        for n in 1..=50 {
            let number = table.published(TOPIC, at(n)).unwrap();
            table.sent(way(n % 2), TOPIC, (None, number), at(n));
        }
        table.published(TOPIC, at(51));
        assert_eq!((unsent(&table, 0, 60), unsent(&table, 1, 60)), (None, None));
    }

    #[test]
    fn what_was_dropped_once_does_not_make_it_a_share() {
        let mut table = LagTable::default();
        for n in 1..=2_000 {
            let number = table.published(TOPIC, at(n)).unwrap();
            if !(100..1_900).contains(&n) {
                table.sent(way(1), TOPIC, (None, number), at(n));
            }
        }
        table.published(TOPIC, at(2_001));
        assert_eq!(unsent(&table, 1, 2_002).map(|(messages, _)| messages), Some(1));
    }

    #[test]
    fn what_comes_late_is_counted_in_order() {
        let mut table = LagTable::default();
        for n in 1..=100 {
            let number = table.published(TOPIC, at(n)).unwrap();
            if n <= 4 {
                table.sent(way(1), TOPIC, (None, number), at(n));
            } else if n % 5 == 0 {
                table.sent_late(way(1), TOPIC, None, at(n));
            }
        }
        assert_eq!(unsent(&table, 1, 100).map(|(messages, _)| messages), Some(76));
        // Of a topic that nobody was seen to publish to, nothing is known.
        table.sent_late(way(2), (GroupId(0), 8), None, at(100));
        assert!(table.pair((way(2).id(), 8)).is_none());
    }

    #[test]
    fn the_last_subscription_of_a_connection_counts() {
        let mut table = LagTable::default();
        for n in 1..=60 {
            let number = table.published(TOPIC, at(n)).unwrap();
            // Each fetch of twenty subscribes anew.
            let subscription = u32::try_from(1 + (n - 1) / 20).unwrap();
            table.sent(Way { subscription, ..way(1) }, TOPIC, (None, number), at(n));
        }
        table.drop_superseded(at(60));
        let left: Vec<u32> =
            table.pairs().map(|(((_, subscription), _), _)| subscription).collect();
        assert_eq!(left, [3]);
        // Who gets too little to tell is not kept for ever.
        table.published(TOPIC, at(61));
        table.sent(Way { subscription: 4, ..way(1) }, TOPIC, (None, 61), at(61));
        table.sweep(at(62), |_, _| false);
        assert_eq!(table.pairs.len(), 2);
        table.sweep(at(62) + IDLE, |_, _| false);
        assert_eq!(table.pairs.len(), 1);
    }

    #[test]
    fn memory_is_bounded() {
        let mut table = LagTable::default();
        for n in 0..70_000 {
            let topic = (GroupId(0), n);
            if let Some(number) = table.published(topic, at(n)) {
                table.sent(way(n), topic, (None, number), at(n));
            }
            table.sent(way(n), TOPIC, (None, 1), at(n));
        }
        assert_eq!((table.topics.len(), table.pairs.len()), (TOPICS, PAIRS));
        table.sweep(at(70_000), |pair, _| pair.direction.serial % 2 == 0);
        assert!(table.topics.len() < TOPICS && table.pairs.len() < PAIRS);
    }
}
