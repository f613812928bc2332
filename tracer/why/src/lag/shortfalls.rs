//! The account of who has not got what: one entry for each subscriber and topic of which messages are, or were, missing.

mod gone;

use super::gaps::GapCount;
use super::table::{LagTable, Pair, PairKey, TopicKey};
use super::view::Lag;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::net::SocketAddr;
use wirelap_events::{FlowId, GroupId, Nanos, Pid, Saturate, SocketId, TopicId};
use wirelap_flow::{ClosedConnection, Direction};

/// Entries that are kept. With one more, a quarter makes room: those that have caught up, and then those with the fewest messages.
const MAX_ENTRIES: usize = 4_096;

/// Entries that make room for others at once.
const ROOM_MADE: usize = MAX_ENTRIES / 4;

/// A subscriber, by the connection on which it gets messages. Its names are numbers, because the connection may be gone.
#[derive(Clone, Copy, Debug)]
pub struct Subscriber {
    /// The direction on which it gets its messages.
    pub direction: Direction,
    /// Its address.
    pub address: SocketAddr,
    /// The name that it gave itself.
    pub client: Option<TopicId>,
    /// The group in which it reads.
    pub members: Option<TopicId>,
    /// Its process, if that is on this host and known.
    pub pid: Option<Pid>,
}

/// Names by which a subscriber is known again that was gone.
#[derive(Clone, Copy, Debug)]
pub struct SeenNow {
    /// The name that it gives itself.
    pub client: Option<TopicId>,
    /// The group in which it reads.
    pub members: Option<TopicId>,
    /// Its process, if its broker goes on with a session on this connection.
    pub resumes_of: Option<Pid>,
}

/// Messages of a topic that a subscriber should have and has not, or had not for some time.
#[derive(Clone, Debug)]
pub struct Shortfall {
    /// The row that its messages are in.
    pub group: GroupId,
    /// The topic, if it is known.
    pub topic: Option<TopicId>,
    /// The subscriber.
    pub subscriber: Subscriber,
    /// By how much the subscriber is behind; `None` if it is not.
    pub now: Option<Lag>,
    /// Since when it has been behind without a break.
    since: Option<Nanos>,
    /// By how much it was behind when that was most, and at what time; `None` if it never was.
    pub most: Option<(Lag, Nanos)>,
    /// Messages that it did not get, while it got later ones.
    pub missed: Option<GapCount>,
    left: Option<LeftBehind>,
}

/// Messages that a subscriber had not got when its connection was closed.
#[derive(Clone, Debug)]
struct LeftBehind {
    lag: Lag,
    closed: ClosedConnection,
    /// The number of the last message that was sent to it.
    sent: u64,
    /// Time at which it was last seen to be behind.
    at: Nanos,
    /// True if it has connected again and goes on where it was, or another member of its group does.
    has_resumed: bool,
    /// True if its socket was open at the last look: it may read what lies there.
    may_read: bool,
    /// The subscriber's last state and its socket, if it was cut off and has not closed the connection itself.
    cut: Option<Box<CutOff>>,
}

/// A subscriber whose connection was reset for its broker alone.
#[derive(Clone, Copy, Debug)]
struct CutOff {
    /// Its progress on the topic when that happened.
    pair: Pair,
    /// Its socket.
    socket: SocketId,
}

/// Every shortfall so far.
#[derive(Debug, Default)]
pub struct Shortfalls {
    all: FxHashMap<PairKey, Shortfall>,
    /// Time of the last look at who is behind.
    at: Nanos,
    /// Number of subscribers that were behind and had to make room.
    evicted: u64,
}

impl Shortfalls {
    /// True if the subscriber that gets this flow was behind at the last look, or had not read yet what its broker sent it before that closed the
    /// connection.
    pub fn is_behind(&self, flow: FlowId) -> bool {
        let lacks = |one: &Shortfall| {
            one.now.is_some() || one.left.as_ref().is_some_and(LeftBehind::may_be_read)
        };
        self.all.iter().any(|(((of, _), _), one)| *of == flow && lacks(one))
    }

    /// Begins another look, at `now`: nobody is behind until that is seen.
    pub fn begin_look(&mut self, now: Nanos) {
        self.at = now;
        for one in self.all.values_mut() {
            one.since = one.now.take().and(one.since);
        }
    }

