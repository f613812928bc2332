//! Messages that a broker may keep until their publisher releases them (`QoS` 2, MQTT 5.0 §4.3.3).

use std::collections::VecDeque;
use wirelap_events::Offset;

/// Messages that are remembered for each direction; a publisher has seldom more than some hundreds under way.
const MOST: usize = 1024;

/// `QoS` 2 messages of one direction whose PUBREL has not come.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Packet id, and where the PUBLISH begins; in their order.
    messages: VecDeque<(u16, Offset)>,
}

impl Held {
    /// A PUBLISH begins at `start`. The oldest is forgotten when there are too many.
    pub fn hold(&mut self, id: u16, start: Offset) {
        self.release(id);
        if self.messages.len() == MOST {
            self.messages.pop_front();
        }
        self.messages.push_back((id, start));
    }

    /// The PUBREL of this packet id has come: where its message begins, if that was seen.
    pub fn release(&mut self, id: u16) -> Option<Offset> {
        let index = self.messages.iter().position(|&(held, _)| held == id)?;
        self.messages.remove(index).map(|(_, start)| start)
    }

    /// Something was missed: ids may have been used again.
    pub fn forget(&mut self) {
        self.messages.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_released_once() {
        let mut held = Held::default();
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
        let mut held = Held::default();
        (0..u16::MAX).for_each(|id| held.hold(id, Offset(u64::from(id))));
        assert_eq!((held.messages.len(), held.release(0)), (MOST, None));
    }
}
