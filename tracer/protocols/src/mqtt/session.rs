//! The session of a client: what comes for it while it is away, its server keeps.

use super::body::MqttVersion;
use super::header::PacketType;
use super::properties::Properties;
use crate::KeptFor;

/// A Session Expiry Interval without an end (MQTT 5.0 §3.1.2.11.2).
const WITHOUT_END: u32 = u32::MAX;

/// The session of one client, as far as its packets were seen.
#[derive(Debug)]
pub(super) struct MqttSession {
    /// The time for which it outlives its connection.
    lasts: KeptFor,
    /// The client is sent messages of `QoS` 1 or 2: those of `QoS` 0 are kept for nobody.
    gets_kept: bool,
}

impl Default for MqttSession {
    fn default() -> MqttSession {
        MqttSession { lasts: KeptFor::Nobody, gets_kept: false }
    }
}

impl MqttSession {
    /// Takes in a packet that sets how long the session lasts. `is_kept` is of a CONNECT: it does not ask for a new session.
    pub fn note(
        &mut self,
        kind: PacketType,
        version: MqttVersion,
        is_kept: impl FnOnce() -> bool,
        properties: &Properties,
    ) {
        let told = properties.session_expiry.map(|seconds| match seconds {
            0 => KeptFor::Nobody,
            WITHOUT_END => KeptFor::Ever,
            _ => KeptFor::seconds(seconds),
        });
        match (kind, version, told) {
            (PacketType::Connect, MqttVersion::V3, _) => {
                self.lasts = if is_kept() { KeptFor::Ever } else { KeptFor::Nobody };
            }
            (PacketType::Connect, MqttVersion::V5, None) => self.lasts = KeptFor::Nobody,
            (PacketType::Connect | PacketType::Connack | PacketType::Disconnect, _, Some(told)) => {
                self.lasts = told;
            }
            _ => {}
        }
    }

    /// The client is sent a message.
    pub fn gets(&mut self, qos: u8) {
        self.gets_kept |= qos > 0;
    }

    /// The time for which its server keeps what comes once the connection is closed.
    pub fn keeps(&self) -> KeptFor {
        if self.gets_kept { self.lasts } else { KeptFor::Nobody }
    }
}
