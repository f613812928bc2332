//! Subscribers that have missed messages that they should have got: they are compared with those that get the
//! same topic.

use super::missed::Missing;
use super::table::{LagTable, Pair, PairKey, TopicKey};
use rustc_hash::FxHashMap;
use wirelap_events::{Nanos, Pid};

/// Subscribers that are remembered. Of more, the first.
const KEPT: usize = 256;

impl LagTable {
    /// Looks which subscribers have missed messages: of those that should have got all. `reader_of` is the process of one.
    pub fn look_for_missing(
        &mut self,
        now: Nanos,
        should_get_all: impl Fn(&Pair) -> bool,
        reader_of: impl Fn(&Pair) -> Option<Pid>,
    ) {
        let has_missed = |pair: &Pair| pair.missed.has_missed(now);
        let topics = self.pairs().filter(|(_, pair)| has_missed(pair));
        let mut topics: FxHashMap<TopicKey, Vec<(PairKey, Pair)>> =
            topics.map(|((_, subject), pair)| ((pair.group, subject), Vec::new())).collect();
        if topics.is_empty() {
            return;
        }
        for (key, pair) in self.pairs() {
            if let Some(all) = topics.get_mut(&(pair.group, key.1)) {
                all.push((key, *pair));
            }
        }
        topics.retain(|topic, _| !self.had_share(*topic));
        for all in topics.values() {
            for (key, pair) in all.iter().filter(|(_, pair)| has_missed(pair)) {
                let others = all.iter().filter(|(other, _)| other.0.0 != key.0.0);
                let found = missing(pair, others.map(|(_, other)| other), now);
                if let Some(found) = found
                    && should_get_all(pair)
                    && (self.missing.len() < KEPT || self.missing.contains_key(key))
                {
                    self.missing.insert(*key, Missing { pid: reader_of(pair), ..found });
                }
            }
        }
    }

    /// The subscribers that have missed messages so far.
    pub fn missing(&self) -> impl Iterator<Item = &Missing> {
        self.missing.values()
    }
}

