//! A file's blocks as they stand there, beside what they say.

use crate::block::{self, Blocks, ByteOrder, Frame, option};
use crate::input::Input;
use crate::record::Entry;
use std::io::Read;
use wirelap_events::Nanos;

/// Who makes sections where there are none.
const APPLICATION: &str = concat!("wirelap ", env!("CARGO_PKG_VERSION"));

/// The header of a classic file says that packets end in a check sum (draft-ietf-opsawg-pcap §4).
const HAS_CHECK_SUM: u32 = 1 << 26;

/// A block, or an entry of the block before.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one is alive at a time, on the stack; a box would be an allocation for each event"
)]
pub enum Piece<'a> {
    /// A block. What it says follows.
    Block(Block<'a>),
    /// What a block says.
    Entry(Entry<'a>),
}

/// A block of a capture. A classic file is told in blocks too: a section with one interface, and a block for each packet.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// All its bytes; of a classic file's header two blocks.
    pub bytes: &'a [u8],
    /// In which order they stand.
    pub order: ByteOrder,
    /// Its type.
    pub kind: u32,
    /// If it is a packet that can have options: when it was seen, and where they begin.
    pub packet: Option<(Nanos, usize)>,
}

/// A block that was found and not handed out yet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whole {
    Block { frame: Frame, packet: Option<(Nanos, usize)> },
    ClassicHeader { order: ByteOrder, fraction: u64 },
    ClassicPacket { units: u64, at: Nanos, len: usize, original: u32 },
}

impl Whole {
    /// What it is, with its bytes, which are made if the file has none.
    pub fn block<'a, R: Read>(self, input: &'a Input<R>, blocks: &'a mut Blocks) -> Block<'a> {
        blocks.bytes.clear();
        let (kind, packet) = match self {
            Whole::Block { frame, packet } => {
                let bytes = input.range(0..frame.len);
                return Block { bytes, order: frame.order, kind: frame.kind, packet };
            }
            Whole::ClassicHeader { order, fraction } => {
                header(blocks, input.bytes(), order, fraction);
                (block::SECTION, None)
            }
            Whole::ClassicPacket { units, at, len, original } => {
                let bytes = input.range(16..len.saturating_add(16));
                (block::PACKET, Some((at, classic_packet(blocks, units, bytes, original))))
            }
        };
        Block { bytes: &blocks.bytes, order: ByteOrder::Little, kind, packet }
    }
}

/// The header of a classic file as a section and an interface.
fn header(blocks: &mut Blocks, header: &[u8], order: ByteOrder, fraction: u64) {
    let word = |at: usize| {
        let bytes = header.get(at..).and_then(|from| from.first_chunk());
        bytes.map_or(0, |&bytes| order.u32(bytes))
    };
    let (snap, link) = (word(16), word(20));
    section(blocks);
    blocks.begin(block::INTERFACE);
    blocks.u32(link & 0xFFFF);
    blocks.u32(snap);
    blocks.option(option::RESOLUTION, &[if fraction == 1 { 9 } else { 6 }]);
    if link & HAS_CHECK_SUM != 0 {
        // Told in 16-bit words.
        let [high, ..] = link.to_be_bytes();
        blocks.option(option::CHECK_SUM, &[(high >> 4).saturating_mul(2)]);
    }
    blocks.end_of_options();
    blocks.end();
}

/// A section of wirelap's, for what came without one.
pub(crate) fn section(blocks: &mut Blocks) {
    blocks.begin(block::SECTION);
    blocks.section_head();
    blocks.option(option::APPLICATION, APPLICATION.as_bytes());
    blocks.end_of_options();
    blocks.end();
}

/// Returns where options would be.
fn classic_packet(blocks: &mut Blocks, units: u64, bytes: &[u8], original: u32) -> usize {
    blocks.begin(block::PACKET);
    blocks.u32(0);
    blocks.time(units);
    blocks.u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    blocks.u32(original);
    blocks.bytes.extend_from_slice(bytes);
    blocks.pad();
    let options = blocks.bytes.len();
    blocks.end();
    options
}
