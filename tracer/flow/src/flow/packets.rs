//! The packets of a flow: on which device they are counted, and which of them the hooks saw.

use super::carried::CarriedBytes;
use super::devices::Devices;
use super::seen_bytes::SeenBytes;
use crate::bytes::Unseen;
use wirelap_events::{Offset, PacketHook};

/// The packets of a flow.
#[derive(Debug, Default)]
pub struct FlowPackets {
    /// The devices that the packets pass.
    pub devices: Devices,
    /// The bytes that were on the counting device.
    pub carried: CarriedBytes,
    /// TCP: the bytes that each packet hook saw, in the order of [`PacketHook`].
    by_hook: Option<Box<[SeenBytes; 2]>>,
    /// Packets and bytes that passed unseen before `by_hook` was last freed.
    unseen_before: [Unseen; 2],
}

impl FlowPackets {
    /// The bytes that `hook` saw.
    pub fn seen_by(&mut self, hook: PacketHook) -> &mut SeenBytes {
        &mut self.by_hook.get_or_insert_default()[hook as usize]
    }

    /// Begins at `at`: each hook has to see everything from there on, unless it has to since before.
    pub fn begin_at(&mut self, at: Offset) {
        self.by_hook.get_or_insert_default().iter_mut().for_each(|hook| hook.start_at(at));
    }

    /// Notes that everything before `upto` has passed, as the stack's own numbers say.
    pub fn prove_passed(&mut self, upto: Offset) {
        for hook in self.by_hook.iter_mut().flat_map(|seen| seen.iter_mut()) {
            hook.prove_passed(upto);
        }
    }

    /// Forgets which packets were seen: that begins anew with the next one.
    pub fn forget_seen(&mut self) {
        self.by_hook = None;
    }

    /// Notes that observation was interrupted on purpose.
    pub fn interrupt(&mut self) {
        for hook in self.by_hook.iter_mut().flat_map(|seen| seen.iter_mut()) {
            hook.restart();
        }
    }

    /// Packets and bytes that `hook` did not see.
    pub fn unseen(&self, hook: PacketHook) -> Unseen {
        let mut sum = self.unseen_before[hook as usize];
        if let Some(seen) = &self.by_hook {
            sum += seen[hook as usize].unseen();
        }
        sum
    }

    /// Frees what is kept of packets that were seen; the counts stay.
    pub fn shrink(&mut self) {
        self.unseen_before = [PacketHook::Xmit, PacketHook::Rx].map(|hook| self.unseen(hook));
        self.by_hook = None;
    }
}
