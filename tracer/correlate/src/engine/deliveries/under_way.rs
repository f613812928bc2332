//! The messages that each subscriber has not got: how many, where they are, and what holds them up.
//!
//! ```text
//! published   1 2 3 4 5 6 7 8 9
//! subscriber  1 2                   it has read these
//!                 3 4               unread: they lie in its socket
//!                     5             in the network
//!                       6 7         unsent: the broker has them
//!                           8 9     not at the broker yet, which can send them to nobody
//! ```

use super::outstanding::{Outstanding, is_throttled};
use super::{Deliveries, Observed};
use crate::rows::LastReader;
use rustc_hash::FxHashMap;
use wirelap_events::{GroupId, Nanos, Saturate, TopicId};
use wirelap_flow::{Direction, Flow, FlowTable, Marks};
use wirelap_limits::deliveries::{LONGEST_USUAL_WAY, RECEIVER_BEHIND_AFTER};
use wirelap_why::{Lag, LagHolder, LagTable, Pair, PairKey, TopicKey, Whereabouts};

/// The shortest time for which messages are somewhere before that place holds them up.
const HELD: Nanos = Nanos::from_millis(200);

/// Messages that were sent and are not known to be read, by whom they are for.
#[derive(Default)]
pub struct UnderWay {
    to_subscribers: FxHashMap<PairKey, SentMessages>,
    to_brokers: FxHashMap<TopicKey, NotAtBroker>,
}

/// A subscriber that is behind on a topic, and by how much.
pub struct FoundLag {
    pub key: PairKey,
    pub direction: Direction,
    pub group: GroupId,
    pub topic: Option<TopicId>,
    pub lag: Lag,
}

/// Messages of a topic that were sent to a subscriber.
#[derive(Clone, Copy)]
struct SentMessages {
    direction: Direction,
    group: GroupId,
    topic: Option<TopicId>,
    in_network: Pile,
    unread: Pile,
}

/// Messages of a topic that were sent to a broker and are not there yet.
#[derive(Clone, Copy, Default)]
struct NotAtBroker {
    messages: u64,
    /// The broker reads nothing more of some publisher, as it lacks memory or disk.
    is_throttled: bool,
}

/// Messages that are in one place.
#[derive(Clone, Copy, Default)]
struct Pile {
    messages: u64,
    /// Time at which the oldest of them was published.
    published: Option<Nanos>,
    /// Time at which the first of them was sent there.
    sent: Option<Nanos>,
}

impl Pile {
    fn add(&mut self, published: Nanos, sent: Nanos) {
        self.messages.grow(1);
        self.published = Some(self.published.map_or(published, |known| known.min(published)));
        self.sent = Some(self.sent.map_or(sent, |known| known.min(sent)));
    }

    /// True if they have been there for [`HELD`].
    fn is_held(&self, now: Nanos) -> bool {
        self.sent.is_some_and(|sent| sent + HELD <= now)
    }
}

impl Deliveries {
    /// The messages that were sent to brokers and to subscribers, and were not read.
    pub(super) fn under_way(&self, seen: Observed<'_>) -> UnderWay {
        let mut sums = UnderWay::default();
        let now = seen.coverage.now();
        for one in self.outstanding(now, seen) {
            let Outstanding { message, leg, goes_on } = one;
            let is_counted =
                if goes_on { message.number.is_some() } else { !message.facts.is_warmup() };
            let Some(flow) = seen.conversations.flows().flow(leg.direction) else { continue };
            if !is_counted || leg.was_read() && !goes_on {
                continue;
            }
            let place = self
                .place_of(&one, flow, Deliveries::lies_unread, seen)
                .or_else(|| self.is_leaving_host(flow, leg).then_some(Whereabouts::Network));
            let group = || seen.rows.root(message.facts.row);
            if goes_on {
                // A broker may keep what it has read before it notices that it lacks memory.
                let is_throttled = is_throttled(flow, now);
                let is_there = place.is_none_or(|place| place == Whereabouts::Broker);
                if is_throttled || !is_there {
                    let sum = sums.to_brokers.entry((group(), message.facts.subject)).or_default();
                    sum.is_throttled |= is_throttled;
                    sum.messages.grow(u64::from(!is_there));
                }
            } else if let Some(place) = place {
                let key = (leg.way().id(), message.facts.subject);
                let sum = sums.to_subscribers.entry(key).or_insert_with(|| SentMessages {
                    direction: leg.direction,
                    group: group(),
                    topic: message.facts.topic,
                    in_network: Pile::default(),
                    unread: Pile::default(),
                });
                let is_unread = place == Whereabouts::ReaderQueue;
                let pile = if is_unread { &mut sum.unread } else { &mut sum.in_network };
                pile.add(message.at, leg.at);
            }
        }
        sums
    }
}

