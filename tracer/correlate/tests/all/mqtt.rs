//! Just enough MQTT 3.1.1 to be recognised (OASIS mqtt-v3.1.1 §3.1, §3.2, §3.3).

use wirelap_events::Stamp;

pub const CONNECT: &[u8] = b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x3c\x00\x01a";
pub const CONNACK: &[u8] = b"\x20\x02\x00\x00";

pub fn publish(topic: &str, payload: &[u8]) -> Vec<u8> {
    publish_with(0x30, topic, payload)
}

/// `first` is the fixed header's first byte: the `QoS` (2: 1, 4: 2), RETAIN (1) and DUP (8) in 0x30.
pub fn publish_with(first: u8, topic: &str, payload: &[u8]) -> Vec<u8> {
    let id: &[u8] = if first & 6 == 0 { &[] } else { &[0, 7] };
    let mut left = 2 + topic.len() + id.len() + payload.len();
    let mut bytes = vec![first];
    loop {
        let digit = u8::try_from(left % 128).unwrap();
        left /= 128;
        bytes.push(if left > 0 { digit | 0x80 } else { digit });
        if left == 0 {
            break;
        }
    }
    bytes.extend(u16::try_from(topic.len()).unwrap().to_be_bytes());
    bytes.extend(topic.as_bytes());
    bytes.extend(id);
    bytes.extend(payload);
    bytes
}

pub fn stamp(seq: u32) -> Stamp {
    Stamp { stream: 0, seq, reply: false, warmup: false }
}

/// A payload of `len` bytes with a stamp.
pub fn payload(stamp: Stamp, len: usize) -> Vec<u8> {
    let mut payload = stamp.encode().to_vec();
    payload.resize(len, b'.');
    payload
}

/// A stamped message in the plain TCP framing.
pub fn plain(stamp: Stamp, len: usize) -> Vec<u8> {
    let mut bytes = u32::try_from(len).unwrap().to_be_bytes().to_vec();
    bytes.extend(payload(stamp, len));
    bytes
}
