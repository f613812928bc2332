//! MQTT 3.1.1 and 5.0 over TCP (OASIS mqtt-v3.1.1-os, mqtt-v5.0-os).
//!
//! | module | contents |
//! |---|---|
//! | `header` | the fixed header: type, flags, remaining length |
//! | `body` | the fields of the 15 packet types |
//! | `packet` | whether bytes are a packet |
//! | `recognition` | whether bytes are MQTT |
//! | `held` | messages that are not released |
//! | `marks` | whose RETAIN flag a message has |
//! | `properties` | version 5's properties |
//! | `version` | the version of a connection whose CONNECT was not captured |
//! | `aliases` | version 5's topic aliases |
//! | `session` | for how long a client's session outlives its connection |
//! | `subscriptions` | what a client has subscribed to, alone or in a group |

mod aliases;
mod body;
mod connection;
mod fields;
mod header;
mod held;
mod marks;
mod packet;
mod properties;
mod reasons;
mod recognition;
mod remedies;
mod session;
mod subscriptions;
mod version;

use crate::remedies::Remedies;
use crate::{Connection, MessageRouting, Protocol, Recognition, SignatureMatch};
use recognition::{connack, connect, middle};
use wirelap_events::Transport;

/// The protocol MQTT.
#[derive(Debug)]
pub struct Mqtt;

/// The registry's entry.
pub static PROTOCOL: Mqtt = Mqtt;

impl Protocol for Mqtt {
    fn name(&self) -> &'static str {
        "mqtt"
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Tcp]
    }

    fn ports(&self, _: Transport) -> &'static [u16] {
        &[1883]
    }

    fn remedies(&self) -> &'static Remedies {
        &remedies::REMEDIES
    }

    fn recognise(&self, _: Transport, head: &[u8], at_start: bool) -> Recognition {
        match connect(head) {
            Recognition::No if at_start => connack(head),
            Recognition::No => middle(head),
            found => found,
        }
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        recognition::stands_out(head)
    }

    fn match_signature(&self, _: Transport, head: &[u8]) -> SignatureMatch {
        recognition::match_signature(head)
    }

    fn announces_close(&self) -> bool {
        true
    }

    fn closes_namesakes(&self) -> bool {
        true
    }

    fn hears_unsubscriptions(&self) -> bool {
        true
    }

    /// A server ends the connection of a client whose identifier another one comes with (MQTT 3.1.1 §3.1.4, MQTT 5.0 §3.1.4).
    fn names_clients_uniquely(&self) -> bool {
        true
    }

    fn numbers_topics(&self) -> bool {
        true
    }

    /// `RabbitMQ` (MQTT plugin, "How the plugin works") and nats-server ("MQTT topics and NATS subjects") hand messages on to clients of
    /// their own protocols, and write `.` for `/`.
    fn routed_topic<'a>(&self, topic: &'a [u8]) -> Option<&'a [u8]> {
        Some(topic)
    }

    fn topology(&self) -> MessageRouting {
        MessageRouting::Brokered
    }

    fn connection(&self, _: Transport) -> Box<dyn Connection> {
        Box::new(connection::MqttConnection::new())
    }
}
