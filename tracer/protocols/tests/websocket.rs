//! MQTT over a WebSocket, in any packets and frames, and any bytes in its place.

use proptest::prelude::*;
use wirelap_protocols::Side;
use wirelap_test_support::compose::varint;
use wirelap_test_support::over_websocket::{Framing, check_framed, check_packed};
use wirelap_test_support::player::Chunk;

const CONNECT: &[u8] = b"\x10\x0c\0\x04MQTT\x04\x02\0\x3c\0\0";

fn chunks() -> impl Strategy<Value = Vec<Chunk>> {
    let publish = (any::<bool>(), 0..300_usize, any::<u8>()).prop_map(|(is_client, len, byte)| {
        let mut packet = vec![0x30];
        packet.extend(varint(7 + len));
        packet.extend(b"\0\x05a/b/c");
        packet.extend(std::iter::repeat_n(byte, len));
        Chunk::whole(if is_client { Side::A } else { Side::B }, &packet)
    });
    proptest::collection::vec(publish, 1..20).prop_map(|mut chunks| {
        chunks.insert(0, Chunk::whole(Side::A, CONNECT));
        chunks
    })
}

proptest! {
    #[test]
    fn neither_packets_nor_frames_matter(
        chunks in chunks(),
        compressed: bool,
        forgets: bool,
        fragment in 1..200_usize,
    ) {
        check_framed(&chunks, Framing { compressed, forgets, fragment });
    }

    #[test]
    fn any_bytes_end_well(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        check_packed(&bytes);
    }
}
