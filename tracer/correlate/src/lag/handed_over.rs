//! Topics that one member of a consumer group has handed over to another.
//!
//! ```text
//! member A   1 2 3 4 · · · ·       it is behind by nothing, as soon as
//! member B           5 6 7 8       B gets later messages of the topic than A
//! ```
//!
//! A member that is slow, or pauses, and keeps the topic is behind: nobody else in its group gets the messages.

use super::table::{LagTable, Pair, TopicKey};
use rustc_hash::FxHashMap;
use wirelap_events::{Nanos, TopicId};

impl LagTable {
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
        self.retain_pairs(|subject, pair| {
            let group = group_of(pair);
            let last = group.and_then(|group| newest.get(&((pair.group, subject), group)));
            last.is_none_or(|&(sent, at)| sent <= pair.sent || at <= pair.at)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Direction, Way};
    use wirelap_events::GroupId;
    use wirelap_protocols::Side;

    const TOPIC: TopicKey = (GroupId(0), 7);

    fn way(serial: u64) -> Way {
        Way { direction: Direction { index: 0, serial, side: Side::B }, subscription: 0 }
    }

    /// Those of three subscribers that are still followed after messages of which the first gets thirty, and then the second gets
    /// the rest.
    fn left(groups: [Option<u32>; 3]) -> Vec<u64> {
        let mut table = LagTable::default();
        for n in 1..=60 {
            let at = Nanos::from_millis(n * 100);
            let number = table.published(TOPIC, at).unwrap();
            let member = u64::from(n > 30);
            table.sent(way(member), TOPIC, (None, number), at);
            table.sent(way(2), TOPIC, (None, number), at);
        }
        let group = |pair: &Pair| groups[usize::try_from(pair.direction.serial).unwrap()];
        table.drop_handed_over(Nanos::from_millis(6_000), |pair| group(pair).map(TopicId));
        let mut left: Vec<u64> = table.pairs().map(|(_, pair)| pair.direction.serial).collect();
        left.sort_unstable();
        left
    }

    #[test]
    fn only_another_member_of_the_group_takes_over() {
        assert_eq!(left([Some(1), Some(1), Some(2)]), [1, 2]);
        assert_eq!(left([Some(1), Some(2), Some(3)]), [0, 1, 2]);
        assert_eq!(left([None, Some(1), Some(2)]), [0, 1, 2]);
        assert_eq!(left([None; 3]), [0, 1, 2]);
    }
}
