//! On which device a flow's packets are counted.

use wirelap_events::{IfIndex, NetNs, Packet, PacketHook};

/// A device, named across namespaces.
pub type Device = (NetNs, IfIndex);

/// A packet may be seen on several devices: veth, bridge, the host's own. It is counted on one: the
/// one that the sender hands it to, or, when the sender is on another host, the first that receives it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Devices {
    xmit: Option<Device>,
    rx: Option<Device>,
    /// The host that the packets come to at last; 0 before one came in.
    receiver: u8,
}

impl Devices {
    /// True if `packet` is at the place where this flow is counted. `is_new` tells that its bytes were
    /// not seen on the sender's device: a flow that took another route goes on there.
    pub fn counts(&mut self, packet: &Packet<'_>, is_new: bool) -> bool {
        let device = (packet.netns, packet.device);
        match packet.hook {
            PacketHook::Xmit if is_new => {
                self.xmit = Some(device);
                true
            }
            // A packet that a host passes on is counted where it came in. One that came in at another host is sent here, whatever the two
            // hosts' clocks tell.
            PacketHook::Xmit if self.xmit.is_none() && self.came_in_on(packet.netns.host()) => {
                false
            }
            PacketHook::Xmit => *self.xmit.get_or_insert(device) == device,
            PacketHook::Rx => self.xmit.is_none() && *self.rx.get_or_insert(device) == device,
        }
    }

    fn came_in_on(&self, host: u8) -> bool {
        self.rx.is_some_and(|(netns, _)| netns.host() == host)
    }

    /// A packet comes in at this host; `had_come` tells that its bytes came in elsewhere before. What a host passes on comes in later
    /// at the next.
    pub fn note_received(&mut self, host: u8, had_come: impl FnOnce() -> bool) {
        if self.receiver != host && (self.receiver == 0 || had_come()) {
            self.receiver = host;
        }
    }

    /// The numbers of the hosts that send and receive the flow, as far as packets tell.
    pub fn hosts(&self) -> [Option<u8>; 2] {
        let sender = self.xmit.map(|(netns, _)| netns.host());
        [sender, (self.receiver != 0).then_some(self.receiver)]
    }

    /// True if the flow's sender is on this host, as far as packets tell.
    pub fn is_sent_here(&self) -> bool {
        self.xmit.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_router_passes_on_comes_to_the_last_host() {
        let mut devices = Devices::default();
        let mut came = |host, had_come| {
            devices.note_received(host, || had_come);
            devices.hosts()[1]
        };
        assert_eq!(came(2, false), Some(2), "the router's capture alone so far");
        assert_eq!(came(3, true), Some(3));
        assert_eq!([came(2, false), came(3, true)], [Some(3); 2]);
    }
}
