//! Giving up messages whose time has come.

use super::super::open::{GivenUp, Leftover, LegState, Message};
use super::Messages;
use slab::Slab;
use std::collections::VecDeque;
use wirelap_events::{Nanos, Saturate, Transport};
use wirelap_flow::Direction;
use wirelap_limits::deliveries::LONGEST_UNREAD;
use wirelap_protocols::MessageRouting;

impl Messages {
    /// The next message whose time has come, for [`Messages::give_up`]. `None` when there is none. One that `is_awaited` by a
    /// subscriber that is behind is kept, as long as there is room for it, and so is one whose copy may wait in a direction
    /// that `is_hindered`.
    pub fn next_expired(
        &mut self,
        now: Nanos,
        is_awaited: impl Fn(&Message) -> bool,
        is_hindered: impl Fn(Direction) -> bool,
    ) -> Option<usize> {
        while let Some((at, index)) = self.first_soon()
            && at <= now
        {
            self.queues.soon.pop_front();
            let message = &self.open[index];
            if self.is_done(index)
                && !(self.has_room_to_keep() && self.awaits_copy(message, &is_hindered))
            {
                return Some(index);
            }
            let message = &self.open[index];
            let expires = message.at + self.limits.patience + self.limits.hold;
            self.queues.late.push_back((expires, index, message.serial));
        }
        while let Some((at, index)) = self.first_late()
            && at <= now
        {
            self.queues.late.pop_front();
            let has_room = self.has_room_to_keep();
            let awaits_copy = self.awaits_copy(&self.open[index], &is_hindered);
            let is_put_back = self.is_put_back(index);
            let message = &mut self.open[index];
            // A late leg has patience of its own, and one that is known to lie in a socket more.
            let lies = now < message.at + LONGEST_UNREAD;
            if message.open > 0 && (!message.overdue || lies) {
                message.overdue = true;
                self.queues.late.push_back((now + self.limits.patience, index, message.serial));
                continue;
            }
            let is_awaited = is_put_back || awaits_copy || is_awaited(message);
            if lies && (message.is_kept || has_room) && is_awaited {
                self.kept.grow(usize::from(!message.is_kept));
                message.is_kept = true;
                self.queues.late.push_back((now + self.limits.patience, index, message.serial));
                continue;
            }
            return Some(index);
        }
        None
    }

    /// True if a message was sent from a queue to somebody who did not read it, and nobody has got it: its server sends it again.
    fn is_put_back(&self, index: usize) -> bool {
        let Some(message) = self.open.get(index).filter(|one| one.facts.is_queued) else {
            return false;
        };
        let legs = self.legs_of(message).map(|leg| &self.legs[leg]);
        let mut to_clients = legs.filter(|leg| !leg.reader.toward.is_server());
        let was_sent = to_clients.clone().next().is_some();
        was_sent && to_clients.all(|leg| !leg.was_read() && !leg.emitted && !leg.is_remote)
    }

    /// True if there is room to keep a message that all others have for a subscriber that is behind: these take a quarter of
    /// the room at most.
    fn has_room_to_keep(&self) -> bool {
        self.kept < self.limits.messages / 4 && self.legs.len() < self.limits.messages
    }

    /// The message that matters least, for [`Messages::give_up`]: one that is only remembered for its copies, else the
    /// oldest. `None` when there is none.
    pub fn least(&mut self) -> Option<usize> {
        if let Some(retained) = self.first_retained() {
            return Some(retained);
        }
        let soon = self.first_soon();
        let late = self.first_late();
        match (soon, late) {
            (Some((_, soon)), Some(_)) if self.is_done(soon) => Some(soon),
            (_, Some((_, late))) => Some(late),
            (soon, None) => Some(soon?.1),
        }
    }

    /// The first of the messages that may be done soon, and when that is to be looked at. Drops the
    /// entries of those that are gone.
    fn first_soon(&mut self) -> Option<(Nanos, usize)> {
        first(&mut self.queues.soon, &self.open)
    }

    fn first_late(&mut self) -> Option<(Nanos, usize)> {
        first(&mut self.queues.late, &self.open)
    }

    /// True if every leg was delivered, or cannot be.
    fn is_done(&self, index: usize) -> bool {
        let message = &self.open[index];
        message.open == 0
            && self.legs_of(message).all(|leg| {
                let leg = &self.legs[leg];
                let is_gone = leg.is_remote && !self.waits_in_unseen_proxy(leg);
                leg.emitted || leg.is_repeated() || is_gone
            })
    }

    /// The legs of a message that ended on this host, and that no delivery was handed out of.
    pub fn left_of(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let legs = self.open.get(index).into_iter().flat_map(|message| self.legs_of(message));
        legs.filter(|&leg| self.legs[leg].is_left())
    }

