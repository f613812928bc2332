//! Messages that some subscriber may still get, so that they are to be kept.
//!
//! ```text
//! published            1 2 3 4 5 6 7 8 9
//! gets all             1 2 3 4               from 5 on
//! two of a group       1   3   5
//!                        2   4               from 6 on: the newest that any of them got is 5
//! only earlier ones                          from 1 on: what it gets was published before observation began
//! ```

use super::table::{LagTable, Pair, ROOM_MADE_FROM, TOPICS_SWEPT_FROM, Topic, TopicKey};
use wirelap_events::Nanos;
use wirelap_limits::lag::IDLE_AFTER;

impl LagTable {
    /// True if some subscriber may still get message `number` of a topic, as of the last sweep.
    pub fn is_awaited(&self, topic: TopicKey, number: u64) -> bool {
        let from = self.topics.get(&topic).and_then(|topic| topic.awaited_from);
        from.is_some_and(|from| number >= from)
    }

    /// Forgets pairs for which `is_over`, which also gets since when messages were published that were not sent, and topics that make
    /// room for others.
    /// `has_session` tells whether the topic of a subscriber that is gone goes on when it comes back.
    pub fn sweep(
        &mut self,
        now: Nanos,
        is_over: impl Fn(&Pair, Option<Nanos>) -> bool,
        has_session: impl Fn(&Pair) -> bool,
    ) {
        let makes_room = self.make_room_before(now);
        let topics = &mut self.topics;
        for topic in self.awaited.drain(..) {
            if let Some(topic) = topics.get_mut(&topic) {
                topic.awaited_from = None;
            }
        }
        self.pairs.retain(|key, pair| {
            let mut topic = topics.get_mut(&(pair.group, key.1));
            let unsent = topic.as_ref().and_then(|topic| topic.unsent(pair, now));
            let is_stale = !pair.gets_all() && pair.at + IDLE_AFTER < now;
            let is_idle = unsent.is_none() && pair.at < makes_room;
            let is_kept = !is_stale && !is_idle && !is_over(pair, unsent.map(|(_, since)| since));
            if !is_kept
                && let Some(client) = pair.client
                && pair.has_place
                && pair.gets_all()
                && has_session(pair)
            {
                self.sessions.leave((pair.group, key.1), client, pair.sent);
            }
            if let Some(topic) = topic.as_mut().filter(|_| !is_kept) {
                topic.had_share |= pair.gaps.may_share(now);
            }
            if let Some(topic) = topic.filter(|_| is_kept)
                && let Some(next) = topic.next_for(pair, now)
            {
                if topic.awaited_from.is_none() {
                    self.awaited.push((pair.group, key.1));
                }
                topic.awaited_from = Some(topic.awaited_from.map_or(next, |from| from.min(next)));
            }
            is_kept
        });
        // Before there is no room for those that come until the next sweep.
        if self.topics.len() >= TOPICS_SWEPT_FROM {
            let topics = &mut self.topics;
            topics.retain(|_, topic| topic.last + IDLE_AFTER > now);
            // The messages of a topic that comes again have other numbers.
            self.pairs.retain(|key, pair| topics.contains_key(&(pair.group, key.1)));
            self.sessions.retain(|topic| topics.contains_key(&topic));
        }
    }

    /// Pairs that got their last message before this time make room for others: the older half, once there are many.
    fn make_room_before(&self, now: Nanos) -> Nanos {
        let half = self.pairs.len() / 2;
        if self.pairs.len() <= ROOM_MADE_FROM {
            return Nanos(0);
        }
        let mut times: Vec<_> = self.pairs.values().map(|pair| pair.at).collect();
        let (_, median, _) = times.select_nth_unstable(half);
        (*median).min(now - IDLE_AFTER)
    }
}

impl Topic {
    /// The first message that a subscriber may still get, if there is one. Who may get only a share gets none that is older than the
    /// newest that anybody got.
    fn next_for(&self, pair: &Pair, now: Nanos) -> Option<u64> {
        let is_recent = pair.at + IDLE_AFTER >= now;
        let last = if !pair.has_place {
            is_recent.then_some(0)
        } else if pair.gets_all() {
            Some(pair.sent)
        } else {
            is_recent.then_some(self.newest_sent)
        };
        last.map(|last| last.saturating_add(1)).filter(|&next| next <= self.published)
    }
}
