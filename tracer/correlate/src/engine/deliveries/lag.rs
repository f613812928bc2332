//! Subscribers that are behind: what is counted of each message, and the look from time to time.

use super::overdue::LATE;
use super::{Context, Deliveries, Observed};
use crate::flow::Flow;
use crate::ids::{Direction, LegKey};
use crate::join::{Joined, LegState, NewLeg};
use crate::lag::{Behind, Lag, LagHolder, LagTable, Pair, PairKey};
use crate::marks::Marks;
use rustc_hash::FxHashMap;
use wirelap_events::{GroupId, Nanos, Saturate, TopicId};
use wirelap_protocols::Topology;

/// Between two looks.
const LOOK: Nanos = Nanos::from_millis(500);

/// After this time without a message, while others get them and nothing hinders the broker, a subscriber has unsubscribed.
const UNSUBSCRIBED: Nanos = Nanos::from_millis(10_000);

/// Messages of a pair that were sent to the subscriber and are not known to be read.
#[derive(Clone, Copy, Debug)]
struct Sent {
    direction: Direction,
    group: GroupId,
    topic: Option<TopicId>,
    in_network: u64,
    unread: u64,
    /// When the oldest of each was published.
    oldest_in_network: Option<Nanos>,
    oldest_unread: Option<Nanos>,
}

impl Deliveries {
    /// Counts a message of a topic that is sent to a broker, or by it to a subscriber.
    pub(super) fn note_lag(
        &mut self,
        new: &NewLeg,
        key: LegKey,
        joined: Joined,
        c: &mut Context<'_>,
    ) {
        if new.topology != Topology::Brokered || new.subject == 0 {
            return;
        }
        if joined == Joined::New && new.to_server {
            let group = c.accounts.rows.root(new.row);
            let number = c.accounts.lag.published((group, new.subject), new.at);
            self.messages.set_number(key, number);
        } else if joined == Joined::Leg && !new.to_server {
            let message = self.messages.leg(key).map(|leg| leg.message);
            let message = message.and_then(|message| self.messages.message(message));
            if let Some(message) = message
                && let Some(number) = message.number
            {
                let topic = (c.accounts.rows.root(message.row), message.subject);
                let numbered = (message.topic, number);
                c.accounts.lag.sent(new.direction, topic, numbered, new.at);
            }
        }
    }

    /// Looks who is behind, if it is time for that or `at_end`.
    pub fn look_for_lag(&mut self, at_end: bool, c: &mut Context<'_>) {
        let now = c.coverage.now();
        if !at_end && now < self.looked + LOOK {
            return;
        }
        self.looked = now;
        let sent = self.sent(c.observed());
        let found = behind(&sent, &c.accounts.lag, c.observed());
        c.accounts.behind.begin();
        for (key, direction, (group, topic), lag) in found {
            let flows = c.conversations.flows();
            let Some(flow) = flows.flow(direction) else { continue };
            let behind = Behind {
                group,
                client: c.accounts.clients.of(direction.back().id()),
                pid: c.conversations.receiver_of(direction),
                address: flow.key.dst,
                topic,
                now: Some(lag),
                most: lag,
                most_at: now,
            };
            c.accounts.behind.see(key, behind);
        }
        let flows = c.conversations.flows();
        let is_gone = |pair: &Pair| flows.get(pair.direction).is_none_or(|one| one.closed);
        let waits = |pair: &Pair| {
            let flow = flows.flow(pair.direction);
            let back = flows.flow(pair.direction.back());
            flow.is_some_and(is_hindered) || back.is_some_and(|back| allowed(back).is_some())
        };
        c.accounts.lag.sweep(now, |pair, unsent_since| {
            let has_unsubscribed =
                unsent_since.is_some_and(|since| since + UNSUBSCRIBED < now) && !waits(pair);
            is_gone(pair) || has_unsubscribed
        });
    }

    /// Messages that were sent to subscribers and not read.
    fn sent(&self, seen: Observed<'_>) -> FxHashMap<PairKey, Sent> {
        let mut all: FxHashMap<PairKey, Sent> = FxHashMap::default();
        for (message, leg) in self.messages.unfinished(seen.coverage.now()) {
            if leg.was_read() || message.is_warmup() || self.messages.goes_on(message, leg) {
                continue;
            }
            let Some(flow) = seen.conversations.flows().flow(leg.direction) else { continue };
            let Some(has_arrived) = self.has_arrived(flow, leg, seen) else { continue };
            let sent = all.entry((leg.direction.id(), message.subject)).or_insert(Sent {
                direction: leg.direction,
                group: seen.rows.root(message.row),
                topic: message.topic,
                in_network: 0,
                unread: 0,
                oldest_in_network: None,
                oldest_unread: None,
            });
            let (count, oldest) = if has_arrived {
                (&mut sent.unread, &mut sent.oldest_unread)
            } else {
                (&mut sent.in_network, &mut sent.oldest_in_network)
            };
            count.grow(1);
            *oldest = Some(oldest.map_or(message.at, |oldest| oldest.min(message.at)));
        }
        all
    }

