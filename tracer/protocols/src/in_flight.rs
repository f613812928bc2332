//! Messages that their receiver has not acknowledged yet. Brokers limit their number: by their configuration, by a subscriber's
//! Receive Maximum (MQTT 5.0 §3.1.2.11.3, §4.9), by `basic.qos` (AMQP 0-9-1 §1.8.3.1) or by a consumer's `max_ack_pending`
//! (NATS).

use rustc_hash::FxHashMap;
use wirelap_events::{Offset, Saturate, Size};

/// A receiver with more unacknowledged messages is not kept waiting for acknowledgements, or not for long.
const MOST: usize = 2048;

/// The maximum is that of so many acknowledgements at least, and of twice as many at most. What a connection carried before it was
/// recognised is read one direction after the other, as if nothing had been acknowledged meanwhile.
const REMEMBERED: u32 = 16;

/// An acknowledgement by which more may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendCredit {
    /// There were as many unacknowledged messages as ever. The first of those that it acknowledges ends at the first, and the
    /// last that was sent at the second.
    After(Offset, Offset),
    /// The message was not captured: how many there were is not known.
    Unknown,
}

impl SendCredit {
    /// Returns the end of the first message that the acknowledgement covers; `None` if it was not captured.
    pub fn message(self) -> Option<Offset> {
        match self {
            SendCredit::After(end, _) => Some(end),
            SendCredit::Unknown => None,
        }
    }

    /// Returns the end of the message with which there were as many unacknowledged ones as ever; `None` if that is not known.
    pub fn full_with(self) -> Option<Offset> {
        match self {
            SendCredit::After(_, end) => Some(end),
            SendCredit::Unknown => None,
        }
    }
}

/// Messages of one receiver that are not acknowledged yet.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    /// By number: one past the last byte of what their receiver answers next.
    ids: FxHashMap<u64, Offset>,
    /// End of the last message that was sent.
    last: Offset,
    /// The maximum of late.
    most: usize,
    /// The maximum since the last look, and the acknowledgements since then.
    recent: (usize, u32),
    /// There were too many: their number is not limited.
    is_unlimited: bool,
}

impl InFlight {
    /// A message with this number was sent, which is acknowledged by it and ends before `end`.
    pub fn sent(&mut self, id: u64, end: Offset) {
        if self.is_unlimited {
            return;
        }
        self.ids.insert(id, end);
        self.last = end;
        self.recent.0 = self.recent.0.max(self.ids.len());
        self.most = self.most.max(self.recent.0);
        if self.ids.len() > MOST {
            *self = InFlight { is_unlimited: true, ..InFlight::default() };
        }
    }

    /// Something more was sent of a message, which its receiver answers before it acknowledges the message.
    pub fn sent_more(&mut self, id: u64, end: Offset) {
        if let Some(known) = self.ids.get_mut(&id) {
            *known = end;
        }
    }

    /// A message is confirmed, and not acknowledged yet. Returns where it ends, and the last that was sent, if the number of
    /// unacknowledged messages is at its maximum.
    pub fn confirmed(&self, id: u64) -> Option<(Offset, Offset)> {
        let end = self.ids.get(&id).copied();
        end.filter(|_| self.ids.len() == self.most).map(|end| (end, self.last))
    }

    /// A message is acknowledged. Returns what room that makes.
    pub fn acknowledged(&mut self, id: u64) -> Option<SendCredit> {
        let was_full = self.ids.len() == self.most;
        let end = self.ids.remove(&id);
        self.note_acknowledged(was_full, end)
    }

    fn note_acknowledged(&mut self, was_full: bool, end: Option<Offset>) -> Option<SendCredit> {
        self.recent.1.grow(1);
        if self.recent.1 >= REMEMBERED {
            self.most = self.recent.0;
            self.recent = (self.ids.len(), 0);
        }
        match end {
            Some(end) => was_full.then_some(SendCredit::After(end, self.last)),
            None => (!self.is_unlimited).then_some(SendCredit::Unknown),
        }
    }

