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

/// What of a direction is for one subscription of its receiver, who gets a message once for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Way {
    pub direction: Direction,
    /// 0 where the protocol does not tell them apart.
    pub subscription: u32,
}

impl Way {
    /// Its name among those of all directions.
    pub fn id(self) -> (FlowId, u32) {
        (self.direction.id(), self.subscription)
    }
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
