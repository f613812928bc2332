//! The section that is being read: what its header and its interfaces say, and so how its packets are to be understood.

use crate::pcapng::classic::ClassicHeader;
use crate::pcapng::interface::device_name;
use crate::pcapng::{BlockFields, ByteOrder, Interface, SectionHeader};
use wirelap_events::{IfIndex, NetNs};

/// The most interfaces of a section, and the most devices that wait for being asked for.
const MAX_INTERFACES: usize = 65_536;

/// The section that is being read.
#[derive(Debug, Default)]
pub struct CurrentSection {
    /// The section's header; `None` if the section is not one of wirelap's own.
    own: Option<SectionHeader>,
    interfaces: Vec<Interface>,
    /// Devices that have been named since that was last asked.
    named: Vec<(NetNs, IfIndex, String)>,
}

impl CurrentSection {
    /// A section begins with this block.
    pub fn begin(&mut self, block: &[u8], order: ByteOrder) {
        self.interfaces.clear();
        self.own = SectionHeader::read(BlockFields::of_block(block, order));
    }

    /// A classic file is one section with one interface.
    pub fn begin_classic(&mut self, header: &ClassicHeader) {
        self.interfaces.push(header.interface());
    }

    /// Adds the interface that this block describes; `None` if the block cannot be read, or there are too many.
    pub fn add_interface(&mut self, block: &[u8], order: ByteOrder) -> Option<()> {
        let fields = BlockFields::of_block(block, order);
        let interface = Interface::read(fields.clone())?;
        if self.interfaces.len() >= MAX_INTERFACES {
            return None;
        }
        if let (Some(point), Some(name)) = (interface.point, device_name(fields))
            && self.named.len() < MAX_INTERFACES
        {
            self.named.push((point.netns, point.device, name));
        }
        self.interfaces.push(interface);
        Some(())
    }

    /// The interface with this number, from 0.
    pub fn interface(&self, number: u32) -> Option<&Interface> {
        self.interfaces.get(number as usize)
    }

    /// The section's header with the machine; `None` if the section is not one of wirelap's own.
    pub fn own(&self) -> Option<&SectionHeader> {
        self.own.as_ref()
    }

    /// Devices that were named since this was last called.
    pub fn take_named(&mut self) -> impl Iterator<Item = (NetNs, IfIndex, String)> + use<'_> {
        self.named.drain(..)
    }
}
