//! Messages of AMQP 0-9-1.

/// The largest payload of a frame: brokers and clients agree on 128 KiB with the frame's own eight bytes.
const LARGEST: usize = (128 << 10) - 8;

/// A frame.
pub fn frame(kind: u8, channel: u16, payload: &[u8]) -> Vec<u8> {
    let size = u32::try_from(payload.len()).unwrap();
    [&[kind][..], &channel.to_be_bytes(), &size.to_be_bytes(), payload, &[0xCE]].concat()
}

/// A message that a client publishes on channel 1, in as many frames as it takes.
pub fn publish(exchange: &str, key: &str, payload: &[u8]) -> Vec<u8> {
    let arguments = [&[0, 60, 0, 40, 0, 0][..], &short(exchange), &short(key), &[0]].concat();
    with_content(&arguments, payload)
}

/// A message that a broker delivers on channel 1, in as many frames as it takes.
pub fn deliver(exchange: &str, key: &str, tag: u64, payload: &[u8]) -> Vec<u8> {
    let tag = tag.to_be_bytes();
    let arguments =
        [&[0, 60, 0, 60][..], &short("tag"), &tag, &[0], &short(exchange), &short(key)].concat();
    with_content(&arguments, payload)
}

/// A `connection.start-ok` of a client that names its connection.
pub fn start_ok(name: &str) -> Vec<u8> {
    let len = |text: &[u8]| u32::try_from(text.len()).unwrap().to_be_bytes();
    let value = [&len(name.as_bytes())[..], name.as_bytes()].concat();
    let table = [&short("product")[..], b"S\0\0\0\x01x", &short("connection_name"), b"S", &value];
    let table = table.concat();
    let rest = [&short("PLAIN")[..], b"\0\0\0\0", &short("en_US")].concat();
    frame(1, 0, &[&[0, 10, 0, 11][..], &len(&table), &table, &rest].concat())
}

fn with_content(method: &[u8], payload: &[u8]) -> Vec<u8> {
    let header = [&[0, 60, 0, 0][..], &(payload.len() as u64).to_be_bytes(), &[0, 0]].concat();
    let mut bytes = [frame(1, 1, method), frame(2, 1, &header)].concat();
    for part in payload.chunks(LARGEST) {
        bytes.extend(frame(3, 1, part));
    }
    bytes
}

fn short(text: &str) -> Vec<u8> {
    [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
}
