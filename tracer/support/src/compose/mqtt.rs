//! Just enough MQTT to be recognised (OASIS mqtt-v3.1.1 and mqtt-v5.0 §3.1, §3.2, §3.3).

use super::varint;

/// The names of the control packets, from type 1 on.
pub const NAMES: [&str; 15] = [
    "CONNECT",
    "CONNACK",
    "PUBLISH",
    "PUBACK",
    "PUBREC",
    "PUBREL",
    "PUBCOMP",
    "SUBSCRIBE",
    "SUBACK",
    "UNSUBSCRIBE",
    "UNSUBACK",
    "PINGREQ",
    "PINGRESP",
    "DISCONNECT",
    "AUTH",
];

/// First packet of a client of version 3.1.1.
pub const CONNECT: &[u8] = b"\x10\x0d\x00\x04MQTT\x04\x02\x00\x3c\x00\x01a";

/// First packet of a client of version 5.0.
pub const CONNECT_V5: &[u8] = b"\x10\x0d\0\x04MQTT\x05\x02\0\x3c\0\0\0";

/// Answer to a client of version 3.1.1.
pub const CONNACK: &[u8] = b"\x20\x02\x00\x00";

/// The CONNECT of version 3.1.1 of a client with this identifier.
pub fn connect(client: &str) -> Vec<u8> {
    packet(0x10, &[b"\x00\x04MQTT\x04\x02\x00\x3c", &name(client)[..]].concat())
}

/// The CONNECT of version 5.0 of a client with this identifier, which keeps its session and allows ten aliases.
pub fn connect_v5(client: &str) -> Vec<u8> {
    let properties = [8, 0x11, 0, 0, 0x0E, 0x10, 0x22, 0, 10];
    packet(0x10, &[&b"\x00\x04MQTT\x05\x00\x00\x3c"[..], &properties, &name(client)].concat())
}

/// A SUBSCRIBE of version 3.1.1 with this filter.
pub fn subscribe(filter: &str) -> Vec<u8> {
    packet(0x82, &[&[0, 1][..], &name(filter), &[0]].concat())
}

/// A PUBLISH of `QoS` 0.
pub fn publish(topic: &str, payload: &[u8]) -> Vec<u8> {
    publish_with(0x30, topic, payload)
}

/// A PUBLISH of `QoS` 0 in version 5, without properties.
pub fn publish_v5(topic: &str, payload: &[u8]) -> Vec<u8> {
    packet(0x30, &[&name(topic)[..], &[0], payload].concat())
}

/// The same for the subscription with this identifier, which is at most 127.
pub fn publish_v5_for(subscription: u8, topic: &str, payload: &[u8]) -> Vec<u8> {
    packet(0x30, &[&name(topic)[..], &[2, 11, subscription], payload].concat())
}

/// `first` is the fixed header's first byte: the `QoS` (2: 1, 4: 2), RETAIN (1) and DUP (8) in 0x30.
pub fn publish_with(first: u8, topic: &str, payload: &[u8]) -> Vec<u8> {
    let id: &[u8] = if first & 6 == 0 { &[] } else { &[0, 7] };
    packet(first, &[&name(topic)[..], id, payload].concat())
}

/// The same in version 5, without properties.
pub fn publish_v5_with(first: u8, topic: &str, payload: &[u8]) -> Vec<u8> {
    let id: &[u8] = if first & 6 == 0 { &[] } else { &[0, 7] };
    packet(first, &[&name(topic)[..], id, &[0], payload].concat())
}

/// The same in version 5, with an alias in place of its topic.
pub fn publish_by_alias(first: u8, alias: u8, payload: &[u8]) -> Vec<u8> {
    packet(first, &[&[0, 0, 0, 7, 3, 0x23, 0, alias][..], payload].concat())
}

fn name(topic: &str) -> Vec<u8> {
    [&u16::try_from(topic.len()).unwrap().to_be_bytes()[..], topic.as_bytes()].concat()
}

fn packet(first: u8, body: &[u8]) -> Vec<u8> {
    [&[first][..], &varint(body.len()), body].concat()
}
