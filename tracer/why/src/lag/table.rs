//! The number of messages of each topic, and the last one that was sent to each subscriber.

use super::ages::Ages;
use super::away::{AwayCount, AwayLoss, PassingRuns, ResumedTopic, Sessions};
use super::gaps::Gaps;
use rustc_hash::FxHashMap;
use wirelap_events::{FlowId, GroupId, Nanos, Saturate, TopicId};
use wirelap_flow::{Direction, Way};
use wirelap_limits::lag::{
    DWELL_FADES, MAX_REMEMBERED, MAX_SKIPPED_AT_ONCE, MIN_GOT, ONE_SKIPPED_OF,
};
use wirelap_protocols::KeptFor;

/// Topics whose messages are counted.
pub(super) const MAX_TOPICS: usize = 16_384;

/// From so many of them on, those that have had no message for long make room for others.
pub(super) const TOPICS_SWEPT_FROM: usize = MAX_TOPICS / 8 * 7;

/// Subscribers of topics that are followed.
pub(super) const MAX_PAIRS: usize = 65_536;

/// From so many of them on, those that have got all make room for others, if they have been idle for long.
pub(super) const ROOM_MADE_FROM: usize = MAX_PAIRS / 4;

/// True if the receiver of a message gets every message of its topic, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakesAll {
    /// The reader gets a part of them.
    No,
    /// The reader got few messages, or none, and each of them.
    Perhaps,
    /// The reader got all of them, of many.
    Yes,
}

/// A topic of a row.
pub type TopicKey = (GroupId, u64);

/// A topic and who gets its messages, by what the broker sends to it.
pub type PairKey = ((FlowId, u32), u64);

/// The messages of a topic.
#[derive(Debug, Default)]
pub(super) struct Topic {
    pub(super) published: u64,
    pub(super) last: Nanos,
    /// Number of messages that the server has not taken.
    refused: u64,
    /// The messages that are not kept for ever for subscribers that are away.
    pub(super) passing: PassingRuns,
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
    /// The row that its messages are in.
    pub group: GroupId,
    /// The topic, if it is known.
    pub topic: Option<TopicId>,
    /// The number of the first message that was sent to it; 0 if that was an earlier one than are known.
    pub first: u64,
    /// Time at which the first message was sent to the subscriber.
    pub began: Nanos,
    /// The number of the newest message that was sent to it, and when it was. As long as it has no place, it has got no later one.
    pub sent: u64,
    /// Time at which the newest message was sent to it.
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
    /// The number of the newest message that was sent to it, or could not be.
    passed: u64,
    /// Number of messages of the topic that the server had not taken when the newest one was sent.
    refused: u64,
    /// The client's name, if it is known.
    pub client: Option<TopicId>,
    /// The messages that came while it was away, and are kept in its session, if it was.
    pub away: Option<ResumedTopic>,
    /// Messages that it got, and those between that it did not.
    got: u16,
    skipped: u16,
    /// Messages that the subscriber missed since it got all.
    pub gaps: Gaps,
}

/// Topics, and who gets their messages.
#[derive(Debug, Default)]
pub struct LagTable {
    pub(super) topics: FxHashMap<TopicKey, Topic>,
    pub(super) pairs: FxHashMap<PairKey, Pair>,
    /// Topics of which some subscriber may still get messages, at the last sweep.
    pub(super) awaited: Vec<TopicKey>,
    /// Clients with sessions that are away.
    pub(super) sessions: Sessions,
}

impl LagTable {
    /// A message of a topic is sent to the broker. Its number, 1 for the first; `None` if there are too many topics.
    pub fn published(&mut self, topic: TopicKey, at: Nanos) -> Option<u64> {
        if self.topics.len() >= MAX_TOPICS && !self.topics.contains_key(&topic) {
            return None;
        }
        let topic = self.topics.entry(topic).or_default();
        topic.published.grow(1);
        topic.last = topic.last.max(at);
        topic.ages.add(topic.published, at);
        Some(topic.published)
    }

