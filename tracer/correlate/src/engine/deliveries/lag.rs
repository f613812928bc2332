//! The account of who has not got what: each message adds to it, and a look from time to time brings it up to date.

use super::super::conversations::Conversations;
use super::under_way::{allowed_at, is_hindered};
use super::{Context, Deliveries};
use crate::join::{Joined, NewLeg};
use wirelap_events::{FlowId, Nanos, Probe, TopicId};
use wirelap_figures::{ClientNames, Owner};
use wirelap_flow::{Direction, Flow, FlowTable, LegKey};
use wirelap_limits::deliveries::LONGEST_USUAL_WAY;
use wirelap_limits::lag::{ANSWERED_WITHIN, UNSUBSCRIBED_AFTER};
use wirelap_protocols::{KeptFor, MessageRouting, Protocol};
use wirelap_why::{
    AwayLoss, MissedAway, NotKeptMessages, Pair, ResumedTopic, SeenNow, Subscriber, TakesAll,
    TopicKey,
};

/// Between two looks.
const LOOK_INTERVAL: Nanos = Nanos::from_millis(500);

/// Between a look and another one before a connection is closed: many may be closed at once.
const LOOK_INTERVAL_BEFORE_CLOSE: Nanos = Nanos::from_millis(50);

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
        match (joined, new.reader.toward.is_server()) {
            // What its publisher delays has no place among the others.
            (Joined::New, true) if !new.message.is_delayed() => {
                let topic = (c.accounts.rows.root(new.message.row), new.message.subject);
                let number = c.accounts.lag.published(topic, new.at);
                c.accounts.lag.note_kept_for((topic, number), new.message.kept_for);
                self.messages.set_number(key, number);
            }
            // Others had it long ago, and it was forgotten.
            (Joined::Orphan, false) if !new.message.is_delayed() => {
                let topic = (c.accounts.rows.root(new.message.row), new.message.subject);
                c.accounts.lag.sent_late(new.way(), topic, new.message.topic, new.at);
            }
            (Joined::Leg | Joined::Copy, false) => self.note_passed_on(new, key, c),
            _ => {}
        }
    }

    /// Counts a numbered message of a topic that a broker sends to a subscriber.
    fn note_passed_on(&self, new: &NewLeg, key: LegKey, c: &mut Context<'_>) {
        let message = self.messages.leg(key).and_then(|leg| self.messages.message(leg.message));
        let Some(message) = message else { return };
        let Some(number) = message.number else { return };
        let topic = (c.accounts.rows.root(message.facts.row), message.facts.subject);
        let back = c.conversations.flows().flow(new.direction.back());
        if let Some(said) = back.and_then(|back| back.control().unsubscribed) {
            let pair = (new.way().id(), topic.1);
            c.accounts.lag.unsubscribed(pair, number, said + LONGEST_USUAL_WAY, new.at);
        }
        let pair = (new.way().id(), topic.1);
        if let Some(present) = new.present.filter(|_| new.queue_was_empty > Nanos(0)) {
            c.accounts.lag.subscribed_again(pair, number, present.since);
        }
        if new.follows_after > 0 {
            let messages = c.accounts.lag.not_kept(pair, number, new.follows_after);
            if let Some(row) = c.accounts.rows.get_mut(topic.0).filter(|_| messages > 0) {
                let by = new.ends.receiver.pid;
                row.evidence.losses.not_kept.add(NotKeptMessages { messages, by });
            }
        }
        let resumed = c.note_missed_away(new, (topic, number));
        let numbered = (message.facts.topic, number);
        if let Some(pair) = c.accounts.lag.sent(new.way(), topic, numbered, new.at) {
            pair.gaps.read_in(new.reader.group);
            if pair.first == number {
                pair.client = c.accounts.clients.of(new.direction.back().id());
            }
            if let Some(resumed) = resumed {
                (pair.sent, pair.away) = (pair.sent.max(resumed.sent), Some(resumed));
            }
            if let Some(dwell) = self.messages.dwell_alone(key) {
                pair.had_dwell(dwell);
            }
        }
        if let Some(present) = new.present.filter(|present| present.is_handed_over) {
            c.accounts.lag.took_over(new.way(), new.message.subject, present.since);
        }
    }

    /// Looks who is behind, has missed something or is gone, if it is time for that or `at_end`.
    pub fn look_for_lag(&mut self, at_end: bool, c: &mut Context<'_>) {
        let now = c.coverage.now();
        if !at_end && now < self.looked + LOOK_INTERVAL {
            return;
        }
        self.looked = now;
        c.accounts.lag.drop_superseded(now);
        c.drop_handed_over(now);
        let found = self.under_way(c.observed()).find_lags(&c.accounts.lag, c.observed());
        c.note_gone();
        self.note_read_late(c);
        c.accounts.shortfalls.begin_look(now);
        c.look_for_cut_off(now);
        for one in found {
            if let Some(subscriber) = c.subscriber(one.direction) {
                c.accounts.shortfalls.see_lag(one.key, subscriber, (one.group, one.topic), one.lag);
            }
        }
        c.look_for_gaps(now);
        let conversations = &*c.conversations;
        let flows = conversations.flows();
        c.accounts.lag.sweep(
            now,
            |pair, unsent_since| {
                // It shows a little later that somebody is cut off, who is noted then.
                let is_cut_off = |since| conversations.cut_off(pair.direction, since).is_some();
                let may_be_cut_off = || is_cut_off(now) && !is_cut_off(reset_by(now));
                has_left_topic(pair, unsent_since, flows, now) && !may_be_cut_off()
            },
            |pair| may_come_back(pair, conversations),
        );
    }

    /// Takes off what subscribers have read since their brokers closed their connections.
    fn note_read_late(&self, c: &mut Context<'_>) {
        let (conversations, shortfalls) = (&*c.conversations, &mut c.accounts.shortfalls);
        shortfalls.note_read_late(|(way, subject), subscriber| {
            let flow = conversations.flows().flow(subscriber.direction)?;
            let is_open = flow.receiver.is_some_and(|id| conversations.sockets().is_open(id));
            let is_unread = |key: &&LegKey| {
                self.messages.leg(**key).is_some_and(|leg| {
                    let message = self.messages.message(leg.message);
                    leg.way().id() == way
                        && message.is_some_and(|message| message.facts.subject == subject)
                        && flow.marks.read_at(leg.extent).is_none()
                })
            };
            let unread = || flow.messages.pending.iter().filter(is_unread).count();
            is_open.then(|| u64::try_from(unread()).unwrap_or(u64::MAX))
        });
    }

    /// Looks who is behind before a connection is closed, if that was not done just now.
    pub fn look_before_close(&mut self, c: &mut Context<'_>) {
        if c.coverage.now() >= self.looked + LOOK_INTERVAL_BEFORE_CLOSE {
            self.look_for_lag(true, c);
        } else {
            c.note_gone();
            self.note_read_late(c);
        }
    }
}

