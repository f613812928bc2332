//! Losses that a file states itself (draft-ietf-opsawg-pcapng §4.3, §4.6, appendix A).
//!
//! | where | what |
//! |---|---|
//! | `epb_dropcount`, and a field of the obsolete Packet Block | packets of the interface that were lost since its packet before |
//! | `isb_ifdrop` and `isb_osdrop` of the statistics of an interface | all that were lost up to then |
//!
//! Programs may write both, of the same packets: the greater sum counts.

use crate::pcapng::{BlockFields, ByteOrder, option};
use rustc_hash::FxHashMap;
use wirelap_events::Saturate;

/// The most interfaces whose losses are told apart.
const MAX_INTERFACES: usize = 65_536;

/// Lost packets that the interfaces of a section state.
#[derive(Debug, Default)]
pub struct StatedLosses(FxHashMap<u32, OnInterface>);

#[derive(Debug, Default)]
struct OnInterface {
    /// By the account of its packets.
    beside_packets: u64,
    /// By the account of its statistics.
    in_statistics: u64,
    /// Handed out.
    told: u64,
}

impl OnInterface {
    /// Takes the lost packets that were not handed out yet.
    fn take_new(&mut self) -> u64 {
        let all = self.beside_packets.max(self.in_statistics);
        let new = all.saturating_sub(self.told);
        self.told = self.told.max(all);
        new
    }
}

impl StatedLosses {
    /// Another section begins, whose interfaces are others.
    pub fn begin(&mut self) {
        self.0.clear();
    }

    /// A packet's block says that so many were lost before it. Returns how many of them are new.
    pub fn before_packet(&mut self, interface: u32, count: u64) -> u64 {
        self.with(interface, |losses| losses.beside_packets.grow(count))
    }

    /// Reads a block of statistics. Returns how many losses are new.
    pub fn statistics(&mut self, block: &[u8], order: ByteOrder) -> u64 {
        let mut fields = BlockFields::of_block(block, order);
        let Some(interface) = fields.u32() else { return 0 };
        // The time.
        let Some(()) = fields.skip(8) else { return 0 };
        let mut count = 0_u64;
        for found in fields.options() {
            if let option::DROPPED_BY_INTERFACE | option::DROPPED_BY_SYSTEM = found.number {
                count.grow(number(found.value, order));
            }
        }
        self.with(interface, |losses| losses.in_statistics = losses.in_statistics.max(count))
    }

    fn with(&mut self, interface: u32, change: impl FnOnce(&mut OnInterface)) -> u64 {
        if self.0.len() >= MAX_INTERFACES && !self.0.contains_key(&interface) {
            return 0;
        }
        let losses = self.0.entry(interface).or_default();
        change(losses);
        losses.take_new()
    }
}

/// A count of 64 bits; 0 if the value is too short.
pub fn number(value: &[u8], order: ByteOrder) -> u64 {
    value.first_chunk().map_or(0, |&bytes| order.u64(bytes))
}
