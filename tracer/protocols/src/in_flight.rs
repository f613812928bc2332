//! Messages that their receiver has not acknowledged yet. Brokers limit their number: by their configuration, by a subscriber's
//! Receive Maximum (MQTT 5.0 §3.1.2.11.3, §4.9), by `basic.qos` (AMQP 0-9-1 §1.8.3.1) or by a consumer's `max_ack_pending`
//! (NATS).

use rustc_hash::FxHashSet;
use wirelap_events::Saturate;

/// Who has more unacknowledged messages is not kept waiting for acknowledgements, or not for long.
const MOST: usize = 2048;

/// The maximum is that of so many acknowledgements at least, and of twice as many at most. What a connection carried before it was
/// recognised is read one direction after the other, as if nothing had been acknowledged meanwhile.
const REMEMBERED: u32 = 16;

/// Messages of one receiver that are not acknowledged yet.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    ids: FxHashSet<u64>,
    /// The maximum of late.
    most: usize,
    /// The maximum since the last look, and the acknowledgements since then.
    recent: (usize, u32),
    /// There were too many: their number is not limited.
    is_unlimited: bool,
}

impl InFlight {
    /// A message with this number was sent, which is acknowledged by it.
    pub fn sent(&mut self, id: u64) {
        if self.is_unlimited {
            return;
        }
        self.ids.insert(id);
        self.recent.0 = self.recent.0.max(self.ids.len());
        self.most = self.most.max(self.recent.0);
        if self.ids.len() > MOST {
            *self = InFlight { is_unlimited: true, ..InFlight::default() };
        }
    }

    /// A message is acknowledged. Returns whether the number of unacknowledged messages was at its maximum until now.
    pub fn acknowledged(&mut self, id: u64) -> bool {
        let was_full = self.ids.len() == self.most;
        let is_known = self.ids.remove(&id);
        self.note_acknowledged();
        is_known && was_full
    }

    fn note_acknowledged(&mut self) {
        self.recent.1.grow(1);
        if self.recent.1 >= REMEMBERED {
            self.most = self.recent.0;
            self.recent = (self.ids.len(), 0);
        }
    }

    /// All messages up to this number are acknowledged. Returns whether the number of unacknowledged messages was at its
    /// maximum until now.
    pub fn acknowledged_up_to(&mut self, id: u64) -> bool {
        let before = self.ids.len();
        let was_full = before == self.most;
        self.ids.retain(|&one| one > id);
        self.note_acknowledged();
        was_full && self.ids.len() < before
    }

    /// Forgets all messages after a gap: which of them are acknowledged is not known, and numbers may be used again.
    pub fn forget(&mut self) {
        self.ids.clear();
    }

    /// Bytes of memory that they use.
    pub fn held_bytes(&self) -> usize {
        const ENTRY: usize = size_of::<u64>() + 1;
        self.ids.capacity().saturating_mul(ENTRY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_made_where_there_was_none() {
        let mut in_flight = InFlight::default();
        (1..=3).for_each(|id| in_flight.sent(id));
        assert!(in_flight.acknowledged(2));
        assert!(!in_flight.acknowledged(2), "twice");
        assert!(!in_flight.acknowledged(1));
        in_flight.sent(4);
        in_flight.sent(4);
        assert!(!in_flight.acknowledged(3), "two of three");
        (5..=6).for_each(|id| in_flight.sent(id));
        assert!(in_flight.acknowledged(4));
        in_flight.sent(7);
        assert!(in_flight.acknowledged_up_to(6), "5, 6 and 7 were open");
        assert!(!in_flight.acknowledged_up_to(6) && in_flight.ids.len() == 1);
    }

    /// What is known of a time before may be wrong.
    #[test]
    fn a_maximum_is_forgotten_that_is_not_reached_again() {
        let mut in_flight = InFlight::default();
        (1..=3).for_each(|id| in_flight.sent(id));
        (1..=3).for_each(|id| _ = in_flight.acknowledged(id));
        let rooms = (4..60).map(|id| {
            in_flight.sent(id);
            in_flight.acknowledged(id)
        });
        let rooms: Vec<bool> = rooms.collect();
        assert!(!rooms[0] && rooms[2 * 16..].iter().all(|room| *room), "{rooms:?}");
    }

    #[test]
    fn messages_sent_before_the_capture_are_unknown() {
        let mut in_flight = InFlight::default();
        assert!(!in_flight.acknowledged(1) && !in_flight.acknowledged_up_to(9));
        in_flight.sent(2);
        in_flight.forget();
        assert!(!in_flight.acknowledged(2));
    }

    #[test]
    fn many_are_not_limited_and_not_kept() {
        let mut in_flight = InFlight::default();
        (0..100_000).for_each(|id| in_flight.sent(id));
        assert!(!in_flight.acknowledged(99_999) && !in_flight.acknowledged_up_to(99_999));
        assert_eq!(in_flight.held_bytes(), 0);
    }
}
