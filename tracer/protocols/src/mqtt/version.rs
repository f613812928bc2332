//! Which version a connection speaks: CONNECT says so, and without it the packets tell.

use super::body::{Publish, Version, check};
use super::fields::{Fault, Fields};
use super::header::{Header, PacketType};
use wirelap_events::Stamp;

/// What is known of a connection's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Knowledge {
    /// Nothing yet.
    Nothing,
    /// A packet told that can hardly be the other version's; another may still prove it wrong.
    Inferred(Version),
    /// CONNECT said so.
    Told(Version),
}

/// How a packet looks with nothing known.
struct Guess {
    version: Version,
    /// Good enough to keep.
    settles: bool,
}

impl Knowledge {
    /// The version to read a packet in. Learns from the packet.
    pub fn version_of(&mut self, header: &Header, fields: Fields<'_>) -> Version {
        match *self {
            Knowledge::Told(version) => version,
            Knowledge::Inferred(version) => {
                let other = match version {
                    Version::V3 => Version::V5,
                    Version::V5 => Version::V3,
                };
                let wrong = |version| check(header, version, fields) == Err(Fault::Malformed);
                if wrong(version) && !wrong(other) {
                    *self = Knowledge::Inferred(other);
                    return other;
                }
                version
            }
            Knowledge::Nothing => {
                let guess = match header.kind {
                    PacketType::Publish => guess_publish(header, fields),
                    _ => guess_control(header, fields),
                };
                if guess.settles {
                    *self = Knowledge::Inferred(guess.version);
                }
                guess.version
            }
        }
    }
}

/// A control packet that only one version can have sent tells which.
fn guess_control(header: &Header, fields: Fields<'_>) -> Guess {
    match [Version::V3, Version::V5].map(|version| check(header, version, fields)) {
        [Ok(_), Err(Fault::Malformed)] => Guess { version: Version::V3, settles: true },
        [Err(Fault::Malformed), Ok(_)] => Guess { version: Version::V5, settles: true },
        [Ok(_), _] => Guess { version: Version::V3, settles: false },
        _ => Guess { version: Version::V5, settles: false },
    }
}

/// In version 5 the length of the properties stands between topic and payload; what version 3 has
/// there is the payload's first byte.
fn guess_publish(header: &Header, fields: Fields<'_>) -> Guess {
    let [v3, v5] = [Version::V3, Version::V5].map(|v| Publish::read(header, v, fields));
    let settles = |version| Guess { version, settles: true };
    match (v3, v5) {
        (Ok(v3), _) if v3.topic.is_empty() => settles(Version::V5),
        (Ok(v3), _) if Stamp::decode(v3.payload).is_some() => settles(Version::V3),
        (_, Ok(v5)) if Stamp::decode(v5.payload).is_some() => settles(Version::V5),
        (_, Err(Fault::Malformed)) => settles(Version::V3),
        // A single zero: no properties, or a binary payload. Text after it makes it the former.
        (_, Ok(v5)) if v5.has_properties || is_text(v5.payload) => settles(Version::V5),
        _ => Guess { version: Version::V5, settles: false },
    }
}

fn is_text(payload: &[u8]) -> bool {
    !payload.is_empty()
        && payload.iter().take(16).all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace())
}
