//! Subscribers whose connections are closed: at both ends, at the broker's end alone, or for the broker by somebody between.

use super::super::table::{LagTable, Pair, PairKey};
use super::super::view::{Lag, LagHolder};
use super::{CutOff, LeftBehind, Shortfalls, Subscriber};
use wirelap_events::{GroupId, Nanos, SocketId, TopicId};
use wirelap_flow::{ClosedBy, ClosedConnection};

impl Shortfalls {
    /// Notes which of those that were behind at the last look are gone by now, as `closing_of` says.
    pub fn note_gone(
        &mut self,
        table: &LagTable,
        closing_of: impl Fn(&Subscriber) -> Option<ClosedConnection>,
    ) {
        for (&key, one) in &mut self.all {
            if one.left.is_none()
                && let Some(lag) = one.lag_at_close()
                && let Some(closed) = closing_of(&one.subscriber)
            {
                let (sent, at) = (table.pair(key).map_or(0, |pair| pair.sent), self.at);
                one.left = Some(LeftBehind::new((lag, closed), (sent, at)));
            }
        }
    }

    /// Notes a subscriber of a topic whose connection was reset for its broker, while its own `socket` is open: it gets nothing of what is
    /// published from then on, and does not know it.
    pub fn note_cut_off(
        &mut self,
        (key, pair): (PairKey, &Pair),
        subscriber: Subscriber,
        (group, topic): (GroupId, Option<TopicId>),
        socket: SocketId,
    ) {
        let (at, sent) = (self.at, pair.sent);
        let left = &mut self.entry(key, subscriber, (group, topic)).left;
        let closed = ClosedConnection {
            pid: subscriber.pid,
            is_abrupt: true,
            by: ClosedBy::Between,
            unsubscribed: None,
            session_until: None,
        };
        let lag = Lag {
            unsent: 0,
            in_network: 0,
            unread: 0,
            oldest: Nanos(0),
            holder: LagHolder::Network,
        };
        let cut = Some(Box::new(CutOff { pair: *pair, socket }));
        left.get_or_insert(LeftBehind { cut, ..LeftBehind::new((lag, closed), (sent, at)) });
    }

    /// Counts what was published for those that are cut off and have not noticed it, by `now`: their sockets are open.
    pub fn count_cut_off(
        &mut self,
        table: &LagTable,
        now: Nanos,
        is_open: impl Fn(SocketId) -> bool,
    ) {
        for (&key, one) in &mut self.all {
            if let Some(left) = &mut one.left
                && let Some(cut) = left.cut.as_ref().filter(|cut| is_open(cut.socket))
                && let Some((messages, since)) = table.unsent(key, &cut.pair, now)
            {
                (left.lag.unsent, left.lag.oldest) = (messages, now - since);
            }
        }
    }

    /// Takes off what subscribers have read after their brokers closed their connections: a farewell of TCP comes behind all data. `unread_by`
    /// tells how many messages that were sent to a subscriber it has not read, as long as its socket is open.
    pub fn note_read_late(&mut self, unread_by: impl Fn(PairKey, &Subscriber) -> Option<u64>) {
        for (&key, one) in &mut self.all {
            let Some(left) = one.left.as_mut().filter(|left| left.may_be_read()) else { continue };
            let unread = unread_by(key, &one.subscriber);
            left.may_read = unread.is_some();
            if let Some(unread) = unread {
                let before = left.lag.in_network.saturating_add(left.lag.unread);
                left.lag.in_network = left.lag.in_network.min(unread);
                left.lag.unread = before.min(unread).saturating_sub(left.lag.in_network);
            }
        }
    }
}

impl LeftBehind {
    /// A subscriber's connection was closed when it was behind by so much. The last message that was sent to it had this number, and it was
    /// last seen to be behind at this time.
    fn new((lag, closed): (Lag, ClosedConnection), (sent, at): (u64, Nanos)) -> LeftBehind {
        LeftBehind { lag, closed, sent, at, has_resumed: false, may_read: false, cut: None }
    }

