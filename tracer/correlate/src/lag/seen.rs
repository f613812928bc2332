//! Subscribers that have been behind so far, and by how much at most.

use super::behind::Behind;
use super::left::{AllLeftBehind, LeftBehind};
use super::table::{LagTable, Pair, PairKey};
use crate::flow::ClosedConnection;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use wirelap_events::{FlowId, Nanos, TopicId};

/// Subscribers that are remembered. With one more, the quarter with the fewest messages makes room.
const KEPT: usize = 4_096;

/// Subscribers that have been behind so far.
#[derive(Debug, Default)]
pub struct SeenBehind {
    all: FxHashMap<PairKey, Behind>,
    /// Time of the last look at who is behind.
    at: Nanos,
    /// Number of subscribers that had to make room.
    evicted: u64,
    /// Those that were behind when their connections were closed.
    left: AllLeftBehind,
}

impl SeenBehind {
    /// True if the subscriber that gets this flow was behind at the last look.
    pub fn is_behind(&self, flow: FlowId) -> bool {
        self.all.iter().any(|(((of, _), _), behind)| *of == flow && behind.now.is_some())
    }

    /// Notes which of those that are behind are gone by now, as `closed` says.
    pub fn note_gone(
        &mut self,
        table: &LagTable,
        closed: impl Fn(&Behind) -> Option<ClosedConnection>,
    ) {
        for (&key, behind) in &self.all {
            if let Some(lag) = behind.at_close()
                && let Some(closed) = closed(behind)
            {
                self.left.note((key, behind, lag), closed, table, self.at);
            }
        }
    }

    /// Looks whose topic another member of its group has taken over.
    pub fn look_for_taken_over(
        &mut self,
        table: &LagTable,
        group_of: impl Fn(&Pair) -> Option<TopicId>,
    ) {
        self.left.look_for_taken_over(table, group_of);
    }

    /// Looks who of those that were gone has come back.
    pub fn look_for_returned(
        &mut self,
        table: &LagTable,
        name_of: impl Fn(PairKey) -> Option<TopicId>,
    ) {
        self.left.look_for_returned(table, name_of);
    }

    /// Subscribers that were behind when their connections were closed, and have not come back.
    pub fn left(&self) -> impl Iterator<Item = &LeftBehind> {
        self.left.iter()
    }

    /// Another look, at `now`: nobody is behind until it is said.
    pub fn begin(&mut self, now: Nanos) {
        self.at = now;
        for behind in self.all.values_mut() {
            behind.since = behind.now.take().and(behind.since);
        }
    }

    /// A subscriber is behind.
    pub fn see(&mut self, key: PairKey, behind: Behind) {
        if self.all.len() >= KEPT && !self.all.contains_key(&key) {
            self.evict();
        }
        let known = self.all.entry(key).or_insert(behind);
        known.now = behind.now;
        known.since = known.since.or(Some(self.at));
        known.client = known.client.or(behind.client);
        known.pid = known.pid.or(behind.pid);
        if behind.most.messages() > known.most.messages() {
            (known.most, known.most_at) = (behind.most, behind.most_at);
        }
    }

    fn evict(&mut self) {
        let rank = |behind: &Behind| (behind.now.is_some(), behind.most.messages());
        let mut order: Vec<_> = self.all.iter().map(|(key, one)| (rank(one), *key)).collect();
        order.sort_unstable();
        for (_, key) in order.into_iter().take(KEPT / 4) {
            self.all.remove(&key);
            self.evicted = self.evicted.saturating_add(1);
        }
    }

    /// All of them, those that are behind first, and of these those by most messages.
    pub fn in_order(&self) -> Vec<&Behind> {
        let mut all: Vec<(&PairKey, &Behind)> = self.all.iter().collect();
        all.sort_unstable_by_key(|(key, one)| {
            let now = one.now.map(|lag| lag.messages());
            (Reverse(now), Reverse(one.most.messages()), **key)
        });
        all.into_iter().map(|(_, one)| one).collect()
    }

    /// Number of subscribers that had to make room for others.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::ClosedBy;
    use crate::ids::Direction;
    use crate::lag::{Lag, LagHolder};
    use std::net::SocketAddr;
    use wirelap_events::GroupId;

    fn behind(unread: u64) -> Behind {
        let lag = Lag {
            unsent: 0,
            in_network: 0,
            unread,
            oldest: Nanos(5),
            holder: LagHolder::Subscriber,
        };
        Behind {
            group: GroupId(0),
            members: None,
            client: None,
            pid: None,
            address: SocketAddr::from(([127, 0, 0, 1], 4000)),
            direction: Direction { index: 0, serial: 1, side: wirelap_protocols::Side::B },
            topic: None,
            now: Some(lag),
            since: None,
            most: lag,
            most_at: Nanos(unread),
        }
    }

    #[test]
    fn what_held_up_most_is_told_of_who_is_gone() {
        let key = ((FlowId(2), 0), 1);
        let look = |seen: &mut SeenBehind, at, unread, holder| {
            seen.begin(Nanos(at));
            let one = behind(unread);
            let lag = Lag { holder, ..one.most };
            seen.see(key, Behind { now: Some(lag), most: lag, most_at: Nanos(at), ..one });
        };
        for is_without_break in [true, false] {
            let mut seen = SeenBehind::default();
            look(&mut seen, 1, 9, LagHolder::Subscriber);
            if !is_without_break {
                seen.begin(Nanos(2));
            }
            // It has read what was in its socket when the broker had closed it.
            look(&mut seen, 3, 4, LagHolder::Broker);
            let closed = ClosedConnection {
                pid: None,
                is_abrupt: true,
                by: ClosedBy::Server,
                unsubscribed: None,
            };
            seen.note_gone(&LagTable::default(), |_| Some(closed));
            let left: Vec<_> =
                seen.left().map(|one| (one.lag.messages(), one.lag.holder)).collect();
            let holder = if is_without_break { LagHolder::Subscriber } else { LagHolder::Broker };
            assert_eq!(left, [(4, holder)]);
        }
    }

    #[test]
    fn the_most_is_kept_after_it_caught_up() {
        let mut seen = SeenBehind::default();
        for unread in [3, 9, 4] {
            seen.begin(Nanos(0));
            seen.see(((FlowId(2), 0), 1), behind(unread));
        }
        seen.begin(Nanos(0));
        seen.see(((FlowId(4), 0), 1), behind(1));
        let order = seen.in_order();
        assert_eq!((order[0].most.unread, order[0].now.is_some()), (1, true));
        assert_eq!((order[1].most.unread, order[1].now), (9, None));
        assert_eq!(order[1].most_at, Nanos(9));
    }

    #[test]
    fn those_with_the_fewest_make_room() {
        let mut seen = SeenBehind::default();
        for n in 0..10_000 {
            seen.see(((FlowId(n), 0), 1), behind(n));
        }
        assert!(seen.all.len() <= KEPT);
        assert_eq!(seen.evicted() + seen.all.len() as u64, 10_000);
        assert_eq!(seen.in_order()[0].most.unread, 9_999);
    }
}