    /// The server has not taken a message of a topic that has a number: nobody is sent it.
    pub fn refused(&mut self, topic: TopicKey) {
        if let Some(topic) = self.topics.get_mut(&topic) {
            topic.refused.grow(1);
        }
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
        let (published, refused) = known.map_or((0, 0), |topic| {
            topic.newest_sent = topic.newest_sent.max(number);
            (topic.published, topic.refused)
        });
        let pair = self.pair_of(way, of, (topic, number, published), at)?;
        pair.find_place(number);
        pair.pass_refused(refused);
        pair.count(number, at);
        Some(pair)
    }

    /// Counts messages of a topic that a subscriber is not sent because their log has them no more: those before message `number`, which it
    /// gets next, as far as so many messages of the log lie `between`.
    pub fn not_kept(&mut self, key: PairKey, number: u64, between: u64) -> u64 {
        let Some(pair) = self.pairs.get_mut(&key).filter(|pair| pair.has_place) else { return 0 };
        let topic = self.topics.get(&(pair.group, key.1));
        pair.pass_refused(topic.map_or(0, |topic| topic.refused));
        let missing = number.saturating_sub(pair.passed.max(pair.sent)).saturating_sub(1);
        let not_kept = missing.min(between);
        pair.pass(not_kept);
        not_kept
    }

    /// Notes for how long a message is kept for subscribers that are away.
    pub fn note_kept_for(&mut self, (topic, number): (TopicKey, Option<u64>), kept: KeptFor) {
        if kept != KeptFor::Ever
            && let Some((topic, number)) = self.topics.get_mut(&topic).zip(number)
        {
            topic.passing.add(number, kept);
        }
    }

    /// Counts the messages before message `number`, which a subscriber gets next, that came while it was away, and that message itself if it
    /// was missing. `client` goes on with its session on this connection.
    pub fn missed_while_away(
        &mut self,
        key: PairKey,
        (topic, number): (TopicKey, u64),
        client: Option<TopicId>,
        now: Nanos,
    ) -> AwayCount {
        let pair = self.pairs.get(&key);
        let client = client.filter(|_| pair.is_none());
        let left_at = client.and_then(|client| self.sessions.take(topic, client));
        let Some(of) = self.topics.get(&topic) else { return AwayCount::default() };
        let missing =
            |from, to, at| of.passing.missing(from, to, at, |number| of.ages.published_by(number));
        let resumed = left_at.map(|sent| ResumedTopic { sent, until: of.published });
        let late = match pair.zip(pair.and_then(|pair| pair.away)) {
            Some((pair, away)) if away.is_late(number, pair.sent) => {
                missing(number, number, pair.began)
            }
            _ => AwayLoss::default(),
        };
        let known = pair.and_then(|pair| Some((pair.sent, pair.away?.until)));
        let next = known.or(resumed.map(|resumed| (resumed.sent, resumed.until)));
        let lost = next.map(|(sent, until)| {
            missing(sent.saturating_add(1), number.saturating_sub(1).min(until), now)
        });
        AwayCount { lost: lost.unwrap_or_default(), late, resumed }
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
        if self.pairs.len() >= MAX_PAIRS && !self.pairs.contains_key(&key) {
            return None;
        }
        let refused = self.topics.get(&(group, subject)).map_or(0, |topic| topic.refused);
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
            passed: number.saturating_sub(1),
            refused,
            client: None,
            away: None,
            got: 0,
            skipped: 0,
            gaps: Gaps::after(published),
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
            pair.gaps.begin_again(number);
            pair.began = pair.began.max(now);
        }
    }

    /// Message `number` is the first one of a subscription that began at `since`, after the last message of an earlier one: what came
    /// between was not for the subscriber.
    pub fn subscribed_again(&mut self, key: PairKey, number: u64, since: Nanos) {
        if let Some(pair) = self.pairs.get_mut(&key).filter(|pair| pair.at < since) {
            pair.sent = pair.sent.max(number.saturating_sub(1));
            pair.gaps.begin_again(number);
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
                return pair.gaps.begin_again(number);
            }
            let last = number.saturating_sub(messages).saturating_sub(1);
            pair.gaps.got(last, number, at);
            let skipped = u16::try_from(messages).unwrap_or(u16::MAX).min(MAX_SKIPPED_AT_ONCE);
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
            pair.gaps.guessed();
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
            pair.gaps.begin_again(pair.sent);
            pair.away = None;
        }
        self.sessions.retain(|_| false);
    }

    /// Forgets the topics of rows, and who gets their messages.
    pub fn forget(&mut self, is_gone: impl Fn(GroupId) -> bool) {
        self.sessions.retain(|(group, _)| !is_gone(group));
        self.topics.retain(|(group, _), _| !is_gone(*group));
        self.pairs.retain(|_, pair| !is_gone(pair.group));
    }
}

