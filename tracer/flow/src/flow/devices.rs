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
            // A packet that another host sent is counted where it came in.
            PacketHook::Xmit if self.xmit.is_none() && self.rx.is_some() => false,
            PacketHook::Xmit => *self.xmit.get_or_insert(device) == device,
            PacketHook::Rx => self.xmit.is_none() && *self.rx.get_or_insert(device) == device,
        }
    }

    /// True if the flow's sender is on this host, as far as packets tell.
    pub fn is_sent_here(&self) -> bool {
        self.xmit.is_some()
    }
}