    /// A subscriber of a topic is behind.
    pub fn see_lag(
        &mut self,
        key: PairKey,
        subscriber: Subscriber,
        of: (GroupId, Option<TopicId>),
        lag: Lag,
    ) {
        let at = self.at;
        let known = self.entry(key, subscriber, of);
        known.now = Some(lag);
        known.since = known.since.or(Some(at));
        if known.most.is_none_or(|(most, _)| lag.messages() > most.messages()) {
            known.most = Some((lag, at));
        }
    }

    /// A subscriber of a topic has missed so many messages by now.
    pub fn see_missed(
        &mut self,
        key: PairKey,
        subscriber: Subscriber,
        of: (GroupId, Option<TopicId>),
        missed: GapCount,
    ) {
        self.entry(key, subscriber, of).missed = Some(missed);
    }

    /// The entry of a subscriber and a topic of a row, with what is newly known of them.
    fn entry(
        &mut self,
        key: PairKey,
        subscriber: Subscriber,
        (group, topic): (GroupId, Option<TopicId>),
    ) -> &mut Shortfall {
        if self.all.len() >= MAX_ENTRIES && !self.all.contains_key(&key) {
            self.evict();
        }
        let known = self.all.entry(key).or_insert(Shortfall {
            group,
            topic,
            subscriber,
            now: None,
            since: None,
            most: None,
            missed: None,
            left: None,
        });
        known.group = group;
        known.topic = known.topic.or(topic);
        known.subscriber.client = known.subscriber.client.or(subscriber.client);
        known.subscriber.pid = known.subscriber.pid.or(subscriber.pid);
        known
    }

    fn evict(&mut self) {
        let rank = |one: &Shortfall| (one.now.is_some() || one.is_lost(), one.messages());
        let mut order: Vec<_> = self.all.iter().map(|(key, one)| (rank(one), *key)).collect();
        order.sort_unstable();
        for (_, key) in order.into_iter().take(ROOM_MADE) {
            let gone = self.all.remove(&key);
            self.evicted.grow(u64::from(gone.is_some_and(|one| one.most.is_some())));
        }
    }

    /// Notes who of those that were gone has lost nothing: it has come back by the same name and gets what it had not got, as its
    /// session was kept, or another member of its group has taken the topic over. Whose name was not seen is known by its process, where
    /// that comes back to a session. `seen_of` tells who gets messages now.
    pub fn note_resumed(&mut self, table: &LagTable, seen_of: impl Fn(PairKey, &Pair) -> SeenNow) {
        let mut gone: FxHashMap<TopicKey, Vec<(&mut LeftBehind, Subscriber)>> =
            FxHashMap::default();
        for (&(_, subject), one) in &mut self.all {
            if let Some(left) = one.left.as_mut().filter(|left| !left.has_resumed) {
                gone.entry((one.group, subject)).or_default().push((left, one.subscriber));
            }
        }
        if gone.is_empty() {
            return;
        }
        for (key, pair) in table.pairs() {
            let Some(all) = gone.get_mut(&(pair.group, key.1)) else { continue };
            let SeenNow { client, members, resumes_of } = seen_of(key, pair);
            for (left, subscriber) in all {
                let is_same = match subscriber.client {
                    Some(name) => client == Some(name),
                    None => resumes_of.is_some() && resumes_of == subscriber.pid,
                };
                let is_member = members.is_some() && members == subscriber.members;
                let goes_on = pair.began > left.at && pair.goes_on_after(left.sent);
                left.has_resumed |= is_same && goes_on || is_member && pair.taken_over > left.at;
            }
        }
    }

    /// Those that are or were behind, and by how much at most and when. Who is behind comes first, and of these those by most messages.
    pub fn slow(&self) -> Vec<(&Shortfall, (Lag, Nanos))> {
        let slow = self.all.iter().filter_map(|(key, one)| Some((key, one, one.most?)));
        let mut all: Vec<_> = slow.collect();
        all.sort_unstable_by_key(|(key, one, (most, _))| {
            let now = one.now.map(|lag| lag.messages());
            (Reverse(now), Reverse(most.messages()), **key)
        });
        all.into_iter().map(|(_, one, most)| (one, most)).collect()
    }

    /// Those that will not get what they lack, as far as is known, in the order in which their connections were closed.
    pub fn lost(&self) -> Vec<&Shortfall> {
        let mut all: Vec<_> = self.all.iter().filter(|(_, one)| one.is_lost()).collect();
        all.sort_unstable_by_key(|(key, one)| (one.left.as_ref().map(|left| left.at), **key));
        all.into_iter().map(|(_, one)| one).collect()
    }

