//! Messages whose time has come, and that are kept for who reads their server's log later, as far as there is room.
//!
//! A message is known again by its name or by its place in the log. Its legs are kept in little room.

use super::super::open::LegState;
use super::Messages;
use wirelap_events::{Nanos, Saturate};

/// The part of the room for messages that retained ones take at most. The rest is for those that are on their way.
const RETAINED_SHARE: usize = 4;

impl Messages {
    /// True if a message whose time has come is to be kept for later readers: all of its legs were handed out, or it is at its server
    /// and went no further yet.
    pub fn is_retainable(&self, index: usize) -> bool {
        let Some(message) = self.open.get(index) else { return false };
        let is_known = message.facts.identity.exact || message.place.is_some();
        let waits =
            || message.legs == 1 && self.legs.get(message.first).is_some_and(LegState::was_read);
        message.facts.is_logged
            && is_known
            && message.open == 0
            && !message.is_orphan
            && (!self.is_undelivered(index) || waits())
    }

    /// True if a message has a leg that no delivery was handed out with.
    pub fn is_undelivered(&self, index: usize) -> bool {
        self.left_of(index).next().is_some()
    }

    /// Keeps a message for later readers. `is_unmatched` says that it counts as passed on to nobody.
    pub fn retain(&mut self, index: usize, is_unmatched: bool) {
        let Some(message) = self.open.get_mut(index) else { return };
        (message.is_retained, message.is_unmatched) = (true, is_unmatched);
        self.kept.shrink(usize::from(std::mem::take(&mut message.is_kept)));
        self.queues.retained.push_back((index, message.serial));
        self.unfinished.set(index, false);
    }

    /// A retained message for which there is no room any more, for [`Messages::give_up`].
    pub fn over_retained(&mut self) -> Option<usize> {
        if self.queues.retained.len() > self.limits.messages / RETAINED_SHARE {
            self.first_retained()
        } else {
            None
        }
    }

    /// Takes the first of the retained messages out of their queue.
    pub(super) fn first_retained(&mut self) -> Option<usize> {
        while let Some((index, serial)) = self.queues.retained.pop_front() {
            let message = self.open.get(index);
            if message.is_some_and(|message| message.serial == serial && message.is_retained) {
                return Some(index);
            }
        }
        None
    }

    /// A retained message goes on: it has its time again.
    pub(super) fn release_retained(&mut self, index: usize, now: Nanos) {
        let Some(message) = self.open.get_mut(index) else { return };
        message.is_retained = false;
        self.read_late.grow(u64::from(std::mem::take(&mut message.is_unmatched)));
        self.queues.late.push_back((
            now + self.limits.patience + self.limits.hold,
            index,
            message.serial,
        ));
    }

    /// Takes the number of messages that had counted as passed on to nobody and went on since the
    /// last call.
    pub fn take_read_late(&mut self) -> u64 {
        std::mem::take(&mut self.read_late)
    }
}
