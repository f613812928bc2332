//! Composes messages: bytes as a program would send them, by protocol.

pub mod amqp;
pub mod kafka;
pub mod mqtt;
pub mod nats;
pub mod opcua;
pub mod rtps;
pub mod websocket;
pub mod zenoh;
pub mod zmtp;

use wirelap_events::Stamp;

/// The stamp of message number `seq` of the first stream.
pub fn stamp(seq: u32) -> Stamp {
    Stamp { stream: 0, seq, reply: false, warmup: false }
}

/// A payload of `len` bytes with a stamp.
pub fn payload(stamp: Stamp, len: usize) -> Vec<u8> {
    let mut payload = stamp.encode().to_vec();
    payload.resize(len, b'.');
    payload
}

/// A stamped message in the framing of the plain TCP workload.
pub fn plain(stamp: Stamp, len: usize) -> Vec<u8> {
    let mut bytes = u32::try_from(len).unwrap().to_be_bytes().to_vec();
    bytes.extend(payload(stamp, len));
    bytes
}

/// An unsigned number, seven bits a byte, the low ones first: MQTT's remaining length, Kafka's `UNSIGNED_VARINT`, Zenoh's zint.
pub fn varint(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7F {
        bytes.push(u8::try_from(number & 0x7F).unwrap() | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap());
    bytes
}
