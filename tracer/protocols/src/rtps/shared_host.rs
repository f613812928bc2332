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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_have_the_host_in_the_address() {
        let cyclone = [1, 0x10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1];
        assert_eq!(SharedHost::new(cyclone, [4; 16]), SharedHost([4; 16]));
        assert!([16, 18, 19, 0x0100_0000].into_iter().all(is_shared));
        assert!(![1, 2, 4, 8, u32::MAX].into_iter().any(is_shared));
    }
}
