//! A leg of a message, as one of the packets that carried it reports it.

use super::leg::MessageLeg;
use wirelap_events::ByteRange;

/// A leg of a message, as one of the packets that carried it reports it.
#[derive(Clone, Copy, Debug)]
pub struct LegInPacket<'a> {
    /// The leg, with the message's times on it.
    pub leg: &'a MessageLeg,
    /// The bytes of the flow that the packet carries.
    pub carried: ByteRange,
    /// The device's queue, if that is known.
    pub queue: Option<u16>,
}

impl LegInPacket<'_> {
    /// Returns which of the message's bytes the packet has: from, to.
    pub fn bytes_in_packet(&self) -> (u64, u64) {
        let all = self.leg.range.range;
        let from = self.carried.start.max(all.start) - all.start;
        let to = self.carried.end.min(all.end) - all.start;
        (from, to.max(from))
    }
}