    /// All messages up to this number are acknowledged. Returns what room that makes.
    pub fn acknowledged_up_to(&mut self, id: u64) -> Option<SendCredit> {
        let was_full = self.ids.len() == self.most;
        let mut first: Option<Offset> = None;
        self.ids.retain(|&one, &mut end| {
            let stays = one > id;
            if !stays {
                first = Some(first.map_or(end, |first| first.min(end)));
            }
            stays
        });
        self.note_acknowledged(was_full, first)
    }

    /// Forgets all messages after a gap: which of them are acknowledged is not known, and numbers may be used again.
    pub fn forget(&mut self) {
        self.ids.clear();
    }

    /// Bytes of memory that they use.
    pub fn held_bytes(&self) -> Size {
        const ENTRY: usize = size_of::<(u64, Offset)>() + 1;
        Size(ENTRY) * self.ids.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_made_where_there_was_none() {
        let mut in_flight = InFlight::default();
        (1..=3).for_each(|id| in_flight.sent(id, Offset(id * 10)));
        assert_eq!(in_flight.confirmed(3), Some((Offset(30), Offset(30))));
        assert_eq!(in_flight.acknowledged(2), Some(SendCredit::After(Offset(20), Offset(30))));
        assert_eq!(in_flight.acknowledged(2), Some(SendCredit::Unknown), "twice");
        assert_eq!(in_flight.confirmed(3), None);
        assert_eq!(in_flight.acknowledged(1), None);
        in_flight.sent(4, Offset(4 * 10));
        in_flight.sent(4, Offset(4 * 10));
        assert_eq!(in_flight.acknowledged(3), None, "two of three");
        (5..=6).for_each(|id| in_flight.sent(id, Offset(id * 10)));
        in_flight.sent_more(4, Offset(65));
        assert_eq!(in_flight.acknowledged(4), Some(SendCredit::After(Offset(65), Offset(60))));
        in_flight.sent(7, Offset(7 * 10));
        assert_eq!(
            in_flight.acknowledged_up_to(6),
            Some(SendCredit::After(Offset(50), Offset(70))),
            "5, 6 and 7 were open"
        );
        assert_eq!(
            (in_flight.acknowledged_up_to(6), in_flight.ids.len()),
            (Some(SendCredit::Unknown), 1)
        );
    }

    /// A maximum of an earlier time may be wrong.
    #[test]
    fn a_maximum_is_forgotten_that_is_not_reached_again() {
        let mut in_flight = InFlight::default();
        (1..=3).for_each(|id| in_flight.sent(id, Offset(id * 10)));
        (1..=3).for_each(|id| _ = in_flight.acknowledged(id));
        let rooms = (4..60).map(|id| {
            in_flight.sent(id, Offset(id * 10));
            in_flight.acknowledged(id).is_some()
        });
        let rooms: Vec<bool> = rooms.collect();
        assert!(!rooms[0] && rooms[2 * 16..].iter().all(|room| *room), "{rooms:?}");
    }

    #[test]
    fn messages_sent_before_the_capture_are_unknown() {
        let mut in_flight = InFlight::default();
        let unknown = Some(SendCredit::Unknown);
        assert_eq!([in_flight.acknowledged(1), in_flight.acknowledged_up_to(9)], [unknown; 2]);
        in_flight.sent(2, Offset(2 * 10));
        in_flight.forget();
        assert_eq!(in_flight.acknowledged(2), unknown);
    }

    #[test]
    fn many_are_not_limited_and_not_kept() {
        let mut in_flight = InFlight::default();
        (0..100_000).for_each(|id| in_flight.sent(id, Offset(id * 10)));
        assert_eq!(in_flight.acknowledged(99_999).or(in_flight.acknowledged_up_to(99_999)), None);
        assert_eq!(in_flight.held_bytes(), 0);
    }
}