impl UnderWay {
    /// The subscribers that are behind, and by how much.
    pub fn find_lags(&self, table: &LagTable, seen: Observed<'_>) -> Vec<FoundLag> {
        let without_pair = self.to_subscribers.keys().filter(|key| table.pair(**key).is_none());
        let without_pair = without_pair.map(|&key| (key, None));
        let all = table.pairs().map(|(key, pair)| (key, Some(pair))).chain(without_pair);
        all.filter_map(|(key, pair)| self.lag_of((key, pair), table, seen)).collect()
    }

    /// By how much a subscriber is behind on a topic; `None` if it is not, or if what it lacks is on its way again.
    fn lag_of(
        &self,
        (key, pair): (PairKey, Option<&Pair>),
        table: &LagTable,
        seen: Observed<'_>,
    ) -> Option<FoundLag> {
        let now = seen.coverage.now();
        let sent = self.to_subscribers.get(&key);
        let not_at_broker = pair.and_then(|pair| self.to_brokers.get(&(pair.group, key.1)));
        let not_at_broker = not_at_broker.copied().unwrap_or_default();
        let unsent = pair.and_then(|pair| {
            let (messages, since) = table.unsent(key, pair, now)?;
            let there = messages.saturating_sub(not_at_broker.messages);
            (there > 0).then_some((there, since))
        });
        let unsent_since = unsent.map(|(_, since)| since);
        let (in_network, unread) =
            sent.map(|sent| (sent.in_network, sent.unread)).unwrap_or_default();
        let published = [unsent_since, in_network.published, unread.published];
        let oldest =
            published.into_iter().flatten().min().filter(|at| *at + LONGEST_USUAL_WAY <= now)?;
        let direction = pair.map(|pair| pair.direction).or(sent.map(|sent| sent.direction))?;
        let conversation = seen
            .conversations
            .flows()
            .get(direction)
            .filter(|conversation| !conversation.life.is_closed)?;
        let flow = conversation.flow(direction.side);
        // The one nearest to the subscriber counts: it holds up the rest, too.
        let holder = if unread.is_held(now) {
            LagHolder::Subscriber
        } else if in_network.is_held(now) {
            holder_on_the_way(flow)
        } else {
            // Others are on their way, after whatever held them up.
            let since = unsent_since.filter(|since| *since + LONGEST_USUAL_WAY <= now)?;
            // A broker that lacks memory keeps what it has just read, whatever the subscriber lets it send; and nobody has to acknowledge
            // what is sent without that.
            let is_unconfirmed = pair
                .and_then(|pair| seen.rows.get(pair.group))
                .is_some_and(|row| row.readers.is_unconfirmed(key.1, direction));
            if (not_at_broker.is_throttled || is_unconfirmed) && !is_hindered(flow) {
                LagHolder::Broker
            } else {
                let back = conversation.flow(direction.back().side);
                holder_of_unsent((flow, back), (pair.map(|pair| pair.at), key.1), (since, now))
            }
        };
        Some(FoundLag {
            key,
            direction,
            group: pair.map(|pair| pair.group).or(sent.map(|sent| sent.group))?,
            topic: pair.and_then(|pair| pair.topic).or(sent.and_then(|sent| sent.topic)),
            lag: Lag {
                unsent: unsent.map_or(0, |(messages, _)| messages),
                in_network: in_network.messages,
                unread: unread.messages,
                oldest: now - oldest,
                holder,
            },
        })
    }
}

