//! Who has been behind so far, and by how much at most.

use super::table::PairKey;
use super::view::Lag;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::net::SocketAddr;
use wirelap_events::{GroupId, Nanos, Pid, TopicId};

/// Subscribers that are remembered. With one more, the quarter with the fewest messages makes room.
const KEPT: usize = 4_096;

/// A subscriber that is or was behind on a topic. Its names are numbers, because the connection may be gone.
#[derive(Clone, Copy, Debug)]
pub struct Behind {
    pub group: GroupId,
    pub client: Option<TopicId>,
    pub pid: Option<Pid>,
    pub address: SocketAddr,
    pub topic: Option<TopicId>,
    pub now: Option<Lag>,
    pub most: Lag,
    pub most_at: Nanos,
}

/// Who has been behind so far.
#[derive(Debug, Default)]
pub struct SeenBehind {
    all: FxHashMap<PairKey, Behind>,
    /// How many had to make room.
    evicted: u64,
}

impl SeenBehind {
    /// Another look: nobody is behind until it is said.
    pub fn begin(&mut self) {
        self.all.values_mut().for_each(|behind| behind.now = None);
    }

    /// A subscriber is behind.
    pub fn see(&mut self, key: PairKey, behind: Behind) {
        if self.all.len() >= KEPT && !self.all.contains_key(&key) {
            self.evict();
        }
        let known = self.all.entry(key).or_insert(behind);
        known.now = behind.now;
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

    /// How many had to make room.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lag::LagHolder;
    use wirelap_events::FlowId;

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
            client: None,
            pid: None,
            address: SocketAddr::from(([127, 0, 0, 1], 4000)),
            topic: None,
            now: Some(lag),
            most: lag,
            most_at: Nanos(unread),
        }
    }

    #[test]
    fn the_most_is_kept_after_it_caught_up() {
        let mut seen = SeenBehind::default();
        for unread in [3, 9, 4] {
            seen.begin();
            seen.see(((FlowId(2), 0), 1), behind(unread));
        }
        seen.begin();
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
