//! Subscribers that are behind: what is counted of each message, and the look from time to time.

use super::{Context, Deliveries, Observed};
use crate::flow::Flow;
use crate::ids::{Direction, LegKey};
use crate::join::{Joined, LegState, NewLeg};
use crate::lag::{Behind, Lag, LagHolder, LagTable, Pair, PairKey, TopicKey};
use crate::limits::deliveries::LONGEST_USUAL_WAY;
use crate::marks::Marks;
use rustc_hash::FxHashMap;
use wirelap_events::{GroupId, Nanos, Saturate, TopicId};
use wirelap_protocols::MessageRouting;

/// The shortest time for which messages are somewhere before that place holds them up.
const HELD: Nanos = Nanos::from_millis(200);

/// Between two looks.
const LOOK: Nanos = Nanos::from_millis(500);

/// Between a look and another one before a connection is closed: many may be closed at once.
const LOOK_AGAIN: Nanos = Nanos::from_millis(50);

/// After this time without a message, while others get them and nothing hinders the broker, a subscriber has unsubscribed.
const UNSUBSCRIBED: Nanos = Nanos::from_millis(10_000);

/// A broker that has a message answers a request for it sooner.
const ANSWERED: Nanos = Nanos::from_millis(1_000);

/// A pair that is behind: where its messages go, its row and topic, and by how much.
type FoundLag = (PairKey, Direction, (GroupId, Option<TopicId>), Lag);

/// Messages of a pair that were sent to the subscriber and are not known to be read.
#[derive(Clone, Copy, Debug)]
struct Sent {
    direction: Direction,
    group: GroupId,
    topic: Option<TopicId>,
    in_network: Place,
    unread: Place,
}

/// Messages of a topic that were sent to a broker and are not there yet.
#[derive(Clone, Copy, Debug, Default)]
struct Elsewhere {
    messages: u64,
    /// The broker reads nothing more of some publisher, as it lacks memory or disk.
    is_throttled: bool,
}

/// Messages that are in one place.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    messages: u64,
    /// Time at which the oldest of them was published, and at which the first of them was sent
    /// there.
    published: Option<Nanos>,
    sent: Option<Nanos>,
}

