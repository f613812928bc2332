//! The interfaces of a file: one for each point where packets are seen.

use crate::pcapng::{BlockBuffer, CapturePoint, interface};
use rustc_hash::FxHashMap;
use wirelap_events::{IfIndex, NetNs};

/// The most devices that are named from outside.
const MAX_NAMES: usize = 65_536;

/// Names a device; `None` if it is not known.
pub type DeviceName = Box<dyn FnMut(NetNs, IfIndex) -> Option<String> + Send>;

/// The interfaces of the file that is being written, and the names of devices.
pub struct Interfaces {
    device_name: DeviceName,
    /// Devices of another machine, which cannot be looked up here.
    names: FxHashMap<(NetNs, IfIndex), String>,
    numbers: FxHashMap<CapturePoint, u32>,
    /// Number of interfaces that the section has.
    count: u32,
}

impl Interfaces {
    /// No interface yet.
    pub fn new(device_name: DeviceName) -> Interfaces {
        Interfaces {
            device_name,
            names: FxHashMap::default(),
            numbers: FxHashMap::default(),
            count: 0,
        }
    }

    /// Names a device of another machine.
    pub fn name_device(&mut self, netns: NetNs, device: IfIndex, name: &str) {
        if self.names.len() < MAX_NAMES {
            self.names.insert((netns, device), name.to_owned());
        }
    }

    /// A new section has no interfaces.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.count = 0;
    }

    /// Describes an interface without packets, if there is none yet: Wireshark's programs refuse to copy a file in which another
    /// block comes before the first interface.
    pub fn have_one(&mut self, blocks: &mut BlockBuffer) {
        if self.count == 0 {
            self.count = 1;
            interface::put_without_packets(blocks);
        }
    }

    /// The number of a point's interface, which is described before its first packet.
    pub fn number(&mut self, point: CapturePoint, blocks: &mut BlockBuffer) -> u32 {
        if let Some(&number) = self.numbers.get(&point) {
            return number;
        }
        let number = self.count;
        self.count = self.count.saturating_add(1);
        self.numbers.insert(point, number);
        let device = self.names.get(&(point.netns, point.device)).cloned();
        let device = device
            .or_else(|| (self.device_name)(point.netns, point.device))
            .unwrap_or_else(|| format!("if{}@{}", point.device.0, point.netns.0));
        interface::put_own(blocks, point, &device);
        number
    }
}