impl Pair {
    /// A message that it gets has this number. What it was taken to have got before tells nothing.
    fn find_place(&mut self, number: u64) {
        if !std::mem::replace(&mut self.has_place, true) && self.got > 0 {
            self.sent = number.saturating_sub(1);
            (self.got, self.skipped) = (0, 0);
            self.gaps.begin_again(self.sent);
        }
    }

    /// Counts message `number`, which the subscriber gets at `at`.
    fn count(&mut self, number: u64, at: Nanos) {
        self.gaps.got(self.sent, number, at);
        self.passed = self.passed.max(number);
        self.at = self.at.max(at);
        self.got = self.got.saturating_add(1);
        if number > self.sent {
            let between = number.saturating_sub(self.sent).saturating_sub(1);
            let between = u16::try_from(between).unwrap_or(u16::MAX);
            self.skipped = self.skipped.saturating_add(between.min(MAX_SKIPPED_AT_ONCE));
            self.sent = number;
        } else {
            // Another publisher's message overtook it.
            self.skipped = self.skipped.saturating_sub(1);
        }
        if self.got.saturating_add(self.skipped) >= MAX_REMEMBERED {
            (self.got, self.skipped) = (self.got / 2, self.skipped / 2);
        }
    }

    /// True if it gets what came after message `sent`, or what is missing of it is counted as what came while it was away.
    pub(super) fn goes_on_after(&self, sent: u64) -> bool {
        self.away.is_some() || self.first <= sent.saturating_add(1)
    }

    /// So many messages after the newest one cannot be sent to it.
    fn pass(&mut self, messages: u64) {
        self.passed = self.passed.max(self.sent).saturating_add(messages);
        self.gaps.exclude(self.passed);
    }

    /// The server has not taken so many messages of the topic so far.
    fn pass_refused(&mut self, refused: u64) {
        let since = refused.saturating_sub(self.refused);
        self.refused = refused;
        if since > 0 {
            self.pass(since);
        }
    }

    /// A message waited so long at its server, alone with its content.
    pub fn had_dwell(&mut self, dwell: Nanos) {
        let before = self.dwell.unwrap_or_default();
        self.dwell = Some(dwell.max(before - Nanos(before.0 / DWELL_FADES)));
    }

    /// True if it gets all messages of the topic, or has done so as long as it got few.
    pub fn takes_all(&self) -> TakesAll {
        let (got, skipped) = (u32::from(self.got), u32::from(self.skipped));
        let skips_few = skipped.saturating_mul(ONE_SKIPPED_OF) <= got.saturating_add(skipped);
        match (skips_few, self.got >= MIN_GOT) {
            (true, true) => TakesAll::Yes,
            (true, false) => TakesAll::Perhaps,
            (false, _) => TakesAll::No,
        }
    }

    /// True if the subscriber gets all messages of the topic, as far as is known.
    pub(super) fn gets_all(&self) -> bool {
        self.takes_all() == TakesAll::Yes
    }
}

impl Topic {
    pub(super) fn unsent(&self, pair: &Pair, now: Nanos) -> Option<(u64, Nanos)> {
        let refused = self.refused.saturating_sub(pair.refused);
        let unsent = self.published.saturating_sub(pair.sent).saturating_sub(refused);
        (pair.gets_all() && unsent > 0).then(|| {
            let since = self.ages.published_by(pair.sent.saturating_add(1));
            (unsent, since.unwrap_or(now))
        })
    }
}