/// Time until which a connection was reset that is known not to be closed at the subscriber's end by `now`.
fn reset_by(now: Nanos) -> Nanos {
    now - LONGEST_USUAL_WAY
}

/// True if the topic of a subscriber goes on when it comes back to its session: its connection was closed, and it had unsubscribed from
/// nothing on it.
fn may_come_back(pair: &Pair, conversations: &Conversations) -> bool {
    let closed = conversations.closing_of((pair.direction, None));
    closed.is_some_and(|closed| closed.unsubscribed.is_none())
}

/// True if a subscriber gets no more of a topic, of which messages are unsent since some time: its connection is closed, or it has
/// unsubscribed.
fn has_left_topic(pair: &Pair, unsent_since: Option<Nanos>, flows: &FlowTable, now: Nanos) -> bool {
    let Some(conversation) = flows.get(pair.direction).filter(|one| !one.life.is_closed) else {
        return true;
    };
    let Some(since) = unsent_since else { return false };
    let back = conversation.flow(pair.direction.back().side);
    // Messages published about when it unsubscribed, or later, may be of what it gets no more.
    if back
        .control()
        .unsubscribed
        .is_some_and(|said| pair.at <= said && said <= since + LONGEST_USUAL_WAY)
    {
        return true;
    }
    // Whoever still gets messages has not unsubscribed, however old these are.
    let since = since.max(pair.at);
    // A subscriber that asks, or makes room, and does not get it although it was there, wants something else.
    let is_asked_for = || allowed_at(back).is_some_and(|at| at < since + ANSWERED_WITHIN);
    since + UNSUBSCRIBED_AFTER < now
        && !is_hindered(conversation.flow(pair.direction.side))
        && !is_asked_for()
}

/// The group in which who gets messages in this direction reads.
fn members_of(
    direction: Direction,
    conversations: &Conversations,
    clients: &ClientNames,
) -> Option<TopicId> {
    let back = direction.back();
    let address = || Some(conversations.flows().flow(back)?.key.src.ip());
    let pid = conversations.sender_of(back);
    let owner = pid.map(Owner::Process).or_else(|| address().map(Owner::Address))?;
    clients.group(back.id(), owner)
}