    /// Number of subscribers that were behind and had to make room for others.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }
}

impl Shortfall {
    /// By how much the subscriber was behind when its connection was closed, and how it was closed; `None` if it is there, or has lost
    /// nothing.
    pub fn left_behind(&self) -> Option<(Lag, ClosedConnection)> {
        let left = self.left.as_ref().filter(|left| !left.has_resumed)?;
        let lag = left.lag_for_good();
        (lag.messages() > 0).then_some((lag, left.closed))
    }

    /// True if it will not get what it lacks, as far as is known.
    fn is_lost(&self) -> bool {
        self.missed.is_some() || self.left_behind().is_some()
    }

    /// By how much it is behind when its connection is closed; `None` if it is not. Who reads the rest of what is in its socket is held
    /// up by nothing any more: what held up most since it has been behind is told.
    fn lag_at_close(&self) -> Option<Lag> {
        let (now, (most, most_at)) = (self.now?, self.most?);
        let is_same = self.since.is_some_and(|since| most_at >= since);
        Some(if is_same { Lag { holder: most.holder, ..now } } else { now })
    }

    /// The messages that it lacked when it lacked most.
    fn messages(&self) -> u64 {
        let behind = self.most.map_or(0, |(most, _)| most.messages());
        behind.max(self.missed.map_or(0, |missed| missed.messages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lag::LagHolder;
    use wirelap_flow::ClosedBy;

    fn key(flow: u64) -> PairKey {
        ((FlowId(flow), 0), 1)
    }

    pub fn subscriber() -> Subscriber {
        Subscriber {
            direction: Direction { index: 0, serial: 1, side: wirelap_protocols::Side::B },
            address: SocketAddr::from(([127, 0, 0, 1], 4000)),
            client: None,
            members: None,
            pid: None,
        }
    }

    /// A subscriber with so many messages in its socket, which `holder` holds up, is seen to be behind at `at`.
    pub fn see(all: &mut Shortfalls, flow: u64, at: u64, (unread, holder): (u64, LagHolder)) {
        all.at = Nanos(at);
        let subscriber = subscriber();
        let lag = Lag { unsent: 0, in_network: 0, unread, oldest: Nanos(5), holder };
        all.see_lag(key(flow), subscriber, (GroupId(0), None), lag);
    }

    #[test]
    fn what_held_up_most_is_told_of_who_is_gone() {
        for is_without_break in [true, false] {
            let mut all = Shortfalls::default();
            see(&mut all, 2, 1, (9, LagHolder::Subscriber));
            all.begin_look(Nanos(2));
            if !is_without_break {
                all.begin_look(Nanos(3));
            }
            // It has read what was in its socket when the broker had closed it.
            see(&mut all, 2, 4, (4, LagHolder::Broker));
            let closed = ClosedConnection {
                pid: None,
                is_abrupt: true,
                by: ClosedBy::Server,
                unsubscribed: None,
                session_until: None,
            };
            all.note_gone(&LagTable::default(), |_| Some(closed));
            let lost = all.lost();
            let left = lost.iter().filter_map(|one| one.left_behind());
            let left: Vec<_> = left.map(|(lag, _)| (lag.messages(), lag.holder)).collect();
            let holder = if is_without_break { LagHolder::Subscriber } else { LagHolder::Broker };
            assert_eq!(left, [(4, holder)]);
        }
    }

    #[test]
    fn the_most_is_kept_after_it_caught_up() {
        let mut all = Shortfalls::default();
        for unread in [3, 9, 4] {
            all.begin_look(Nanos(0));
            see(&mut all, 2, unread, (unread, LagHolder::Subscriber));
        }
        all.begin_look(Nanos(0));
        see(&mut all, 4, 10, (1, LagHolder::Subscriber));
        let slow = all.slow();
        let slow: Vec<_> =
            slow.iter().map(|(one, (most, at))| (most.unread, at.0, one.now.is_some())).collect();
        assert_eq!(slow, [(1, 10, true), (9, 9, false)]);
    }

    #[test]
    fn those_with_the_fewest_make_room() {
        let mut all = Shortfalls::default();
        for n in 0..10_000 {
            see(&mut all, n, n, (n, LagHolder::Subscriber));
        }
        assert!(all.all.len() <= MAX_ENTRIES);
        assert_eq!(all.evicted() + all.all.len() as u64, 10_000);
        assert_eq!(all.slow()[0].1.0.unread, 9_999);
    }
}