/// Returns the messages that a subscriber has missed of a topic that the `others` get, too; `None`
/// if it is in a group, or if the comparison proves nothing.
fn missing<'p>(pair: &Pair, others: impl Iterator<Item = &'p Pair>, now: Nanos) -> Option<Missing> {
    let (got, since) = pair.missed.so_far();
    if pair.missed.is_in_group() {
        return None;
    }
    // What nobody got may be on its way to the broker.
    let mut nobodys = None::<u64>;
    for other in others.filter(|other| !other.missed.is_in_group()) {
        if !other.missed.gets_all(now) {
            return None;
        }
        let count = other.missed.count(now);
        nobodys = Some(nobodys.map_or(count, |known| known.min(count)));
    }
    let count = pair.missed.count(now);
    let messages = count.saturating_sub(nobodys.unwrap_or_default());
    (messages > 0).then_some(Missing {
        group: pair.group,
        topic: pair.topic,
        pid: None,
        messages,
        whole: got.saturating_add(count),
        since: since.unwrap_or(now),
        others_got: nobodys.is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breakdown::ReaderGroup;
    use crate::ids::{Direction, Way};
    use crate::lag::missed::Missed;
    use wirelap_events::{GroupId, TopicId};
    use wirelap_protocols::Side;

    const TOPIC: TopicKey = (GroupId(0), 7);

    /// The misses found for subscribers of which each gets those of five hundred messages that `gets` says, in the group
    /// given.
    fn missed(groups: &[ReaderGroup], gets: impl Fn(usize, u64) -> bool) -> Vec<(u64, u64, bool)> {
        let mut table = LagTable::default();
        for n in 1..=500 {
            let at = Nanos::from_millis(n * 20);
            let number = table.published(TOPIC, at).unwrap();
            for (which, &group) in groups.iter().enumerate().filter(|&(which, _)| gets(which, n)) {
                let direction = Direction { index: 0, serial: which as u64, side: Side::B };
                let way = Way { direction, subscription: 0 };
                if let Some(pair) = table.sent(way, TOPIC, (None, number), at) {
                    pair.missed.read_in(group);
                }
            }
            if n == 300 {
                table.sweep(at, |pair, _| pair.direction.serial == LEAVES);
            }
        }
        table.look_for_missing(Nanos::from_millis(15_000), |_| true, |_| None);
        let found = table.missing();
        found.map(|one| (one.messages, one.whole, one.others_got)).collect()
    }

    /// The subscriber that leaves after three hundred messages.
    const LEAVES: u64 = 5;

    const UNKNOWN: ReaderGroup = ReaderGroup::Unknown;
    const ALONE: ReaderGroup = ReaderGroup::None;
    const SHARED: ReaderGroup = ReaderGroup::Named(TopicId(1));

    #[test]
    fn what_others_get_and_one_does_not_was_dropped() {
        let drops = |which, n| which == 0 || !(100..400).contains(&n) || n % 3 == 0;
        assert_eq!(missed(&[UNKNOWN; 2], drops), [(200, 470, true)]);
        assert_eq!(missed(&[ALONE; 2], drops), [(200, 470, true)]);
        // The other one is in a group, and may get no more than a share.
        assert_eq!(missed(&[SHARED, UNKNOWN], drops), [(200, 470, false)]);
        assert_eq!(missed(&[UNKNOWN, SHARED], drops), []);
        // Nobody else is there: they may be on their way to the broker.
        assert_eq!(missed(&[UNKNOWN], |_, n| drops(1, n)), [(200, 470, false)]);
    }

    #[test]
    fn who_gets_a_share_has_missed_nothing() {
        assert_eq!(missed(&[UNKNOWN; 3], |which, n| which == 0 || n % 2 == which as u64 - 1), []);
        // One got all until the other came.
        let comes = |which: usize, n| match which {
            0 => true,
            _ if n < 200 => which == 1,
            _ => n % 2 == which as u64 - 1,
        };
        assert_eq!(missed(&[UNKNOWN; 3], comes), []);
        // And what the other one got until it left was its share, too.
        let leaves = |which: usize, n| match which {
            0 => true,
            1 => !(200..300).contains(&n) || n % 2 == 0,
            5 => (200..300).contains(&n) && n % 2 == 1,
            _ => false,
        };
        assert_eq!(missed(&[UNKNOWN; 6], leaves), []);
        let other_leaves =
            |which: usize, n| which != 5 && leaves(which, n) || which == 5 && n < 300;
        assert_eq!(missed(&[UNKNOWN; 6], other_leaves), [(50, 470, true)]);
        // A group of two is no matter of who is in none.
        let mut all = missed(&[UNKNOWN, SHARED, SHARED, ALONE], |which, n| match which {
            1 | 2 => n % 2 == which as u64 - 1,
            3 => n != 300,
            _ => true,
        });
        all.sort_unstable();
        assert_eq!(all, [(1, 470, true)]);
    }

    #[test]
    fn what_nobody_got_is_no_ones_loss() {
        assert_eq!(missed(&[ALONE; 2], |_, n| n != 300), []);
    }

    #[test]
    fn what_comes_in_another_order_or_twice_is_not_missed() {
        let mut missed = Missed::after(0);
        for n in 1..=100 {
            missed.got(n - 1, n, Nanos(n));
        }
        let mut last = 100;
        for n in [102, 101, 105, 104, 103, 105] {
            missed.got(last, n, Nanos(1_000));
            last = last.max(n);
        }
        assert_eq!(missed.count(Nanos::from_millis(5_000)), 0);
        missed.got(105, 111, Nanos::from_millis(5_000));
        assert_eq!(missed.count(Nanos::from_millis(5_500)), 0, "they may still come");
        assert_eq!(missed.count(Nanos::from_millis(9_000)), 5);
    }

    #[test]
    fn who_subscribes_again_has_missed_nothing_meanwhile() {
        let mut missed = Missed::after(0);
        for n in 1..=100 {
            missed.got(n - 1, n, Nanos(n));
        }
        missed.begin_again(500);
        for n in 500..=600 {
            missed.got(if n == 500 { 100 } else { n - 1 }, n, Nanos(n));
        }
        assert_eq!(missed.count(Nanos::from_millis(9_000)), 0);
    }
}
