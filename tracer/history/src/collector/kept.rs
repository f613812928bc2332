//! The messages of a row that are kept whole until the next snapshot.

use crate::messages::{KeptMessage, MessageFate};
use wirelap_events::{Nanos, Saturate};

/// Number of messages of each kind that a row keeps.
#[derive(Clone, Copy, Debug)]
pub struct MessageQuota {
    /// The slowest, beside the first ones.
    slowest: usize,
    /// The first ones, which follow each other.
    first: usize,
    /// Those that were not delivered; as many that are in no latency.
    others: usize,
}

impl MessageQuota {
    /// The share of one of so many rows in so many messages.
    pub fn of(messages: usize, rows: usize) -> MessageQuota {
        let each = messages.checked_div(rows).unwrap_or(messages);
        let part = |divisor: usize, most| each.checked_div(divisor).unwrap_or(1).clamp(1, most);
        MessageQuota { slowest: part(4, 16), first: part(2, 32), others: part(8, 16) }
    }
}

/// So many messages replace others, however small the difference. From then on, a message has to be slower by 3 %: otherwise, while latencies
/// rise, each message would be copied.
const REPLACED: u64 = 64;

/// The messages of a row that are kept whole until the next snapshot. Each is in one list.
#[derive(Debug, Default)]
pub struct KeptMessages {
    slowest: Vec<KeptMessage>,
    /// The least latency among `slowest`.
    least: Nanos,
    replaced: u64,
    first: Vec<KeptMessage>,
    undelivered: Vec<KeptMessage>,
    aside: Vec<KeptMessage>,
}

impl KeptMessages {
    /// True if there is a place for a message that is in no latency.
    pub fn has_place_for_others(&self, quota: MessageQuota) -> bool {
        self.aside.len() < quota.others || self.undelivered.len() < quota.others
    }

    /// Keeps a message that is in no latency, if there is a place for it. Returns whether there was.
    pub fn add_other(
        &mut self,
        fate: MessageFate,
        quota: MessageQuota,
        message: impl FnOnce() -> KeptMessage,
    ) -> bool {
        let list = if fate == MessageFate::Aside { &mut self.aside } else { &mut self.undelivered };
        let has_place = list.len() < quota.others;
        if has_place {
            list.push(message());
        }
        has_place
    }

    /// Keeps a delivered message if it is one of the first or one of the slowest. Returns whether there is one more now; without room for
    /// one more, it can only replace another.
    pub fn add(
        &mut self,
        one_way: Nanos,
        quota: MessageQuota,
        has_room: bool,
        message: impl FnOnce() -> KeptMessage,
    ) -> bool {
        if has_room && self.first.len() < quota.first {
            self.first.push(message());
            return true;
        }
        if has_room && self.slowest.len() < quota.slowest {
            self.slowest.push(message());
            self.find_least();
            return true;
        }
        let margin = if self.replaced < REPLACED { 0 } else { self.least.0 / 32 };
        if one_way <= self.least + Nanos(margin) {
            return false;
        }
        let fastest = self.slowest.iter_mut().min_by_key(|kept| kept.one_way);
        if let Some(fastest) = fastest {
            *fastest = message();
            self.replaced.grow(1);
            self.find_least();
        }
        false
    }

    fn find_least(&mut self) {
        let times = self.slowest.iter().filter_map(|kept| kept.one_way);
        self.least = times.min().unwrap_or_default();
    }

    /// Takes all messages out.
    pub fn take(&mut self, out: &mut Vec<KeptMessage>) {
        (self.least, self.replaced) = (Nanos(0), 0);
        for list in [&mut self.slowest, &mut self.first, &mut self.undelivered, &mut self.aside] {
            out.append(list);
        }
    }
}
