//! Giving up messages whose time has come.

use super::open::{GivenUp, Leftover, Message};
use super::table::Messages;
use slab::Slab;
use std::collections::VecDeque;
use wirelap_events::{Nanos, Transport};

impl Messages {
    /// Gives up the next message whose time has come, and says what was left of it. `None` when there
    /// is none.
    pub fn expire(&mut self, now: Nanos) -> Option<GivenUp> {
        while let Some((at, index)) = self.first_soon()
            && at <= now
        {
            self.soon.pop_front();
            if self.is_done(index) {
                return Some(self.give_up(index));
            }
            let message = &self.open[index];
            let expires = message.at + self.patience + self.hold;
            self.late.push_back((expires, index, message.serial));
        }
        while let Some((at, index)) = self.first_late()
            && at <= now
        {
            self.late.pop_front();
            let message = &mut self.open[index];
            // A late leg has patience of its own.
            if message.open > 0 && !message.overdue {
                message.overdue = true;
                self.late.push_back((now + self.patience, index, message.serial));
                continue;
            }
            return Some(self.give_up(index));
        }
        None
    }

    /// Gives up the message that matters least: one that is only remembered for its copies, else the
    /// oldest. `None` when there is none.
    pub fn force(&mut self) -> Option<GivenUp> {
        let soon = self.first_soon();
        let late = self.first_late();
        let index = match (soon, late) {
            (Some((_, soon)), Some(_)) if self.is_done(soon) => soon,
            (_, Some((_, late))) => late,
            (soon, None) => soon?.1,
        };
        Some(self.give_up(index))
    }

    /// The first of the messages that may be done soon, and when that is to be looked at. Drops the
    /// entries of those that are gone.
    fn first_soon(&mut self) -> Option<(Nanos, usize)> {
        first(&mut self.soon, &self.open)
    }

    fn first_late(&mut self) -> Option<(Nanos, usize)> {
        first(&mut self.late, &self.open)
    }

    /// Whether every leg was delivered, or cannot be.
    fn is_done(&self, index: usize) -> bool {
        let message = &self.open[index];
        message.open == 0
            && self.legs_of(message).all(|leg| {
                let leg = &self.legs[leg];
                leg.emitted || leg.again.is_some() || leg.is_remote
            })
    }

    fn give_up(&mut self, index: usize) -> GivenUp {
        let mut left = Leftover::default();
        let message = &self.open[index];
        let was_open = message.open > 0;
        for leg in self.legs_of(message) {
            let leg = &self.legs[leg];
            if leg.emitted || leg.again.is_some() || leg.has_child || leg.is_remote {
                continue;
            }
            let was_read = leg.was_read();
            let ends = !self.goes_on(message, leg);
            left.unjoined += u64::from(was_read && ends);
            left.swallowed += u64::from(was_read && !ends);
            left.unread += u64::from(!was_read);
            left.lost += u64::from(!was_read && leg.transport == Transport::Udp);
        }
        let (identity, row, entry) = (message.identity, message.row, (message.serial, index));
        let keeps_ways = message.keeps_ways;
        self.waiting -= message.open as usize;
        let is_warmup = message.stamp.is_some_and(|stamp| stamp.warmup);
        let mut next = Some(message.first);
        while let Some(leg) = next.and_then(|leg| self.legs.try_remove(leg)) {
            if keeps_ways {
                self.index.remove_way(identity, leg.way, entry);
            }
            next = leg.next;
            self.forget(leg.leg);
        }
        self.index.remove(identity, entry);
        self.open.remove(index);
        if is_warmup {
            left = Leftover::default();
        }
        GivenUp { row, was_open, left }
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
