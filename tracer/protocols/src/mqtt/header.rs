//! The fixed header that starts every control packet (MQTT 3.1.1 §2.2, MQTT 5.0 §2.1).
//!
//! ```text
//!   7   6   5   4   3   2   1   0
//! +---------------+---------------+
//! |  packet type  |     flags     |   flags: PUBLISH has DUP, QoS (2 bits), RETAIN
//! +---------------+---------------+
//! | remaining length, 1..4 bytes  |   7 bits a byte, lowest first; bit 7: another byte follows
//! +-------------------------------+
//! ```

use crate::{PduLen, Reader};
use wirelap_events::FrameClass;

/// The control packet types (MQTT 5.0 §2.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum PacketType {
    Connect = 1,
    Connack,
    Publish,
    Puback,
    Pubrec,
    Pubrel,
    Pubcomp,
    Subscribe,
    Suback,
    Unsubscribe,
    Unsuback,
    Pingreq,
    Pingresp,
    Disconnect,
    Auth,
}

const KINDS: [(PacketType, &str, FrameClass); 15] = [
    (PacketType::Connect, "CONNECT", FrameClass::Session),
    (PacketType::Connack, "CONNACK", FrameClass::Session),
    (PacketType::Publish, "PUBLISH", FrameClass::Data),
    (PacketType::Puback, "PUBACK", FrameClass::Ack),
    (PacketType::Pubrec, "PUBREC", FrameClass::Ack),
    (PacketType::Pubrel, "PUBREL", FrameClass::Ack),
    (PacketType::Pubcomp, "PUBCOMP", FrameClass::Ack),
    (PacketType::Subscribe, "SUBSCRIBE", FrameClass::Subscribe),
    (PacketType::Suback, "SUBACK", FrameClass::Subscribe),
    (PacketType::Unsubscribe, "UNSUBSCRIBE", FrameClass::Subscribe),
    (PacketType::Unsuback, "UNSUBACK", FrameClass::Subscribe),
    (PacketType::Pingreq, "PINGREQ", FrameClass::KeepAlive),
    (PacketType::Pingresp, "PINGRESP", FrameClass::KeepAlive),
    (PacketType::Disconnect, "DISCONNECT", FrameClass::Session),
    (PacketType::Auth, "AUTH", FrameClass::Session),
];

/// A packet's fixed header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FixedHeader {
    pub kind: PacketType,
    pub name: &'static str,
    pub class: FrameClass,
    flags: u8,
    /// Bytes of the packet after the fixed header.
    pub remaining: u32,
    /// Bytes of the fixed header.
    pub bytes: usize,
}

impl FixedHeader {
    /// Reads the header at the front of `head`.
    ///
    /// # Errors
    /// [`PduLen::Need`] if there are too few bytes, [`PduLen::Invalid`] if no packet starts here.
    pub fn read(head: &[u8]) -> Result<FixedHeader, PduLen> {
        let mut reader = Reader::new(head);
        let first = reader.u8().ok_or(PduLen::Need(2))?;
        let (kind, flags) = (first >> 4, first & 0x0F);
        let &(kind, name, class) =
            usize::from(kind).checked_sub(1).and_then(|i| KINDS.get(i)).ok_or(PduLen::Invalid)?;
        if !flags_are_valid(kind, flags) {
            return Err(PduLen::Invalid);
        }
        let remaining = varint(&mut reader).map_err(|end| match end {
            VarintError::Short => PduLen::Need(reader.position().saturating_add(1)),
            VarintError::Long => PduLen::Invalid,
        })?;
        Ok(FixedHeader { kind, name, class, flags, remaining, bytes: reader.position() })
    }

    /// Bytes of the whole packet.
    pub fn packet_len(&self) -> u64 {
        (self.bytes as u64).saturating_add(u64::from(self.remaining))
    }

    /// The `QoS` of a PUBLISH: 0, 1 or 2.
    pub fn qos(&self) -> u8 {
        (self.flags >> 1) & 3
    }

    /// The DUP flag of a PUBLISH: this may be a repeated delivery.
    pub fn dup(&self) -> bool {
        self.flags & 8 != 0
    }

    /// The RETAIN flag of a PUBLISH: if the broker sends it, the broker had stored the message.
    pub fn retain(&self) -> bool {
        self.flags & 1 != 0
    }
}

/// True if a type may have these flags (MQTT 5.0 §2.1.3; §3.3.1: a PUBLISH has no `QoS` 3, and no DUP with `QoS` 0). In version 3.1, what
/// is acknowledged has DUP if it is sent again (§2.1 there).
fn flags_are_valid(kind: PacketType, flags: u8) -> bool {
    match kind {
        PacketType::Publish => !matches!(flags & 0x0E, 0x06 | 0x0E | 0x08),
        PacketType::Pubrel | PacketType::Subscribe | PacketType::Unsubscribe => flags & !8 == 2,
        _ => flags == 0,
    }
}

/// Why a variable byte integer has no value.
pub(super) enum VarintError {
    /// The integer's last byte is missing.
    Short,
    /// The integer has more than four bytes.
    Long,
}

/// A variable byte integer (MQTT 5.0 §1.5.5).
pub(super) fn varint(reader: &mut Reader<'_>) -> Result<u32, VarintError> {
    let mut value = 0;
    for shift in [0, 7, 14, 21] {
        let byte = reader.u8().ok_or(VarintError::Short)?;
        value |= u32::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(VarintError::Long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_length_has_one_to_four_bytes() {
        // The corners of MQTT 5.0 table 1-1.
        for (bytes, value) in [
            (&[0xC0, 0x00][..], 0),
            (&[0xC0, 0x7F], 127),
            (&[0xC0, 0x80, 0x01], 128),
            (&[0xC0, 0xFF, 0x7F], 16_383),
            (&[0xC0, 0x80, 0x80, 0x01], 16_384),
            (&[0xC0, 0xFF, 0xFF, 0xFF, 0x7F], 268_435_455),
        ] {
            let header = FixedHeader::read(bytes).unwrap();
            assert_eq!((header.remaining, header.bytes), (value, bytes.len()));
            for cut in 0..bytes.len() {
                assert_eq!(FixedHeader::read(&bytes[..cut]), Err(PduLen::Need((cut + 1).max(2))));
            }
        }
        assert_eq!(FixedHeader::read(&[0xC0, 0xFF, 0xFF, 0xFF, 0x80]), Err(PduLen::Invalid));
    }

    #[test]
    fn reserved_types_and_flags_are_refused() {
        let valid: Vec<u8> = (0..=255).filter(|&b| FixedHeader::read(&[b, 0]).is_ok()).collect();
        let publish = [0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x3A, 0x3B, 0x3C, 0x3D];
        let others = [
            0x10, 0x20, 0x40, 0x50, 0x62, 0x6A, 0x70, 0x82, 0x8A, 0x90, 0xA2, 0xAA, 0xB0, 0xC0,
            0xD0, 0xE0, 0xF0,
        ];
        let mut expected = [&publish[..], &others].concat();
        expected.sort_unstable();
        assert_eq!(valid, expected);
    }
}
