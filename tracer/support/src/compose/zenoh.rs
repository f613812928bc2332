//! Batches of Zenoh over TCP.

use super::varint;

/// Bytes of a message in one batch at most.
const FRAGMENT: usize = 60_000;

/// A PUT of a numeric key expression, number `n` of its kind: in one batch, or in fragments.
pub fn put(n: u32, payload: &[u8]) -> Vec<u8> {
    let message = [b"\x5d\x01\x01".to_vec(), varint(payload.len()), payload.to_vec()].concat();
    let first = n as usize;
    if message.len() <= FRAGMENT {
        return batch(&[vec![0x25], varint(first), message].concat());
    }
    let last = message.len().div_ceil(FRAGMENT) - 1;
    let first = first * (last + 1);
    let fragments = message.chunks(FRAGMENT).enumerate().map(|(index, fragment)| {
        // The first one is marked as such by an extension.
        let (header, mark) = match index {
            0 => (0xE6, &[2][..]),
            _ if index == last => (0x26, &[][..]),
            _ => (0x66, &[][..]),
        };
        batch(&[&[header][..], &varint(first + index), mark, fragment].concat())
    });
    fragments.collect::<Vec<_>>().concat()
}

/// An INIT, whose ID has these bytes; `ack` is from the acceptor.
pub fn init(ack: bool, zid: &[u8]) -> Vec<u8> {
    let size = u8::try_from(zid.len() - 1).unwrap() << 4;
    let (header, cookie) = if ack { (0x21, &[1, 7][..]) } else { (0x01, &[][..]) };
    batch(&[&[header, 9, size][..], zid, cookie].concat())
}

/// Messages behind their length.
pub fn batch(body: &[u8]) -> Vec<u8> {
    [&u16::try_from(body.len()).unwrap().to_le_bytes()[..], body].concat()
}
