//! Giving up messages whose time has come.

use super::open::Leftover;
use super::table::Messages;
use wirelap_events::{GroupId, Nanos};

impl Messages {
    /// Gives up the next message whose time has come, and says what was left of it. With `force`, the
    /// oldest one whatever its age. Returns `None` when there is none.
    pub fn expire(&mut self, now: Nanos, force: bool) -> Option<(GroupId, bool, Leftover)> {
        while let Some(&(at, index, serial)) = self.soon.front()
            && (at <= now || (force && self.late.is_empty()))
        {
            self.soon.pop_front();
            let Some(message) = self.open.get(index).filter(|m| m.serial == serial) else {
                continue;
            };
            let is_done = message.open == 0
                && self.legs_of(message).all(|leg| {
                    let leg = &self.legs[leg];
                    leg.emitted || leg.again.is_some() || leg.is_remote
                });
            if is_done || (force && self.late.is_empty()) {
                return Some(self.give_up(index));
            }
            self.late.push_back((message.at + self.patience + self.hold, index, serial));
        }
        while let Some(&(at, index, serial)) = self.late.front()
            && (at <= now || force)
        {
            self.late.pop_front();
            let patience = self.patience;
            let Some(message) = self.open.get_mut(index).filter(|m| m.serial == serial) else {
                continue;
            };
            // A late leg has patience of its own.
            if message.open > 0 && !message.overdue && !force {
                message.overdue = true;
                self.late.push_back((now + patience, index, serial));
                continue;
            }
            return Some(self.give_up(index));
        }
        None
    }

    fn give_up(&mut self, index: usize) -> (GroupId, bool, Leftover) {
        let mut left = Leftover::default();
        let message = &self.open[index];
        let was_open = message.open > 0;
        for leg in self.legs_of(message) {
            let leg = &self.legs[leg];
            let was_read = leg.was_read();
            let ends = !self.goes_on(message, leg);
            if leg.emitted || leg.again.is_some() || leg.has_child || leg.is_remote {
                continue;
            }
            left.unjoined += u64::from(was_read && ends);
            left.unread += u64::from(!was_read);
        }
        let (identity, row) = (message.identity, message.row);
        let is_warmup = message.stamp.is_some_and(|stamp| stamp.warmup);
        let mut next = Some(message.first);
        while let Some(leg) = next.and_then(|leg| self.legs.try_remove(leg)) {
            self.index.remove_way(identity, leg.way, index);
            next = leg.next;
        }
        self.index.remove(identity, index);
        self.open.remove(index);
        if is_warmup {
            left = Leftover::default();
        }
        (row, was_open, left)
    }
}
