//! `QoS` 2 messages that a broker may hold until their publisher releases them (MQTT 5.0 §4.3.3).

use std::collections::VecDeque;
use wirelap_events::Offset;

/// How many messages are remembered for each direction; a publisher rarely has more than some hundreds in flight.
const MOST: usize = 1024;

/// `QoS` 2 messages of one direction whose PUBREL has not arrived.
#[derive(Debug, Default)]
pub(super) struct UnreleasedMessages {
    /// Packet ID and start of each PUBLISH, in the order in which they were sent.
    messages: VecDeque<(u16, Offset)>,
}

impl UnreleasedMessages {
    /// Adds a PUBLISH that begins at `start`. If there are too many, the oldest is forgotten.
    pub fn hold(&mut self, id: u16, start: Offset) {
        self.release(id);
        if self.messages.len() == MOST {
            self.messages.pop_front();
        }
        self.messages.push_back((id, start));
    }

    /// Removes the message whose PUBREL has arrived. Returns where its PUBLISH begins; `None` if that was not captured.
    pub fn release(&mut self, id: u16) -> Option<Offset> {
        let index = self.messages.iter().position(|&(held, _)| held == id)?;
        self.messages.remove(index).map(|(_, start)| start)
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
        assert_eq!(held.release(2), Some(Offset(20)));
        assert_eq!(held.release(2), None);
        held.hold(1, Offset(30));
        assert_eq!(held.release(1), Some(Offset(30)), "the id was used again");
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