/// The holder of messages on the way: a network carries nothing to a socket that has no room.
fn holder_on_the_way(flow: &Flow) -> LagHolder {
    let is_full = matches!(&flow.marks, Marks::Tcp(marks) if marks.fills_window());
    if flow.reader_pauses.closed_window || is_full {
        LagHolder::Subscriber
    } else {
        LagHolder::Network
    }
}

/// The holder of messages that the broker has not sent: it cannot send what has no room on the way, or what was not
/// asked for. The `last` message of the topic was sent at that time.
fn holder_of_unsent(
    (flow, back): (&Flow, &Flow),
    (last, topic): (Option<Nanos>, u64),
    (since, now): (Nanos, Nanos),
) -> LagHolder {
    if is_hindered(flow) {
        return holder_on_the_way(flow);
    }
    // A consumer that was answered, if with nothing, has to ask again, and for this topic.
    let is_left_out =
        || back.control().unasked_topics.as_ref().is_some_and(|all| all.contains(topic));
    let asks = back.control().last_request().is_some();
    if asks && !back.control().has_open_request() || is_left_out() {
        return LagHolder::Subscriber;
    }
    // A broker that answers soon whenever it may, sends as fast as it is let.
    let is_kept = |allowed| last.is_none_or(|last| last < allowed) && allowed + HELD <= now;
    if allowed_at(back).is_none_or(is_kept) || lets_broker_send(back, last, (since, now)) {
        LagHolder::Broker
    } else {
        LagHolder::Subscriber
    }
}

/// True if a server that has a message of a topic since some time may not send it to the reader that it would go to, before that one
/// acknowledges others.
pub fn awaits_acknowledgement(
    reader: LastReader,
    topic: u64,
    (since, now): (Nanos, Nanos),
    flows: &FlowTable,
) -> bool {
    let LastReader { direction, last, .. } = reader;
    flows.get(direction).filter(|one| !one.life.is_closed).is_some_and(|conversation| {
        let flow = conversation.flow(direction.side);
        let back = conversation.flow(direction.back().side);
        // Whoever has acknowledged something since then makes room, and the rest is the server's.
        let is_silent = back.control().permits.as_ref().is_some_and(|all| all.heard() < Some(last));
        is_silent
            && back.control().last_request().is_none()
            && !is_hindered(flow)
            && holder_of_unsent((flow, back), (Some(last), topic), (since, now))
                == LagHolder::Subscriber
    })
}

/// True if a subscriber that acknowledges let the broker send more for most of some time. From the `last` message on it counts as
/// letting it send nothing, unless it has made room since then.
fn lets_broker_send(back: &Flow, last: Option<Nanos>, (since, now): (Nanos, Nanos)) -> bool {
    let Some(permits) =
        back.control().permits.as_ref().filter(|_| back.control().last_request().is_none())
    else {
        return false;
    };
    let full = permits.full_within(since, now, |end| back.arrived(end));
    let last = last.filter(|last| permits.last().is_none_or(|made| made <= *last));
    let full = full + last.map_or(Nanos(0), |last| now - last.max(since).min(now));
    Nanos(full.0.saturating_mul(2)) < now - since
}

/// True if bytes that the broker wrote have not arrived, so that it cannot send more.
pub fn is_hindered(flow: &Flow) -> bool {
    matches!(&flow.marks, Marks::Tcp(marks) if marks.is_backed_up())
}

/// True if bytes that the sender of a direction wrote some time ago have not arrived, so that later ones may wait in its socket or in the
/// sender itself.
pub fn is_behind(direction: Direction, now: Nanos, flows: &FlowTable) -> bool {
    flows.flow(direction).is_some_and(|flow| match &flow.marks {
        Marks::Tcp(marks) => {
            marks.backed_up_since().is_some_and(|at| at + RECEIVER_BEHIND_AFTER < now)
        }
        Marks::Udp(_) => false,
    })
}

/// Time at which the subscriber let the broker send the last time, where it has to: it asked for messages, or else acknowledged
/// some. A subscriber that asks gets no more for an acknowledgement.
pub fn allowed_at(back: &Flow) -> Option<Nanos> {
    back.control().last_request().map(|request| request.at).or(back
        .control()
        .permits
        .as_ref()?
        .last())
}
