//! Messages that wait for their acknowledgement. A broker sends only so many before one comes: as many as it is set to, or
//! the subscriber's Receive Maximum (MQTT 5.0 §3.1.2.11.3, §4.9).

use rustc_hash::FxHashSet;

/// `QoS` 1 and 2 messages of one direction that are not acknowledged.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    ids: FxHashSet<u16>,
    /// The most that there ever were.
    most: usize,
}

impl InFlight {
    /// A PUBLISH with this packet id.
    pub fn sent(&mut self, id: u16) {
        self.ids.insert(id);
        self.most = self.most.max(self.ids.len());
    }

    /// A PUBACK or PUBCOMP with this packet id: whether as many were under way until now as ever.
    pub fn acknowledged(&mut self, id: u16) -> bool {
        let was_full = self.ids.len() == self.most;
        self.ids.remove(&id) && was_full
    }

    /// Something was missed: ids may have been used again.
    pub fn forget(&mut self) {
        self.ids.clear();
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
    }

    #[test]
    fn what_was_sent_before_anyone_looked_is_not_known() {
        let mut in_flight = InFlight::default();
        assert!(!in_flight.acknowledged(1));
        in_flight.sent(2);
        in_flight.forget();
        assert!(!in_flight.acknowledged(2));
    }
}
