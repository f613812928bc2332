//! Conversations in every way that matters, and what holds for every protocol on every input.

use crate::packed;
use crate::player::{Chunk, Player};
use wirelap_events::{Offset, Transport};
use wirelap_protocols::foreign::{ForeignObserver, datagram};
use wirelap_protocols::{Protocol, ProtocolSearch, Side};

/// The same conversation with its packets cut into pieces of at most `len` bytes; cuts fall only
/// into bytes that were captured.
pub fn cut(chunks: &[Chunk], mut len: impl FnMut() -> usize) -> Vec<Chunk> {
    let mut pieces = Vec::new();
    for chunk in chunks {
        let mut rest = &chunk.bytes[..];
        loop {
            let (piece, tail) = rest.split_at(len().clamp(1, rest.len().max(1)).min(rest.len()));
            let missing = if tail.is_empty() { chunk.missing } else { 0 };
            pieces.push(Chunk { side: chunk.side, bytes: piece.to_vec(), missing });
            rest = tail;
            if rest.is_empty() {
                break;
            }
        }
    }
    pieces
}

/// Plays a conversation in every way that matters and compares: whole, cut, from the other side,
/// joined in mid-stream.
pub fn check_everywhere(
    protocol: &dyn Protocol,
    transport: Transport,
    chunks: &[Chunk],
    mut len: impl FnMut() -> usize,
) {
    let whole = Player::new(protocol, transport, false).play(chunks);
    Player::new(protocol, transport, true).play(chunks);
    let swapped = chunks.iter().cloned().map(|chunk| Chunk {
        side: if chunk.side == Side::A { Side::B } else { Side::A },
        ..chunk
    });
    Player::new(protocol, transport, false).play(&swapped.collect::<Vec<_>>());
    if transport == Transport::Tcp {
        let pieces = cut(chunks, &mut len);
        Player::new(protocol, transport, true).play(&pieces);
        let cut = Player::new(protocol, transport, false).play(&pieces);
        // Where nothing was lost, packets do not matter.
        if whole.undecoded() == 0 {
            assert_eq!(cut.found, whole.found, "{} depends on packets", protocol.name());
        }
    }
}

/// [`check_everywhere`] for what a fuzzer makes up, on one of the protocol's transports.
pub fn check_packed(name: &str, packed: &[u8]) {
    let protocol = wirelap_protocols::by_name(name).expect("a registered protocol");
    let (transport, chunks) = packed::unpack(packed);
    if !protocol.transports().contains(&transport) {
        return;
    }
    for chunk in &chunks {
        for at_start in [false, true] {
            let _ = protocol.recognise(transport, &chunk.bytes, at_start);
        }
        let _ =
            (protocol.match_signature(transport, &chunk.bytes), protocol.stands_out(&chunk.bytes));
    }
    check_unknown(&chunks);
    let mut len = packed.len() % 7;
    check_everywhere(protocol, transport, &chunks, || {
        len = (len + 1) % 7;
        len + 1
    });
}

/// Checks that the search for protocols in mid-stream, and for foreign ones, takes any bytes.
fn check_unknown(chunks: &[Chunk]) {
    let mut searches = [ProtocolSearch::default(), ProtocolSearch::default()];
    let mut observer = ForeignObserver::default();
    let mut at = [Offset::START; 2];
    for chunk in chunks {
        let side = chunk.side as usize;
        let middle = at[side].plus(chunk.len() / 2);
        searches[side].packet(at[side], &chunk.bytes, chunk.missing, &[middle]);
        searches[side].datagram(&chunk.bytes);
        observer.packet(chunk.side, at[side] == Offset::START, &chunk.bytes, chunk.missing);
        let _ = (datagram(&chunk.bytes), observer.name().map(ToString::to_string));
        at[side] = at[side].plus(chunk.len());
    }
}
