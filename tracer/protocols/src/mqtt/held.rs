//! `QoS` 2 messages that a broker may hold until their publisher releases them (MQTT 5.0 §4.3.3).

use std::collections::VecDeque;
use wirelap_events::Offset;

/// The most messages that are remembered for each direction; a publisher rarely has more than some hundreds in flight.
const MOST: usize = 1024;

/// `QoS` 2 messages of one direction whose PUBREL has not arrived.
#[derive(Debug, Default)]
pub(super) struct UnreleasedMessages {
    /// By packet ID, in the order in which they were sent.
    messages: VecDeque<(u16, HeldMessage)>,
}

/// A message that is not released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeldMessage {
    /// Start of the message's PUBLISH.
    pub start: Offset,
    /// One past the last byte of its first PUBREC, in the other direction, once that was captured.
    pub receipt: Option<Offset>,
}

impl UnreleasedMessages {
    /// Adds a PUBLISH that begins at `start`. If there are too many, the oldest is forgotten.
    pub fn hold(&mut self, id: u16, start: Offset) {
        self.release(id);
        if self.messages.len() == MOST {
            self.messages.pop_front();
        }
        self.messages.push_back((id, HeldMessage { start, receipt: None }));
    }

    /// Notes that the receiver has confirmed a message by a PUBREC that ends before `end`.
    pub fn received(&mut self, id: u16, end: Offset) {
        if let Some((_, held)) = self.messages.iter_mut().find(|(held, _)| *held == id) {
            held.receipt.get_or_insert(end);
        }
    }

    /// Removes the message whose PUBREL has arrived. `None` if its PUBLISH was not captured.
    pub fn release(&mut self, id: u16) -> Option<HeldMessage> {
        let index = self.messages.iter().position(|&(held, _)| held == id)?;
        self.messages.remove(index).map(|(_, held)| held)
    }

    /// Forgets which messages were confirmed, and when.
    pub fn forget_receipts(&mut self) {
        self.messages.iter_mut().for_each(|(_, held)| held.receipt = None);
    }

    /// Forgets all messages after a gap, because packet IDs may have been reused.
    pub fn forget(&mut self) {
        self.messages.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_released_once() {
        let mut held = UnreleasedMessages::default();
        held.hold(1, Offset(10));
        held.hold(2, Offset(20));
        held.received(2, Offset(5));
        held.received(2, Offset(9));
        let released = HeldMessage { start: Offset(20), receipt: Some(Offset(5)) };
        assert_eq!(held.release(2), Some(released));
        assert_eq!(held.release(2), None);
        held.hold(1, Offset(30));
        held.received(1, Offset(20));
        held.forget_receipts();
        let released = HeldMessage { start: Offset(30), receipt: None };
        assert_eq!(held.release(1), Some(released), "the id was used again");
        held.hold(3, Offset(40));
        held.forget();
        assert_eq!(held.release(3), None);
    }

    #[test]
    fn memory_is_bounded() {
        let mut held = UnreleasedMessages::default();
        (0..u16::MAX).for_each(|id| held.hold(id, Offset(u64::from(id))));
        assert_eq!((held.messages.len(), held.release(0)), (MOST, None));
    }
}
