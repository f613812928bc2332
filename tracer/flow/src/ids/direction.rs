//! One direction of one conversation.

use wirelap_events::FlowId;
use wirelap_protocols::Side;

/// One direction of one conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Direction {
    /// The conversation's place in its table.
    pub index: usize,
    /// The conversation's serial number: an index may be used again.
    pub serial: u64,
    /// The side that sends.
    pub side: Side,
}

/// The part of a direction that is for one subscription of its receiver, who gets a message once
/// for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Way {
    /// The direction.
    pub direction: Direction,
    /// 0 where the protocol does not tell them apart.
    pub subscription: u32,
}

impl Way {
    /// The number of the flow and of the subscription, unique among all of them.
    #[inline]
    pub fn id(self) -> (FlowId, u32) {
        (self.direction.id(), self.subscription)
    }
}

impl Direction {
    /// The other direction.
    #[inline]
    #[must_use]
    pub fn back(self) -> Direction {
        Direction { side: self.side.other(), ..self }
    }

    /// The direction as a [`FlowId`], the name that other crates know it by.
    #[inline]
    pub fn id(self) -> FlowId {
        FlowId(self.serial << 1 | self.side as u64)
    }
}
