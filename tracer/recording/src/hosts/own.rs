//! The addresses of the host that a capture was made on, where it says which way packets went (`tcpdump -i any`, pcapng's
//! direction): those that send what leaves and get what comes in, and never the other way round.

use rustc_hash::{FxHashMap, FxHashSet};
use std::net::IpAddr;
use wirelap_events::{IfIndex, Packet, PacketHook};

/// The addresses that packets of each direction have.
#[derive(Default)]
struct SeenAddresses {
    leaves: FxHashSet<IpAddr>,
    comes_in: FxHashSet<IpAddr>,
    elsewhere: FxHashSet<IpAddr>,
}

impl SeenAddresses {
    fn add(&mut self, hook: PacketHook, src: IpAddr, dst: IpAddr) {
        match hook {
            PacketHook::Xmit => {
                self.leaves.insert(src);
                self.elsewhere.insert(dst);
            }
            PacketHook::Rx => {
                self.comes_in.insert(dst);
                self.elsewhere.insert(src);
            }
        }
    }

    fn own(self) -> Vec<IpAddr> {
        let both = self.leaves.intersection(&self.comes_in);
        both.filter(|address| !self.elsewhere.contains(address)).copied().collect()
    }
}

/// The packets of a capture, from which it is found out which addresses the host has that made it.
#[derive(Default)]
pub struct OwnAddresses(FxHashMap<IfIndex, SeenAddresses>);

impl OwnAddresses {
    /// Takes a packet in.
    pub fn add(&mut self, packet: &Packet<'_>) {
        let (src, dst) = (packet.flow.src.ip(), packet.flow.dst.ip());
        if src != dst && !src.is_loopback() {
            self.0.entry(packet.device).or_default().add(packet.hook, src, dst);
        }
    }

    /// The addresses of the host that made the capture, for each of its interfaces (several hosts' may have been put into one
    /// file); none where that is not known.
    pub fn all(self) -> Vec<Vec<IpAddr>> {
        let own = self.0.into_values().map(SeenAddresses::own);
        own.filter(|own| !own.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(packets: &[(PacketHook, u8, u8)]) -> Vec<IpAddr> {
        let mut seen = SeenAddresses::default();
        for &(hook, src, dst) in packets {
            let [src, dst] = [src, dst].map(|last| IpAddr::from([10, 0, 0, last]));
            seen.add(hook, src, dst);
        }
        let mut own = seen.own();
        own.sort_unstable();
        own
    }

    #[test]
    fn a_host_sends_what_leaves_and_gets_what_comes_in() {
        use PacketHook::{Rx, Xmit};
        let expected = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
        assert_eq!(own(&[(Rx, 7, 1), (Xmit, 1, 7), (Rx, 8, 2), (Xmit, 2, 8)]), expected);
        // A router's capture has both ways of both ends; one without directions has all coming in.
        assert!(own(&[(Rx, 7, 1), (Xmit, 7, 1), (Rx, 1, 7), (Xmit, 1, 7)]).is_empty());
        assert!(own(&[(Rx, 7, 1), (Rx, 1, 7)]).is_empty());
    }
}
