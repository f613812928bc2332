//! Messages that are not acknowledged yet. A broker limits their number: by its configuration, or by the subscriber's
//! Receive Maximum (MQTT 5.0 §3.1.2.11.3, §4.9).

use rustc_hash::FxHashSet;

/// `QoS` 1 and 2 messages of one direction that are not acknowledged yet.
#[derive(Debug, Default)]
pub(super) struct InFlightIds {
    ids: FxHashSet<u16>,
    /// The maximum so far.
    most: usize,
}

impl InFlightIds {
    /// Adds a PUBLISH with this packet ID.
    pub fn sent(&mut self, id: u16) {
        self.ids.insert(id);
        self.most = self.most.max(self.ids.len());
    }

    /// Removes the message of a PUBACK or PUBCOMP with this packet ID. Returns whether the number of unacknowledged messages
    /// was at its maximum until now.
    pub fn acknowledged(&mut self, id: u16) -> bool {
        let was_full = self.ids.len() == self.most;
        self.ids.remove(&id) && was_full
    }

    /// Forgets all messages after a gap, because packet IDs may have been reused.
    pub fn forget(&mut self) {
        self.ids.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_made_where_there_was_none() {
        let mut in_flight = InFlightIds::default();
        (1..=3).for_each(|id| in_flight.sent(id));
        assert!(in_flight.acknowledged(2));
        assert!(!in_flight.acknowledged(2), "twice");
        assert!(!in_flight.acknowledged(1));
        in_flight.sent(4);
        in_flight.sent(4);
        assert!(!in_flight.acknowledged(3), "two of three");
        (5..=6).for_each(|id| in_flight.sent(id));
        assert!(in_flight.acknowledged(4));
    }

    #[test]
    fn messages_sent_before_the_capture_are_unknown() {
        let mut in_flight = InFlightIds::default();
        assert!(!in_flight.acknowledged(1));
        in_flight.sent(2);
        in_flight.forget();
        assert!(!in_flight.acknowledged(2));
    }
}
