//! MQTT 3.1.1 and 5.0 over TCP (OASIS mqtt-v3.1.1-os, mqtt-v5.0-os).
//!
//! | module | of the specification |
//! |---|---|
//! | `header` | the fixed header: type, flags, remaining length |
//! | `body` | the fields of the 15 packet types |
//! | `properties` | version 5's properties |
//! | `version` | which version, when CONNECT was not seen |
//! | `aliases` | version 5's topic aliases |

mod aliases;
mod body;
mod connection;
mod fields;
mod header;
mod properties;
mod version;

use crate::{Connection, Protocol, Reader, Recognition, Topology};
use header::Kind;
use version::Knowledge;
use wirelap_events::Transport;

/// MQTT, as the registry lists it.
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

    fn recognise(&self, _: Transport, head: &[u8], at_start: bool) -> Recognition {
        match connect(head) {
            Recognition::No if at_start => connack(head),
            Recognition::No => middle(head),
            found => found,
        }
    }

    fn topology(&self) -> Topology {
        Topology::Brokered
    }

    fn connection(&self, _: Transport) -> Box<dyn Connection> {
        Box::new(connection::Mqtt::new())
    }
}

/// What a client sends first: its protocol name is the one magic number that MQTT has.
fn connect(head: &[u8]) -> Recognition {
    let mut reader = Reader::new(head);
    match reader.u8() {
        None => return Recognition::NeedMore,
        Some(0x10) => {}
        Some(_) => return Recognition::No,
    }
    match header::varint(&mut reader) {
        Ok(_) => {}
        Err(header::VarintError::Short) => return Recognition::NeedMore,
        Err(header::VarintError::Long) => return Recognition::No,
    }
    let rest = reader.peek_rest();
    for name in [&b"\0\x04MQTT"[..], b"\0\x06MQIsdp"] {
        if rest.starts_with(name) {
            return Recognition::Yes;
        }
        if name.starts_with(rest) {
            return Recognition::NeedMore;
        }
    }
    Recognition::No
}

/// What a server sends first.
fn connack(head: &[u8]) -> Recognition {
    match connection::strict(head, Knowledge::Nothing) {
        Some(header) if header.kind == Kind::Connack => Recognition::Maybe,
        None if head.first() == Some(&0x20) && head.len() < 4 => Recognition::NeedMore,
        _ => Recognition::No,
    }
}

/// A packet somewhere in mid-stream. PUBLISH alone has enough structure to be told from other
/// protocols, if it runs exactly to the end of what was sent with it.
fn middle(head: &[u8]) -> Recognition {
    if head.len() < 2 {
        return Recognition::NeedMore;
    }
    let mut rest = head;
    let mut published = false;
    loop {
        let Some(header) = connection::strict(rest, Knowledge::Nothing) else {
            return Recognition::No;
        };
        published |= header.kind == Kind::Publish;
        let len = usize::try_from(header.packet_len()).unwrap_or(usize::MAX);
        match rest.split_at_checked(len) {
            Some((_, [])) if published => return Recognition::Yes,
            Some((_, [])) | None => return Recognition::Maybe,
            Some((_, tail)) => rest = tail,
        }
    }
}
