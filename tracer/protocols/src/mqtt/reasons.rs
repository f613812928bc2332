//! The reasons for which a server refuses something (MQTT 5.0 §2.4; MQTT 3.1.1 §3.2.2.3, §3.9.3).

use super::body::MqttVersion;
use super::fields::MqttFields;
use super::header::PacketType;

/// The reason for which a server's packet refuses something; `None` if it does not.
pub(super) fn refusal(
    kind: PacketType,
    version: MqttVersion,
    mut fields: MqttFields<'_>,
) -> Option<&'static str> {
    let code = match kind {
        PacketType::Connack => {
            fields.u8().ok()?;
            let code = fields.u8().ok()?;
            return match version {
                MqttVersion::V3 => connect_refused(code),
                MqttVersion::V5 => failure(code),
            };
        }
        // Before version 5, only a subscription can be refused.
        PacketType::Suback if version == MqttVersion::V3 => {
            fields.packet_id().ok()?;
            return fields.captured_rest().contains(&0x80).then_some("subscription refused");
        }
        _ if version == MqttVersion::V3 => return None,
        PacketType::Puback | PacketType::Pubrec => {
            fields.packet_id().ok()?;
            fields.u8().ok()?
        }
        PacketType::Suback => {
            fields.packet_id().ok()?;
            let properties = usize::try_from(fields.varint().ok()?).ok()?;
            fields.take(properties).ok()?;
            return fields.captured_rest().iter().find_map(|&code| failure(code));
        }
        PacketType::Disconnect => fields.u8().ok()?,
        _ => return None,
    };
    failure(code)
}

/// Why a connection is refused before version 5.
fn connect_refused(code: u8) -> Option<&'static str> {
    Some(match code {
        1 => "unacceptable protocol version",
        2 => "client identifier rejected",
        3 => "server unavailable",
        4 => "bad user name or password",
        5 => "not authorized to connect",
        _ => return None,
    })
}

/// The name of a failure of version 5; `None` if the code is none, or not known.
fn failure(code: u8) -> Option<&'static str> {
    Some(match code {
        0x80 => "unspecified error",
        0x81 => "malformed packet",
        0x82 => "protocol error",
        0x83 => "implementation specific error",
        0x84 => "unsupported protocol version",
        0x85 => "client identifier not valid",
        0x86 => "bad user name or password",
        0x87 => "not authorized",
        0x88 => "server unavailable",
        0x89 => "server busy",
        0x8A => "banned",
        0x8B => "server shutting down",
        0x8C => "bad authentication method",
        0x8D => "keep alive timeout",
        0x8E => "session taken over by another connection with the same client identifier",
        0x8F => "topic filter invalid",
        0x90 => "topic name invalid",
        0x91 => "packet identifier in use",
        0x92 => "packet identifier not found",
        0x93 => "receive maximum exceeded",
        0x94 => "topic alias invalid",
        0x95 => "packet too large",
        0x96 => "message rate too high",
        0x97 => "quota exceeded",
        0x98 => "administrative action",
        0x99 => "payload format invalid",
        0x9A => "retain not supported",
        0x9B => "QoS not supported",
        0x9C => "use another server",
        0x9D => "server moved",
        0x9E => "shared subscriptions not supported",
        0x9F => "connection rate exceeded",
        0xA0 => "maximum connect time",
        0xA1 => "subscription identifiers not supported",
        0xA2 => "wildcard subscriptions not supported",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use MqttVersion::{V3, V5};

    #[test]
    fn only_failures_are_refusals() {
        let why = |kind, version, bytes: &[u8]| {
            refusal(kind, version, MqttFields::new(bytes, bytes.len()))
        };
        assert_eq!(why(PacketType::Puback, V5, &[0, 1, 0x97, 0]), Some("quota exceeded"));
        assert_eq!(why(PacketType::Puback, V5, &[0, 1, 0x10, 0]), None, "no matching subscribers");
        assert_eq!(why(PacketType::Puback, V5, &[0, 1]), None);
        assert_eq!(why(PacketType::Pubrec, V5, &[0, 1, 0x87]), Some("not authorized"));
        assert_eq!(why(PacketType::Puback, V3, &[0, 1]), None);
        assert_eq!(why(PacketType::Suback, V3, &[0, 1, 0, 0x80]), Some("subscription refused"));
        assert_eq!(why(PacketType::Suback, V3, &[0, 1, 2]), None);
        assert_eq!(why(PacketType::Suback, V5, &[0, 1, 0, 1, 0x87]), Some("not authorized"));
        assert_eq!(why(PacketType::Connack, V3, &[0, 5]), Some("not authorized to connect"));
        assert_eq!(why(PacketType::Connack, V3, &[0, 0]), None);
        assert_eq!(why(PacketType::Connack, V5, &[0, 0x8A, 0]), Some("banned"));
        let taken_over = why(PacketType::Disconnect, V5, &[0x8E, 0]).unwrap();
        assert!(taken_over.starts_with("session taken over"));
        assert_eq!(why(PacketType::Disconnect, V5, &[]), None);
    }
}
