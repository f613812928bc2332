//! One direction of one conversation.

use wirelap_events::FlowId;
use wirelap_protocols::Side;

/// One direction of one conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Direction {
    pub index: usize,
    /// The conversation's serial number: an index may be used again.
    pub serial: u64,
    pub side: Side,
}

impl Direction {
    /// The other direction.
    pub fn back(self) -> Direction {
        Direction { side: self.side.other(), ..self }
    }

    /// Its name outside of here.
    pub fn id(self) -> FlowId {
        FlowId(self.serial << 1 | self.side as u64)
    }
}
