//! Classic pcap (draft-ietf-opsawg-pcap §4, §5), and what its headers are as blocks of pcapng.
//!
//! ```text
//! file     magic | version | 0 | 0 | snap length | link type          6 words
//! packet   seconds | fraction | captured bytes | bytes on the wire    4 words, then the captured bytes
//! ```

use super::{BlockBuffer, BlockFields, ByteOrder, Interface, block, option, section};
use std::ops::Range;

/// Bytes of a file's header.
pub const HEADER_LEN: usize = 24;

/// Bytes of a packet's header.
pub const PACKET_HEADER_LEN: usize = 16;

/// The longest packet that is read.
pub const MAX_PACKET: u32 = 1 << 20;

/// The file's header says that packets end in a check sum.
const HAS_CHECK_SUM: u32 = 1 << 26;

/// The unit of a fraction of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FractionUnit {
    Microsecond,
    Nanosecond,
}

impl FractionUnit {
    /// `if_tsresol` of pcapng.
    fn resolution(self) -> u8 {
        match self {
            FractionUnit::Microsecond => 6,
            FractionUnit::Nanosecond => 9,
        }
    }

    fn per_second(self) -> u64 {
        match self {
            FractionUnit::Microsecond => 1_000_000,
            FractionUnit::Nanosecond => 1_000_000_000,
        }
    }
}

/// Byte order and unit of time that the first four bytes of a file tell.
#[derive(Clone, Copy, Debug)]
pub struct Magic {
    order: ByteOrder,
    unit: FractionUnit,
}

impl Magic {
    /// `None` if the file is no classic pcap.
    pub fn read(start: [u8; 4]) -> Option<Magic> {
        let magic = |order, unit| Some(Magic { order, unit });
        match u32::from_be_bytes(start) {
            0xA1B2_C3D4 => magic(ByteOrder::Big, FractionUnit::Microsecond),
            0xD4C3_B2A1 => magic(ByteOrder::Little, FractionUnit::Microsecond),
            0xA1B2_3C4D => magic(ByteOrder::Big, FractionUnit::Nanosecond),
            0x4D3C_B2A1 => magic(ByteOrder::Little, FractionUnit::Nanosecond),
            _ => None,
        }
    }
}

/// The header of a file.
#[derive(Clone, Copy, Debug)]
pub struct ClassicHeader {
    magic: Magic,
    snap_len: u32,
    /// The lower half is the link type, the upper half says whether packets end in a check sum.
    link: u32,
}

impl ClassicHeader {
    /// Reads a file's header; `None` if its bytes are not there.
    pub fn read(bytes: &[u8], magic: Magic) -> Option<ClassicHeader> {
        let mut fields = BlockFields::new(bytes, magic.order);
        fields.skip(16)?;
        Some(ClassicHeader { magic, snap_len: fields.u32()?, link: fields.u32()? })
    }

    /// The file's packets have one interface.
    pub fn interface(&self) -> Interface {
        Interface {
            link: u16::try_from(self.link & 0xFFFF).unwrap_or_default(),
            resolution: self.magic.unit.resolution(),
            offset: 0,
            point: None,
        }
    }

    /// Writes into a packet's header how many bytes of it were captured.
    pub fn put_captured(&self, packet: &mut [u8], captured: u32) {
        if let Some(place) = packet.get_mut(8..12) {
            place.copy_from_slice(&self.magic.order.u32_bytes(captured));
        }
    }

    /// Appends a section with one interface.
    pub fn put(&self, blocks: &mut BlockBuffer) {
        section::put_plain(blocks);
        blocks.begin(block::INTERFACE);
        blocks.u32(self.link & 0xFFFF);
        blocks.u32(self.snap_len);
        blocks.option(option::RESOLUTION, &[self.magic.unit.resolution()]);
        if self.link & HAS_CHECK_SUM != 0 {
            // The header counts the check sum in 16-bit words, the option in bytes.
            let [high, ..] = self.link.to_be_bytes();
            blocks.option(option::CHECK_SUM, &[(high >> 4).saturating_mul(2)]);
        }
        blocks.end_of_options();
        blocks.end();
    }
}

/// The header of a packet.
#[derive(Clone, Copy, Debug)]
pub struct PacketHeader {
    /// Time of the packet, in its interface's units.
    pub time: u64,
    /// Bytes that were captured.
    pub captured: u32,
    /// Bytes of the packet on the wire.
    pub original: u32,
}

impl PacketHeader {
    /// Reads a packet's header; `None` if its bytes are not there.
    pub fn read(bytes: &[u8], file: &ClassicHeader) -> Option<PacketHeader> {
        let mut fields = BlockFields::new(bytes, file.magic.order);
        let [seconds, fraction] = [fields.u32()?, fields.u32()?].map(u64::from);
        let time = seconds.saturating_mul(file.magic.unit.per_second()).saturating_add(fraction);
        Some(PacketHeader { time, captured: fields.u32()?, original: fields.u32()? })
    }

    /// Range of the packet's bytes, from the beginning of this header on.
    pub fn bytes(&self) -> Range<usize> {
        PACKET_HEADER_LEN..PACKET_HEADER_LEN.saturating_add(self.captured as usize)
    }

    /// Appends the packet as an Enhanced Packet Block. Returns where in it options would begin.
    pub fn put(&self, bytes: &[u8], blocks: &mut BlockBuffer) -> usize {
        blocks.begin_packet(0, self.time, self.original, bytes);
        let options = blocks.bytes.len();
        blocks.end();
        options
    }
}
