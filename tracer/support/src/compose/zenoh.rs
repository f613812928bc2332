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

/// An option that the two ends of a session may agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionOption {
    /// No more than every session has.
    Plain,
    /// Messages without a FRAME, behind a length of four bytes.
    LowLatency,
    /// Batches that may be compressed.
    Compression,
}

/// The four messages that open a session, without a length; the client's are the first and the third.
pub fn opening(option: SessionOption) -> [Vec<u8>; 4] {
    let extension = match option {
        SessionOption::Plain => &[][..],
        SessionOption::LowLatency => &[0x85],
        SessionOption::Compression => &[0x86],
    };
    let init = |header: u8, id: u8, cookie: &[u8]| {
        [&[header, 9, 1, id, 0x0a, 0xff, 0xff][..], cookie, extension, &[0x27, 1]].concat()
    };
    [
        init(0xC1, 0xa1, &[]),
        init(0xE1, 0xb1, &[2, 0xc0, 0xc1]),
        b"\x42\x0a\x05\x02\xc0\xc1".to_vec(),
        b"\x62\x0a\x07".to_vec(),
    ]
}

/// A PUT of the key expression `key`, without a FRAME.
pub fn push(key: &str, payload: &[u8]) -> Vec<u8> {
    let key = [&[0x3D, 0][..], &varint(key.len()), key.as_bytes()].concat();
    [&key[..], &[1], &varint(payload.len()), payload].concat()
}

/// A FRAME, number `n` of its lane, with these messages.
pub fn frame(n: u32, messages: &[u8]) -> Vec<u8> {
    [&[0x25][..], &varint(n as usize), messages].concat()
}

/// A message of a low-latency session behind its length.
pub fn alone(message: &[u8]) -> Vec<u8> {
    [&u32::try_from(message.len()).unwrap().to_le_bytes()[..], message].concat()
}

/// A compressed batch, without its length: `start`, whose last byte comes so many times more, at least four, and `end`.
pub fn compressed(start: &[u8], times: usize, end: &[u8]) -> Vec<u8> {
    let bits = |len: usize| u8::try_from(len.min(15)).unwrap();
    let more = |len: usize| match len.checked_sub(15) {
        None => Vec::new(),
        Some(rest) => [vec![255; rest / 255], vec![u8::try_from(rest % 255).unwrap()]].concat(),
    };
    let (literals, matched) = (start.len(), times - 4);
    let first = [&[bits(literals) << 4 | bits(matched)][..], &more(literals), start].concat();
    let repeated = [&[1, 0][..], &more(matched)].concat();
    let last = [&[bits(end.len()) << 4][..], &more(end.len()), end].concat();
    [&[1][..], &first, &repeated, &last].concat()
}
