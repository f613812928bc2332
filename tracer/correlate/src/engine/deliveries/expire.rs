//! Messages that are given up.

use super::super::accounts::Accounts;
use super::super::coverage::Coverage;
use super::super::sink::{DeliverySink, Nondelivery};
use super::hand_out::tell_topic;
use super::under_way::is_behind;
use super::{Context, Deliveries};
use crate::join::{GivenUp, Leftover, Message, Messages};
use crate::rows::{LastReader, Row, nothing};
use wirelap_events::{MAX_LEGS, Nanos, Saturate, Transport};
use wirelap_figures::Pauses;
use wirelap_flow::{ClosedConnection, FlowTable};
use wirelap_limits::deliveries::LONGEST_USUAL_WAY;

impl Deliveries {
    /// Gives up the messages whose time has come.
    pub fn expire(&mut self, all: bool, out: &mut dyn DeliverySink, c: &mut Context<'_>) {
        let next = |messages: &mut Messages, c: &Context<'_>| {
            let is_awaited = |message: &Message| {
                let topic = (c.accounts.rows.root(message.facts.row), message.facts.subject);
                let is_awaited = |number| c.accounts.lag.is_awaited(topic, number);
                (message.number.is_some_and(is_awaited) || may_wait_in_socket(message, c))
                    && !c.coverage.pauses().has_cut(message.at)
            };
            let (now, flows) = (c.coverage.now(), c.conversations.flows());
            let is_hindered = |direction| is_behind(direction, now, flows);
            if all { messages.least() } else { messages.next_expired(now, is_awaited, is_hindered) }
        };
        let flows = c.conversations.flows();
        self.messages.forget_copying_directions(|direction| flows.flow(direction).is_none());
        while let Some(index) = next(&mut self.messages, c) {
            let index = if !all && self.messages.is_retainable(index) {
                self.retain(index, c);
                let Some(first) = self.messages.over_retained() else { continue };
                first
            } else {
                index
            };
            self.tell_given_up(index, all, out, c);
            self.note_from_elsewhere(index, c);
            let message = self.messages.message(index);
            let is_for_nobody = all && message.is_some_and(Message::is_kept_for_nobody);
            let may_wait = all && message.is_some_and(|message| may_wait_in_socket(message, c));
            let mut gone = self.give_up(index, c.coverage.pauses(), c.accounts);
            gone.left.swallowed.grow(u64::from(is_for_nobody));
            gone.left.swallowed = if may_wait { 0 } else { gone.left.swallowed };
            if gone.left.swallowed > 0 || gone.left.lost > 0 {
                count_lost(&gone, all, c);
            }
        }
    }

    /// Keeps a message for who reads its server's log later. Until then nobody got it, unless somebody did.
    fn retain(&mut self, index: usize, c: &mut Context<'_>) {
        let Some(message) = self.messages.message(index) else { return };
        let (row, subject, at) = (message.facts.row, message.facts.subject, message.at);
        let (payload_len, is_warmup) = (message.facts.payload_len, message.facts.is_warmup());
        let swallowed = u64::from(self.messages.is_undelivered(index) && !is_warmup);
        let left = Leftover { swallowed, ..Leftover::default() };
        let kept_until = message.facts.kept_for.until(at);
        let gone = GivenUp { row, subject, at, payload_len, kept_until, was_open: false, left };
        let is_unmatched = swallowed > 0 && count_lost(&gone, false, c);
        self.messages.retain(index, is_unmatched);
    }

    /// Gives up the messages of muted rows, which nothing more is seen of.
    pub fn give_up_muted(&mut self, c: &mut Context<'_>) {
        for id in self.assemblies.of_directions(|direction| c.is_muted(direction)) {
            self.assemblies.forget(id);
        }
        let rows = &c.accounts.rows;
        for index in self.messages.of_rows(|row| rows.is_muted(row)) {
            self.note_from_elsewhere(index, c);
            self.give_up(index, c.coverage.pauses(), c.accounts);
        }
    }

    /// Forgets a message, and counts what was left of it.
    pub(super) fn give_up(
        &mut self,
        message: usize,
        pauses: &Pauses,
        accounts: &mut Accounts,
    ) -> GivenUp {
        if accounts.breakdown.is_some() {
            self.note_unfollowed(message, accounts);
        }
        let gone = self.messages.give_up(message);
        accounts.count_leftover(&gone, pauses);
        gone
    }

    /// Adds the deliveries of a message that were not followed to the rows that the user asked for.
    fn note_unfollowed(&self, index: usize, accounts: &mut Accounts) {
        let Some(message) = self.messages.message(index) else { return };
        if message.facts.is_warmup() || message.is_retained {
            return;
        }
        for leg in self.messages.left_of(index).filter(|&leg| self.messages.was_delivered(leg)) {
            if let Some(leg) = self.messages.leg_at(leg) {
                let of = (message.facts.row, message.facts.topic);
                let between = (leg.direction, &*leg.ends);
                accounts.note_unfollowed(of, between, leg.reader.group, message.facts.payload_len);
            }
        }
    }

    /// Tells what is known of a message that was not handed out.
    fn tell_given_up(
        &self,
        message: usize,
        at_end: bool,
        out: &mut dyn DeliverySink,
        c: &Context<'_>,
    ) {
        let Some(row) = self.messages.message(message).map(|message| message.facts.row) else {
            return;
        };
        let row = c.accounts.rows.root(row);
        for end in self.messages.left_of(message) {
            let was_read = self.messages.was_delivered(end);
            let why = if was_read { None } else { self.nondelivery(message, end, at_end, c) };
            if !(was_read || why.is_some()) || !out.takes_given_up(row, why) {
                continue;
            }
            let mut so_far = nothing();
            let is_known = self.delivery(end, &mut so_far, &c.accounts.rows).is_some();
            if !is_known || so_far.legs.len() != self.messages.depth(end).min(MAX_LEGS) {
                continue;
            }
            tell_topic(&so_far, out, c.conversations);
            match why {
                None => out.aside(&so_far),
                Some(why) => out.undelivered(&so_far, why),
            }
        }
    }

    /// The reason why a message was not seen to be delivered that came as far as this leg.
    fn nondelivery(
        &self,
        index: usize,
        end: usize,
        at_end: bool,
        c: &Context<'_>,
    ) -> Option<Nondelivery> {
        let (message, leg) = (self.messages.message(index)?, self.messages.leg_at(end)?);
        let row = c.accounts.rows.get(message.facts.row)?;
        let (subject, at) = (message.facts.subject, message.at);
        let rest = RestOfWay::of(row, (subject, at), c.coverage, c.conversations.flows());
        if leg.was_read() && rest == RestOfWay::PassedOver {
            return Some(Nondelivery::Lost);
        }
        if rest != RestOfWay::Followed || message.facts.is_delayed() {
            return Some(Nondelivery::NotFollowed);
        }
        if at_end && !message.is_kept_for_nobody() {
            return Some(Nondelivery::UnderWay);
        }
        if !leg.was_read() {
            let is_datagram = leg.transport == Transport::Udp;
            return Some(if is_datagram { Nondelivery::Lost } else { Nondelivery::Unread });
        }
        let reader = last_reader(row, (subject, at), at_end);
        let departure = reader.and_then(|reader| c.conversations.departure(reader));
        let (now, kept_until) = (c.coverage.now(), message.facts.kept_for.until(message.at));
        let has_left = departure.is_some_and(|left| !waits_in_session(&left, kept_until, now));
        let is_lost = has_left || row.readers.covers(subject, at);
        Some(if is_lost { Nondelivery::Lost } else { Nondelivery::ForNobody })
    }
}

