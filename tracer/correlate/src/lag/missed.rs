//! Messages of a topic that a subscriber did not get, while it got those before and after.
//!
//! ```text
//! published    1 2 3 4 5 6 7 8 9
//! subscriber   1 2 3 4 5 6 7 8 9      it gets all
//! another      1 2 3 4 · 6 · · 9      it got all, and then the broker has dropped 5, 7 and 8
//! ```
//!
//! Members of a group get a share each: what one does not get, another one does. So nobody is said to have missed anything on a topic
//! of which another subscriber gets only a part, or got until it left, unless that one is known to be of a group.

use super::table::{LagTable, Pair, PairKey, TopicKey};
use crate::breakdown::ReaderGroup;
use rustc_hash::FxHashMap;
use wirelap_events::{GroupId, Nanos, Pid, Saturate, TopicId};

/// So many messages in a row show that a subscriber is there for all of them.
const WHOLE: u8 = 30;

/// Messages of several publishers may overtake each other by so much.
const SETTLED: Nanos = Nanos::from_millis(1_000);

/// One in so many messages may be missing of a subscriber that gets all.
const FEW: u64 = 100;

/// Subscribers that are remembered. Of more, the first.
const KEPT: usize = 256;

/// What one subscriber got of a topic since it got all, and what it did not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Missed {
    /// Messages up to this number were published before it was there.
    from: u64,
    /// Messages in a row, until they are enough.
    run: u8,
    group: ReaderGroup,
    got: u64,
    /// Not got: long ago, before the last mark, and since.
    settled: u64,
    before: u64,
    recent: u64,
    mark: Nanos,
    /// When the first was found to be missing.
    since: Option<Nanos>,
}

impl Missed {
    /// Of who gets messages after this number.
    pub fn after(from: u64) -> Missed {
        Missed { from, ..Missed::default() }
    }

    /// Message `number` comes after `last`, the newest so far.
    pub fn got(&mut self, last: u64, number: u64, at: Nanos) {
        if self.run < WHOLE {
            let is_next = number == last.saturating_add(1);
            self.run = if is_next { self.run.saturating_add(1) } else { 0 };
            return;
        }
        if at >= self.mark + SETTLED {
            self.settled.grow(self.before);
            self.before = std::mem::take(&mut self.recent);
            self.mark = at;
        }
        if number > last {
            let missing = number.saturating_sub(1).saturating_sub(last.max(self.from));
            self.recent.grow(missing);
            if missing > 0 {
                self.since.get_or_insert(at);
            }
        } else if number < last {
            // Another publisher's message overtook it.
            let known = [&mut self.recent, &mut self.before, &mut self.settled];
            if let Some(count) = known.into_iter().find(|count| **count > 0) {
                count.shrink(1);
            }
        }
        self.got.grow(u64::from(number != last));
    }

    /// The number of the message was taken for the next one, which shows nothing of who may get a share.
    pub fn guessed(&mut self) {
        if self.run < WHOLE {
            self.run = 0;
        }
    }

    /// The message shows in which group it is read.
    pub fn read_in(&mut self, group: ReaderGroup) {
        if group != ReaderGroup::Unknown {
            self.group = group;
        }
    }

    /// It unsubscribed meanwhile: what it did not get up to this message was not for it.
    pub fn begin_again(&mut self, number: u64) {
        self.from = number;
        self.run = 0;
    }

    /// Messages that it did not get, and that will not come any more.
    fn count(&self, now: Nanos) -> u64 {
        let before = if now >= self.mark + SETTLED { self.before } else { 0 };
        let recent = if now >= self.mark + SETTLED + SETTLED { self.recent } else { 0 };
        self.settled.saturating_add(before).saturating_add(recent)
    }

    fn gets_all(&self, now: Nanos) -> bool {
        self.run >= WHOLE && self.count(now).saturating_mul(FEW) <= self.got
    }

    fn is_in_group(&self) -> bool {
        matches!(self.group, ReaderGroup::Named(_))
    }

    /// Whether it may be one of a group, each member of which gets a share.
    pub fn may_share(&self, now: Nanos) -> bool {
        !self.is_in_group() && !self.gets_all(now)
    }
}

/// A subscriber, and the messages of a topic that it did not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    pub group: GroupId,
    pub topic: Option<TopicId>,
    /// Its process.
    pub pid: Option<Pid>,
    /// How many, of how many.
    pub messages: u64,
    pub whole: u64,
    /// When the first was found to be missing.
    pub since: Nanos,
    /// Another subscriber got them.
    pub others_got: bool,
}

impl LagTable {
    /// Looks which subscribers have missed messages: of those that should have got all. `reader_of` is the process of one.
    pub fn look_for_missing(
        &mut self,
        now: Nanos,
        should_get_all: impl Fn(&Pair) -> bool,
        reader_of: impl Fn(&Pair) -> Option<Pid>,
    ) {
        let has_missed = |pair: &Pair| pair.missed.count(now) > 0 && pair.missed.run >= WHOLE;
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

    /// Who has missed messages so far.
    pub fn missing(&self) -> impl Iterator<Item = &Missing> {
        self.missing.values()
    }
}

/// What a subscriber has missed of a topic that these others get, too.
fn missing<'p>(pair: &Pair, others: impl Iterator<Item = &'p Pair>, now: Nanos) -> Option<Missing> {
    let Missed { got, since, .. } = pair.missed;
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
    use crate::ids::{Direction, Way};
    use wirelap_protocols::Side;

    const TOPIC: TopicKey = (GroupId(0), 7);

    /// What subscribers have missed, each of which gets of five hundred messages those that `gets` says, and in which group.
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

    /// Who leaves after three hundred messages.
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
