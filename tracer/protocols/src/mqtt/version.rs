//! The version of a connection: CONNECT has it; if CONNECT was not captured, other packets show it.

use super::body::{MqttVersion, Publish, check};
use super::fields::{FieldError, MqttFields};
use super::header::{FixedHeader, PacketType};
use wirelap_events::Stamp;

/// Knowledge of a connection's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownVersion {
    /// Nothing is known yet.
    Nothing,
    /// A packet is very likely of this version; a later packet may still prove it wrong.
    Inferred(MqttVersion),
    /// CONNECT has this version.
    Told(MqttVersion),
}

/// The likely version of a packet.
struct VersionGuess {
    version: MqttVersion,
    /// True if the guess is good enough to be kept for the connection.
    settles: bool,
}

impl KnownVersion {
    /// The version to decode a packet with. Infers the connection's version from the packet.
    pub fn version_of(&mut self, header: &FixedHeader, fields: MqttFields<'_>) -> MqttVersion {
        match *self {
            KnownVersion::Told(version) => version,
            KnownVersion::Inferred(version) => {
                let other = match version {
                    MqttVersion::V3 => MqttVersion::V5,
                    MqttVersion::V5 => MqttVersion::V3,
                };
                let wrong = |version| check(header, version, fields) == Err(FieldError::Malformed);
                if wrong(version) && !wrong(other) {
                    *self = KnownVersion::Inferred(other);
                    return other;
                }
                version
            }
            KnownVersion::Nothing => {
                let guess = match header.kind {
                    PacketType::Publish => guess_publish(header, fields),
                    _ => guess_control(header, fields),
                };
                if guess.settles {
                    *self = KnownVersion::Inferred(guess.version);
                }
                guess.version
            }
        }
    }
}

/// Guesses the version of a control packet: it is certain if the packet is valid in one version only.
fn guess_control(header: &FixedHeader, fields: MqttFields<'_>) -> VersionGuess {
    match [MqttVersion::V3, MqttVersion::V5].map(|version| check(header, version, fields)) {
        [Ok(_), Err(FieldError::Malformed)] => {
            VersionGuess { version: MqttVersion::V3, settles: true }
        }
        [Err(FieldError::Malformed), Ok(_)] => {
            VersionGuess { version: MqttVersion::V5, settles: true }
        }
        [Ok(_), _] => VersionGuess { version: MqttVersion::V3, settles: false },
        _ => VersionGuess { version: MqttVersion::V5, settles: false },
    }
}

/// Guesses the version of a PUBLISH. Version 5 has the length of the properties between topic and payload, where version 3
/// has the payload's first byte.
fn guess_publish(header: &FixedHeader, fields: MqttFields<'_>) -> VersionGuess {
    let [v3, v5] = [MqttVersion::V3, MqttVersion::V5].map(|v| Publish::read(header, v, fields));
    let settles = |version| VersionGuess { version, settles: true };
    match (v3, v5) {
        (Ok(v3), _) if v3.topic.is_empty() => settles(MqttVersion::V5),
        (Ok(v3), _) if Stamp::decode(v3.payload).is_some() => settles(MqttVersion::V3),
        (_, Ok(v5)) if Stamp::decode(v5.payload).is_some() => settles(MqttVersion::V5),
        (_, Err(FieldError::Malformed)) => settles(MqttVersion::V3),
        // A single zero is an empty list of properties, or the start of a binary payload; text after it decides for the
        // first.
        (_, Ok(v5)) if v5.has_properties || is_text(v5.payload) => settles(MqttVersion::V5),
        _ => VersionGuess { version: MqttVersion::V5, settles: false },
    }
}

fn is_text(payload: &[u8]) -> bool {
    !payload.is_empty()
        && payload.iter().take(16).all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace())
}
