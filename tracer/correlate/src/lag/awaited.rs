//! Messages that some subscriber may still get, so that they are to be kept.
//!
//! ```text
//! published            1 2 3 4 5 6 7 8 9
//! gets all             1 2 3 4               from 5 on
//! two of a group       1   3   5
//!                        2   4               from 6 on: the newest that any of them got is 5
//! only earlier ones                          from 1 on: what it gets was published before observation began
//! ```

use super::table::{IDLE, LagTable, MANY, Pair, TOPICS, Topic, TopicKey};
use wirelap_events::Nanos;

impl LagTable {
    /// True if some subscriber may still get message `number` of a topic, as of the last sweep.
    pub fn is_awaited(&self, topic: TopicKey, number: u64) -> bool {
        let from = self.topics.get(&topic).and_then(|topic| topic.awaited_from);
        from.is_some_and(|from| number >= from)
    }

    /// Forgets pairs for which `is_over`, which also gets since when messages were published that were not sent, and topics that make
    /// room for others.
    pub fn sweep(&mut self, now: Nanos, is_over: impl Fn(&Pair, Option<Nanos>) -> bool) {
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
            let is_stale = !pair.gets_all() && pair.at + IDLE < now;
            let is_idle = unsent.is_none() && pair.at < makes_room;
            let is_kept = !is_stale && !is_idle && !is_over(pair, unsent.map(|(_, since)| since));
            if let Some(topic) = topic.as_mut().filter(|_| !is_kept) {
                topic.had_share |= pair.missed.may_share(now);
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
        if self.topics.len() >= TOPICS / 8 * 7 {
            let topics = &mut self.topics;
            topics.retain(|_, topic| topic.last + IDLE > now);
            // The messages of a topic that comes again have other numbers.
            self.pairs.retain(|key, pair| topics.contains_key(&(pair.group, key.1)));
        }
    }

    /// Pairs that got their last message before this time make room for others: the older half, once there are many.
    fn make_room_before(&self, now: Nanos) -> Nanos {
        let half = self.pairs.len() / 2;
        if self.pairs.len() <= MANY {
            return Nanos(0);
        }
        let mut times: Vec<_> = self.pairs.values().map(|pair| pair.at).collect();
        let (_, median, _) = times.select_nth_unstable(half);
        (*median).min(now - IDLE)
    }
}

impl Topic {
    /// The first message that a subscriber may still get, if there is one. Who may get only a share gets none that is older than the
    /// newest that anybody got.
    fn next_for(&self, pair: &Pair, now: Nanos) -> Option<u64> {
        let is_recent = pair.at + IDLE >= now;
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

    fn at(n: u64) -> Nanos {
        Nanos::from_millis(n * 100)
    }

    /// The first message that is awaited, of a hundred of a topic.
    fn awaited(table: &mut LagTable, now: u64) -> Option<u64> {
        table.sweep(at(now), |_, _| false);
        (1..=100).find(|&number| table.is_awaited(TOPIC, number))
    }

    /// A topic of a hundred messages, each of which is passed on as `pass` says.
    fn published(mut pass: impl FnMut(&mut LagTable, u64)) -> LagTable {
        let mut table = LagTable::default();
        for n in 1..=100 {
            assert_eq!(table.published(TOPIC, at(n)), Some(n));
            pass(&mut table, n);
        }
        table
    }

    #[test]
    fn who_gets_only_what_is_not_known_may_get_all_that_is() {
        let mut table = published(|table, n| table.sent_late(way(1), TOPIC, None, at(n)));
        assert_eq!(awaited(&mut table, 100), Some(1));
        // How far it is behind is not known.
        let key = (way(1).id(), 7);
        assert_eq!(table.unsent(key, table.pair(key).unwrap(), at(100)), None);
        assert_eq!(table.next(key), None);
        // The first that is known has come.
        for number in 1..=20 {
            table.sent(way(1), TOPIC, (None, number), at(100 + number));
        }
        assert_eq!(awaited(&mut table, 120), Some(21));
        let unsent = table.unsent(key, table.pair(key).unwrap(), at(120));
        assert_eq!(unsent.map(|(messages, _)| messages), Some(80));
        assert_eq!(table.next(key), Some(21));
    }

    #[test]
    fn who_gets_nothing_any_more_is_waited_for_no_longer() {
        let mut table = published(|table, n| {
            if n == 1 {
                table.sent_late(way(1), TOPIC, None, at(n));
            }
        });
        assert_eq!(awaited(&mut table, 100), Some(1));
        assert_eq!(awaited(&mut table, 700), None);
    }

    #[test]
    fn topics_that_come_and_go_do_not_add_up() {
        let mut table = LagTable::default();
        let topic = |n| (GroupId(0), n);
        // It has got all but the last message, and stays behind.
        for number in 1..=50 {
            table.published(TOPIC, at(number));
            if number < 50 {
                table.sent(way(1), TOPIC, (None, number), at(number));
            }
        }
        let mut most = (0, 0);
        for n in 100..60_000 {
            for _ in 0..20 {
                let number = table.published(topic(n), at(n)).unwrap();
                table.sent(way(2), topic(n), (None, number), at(n));
            }
            table.published(TOPIC, at(n));
            if n.is_multiple_of(100) {
                table.sweep(at(n), |_, _| false);
            }
            most = (most.0.max(table.pairs.len()), most.1.max(table.topics.len()));
        }
        assert!(most.0 <= MANY + 100 && most.1 <= TOPICS, "{most:?}");
        let key = (way(1).id(), TOPIC.1);
        let unsent = table.unsent(key, table.pair(key).unwrap(), at(60_000));
        assert_eq!(unsent.map(|(messages, _)| messages), Some(59_901));
        // Those of the last minute are there.
        assert!((59_450..60_000).all(|n| table.pair((way(2).id(), n)).is_some()));
    }

    #[test]
    fn of_a_group_what_is_newer_than_all_got_is_awaited() {
        let shares = |table: &mut LagTable, n: u64| {
            if n > 40 {
                table.sent(way(n % 2), TOPIC, (None, n - 40), at(n));
            }
        };
        let mut table = published(shares);
        assert_eq!(awaited(&mut table, 100), Some(61));
        // Who gets all, and is not behind, awaits nothing.
        let mut table = published(|table, n| _ = table.sent(way(3), TOPIC, (None, n), at(n)));
        assert_eq!(awaited(&mut table, 100), None);
    }
}
