//! Comparison of a subscriber with others of its topic.
//!
//! ```text
//! member A   1 2 3 4 · · · ·       it is behind by nothing, as soon as another member of its group
//! member B           5 6 7 8       gets later messages of the topic
//!
//! one        1 2 · 4 5 · 7 8       it has missed what another one got
//! another    1 2 3 4 5 6 7 8
//! ```
//!
//! A member that is slow, or pauses, and keeps the topic is behind: nobody else in its group gets the messages.

use super::gaps::GapCount;
use super::table::{LagTable, Pair, PairKey, TopicKey};
use rustc_hash::FxHashMap;
use wirelap_events::{FlowId, Nanos, TopicId};
use wirelap_limits::lag::{PARTS_OF_A_GROUP, SUPERSEDED_AFTER};

impl LagTable {
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
                || pair.at + SUPERSEDED_AFTER > now
        });
    }

    /// The subscribers that have missed messages so far, of those that should have got all.
    pub fn find_gaps(
        &self,
        now: Nanos,
        should_get_all: impl Fn(&Pair) -> bool,
    ) -> Vec<(PairKey, Pair, GapCount)> {
        let has_missed = |pair: &Pair| pair.gaps.has_missed(now);
        let topics = self.pairs().filter(|(_, pair)| has_missed(pair));
        let topics = topics.map(|((_, subject), pair)| (pair.group, subject));
        let topics = topics.filter(|topic| !self.had_share(*topic));
        let mut topics: FxHashMap<TopicKey, Vec<(PairKey, &Pair)>> =
            topics.map(|topic| (topic, Vec::new())).collect();
        let mut found = Vec::new();
        if topics.is_empty() {
            return found;
        }
        for (key, pair) in self.pairs() {
            if let Some(all) = topics.get_mut(&(pair.group, key.1)) {
                all.push((key, pair));
            }
        }
        for all in topics.values() {
            let parts = all.iter().filter_map(|(_, pair)| pair.gaps.part(now));
            let is_no_group = parts.fold(0.0, |sum, part| sum + part) < PARTS_OF_A_GROUP;
            for &(key, pair) in all.iter().filter(|(_, pair)| has_missed(pair)) {
                let others = all.iter().filter(|(other, _)| other.0.0 != key.0.0);
                if let Some(count) =
                    pair.gaps.missed_beside(others.map(|(_, one)| &one.gaps), is_no_group, now)
                    && should_get_all(pair)
                {
                    found.push((key, *pair, count));
                }
            }
        }
        found
    }

    /// Forgets pairs whose topic another member of the subscriber's group gets messages of that are newer. `group_of` is the group of a
    /// subscriber that gets each topic alone in its group.
    pub fn drop_handed_over(&mut self, now: Nanos, group_of: impl Fn(&Pair) -> Option<TopicId>) {
        let is_behind = |(key, pair)| self.unsent(key, pair, now).is_some();
        if !self.pairs().any(is_behind) {
            return;
        }
        let mut newest: FxHashMap<(TopicKey, TopicId), (u64, Nanos)> = FxHashMap::default();
        for ((_, subject), pair) in self.pairs() {
            if pair.has_place
                && let Some(group) = group_of(pair)
            {
                let sent = newest.entry(((pair.group, subject), group)).or_default();
                *sent = (*sent).max((pair.sent, pair.at));
            }
        }
        self.pairs.retain(|&(_, subject), pair| {
            let group = group_of(pair);
            let last = group.and_then(|group| newest.get(&((pair.group, subject), group)));
            last.is_none_or(|&(sent, at)| sent <= pair.sent || at <= pair.at)
        });
    }
}