/// The knowledge of what became of a message after it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RestOfWay {
    Followed,
    /// A pause, or a lost event, may hide it.
    Hidden,
    /// A pause hides it, but the message was late before: its subscribers got later ones.
    PassedOver,
}

impl RestOfWay {
    /// The rest of the way of a message of a topic that was found at this time.
    fn of(
        row: &Row,
        (subject, at): (u64, Nanos),
        coverage: &Coverage,
        flows: &FlowTable,
    ) -> RestOfWay {
        if at < coverage.last_loss() {
            return RestOfWay::Hidden;
        }
        let pauses = row.pauses(coverage.pauses());
        if !pauses.has_cut(at) {
            return RestOfWay::Followed;
        }
        let is_gone = |direction| flows.get(direction).is_none_or(|one| one.life.is_closed);
        let is_lost = pauses
            .windows()
            .at(at)
            .is_some_and(|window| row.readers.passed_over(subject, at, window, is_gone));
        if is_lost { RestOfWay::PassedOver } else { RestOfWay::Hidden }
    }
}

/// True if a message that its server keeps until then waits there, in the session of a reader that left so.
pub(super) fn waits_in_session(left: &ClosedConnection, kept_until: Nanos, now: Nanos) -> bool {
    left.keeps_session(now) && now < kept_until
}

/// True if a message may wait in the socket of its server, on the way to a reader that leaves there what came before, and got none since.
fn may_wait_in_socket(message: &Message, c: &Context<'_>) -> bool {
    let (now, flows) = (c.coverage.now(), c.conversations.flows());
    let Some(row) = c.accounts.rows.get(message.facts.row) else { return false };
    let mut waiting = row.readers.not_beyond(message.facts.subject, message.at);
    waiting.any(|direction| is_behind(direction, now, flows))
}

/// The reader that would have got a message of a topic, as far as is known. A message that a server keeps in a log for who asks next is for nobody for as long
/// as nobody does.
fn last_reader(row: &Row, (subject, at): (u64, Nanos), at_end: bool) -> Option<LastReader> {
    row.readers.before(subject, at).filter(|reader| at_end || !reader.asks)
}

/// Counts what a broker read of a message and passed on to nobody, and what nobody read; `at_end` of all. Returns whether nobody is
/// known whom it would have been for.
fn count_lost(gone: &GivenUp, at_end: bool, c: &mut Context<'_>) -> bool {
    let Some(row) = c.accounts.rows.get_mut(gone.row) else { return false };
    let (topic, flows) = ((gone.subject, gone.at), c.conversations.flows());
    match RestOfWay::of(row, topic, c.coverage, flows) {
        RestOfWay::Followed => {}
        RestOfWay::Hidden => return false,
        RestOfWay::PassedOver => {
            row.evidence.losses.swallowed.grow(gone.left.swallowed);
            return false;
        }
    }
    // Messages that are still under way at the end are not lost.
    let is_lost = !at_end || gone.at + LONGEST_USUAL_WAY <= c.coverage.now();
    let reader = last_reader(row, topic, at_end);
    let losses = &mut row.evidence.losses;
    losses.unread.grow(if at_end { 0 } else { gone.left.lost });
    if gone.left.swallowed == 0 {
        return false;
    }
    if row.readers.covers(gone.subject, gone.at) {
        losses.swallowed.grow(if is_lost { gone.left.swallowed } else { 0 });
        return false;
    }
    let now = c.coverage.now();
    match reader.filter(|_| is_lost).and_then(|reader| c.conversations.departure(reader)) {
        Some(departure) => {
            let waits = waits_in_session(&departure, gone.kept_until, now);
            losses.abandon(gone.left.swallowed, departure, waits);
        }
        None => losses.unmatched.grow(if at_end { 0 } else { gone.left.swallowed }),
    }
    reader.is_none()
}