impl Context<'_> {
    /// The subscriber that gets messages in this direction.
    fn subscriber(&self, direction: Direction) -> Option<Subscriber> {
        Some(Subscriber {
            direction,
            address: self.conversations.flows().flow(direction)?.key.dst,
            client: self.accounts.clients.of(direction.back().id()),
            members: members_of(direction, self.conversations, &self.accounts.clients),
            pid: self.conversations.receiver_of(direction),
        })
    }

    /// Counts what came before a message while its subscriber was away, and takes off what was sent late. Returns where the topic goes on,
    /// if the subscriber has just come back.
    fn note_missed_away(&mut self, new: &NewLeg, of: (TopicKey, u64)) -> Option<ResumedTopic> {
        let back = self.conversations.flows().flow(new.direction.back())?;
        if !back.control().resumes
            || back.control().unsubscribed.is_some()
            || new.message.kept_for == KeptFor::Nobody
        {
            return None;
        }
        let client = self.accounts.clients.of(new.direction.back().id());
        let (pair, topic) = ((new.way().id(), of.0.1), of.0);
        let count = self.accounts.lag.missed_while_away(pair, of, client, new.at);
        if let Some(row) = self.accounts.rows.get_mut(topic.0) {
            let AwayLoss { messages, expired } = count.lost;
            let by = new.ends.receiver.pid.filter(|_| messages > 0);
            row.evidence.losses.away.add(MissedAway { messages, expired, by });
            row.evidence.losses.away.take_off(count.late);
        }
        count.resumed
    }

    /// Forgets who is behind on topics that another member of its group gets now.
    fn drop_handed_over(&mut self, now: Nanos) {
        let (clients, conversations) = (&self.accounts.clients, &*self.conversations);
        let group_of = |pair: &Pair| members_of(pair.direction, conversations, clients);
        self.accounts.lag.drop_handed_over(now, group_of);
    }

    /// Looks who has missed messages that a broker sends at once to who is there.
    fn look_for_gaps(&mut self, now: Nanos) {
        let should_get_all = |pair: &Pair| {
            let conversation = self.conversations.flows().get(pair.direction);
            let is_told = |protocol: &dyn Protocol| {
                protocol.hears_unsubscriptions() && !protocol.keeps_messages()
            };
            conversation.is_some_and(|conversation| {
                // A publisher may not want its own messages.
                conversation.flow(pair.direction.back().side).messages.count == 0
                    && conversation.protocol().is_some_and(is_told)
            })
        };
        let found = self.accounts.lag.find_gaps(now, should_get_all);
        for (key, pair, missed) in found {
            if let Some(subscriber) = self.subscriber(pair.direction) {
                let of = (pair.group, pair.topic);
                self.accounts.shortfalls.see_missed(key, subscriber, of, missed);
            }
        }
    }

    /// Notes whose connections were reset for their broker alone, and counts what they do not get.
    fn look_for_cut_off(&mut self, now: Nanos) {
        let conversations = &*self.conversations;
        if self.coverage.lost_by(Probe::Socket) > 0 {
            return;
        }
        let hears = |pair: &Pair| {
            let back = conversations.flows().flow(pair.direction.back());
            back.is_none_or(|back| back.control().unsubscribed.is_none())
        };
        let cut = self.accounts.lag.pairs().filter_map(|(key, &pair)| {
            let socket = conversations.cut_off(pair.direction, reset_by(now))?;
            let is_one = pair.takes_all() == TakesAll::Yes && hears(&pair);
            is_one.then_some((key, pair, socket))
        });
        for (key, pair, socket) in cut.collect::<Vec<_>>() {
            if let Some(subscriber) = self.subscriber(pair.direction) {
                let of = (pair.group, pair.topic);
                self.accounts.shortfalls.note_cut_off((key, &pair), subscriber, of, socket);
            }
        }
        let sockets = self.conversations.sockets();
        self.accounts.shortfalls.count_cut_off(&self.accounts.lag, now, |id| sockets.is_open(id));
    }

    /// Notes who was behind at the last look and is gone by now, and who has come back.
    fn note_gone(&mut self) {
        let (conversations, clients) = (&*self.conversations, &self.accounts.clients);
        let (table, shortfalls) = (&self.accounts.lag, &mut self.accounts.shortfalls);
        shortfalls.note_gone(table, |one| {
            let conversation = conversations.flows().get(one.direction);
            if conversation.is_some_and(|conversation| !conversation.life.is_closed) {
                return None;
            }
            conversations.closing_of((one.direction, one.pid))
        });
        shortfalls.note_resumed(table, |((flow, _), _), pair| {
            // The other direction of the same conversation.
            let back = FlowId(flow.0 ^ 1);
            let resumes = |one: &Flow| one.control().resumes;
            let goes_on = conversations.flows().flow(pair.direction.back()).is_some_and(resumes);
            SeenNow {
                client: clients.of(back),
                members: members_of(pair.direction, conversations, clients),
                resumes_of: conversations.receiver_of(pair.direction).filter(|_| goes_on),
            }
        });
    }
}