impl Place {
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
    /// Counts a message of a topic that is sent to a broker, or by it to a subscriber.
    pub(super) fn note_lag(
        &mut self,
        new: &NewLeg,
        key: LegKey,
        joined: Joined,
        c: &mut Context<'_>,
    ) {
        if new.message.topology != MessageRouting::Brokered || new.message.subject == 0 {
            return;
        }
        if joined == Joined::New && new.reader.toward.is_server() {
            let group = c.accounts.rows.root(new.message.row);
            let number = c.accounts.lag.published((group, new.message.subject), new.at);
            self.messages.set_number(key, number);
        } else if joined == Joined::Orphan && !new.reader.toward.is_server() {
            // Others had it long ago, and it was forgotten.
            let topic = (c.accounts.rows.root(new.message.row), new.message.subject);
            c.accounts.lag.sent_late(new.way(), topic, new.message.topic, new.at);
        } else if matches!(joined, Joined::Leg | Joined::Copy) && !new.reader.toward.is_server() {
            let message = self.messages.leg(key).map(|leg| leg.message);
            let message = message.and_then(|message| self.messages.message(message));
            if let Some(message) = message
                && let Some(number) = message.number
            {
                let topic = (c.accounts.rows.root(message.facts.row), message.facts.subject);
                let numbered = (message.facts.topic, number);
                let back = c.conversations.flows().flow(new.direction.back());
                let unsubscribed = back.and_then(|back| back.control().unsubscribed);
                if let Some(said) = unsubscribed {
                    let pair = (new.way().id(), topic.1);
                    c.accounts.lag.unsubscribed(pair, number, said + LONGEST_USUAL_WAY, new.at);
                }
                if let Some(pair) = c.accounts.lag.sent(new.way(), topic, numbered, new.at) {
                    pair.missed.read_in(new.reader.group);
                    if let Some(dwell) = self.messages.dwell_alone(key) {
                        pair.had_dwell(dwell);
                    }
                }
                if let Some(present) = new.present.filter(|present| present.is_handed_over) {
                    c.accounts.lag.took_over(new.way(), new.message.subject, present.since);
                }
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
        c.accounts.lag.drop_superseded(now);
        c.drop_handed_over(now);
        let sent = self.sent(c.observed());
        let not_at_broker = self.not_at_broker(c.observed());
        let found = behind(&sent, &not_at_broker, &c.accounts.lag, c.observed());
        c.note_gone();
        c.accounts.behind.begin(now);
        for (key, direction, (group, topic), lag) in found {
            let flows = c.conversations.flows();
            let Some(flow) = flows.flow(direction) else { continue };
            let behind = Behind {
                group,
                client: c.accounts.clients.of(direction.back().id()),
                members: c.members_of(direction),
                pid: c.conversations.receiver_of(direction),
                address: flow.key.dst,
                direction,
                topic,
                now: Some(lag),
                since: None,
                most: lag,
                most_at: now,
            };
            c.accounts.behind.see(key, behind);
        }
        c.look_for_missing(now);
        let flows = c.conversations.flows();
        let is_gone = |pair: &Pair| flows.get(pair.direction).is_none_or(|one| one.life.is_closed);
        let waits = |pair: &Pair, since: Nanos| {
            let flow = flows.flow(pair.direction);
            // Who asks, or makes room, and does not get it although it was there, wants something else.
            let is_asked_for = |back| allowed(back).is_some_and(|at| at < since + ANSWERED);
            let back = flows.flow(pair.direction.back());
            flow.is_some_and(is_hindered) || back.is_some_and(is_asked_for)
        };
        c.accounts.lag.sweep(now, |pair, unsent_since| {
            let said =
                flows.flow(pair.direction.back()).and_then(|back| back.control().unsubscribed);
            let has_unsubscribed = unsent_since.is_some_and(|since| {
                // What was published about when it unsubscribed, or later, may be of what it gets no more.
                if said.is_some_and(|said| pair.at <= said && said <= since + LONGEST_USUAL_WAY) {
                    return true;
                }
                // Whoever still gets messages has not unsubscribed, however old these are.
                let since = since.max(pair.at);
                since + UNSUBSCRIBED < now && !waits(pair, since)
            });
            is_gone(pair) || has_unsubscribed
        });
    }

    /// Looks who is behind before a connection is closed, if that was not done just now.
    pub fn look_before_close(&mut self, c: &mut Context<'_>) {
        if c.coverage.now() >= self.looked + LOOK_AGAIN {
            self.look_for_lag(true, c);
        }
    }

    /// Messages of each topic that a broker has not read yet: it can send them to nobody.
    fn not_at_broker(&self, seen: Observed<'_>) -> FxHashMap<TopicKey, Elsewhere> {
        let mut all: FxHashMap<TopicKey, Elsewhere> = FxHashMap::default();
        let now = seen.coverage.now();
        for (message, leg) in self.messages.unfinished(now) {
            let is_cut = seen.coverage.pauses().has_cut(message.at);
            let is_counted = message.number.is_some() && !is_cut;
            if !is_counted || !self.messages.goes_on(message, leg) {
                continue;
            }
            let flow = seen.conversations.flows().flow(leg.direction);
            let topic = || (seen.rows.root(message.facts.row), message.facts.subject);
            let throttles = flow.and_then(|flow| flow.reader_pauses.throttles.as_ref());
            // A broker may keep what it has read before it notices that it lacks memory.
            if throttles.is_some_and(|all| all.within(now, now + Nanos(1)) > Nanos(0)) {
                all.entry(topic()).or_default().is_throttled = true;
            }
            if leg.was_read() {
                continue;
            }
            // It is there, or on its way: not read unseen.
            if flow.is_some_and(|flow| self.has_arrived(flow, leg, seen).is_some()) {
                all.entry(topic()).or_default().messages.grow(1);
            }
        }
        all
    }

    /// Messages that were sent to subscribers and not read.
    fn sent(&self, seen: Observed<'_>) -> FxHashMap<PairKey, Sent> {
        let mut all: FxHashMap<PairKey, Sent> = FxHashMap::default();
        for (message, leg) in self.messages.unfinished(seen.coverage.now()) {
            let is_cut = seen.coverage.pauses().has_cut(message.at);
            let is_other = message.facts.is_warmup() || self.messages.goes_on(message, leg);
            if leg.was_read() || is_cut || is_other {
                continue;
            }
            let Some(flow) = seen.conversations.flows().flow(leg.direction) else { continue };
            let Some(has_arrived) = self.has_arrived(flow, leg, seen) else { continue };
            let sent = all.entry((leg.way().id(), message.facts.subject)).or_insert(Sent {
                direction: leg.direction,
                group: seen.rows.root(message.facts.row),
                topic: message.facts.topic,
                in_network: Place::default(),
                unread: Place::default(),
            });
            let place = if has_arrived { &mut sent.unread } else { &mut sent.in_network };
            place.add(message.at, leg.at);
        }
        all
    }

    /// True if a message that is not read has arrived at its reader's socket; `None` if it may have been read.
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

/// The subscribers that are behind, and by how much. The holder nearest to a subscriber counts: it
/// holds up the rest, too.
fn behind(
    sent: &FxHashMap<PairKey, Sent>,
    not_at_broker: &FxHashMap<TopicKey, Elsewhere>,
    lag: &LagTable,
    seen: Observed<'_>,
) -> Vec<FoundLag> {
    let now = seen.coverage.now();
    let mut found = Vec::new();
    let without_pair = sent.iter().filter(|(key, _)| lag.pair(**key).is_none());
    let without_pair = without_pair.map(|(&key, sent)| (key, sent.direction, None, Some(sent)));
    let pairs = lag.pairs().map(|(key, pair)| (key, pair.direction, Some(pair), sent.get(&key)));
    for (key, direction, pair, sent) in pairs.chain(without_pair) {
        let elsewhere = pair.and_then(|pair| not_at_broker.get(&(pair.group, key.1)));
        let elsewhere = elsewhere.copied().unwrap_or_default();
        let unsent = pair.and_then(|pair| {
            let (messages, since) = lag.unsent(key, pair, now)?;
            let there = messages.saturating_sub(elsewhere.messages);
            (there > 0).then_some((there, since))
        });
        if unsent.is_none() && sent.is_none() {
            continue;
        }
        let Some(conversation) = seen.conversations.flows().get(direction) else { continue };
        if conversation.life.is_closed {
            continue;
        }
        let group = pair.map(|pair| pair.group).or(sent.map(|sent| sent.group));
        let topic = pair.and_then(|pair| pair.topic).or(sent.and_then(|sent| sent.topic));
        let group = group.unwrap_or_default();
        let in_network = sent.map(|sent| sent.in_network).unwrap_or_default();
        let unread = sent.map(|sent| sent.unread).unwrap_or_default();
        let unsent_since = unsent.map(|(_, since)| since);
        let published = [unsent_since, in_network.published, unread.published];
        let Some(oldest) = published.into_iter().flatten().min() else { continue };
        if oldest + LONGEST_USUAL_WAY > now {
            continue;
        }
        let flow = conversation.flow(direction.side);
        let back = conversation.flow(direction.back().side);
        let holder = if unread.is_held(now) {
            LagHolder::Subscriber
        } else if in_network.is_held(now) {
            on_the_way(flow)
        } else if unsent_since.is_some_and(|since| since + LONGEST_USUAL_WAY <= now) {
            let broker_waits = elsewhere.is_throttled && !is_hindered(flow);
            // A broker that lacks memory keeps what it has just read, whatever the subscriber lets it send.
            if broker_waits {
                LagHolder::Broker
            } else {
                let since = unsent_since.unwrap_or(now);
                unsent_holder((flow, back), (pair, key.1), (since, now))
            }
        } else {
            // They are on their way, after whatever held them up.
            continue;
        };
        let lag = Lag {
            unsent: unsent.map_or(0, |(messages, _)| messages),
            in_network: in_network.messages,
            unread: unread.messages,
            oldest: now - oldest,
            holder,
        };
        found.push((key, direction, (group, topic), lag));
    }
    found
}

/// The holder of messages on the way: a network carries nothing to a socket that has no room.
fn on_the_way(flow: &Flow) -> LagHolder {
    let is_full = matches!(&flow.marks, Marks::Tcp(marks) if marks.fills_window());
    if flow.reader_pauses.closed_window || is_full {
        LagHolder::Subscriber
    } else {
        LagHolder::Network
    }
}

/// The holder of messages that the broker has not sent: it cannot send what has no room on the way, or what was not
/// asked for.
fn unsent_holder(
    (flow, back): (&Flow, &Flow),
    (pair, topic): (Option<&Pair>, u64),
    (since, now): (Nanos, Nanos),
) -> LagHolder {
    if is_hindered(flow) {
        return on_the_way(flow);
    }
    // Who was answered, if with nothing, has to ask again, and for this topic.
    let is_left_out =
        || back.control().unasked_topics.as_ref().is_some_and(|all| all.contains(topic));
    if back.control().last_request().is_some_and(|request| request.is_answered) || is_left_out() {
        return LagHolder::Subscriber;
    }
    let last = pair.map(|pair| pair.at);
    // A broker that answers soon whenever it may, sends as fast as it is let.
    let is_kept = |allowed| last.is_none_or(|last| last < allowed) && allowed + HELD <= now;
    if allowed(back).is_none_or(is_kept) || has_room(back, last, (since, now)) {
        LagHolder::Broker
    } else {
        LagHolder::Subscriber
    }
}

/// True if a subscriber that acknowledges let the broker send more for most of some time. From the `last` message on it counts as
/// letting it send nothing, unless it has made room since then.
fn has_room(back: &Flow, last: Option<Nanos>, (since, now): (Nanos, Nanos)) -> bool {
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
fn is_hindered(flow: &Flow) -> bool {
    matches!(&flow.marks, Marks::Tcp(marks) if marks.is_backed_up())
}

/// Time at which the subscriber let the broker send the last time, where it has to: it asked for messages, or else acknowledged
/// some. A subscriber that asks gets no more for an acknowledgement.
fn allowed(back: &Flow) -> Option<Nanos> {
    back.control().last_request().map(|request| request.at).or(back
        .control()
        .permits
        .as_ref()?
        .last())
}