    /// Whether a message that is not read has arrived at its reader's socket; `None` if it may have been read.
    fn has_arrived(&self, flow: &Flow, leg: &LegState, seen: Observed<'_>) -> Option<bool> {
        if self.lies_unread(flow, leg, seen) {
            return Some(flow.marks.has_arrived(leg.extent));
        }
        let Marks::Tcp(marks) = &flow.marks else { return None };
        let is_under_way = !self.config.packets_only
            && flow.receiver.is_none()
            && marks.hears()
            && !marks.was_heard(leg.extent.last());
        is_under_way.then_some(false)
    }
}

/// Which subscribers are behind, and by how much.
fn behind(
    sent: &FxHashMap<PairKey, Sent>,
    lag: &LagTable,
    seen: Observed<'_>,
) -> Vec<(PairKey, Direction, (GroupId, Option<TopicId>), Lag)> {
    let now = seen.coverage.now();
    let mut found = Vec::new();
    let without_pair = sent.iter().filter(|(key, _)| lag.pair(**key).is_none());
    let without_pair = without_pair.map(|(&key, sent)| (key, sent.direction, None, Some(sent)));
    let pairs = lag.pairs().map(|(key, pair)| (key, pair.direction, Some(pair), sent.get(&key)));
    for (key, direction, pair, sent) in pairs.chain(without_pair) {
        let unsent = pair.and_then(|pair| lag.unsent(pair, now));
        if unsent.is_none() && sent.is_none() {
            continue;
        }
        let Some(conversation) = seen.conversations.flows().get(direction) else { continue };
        if conversation.closed {
            continue;
        }
        let group = pair.map(|pair| pair.group).or(sent.map(|sent| sent.group));
        let topic = pair.and_then(|pair| pair.topic).or(sent.and_then(|sent| sent.topic));
        let group = group.unwrap_or_default();
        let ages = Ages {
            unsent: unsent.map(|(_, since)| now - since),
            in_network: sent.and_then(|sent| sent.oldest_in_network).map(|at| now - at),
            unread: sent.and_then(|sent| sent.oldest_unread).map(|at| now - at),
        };
        let flow = conversation.flow(direction.side);
        let back = conversation.flow(direction.back().side);
        let last = pair.map(|pair| pair.at);
        let Some(holder) = holder(ages, flow, (back, last)) else { continue };
        let lag = Lag {
            unsent: unsent.map_or(0, |(messages, _)| messages),
            in_network: sent.map_or(0, |sent| sent.in_network),
            unread: sent.map_or(0, |sent| sent.unread),
            oldest: ages.oldest(),
            holder,
        };
        found.push((key, direction, (group, topic), lag));
    }
    found
}

/// How old the oldest message in each place is.
#[derive(Clone, Copy, Debug)]
struct Ages {
    unsent: Option<Nanos>,
    in_network: Option<Nanos>,
    unread: Option<Nanos>,
}

impl Ages {
    fn oldest(self) -> Nanos {
        let all = [self.unsent, self.in_network, self.unread];
        all.into_iter().flatten().max().unwrap_or_default()
    }
}

/// What holds up messages of which some are late; `None` if none is. What is nearest to the subscriber holds up the
/// rest: a broker cannot send what has no place, and a network carries nothing to a socket that is full.
fn holder(ages: Ages, flow: &Flow, (back, last): (&Flow, Option<Nanos>)) -> Option<LagHolder> {
    let is_late = |age: Option<Nanos>| age.is_some_and(|age| age >= LATE);
    let network = || {
        if flow.closed_window { LagHolder::Subscriber } else { LagHolder::Network }
    };
    if is_late(ages.unread) {
        return Some(LagHolder::Subscriber);
    }
    if is_late(ages.in_network) {
        return Some(network());
    }
    if !is_late(ages.unsent) {
        return None;
    }
    if ages.unread.is_some() && flow.closed_window {
        return Some(LagHolder::Subscriber);
    }
    if is_hindered(flow) {
        return Some(network());
    }
    let was_allowed = allowed(back).is_none_or(|allowed| last.is_none_or(|last| last < allowed));
    Some(if was_allowed { LagHolder::Broker } else { LagHolder::Subscriber })
}

/// Whether bytes that the broker wrote have not arrived, so that it cannot send more.
fn is_hindered(flow: &Flow) -> bool {
    matches!(&flow.marks, Marks::Tcp(marks) if marks.is_backed_up())
}

/// When the subscriber let the broker send the last time, where it has to: it asked for messages, or acknowledged some.
fn allowed(back: &Flow) -> Option<Nanos> {
    back.request().map(|request| request.at).max(back.room.map(|room| room.at))
}