    /// By how much it was behind, without what it may read yet.
    pub(super) fn lag_for_good(&self) -> Lag {
        if self.may_read { Lag { in_network: 0, unread: 0, ..self.lag } } else { self.lag }
    }

    /// True if some of its messages may lie in its socket, which its broker closed.
    pub(super) fn may_be_read(&self) -> bool {
        let is_by_broker = matches!(self.closed.by, ClosedBy::Server | ClosedBy::EndOfServer);
        is_by_broker && self.lag.in_network.saturating_add(self.lag.unread) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{see, subscriber};
    use super::*;
    use wirelap_events::FlowId;
    use wirelap_flow::Way;

    fn closed(by: ClosedBy) -> ClosedConnection {
        ClosedConnection { pid: None, is_abrupt: true, by, unsubscribed: None, session_until: None }
    }

    /// The messages that the subscribers who are gone had not got.
    fn left(all: &Shortfalls) -> Vec<u64> {
        all.lost()
            .iter()
            .filter_map(|one| one.left_behind())
            .map(|(lag, _)| lag.messages())
            .collect()
    }

    #[test]
    fn what_is_read_after_the_brokers_farewell_was_got() {
        let mut all = Shortfalls::default();
        all.begin_look(Nanos(1));
        see(&mut all, 2, 1, (9, LagHolder::Subscriber));
        all.note_gone(&LagTable::default(), |_| Some(closed(ClosedBy::Server)));
        assert_eq!(left(&all), [9]);
        assert!(all.is_behind(FlowId(2)));
        for unread in [9, 4] {
            all.note_read_late(|_, _| Some(unread));
            assert_eq!(left(&all), Vec::<u64>::new(), "it may read all");
        }
        // Its socket is closed.
        all.note_read_late(|_, _| None);
        assert_eq!(left(&all), [4]);
        all.note_read_late(|_, _| Some(0));
        all.note_read_late(|_, _| None);
        all.begin_look(Nanos(2));
        assert!(left(&all).is_empty() && !all.is_behind(FlowId(2)));
    }

    #[test]
    fn who_closes_its_connection_itself_reads_no_more() {
        let mut all = Shortfalls::default();
        all.begin_look(Nanos(1));
        see(&mut all, 2, 1, (9, LagHolder::Subscriber));
        all.note_gone(&LagTable::default(), |_| Some(closed(ClosedBy::Reader)));
        all.note_read_late(|_, _| Some(0));
        assert_eq!(left(&all), [9]);
    }

    #[test]
    fn who_is_cut_off_lacks_what_is_published_until_it_notices() {
        let (mut all, mut table) = (Shortfalls::default(), LagTable::default());
        let (topic, subscriber) = ((GroupId(0), 1), subscriber());
        let way = Way { direction: subscriber.direction, subscription: 0 };
        for n in 0..40 {
            let number = table.published(topic, Nanos(n)).unwrap();
            table.sent(way, topic, (None, number), Nanos(n));
        }
        let key = (way.id(), 1);
        let pair = *table.pair(key).unwrap();
        all.note_cut_off((key, &pair), subscriber, (GroupId(0), None), SocketId(5));
        assert_eq!(left(&all), Vec::<u64>::new());
        let mut publish = |all: &mut Shortfalls, is_open: bool| {
            (0..3).for_each(|n| _ = table.published(topic, Nanos(50 + n)));
            all.count_cut_off(&table, Nanos(100), |socket| is_open && socket == SocketId(5));
        };
        publish(&mut all, true);
        publish(&mut all, true);
        // It has noticed.
        publish(&mut all, false);
        assert_eq!(left(&all), [6]);
        assert_eq!(all.lost()[0].left_behind().unwrap().1.by, ClosedBy::Between);
    }
}
