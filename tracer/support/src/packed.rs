//! Conversations in as few bytes as possible, for a fuzzer to play with.
//!
//! ```text
//! +-------+------------+---------------+
//! | flags | length u16 | bytes         |  × n; the last one may be cut
//! +-------+------------+---------------+
//! flags: bit 0 side B · bit 1 the second half was not captured · bit 7 (first packet) UDP
//! ```

use crate::player::Chunk;
use wirelap_events::Transport;
use wirelap_protocols::{Reader, Side};

const SIDE_B: u8 = 1;
const HALF_MISSING: u8 = 2;
const UDP: u8 = 0x80;

/// Unpacks a conversation: its transport and its packets.
pub fn unpack(packed: &[u8]) -> (Transport, Vec<Chunk>) {
    let udp = packed.first().is_some_and(|flags| flags & UDP != 0);
    let mut reader = Reader::new(packed);
    let mut chunks = Vec::new();
    while let (Some(flags), Some(len)) = (reader.u8(), reader.u16_be()) {
        let bytes = reader.take_up_to(usize::from(len));
        let kept = if flags & HALF_MISSING == 0 { bytes.len() } else { bytes.len() / 2 };
        chunks.push(Chunk {
            side: if flags & SIDE_B == 0 { Side::A } else { Side::B },
            bytes: bytes[..kept].to_vec(),
            missing: (bytes.len() - kept) as u64,
        });
    }
    (if udp { Transport::Udp } else { Transport::Tcp }, chunks)
}

/// Packs a conversation; what was not captured of it is left out.
pub fn pack(transport: Transport, chunks: &[Chunk]) -> Vec<u8> {
    let mut packed = Vec::new();
    for chunk in chunks {
        // An empty packet is a packet.
        let (first, rest) = chunk.bytes.split_at(chunk.bytes.len().min(usize::from(u16::MAX)));
        for piece in std::iter::once(first).chain(rest.chunks(usize::from(u16::MAX))) {
            let side = if chunk.side == Side::B { SIDE_B } else { 0 };
            packed.push(side | if transport == Transport::Udp { UDP } else { 0 });
            packed.extend(u16::try_from(piece.len()).unwrap_or(u16::MAX).to_be_bytes());
            packed.extend(piece);
        }
    }
    packed
}
