//! Interface Description Blocks (draft-ietf-opsawg-pcapng §4.2).

use super::{BlockBuffer, BlockFields, block, custom, option};
use crate::wire::{WireValue, fields};
use wirelap_events::{IfIndex, NetNs, PacketHook};

/// `LINKTYPE_RAW`: an IP packet without a link header, its version in the first four bits.
const RAW_IP: u16 = 101;

/// Place at which wirelap sees packets: a hook of a device in a network namespace. Each has an interface of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CapturePoint {
    /// The hook.
    pub hook: PacketHook,
    /// The network namespace.
    pub netns: NetNs,
    /// The device.
    pub device: IfIndex,
}

fields! {
    CapturePoint { hook, netns, device }
}

/// An interface, as its block describes it.
#[derive(Clone, Copy, Debug)]
pub struct Interface {
    /// The type of the packets' link headers.
    pub link: u16,
    /// `if_tsresol`: the unit of the packets' times.
    pub resolution: u8,
    /// `if_tsoffset`, in seconds.
    pub offset: i64,
    /// Place at which the packets were seen; `None` if wirelap did not record them.
    pub point: Option<CapturePoint>,
}

impl Interface {
    /// Reads an interface's block; `None` if it is too short.
    pub fn read(mut fields: BlockFields<'_>) -> Option<Interface> {
        let order = fields.order();
        let mut interface =
            Interface { link: fields.u16()?, resolution: 6, offset: 0, point: None };
        // Reserved, and the snap length.
        fields.skip(6)?;
        for found in fields.options() {
            match (found.number, found.value) {
                (option::RESOLUTION, &[resolution]) => interface.resolution = resolution,
                (option::OFFSET, value) => {
                    if let Some(&bytes) = value.first_chunk::<8>() {
                        interface.offset = order.u64(bytes).cast_signed();
                    }
                }
                (option::CUSTOM, value) => {
                    interface.point = interface
                        .point
                        .or_else(|| CapturePoint::take(&mut custom::own_value(value, order)?));
                }
                _ => {}
            }
        }
        Some(interface)
    }

    /// A packet's time in nanoseconds, given in this interface's units.
    pub fn nanoseconds(&self, time: u64) -> u64 {
        nanoseconds(time, self.resolution)
            .wrapping_add_signed(self.offset.wrapping_mul(1_000_000_000))
    }
}

/// The name of an interface's device, as its block has it: `lo` of `lo tx-queue`.
pub fn device_name(mut fields: BlockFields<'_>) -> Option<String> {
    fields.skip(8)?;
    let name = fields.options().find(|found| found.number == option::NAME)?;
    let name = str::from_utf8(name.value).ok()?;
    Some(name.rsplit_once(' ').map_or(name, |(device, _)| device).to_owned())
}

/// Appends the block of an interface of wirelap's own: packets that were seen at a point, from their IP headers on.
pub fn put_own(blocks: &mut BlockBuffer, point: CapturePoint, device: &str) {
    let (hook, where_to) = match point.hook {
        PacketHook::Xmit => ("tx-queue", "handed to the device's queue"),
        PacketHook::Rx => ("rx", "received from the device"),
    };
    let description = format!("{device}, packets {where_to}, network namespace {}", point.netns.0);
    let mut value = Vec::new();
    custom::put_prefix(&mut value);
    point.put(&mut value);
    begin(blocks, &format!("{device} {hook}"), &description);
    blocks.option(option::CUSTOM, &value);
    blocks.end_of_options();
    blocks.end();
}

/// Appends the block of an interface that no packet is of.
pub fn put_without_packets(blocks: &mut BlockBuffer) {
    begin(blocks, "events", "no packets: events of sockets and threads");
    blocks.end_of_options();
    blocks.end();
}

/// Begins an interface's block, with times in nanoseconds.
fn begin(blocks: &mut BlockBuffer, name: &str, description: &str) {
    blocks.begin(block::INTERFACE);
    blocks.u16(RAW_IP);
    blocks.u16(0);
    blocks.u32(0);
    blocks.option(option::NAME, name.as_bytes());
    blocks.option(option::DESCRIPTION, description.as_bytes());
    blocks.option(option::RESOLUTION, &[9]);
}

/// A time in the units of `if_tsresol`.
fn nanoseconds(time: u64, resolution: u8) -> u64 {
    let digits = u32::from(resolution & 0x7F);
    // What does not fit is no time.
    if resolution & 0x80 != 0 {
        let wide = (u128::from(time) * 1_000_000_000).checked_shr(digits).unwrap_or(0);
        return u64::try_from(wide).unwrap_or(u64::MAX);
    }
    if let Some(more) = 9u32.checked_sub(digits) {
        return time.saturating_mul(10u64.pow(more));
    }
    let unit = 10u64.checked_pow(digits.saturating_sub(9));
    unit.and_then(|unit| time.checked_div(unit)).unwrap_or(0)
}
