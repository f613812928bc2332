//! Packets that carry something, and legs of messages, that wait in one flow.

use crate::message::MessageLeg;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use wirelap_events::{ByteRange, MessageId, Offset, Saturate};

/// Legs that are looked at behind the last one that a packet has bytes of: a longer leg may be there, which ends later
/// and began before.
const SEARCHED: usize = 64;

/// Fewer legs of a flow are not worth looking through.
const FEW: usize = 64;

/// Packets and legs of one flow that wait.
#[derive(Debug, Default)]
pub struct PendingFlow {
    /// Numbers of packets, in the order in which they came.
    pub packets: VecDeque<u64>,
    /// Legs of messages, by where they end.
    legs: BTreeMap<(Offset, MessageId), MessageLeg>,
    /// Number of legs at which those without a packet are forgotten.
    full: usize,
}

impl PendingFlow {
    /// Number of legs that wait.
    pub fn legs(&self) -> usize {
        self.legs.len()
    }

    /// Adds a leg. Whether it is another one than those before.
    pub fn add(&mut self, leg: MessageLeg) -> bool {
        match self.legs.entry((leg.range.range.end, leg.message)) {
            Entry::Occupied(mut known) => {
                known.get_mut().merge(leg);
                false
            }
            Entry::Vacant(new) => {
                new.insert(leg);
                true
            }
        }
    }

    /// The legs that have bytes of a packet.
    pub fn in_packet(&self, packet: ByteRange) -> impl Iterator<Item = &MessageLeg> {
        let from = (packet.start.plus(1), MessageId(0));
        let mut misses = 0;
        let behind = self.legs.range(from..).map(|(_, leg)| leg);
        let near = behind.take_while(move |leg| {
            misses.grow(usize::from(leg.range.range.start >= packet.end));
            misses <= SEARCHED
        });
        near.filter(move |leg| leg.range.range.overlaps(packet))
    }

    /// True if there are so many legs that those without a packet are to be forgotten.
    pub fn is_full(&self) -> bool {
        self.legs.len() >= self.full.max(FEW)
    }

    /// Forgets the legs that end before the first byte of all packets that are left. Returns how many.
    pub fn forget_before(&mut self, start: Offset) -> usize {
        let before = self.legs.len();
        self.legs = self.legs.split_off(&(start.plus(1), MessageId(0)));
        // Legs without a packet take room from packets, so there must not be many.
        self.full = self.legs.len().saturating_add(self.legs.len() / 8).saturating_add(FEW);
        before.saturating_sub(self.legs.len())
    }
}