    /// True if a message is on its way, as far as is known. A message of which only later legs were seen is complete
    /// without being delivered.
    pub fn is_waited_for(&self, index: usize) -> bool {
        let Some(message) = self.open.get(index) else { return false };
        let is_left = || !message.is_orphan && self.left_of(index).next().is_some();
        message.open > 0 || !message.is_retained && is_left()
    }

    /// Number of messages that were found between two times and are still waited for; 0 if that is not more than one in twenty of
    /// them. Messages that are forgotten by now count as neither.
    pub fn waited_for(&self, from: Nanos, to: Nanos) -> u64 {
        let (mut found, mut waiting) = (0_u64, 0_u64);
        for (index, message) in &self.open {
            if message.at >= from && message.at < to {
                found.grow(1);
                waiting.grow(u64::from(self.is_waited_for(index)));
            }
        }
        if waiting.saturating_mul(20) > found { waiting } else { 0 }
    }

    /// True if a leg brought its message to whom it was for, as far as is known.
    pub fn was_delivered(&self, leg: usize) -> bool {
        let Some(leg) = self.legs.get(leg) else { return false };
        let message = self.open.get(leg.message);
        leg.was_read() && message.is_some_and(|message| !self.goes_on(message, leg))
    }

    /// True if a leg that was read begins at a sender of which this host shows nothing.
    pub fn comes_from_elsewhere(leg: &LegState) -> bool {
        leg.parent().is_none() && leg.sender().pid.is_none() && leg.leg.has_only_reader()
    }

    /// Forgets a message, and says what was left of it.
    pub fn give_up(&mut self, index: usize) -> GivenUp {
        let mut left = Leftover::default();
        let message = &self.open[index];
        let (was_open, is_delayed) = (message.open > 0, message.facts.is_delayed());
        // Another server may have no use for what clients of the first one got.
        let got_by_nobody = || !self.legs_of(message).any(|leg| self.legs[leg].emitted);
        for leg in self.left_of(index) {
            let leg = &self.legs[leg];
            let was_read = leg.was_read();
            let ends = !self.goes_on(message, leg);
            let elsewhere = was_read && ends && Messages::comes_from_elsewhere(leg);
            left.from_elsewhere.grow(u64::from(elsewhere));
            let is_unjoined = was_read && ends && !elsewhere;
            left.unjoined.grow(u64::from(is_unjoined));
            left.delayed.grow(u64::from(is_unjoined && is_delayed));
            // Of a message that was not seen to begin, it is not known who else got it.
            let may_be_lost = !message.is_orphan && !is_delayed;
            let is_swallowed = was_read && !ends && may_be_lost && got_by_nobody();
            left.swallowed.grow(u64::from(is_swallowed));
            left.unread.grow(u64::from(!was_read));
            left.lost.grow(u64::from(!was_read && leg.transport == Transport::Udp));
        }
        let was_got = message.facts.topology == MessageRouting::Brokered && !got_by_nobody();
        let (identity, row, entry) =
            (message.facts.identity, message.facts.row, (message.serial, index));
        let (subject, at, payload_len) =
            (message.facts.subject, message.at, message.facts.payload_len);
        let kept_until = message.facts.kept_for.until(at);
        let (keeps_directions, content) = (message.keeps_directions, message.facts.content);
        let (place, is_retained) = (message.place, message.is_retained);
        self.waiting.shrink(message.open as usize);
        let is_warmup = message.facts.is_warmup();
        if was_got && !identity.exact {
            self.handed_out.note(identity);
        }
        self.kept.shrink(usize::from(message.is_kept));
        let mut next = Some(message.first);
        while let Some(leg) = next.and_then(|leg| self.legs.try_remove(leg)) {
            if keeps_directions {
                self.index.remove_direction(identity, leg.way(), entry);
            }
            next = leg.links.next.get();
            self.forget(leg.leg.into_room());
        }
        if self.index.remove(identity, entry)
            && let (Some(contents), Some(content)) = (&mut self.contents, content)
        {
            contents.remove(content, identity);
        }
        if let Some(place) = place {
            self.stored.remove(place, entry);
        }
        self.open.remove(index);
        self.unfinished.set(index, false);
        // What is left of a retained one was counted before.
        if is_warmup || is_retained {
            left = Leftover::default();
        }
        GivenUp { row, subject, at, payload_len, kept_until, was_open, left }
    }
}

/// The first entry whose message is still open.
fn first(
    queue: &mut VecDeque<(Nanos, usize, u64)>,
    open: &Slab<Message>,
) -> Option<(Nanos, usize)> {
    while let Some(&(at, index, serial)) = queue.front() {
        if open.get(index).is_some_and(|message| message.serial == serial) {
            return Some((at, index));
        }
        queue.pop_front();
    }
    None
}
