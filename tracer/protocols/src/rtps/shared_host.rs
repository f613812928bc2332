//! Addresses in shared memory, and the hosts that they are on.

use super::entity::GuidPrefix;

/// Fast DDS, in an RTPS header and at the beginning of its GUIDs.
const FAST_DDS: [u8; 2] = [1, 0x0f];

/// True if a locator of this kind leads to shared memory.
pub(super) fn is_shared(kind: u32) -> bool {
    (16..32).contains(&kind) || [0x0100_0000, 0x0200_0000].contains(&kind)
}

/// The host that an address in shared memory is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SharedHost([u8; 16]);

impl SharedHost {
    /// The host of the participant that announces this address.
    pub fn new(participant: GuidPrefix, address: [u8; 16]) -> SharedHost {
        if !participant.starts_with(&FAST_DDS) {
            return SharedHost(address);
        }
        let mut host = [0; 16];
        for (to, from) in host.iter_mut().zip(participant.iter().take(4)) {
            *to = *from;
        }
        SharedHost(host)
    }
}
