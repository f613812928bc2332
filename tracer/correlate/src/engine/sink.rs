//! The taker of deliveries.

use crate::view::Snapshot;
use std::sync::Arc;
use wirelap_events::{Delivery, GroupId, TopicId};
use wirelap_why::DelayCause;

/// The reason why a message was not seen to be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nondelivery {
    /// The message is lost: its subscriber got others before and after it or has left, or its datagram was not read.
    Lost,
    /// Nobody was seen to read its bytes, which may wait in a socket.
    Unread,
    /// Nobody is known whom it would have been for, or its server keeps it for a subscriber that is away.
    ForNobody,
    /// A pause of the observation, or a lost event, hides the rest of its way.
    NotFollowed,
    /// The message was under way when the observation ended.
    UnderWay,
}

/// Takes deliveries as they become complete.
pub trait DeliverySink {
    /// Takes one delivery: matched from its first send to its last read.
    fn delivery(&mut self, delivery: &Delivery);

    /// Takes one, with what held it up.
    fn judged(&mut self, delivery: &Delivery, _held_up: Option<DelayCause>) {
        self.delivery(delivery);
    }

    /// Takes one that is in no figure: of the warm-up, or an end of it was not seen.
    fn aside(&mut self, _delivery: &Delivery) {}

    /// True if the sink needs the names of topics. Otherwise they need not be kept, and deliveries have no
    /// topic.
    fn takes_topics(&self) -> bool {
        false
    }

    /// True if the sink needs the traces that messages name. Otherwise nobody looks for them, and deliveries have none.
    fn takes_trace_contexts(&self) -> bool {
        false
    }

    /// True if the sink does not know the name of this topic yet.
    fn needs_topic(&self, _topic: TopicId) -> bool {
        false
    }

    /// Takes the name of a topic that it needs, before the first delivery that has this topic.
    fn topic(&mut self, _topic: TopicId, _name: &[u8]) {}

    /// Takes the name of a topic that it needs and that was found in the text of an encrypted connection: it must leave this process on the screen
    /// only.
    fn secret_topic(&mut self, _topic: TopicId, _name: &[u8]) {}

    /// True if the sink is also told what became of a message of this row that is given up: why it was not delivered, or `None` if it was
    /// read. It is asked for each of them, because the report takes time to put together.
    fn takes_given_up(&self, _group: GroupId, _why: Option<Nondelivery>) -> bool {
        false
    }

    /// Takes what is known of a message that is given up, or still under way at the end: its legs as far as it came, and why it was
    /// not seen to be delivered.
    fn undelivered(&mut self, _so_far: &Delivery, _why: Nondelivery) {}

    /// Takes a snapshot that is published; the deliveries before it were taken before.
    fn published(&mut self, _snapshot: &Arc<Snapshot>) {}
}

impl<F: FnMut(&Delivery)> DeliverySink for F {
    fn delivery(&mut self, delivery: &Delivery) {
        self(delivery);
    }
}

/// A sink, and a second one that gets the same, if it is wanted.
#[derive(Clone, Debug)]
pub struct SinkPair<A, B> {
    /// The first one.
    pub first: A,
    /// The second one.
    pub second: Option<B>,
}

impl<A: DeliverySink, B: DeliverySink> DeliverySink for SinkPair<A, B> {
    fn delivery(&mut self, delivery: &Delivery) {
        self.judged(delivery, None);
    }

    fn judged(&mut self, delivery: &Delivery, held_up: Option<DelayCause>) {
        self.first.judged(delivery, held_up);
        if let Some(second) = &mut self.second {
            second.judged(delivery, held_up);
        }
    }

    fn aside(&mut self, delivery: &Delivery) {
        self.first.aside(delivery);
        if let Some(second) = &mut self.second {
            second.aside(delivery);
        }
    }

    fn takes_topics(&self) -> bool {
        self.first.takes_topics() || self.second.as_ref().is_some_and(DeliverySink::takes_topics)
    }

    fn takes_trace_contexts(&self) -> bool {
        let second = self.second.as_ref();
        self.first.takes_trace_contexts() || second.is_some_and(DeliverySink::takes_trace_contexts)
    }

    fn needs_topic(&self, topic: TopicId) -> bool {
        self.first.needs_topic(topic)
            || self.second.as_ref().is_some_and(|second| second.needs_topic(topic))
    }

    fn topic(&mut self, topic: TopicId, name: &[u8]) {
        if self.first.needs_topic(topic) {
            self.first.topic(topic, name);
        }
        if let Some(second) = self.second.as_mut().filter(|second| second.needs_topic(topic)) {
            second.topic(topic, name);
        }
    }

    fn secret_topic(&mut self, topic: TopicId, name: &[u8]) {
        if self.first.needs_topic(topic) {
            self.first.secret_topic(topic, name);
        }
        if let Some(second) = self.second.as_mut().filter(|second| second.needs_topic(topic)) {
            second.secret_topic(topic, name);
        }
    }

    fn takes_given_up(&self, group: GroupId, why: Option<Nondelivery>) -> bool {
        self.first.takes_given_up(group, why)
            || self.second.as_ref().is_some_and(|second| second.takes_given_up(group, why))
    }

    fn undelivered(&mut self, so_far: &Delivery, why: Nondelivery) {
        if self.first.takes_given_up(so_far.group, Some(why)) {
            self.first.undelivered(so_far, why);
        }
        if let Some(second) =
            self.second.as_mut().filter(|second| second.takes_given_up(so_far.group, Some(why)))
        {
            second.undelivered(so_far, why);
        }
    }

    fn published(&mut self, snapshot: &Arc<Snapshot>) {
        self.first.published(snapshot);
        if let Some(second) = &mut self.second {
            second.published(snapshot);
        }
    }
}
