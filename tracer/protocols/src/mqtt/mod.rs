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
mod held;
mod in_flight;
mod properties;
mod remedies;
mod version;

use crate::remedies::Remedies;
use crate::sight::text_bits;
use crate::{Connection, Look, PduLen, Protocol, Reader, Recognition, Sight, Topology};
use header::PacketType;
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
        stands_out(head)
    }

    fn sight(&self, _: Transport, head: &[u8]) -> Look {
        sight(head)
    }

    fn says_goodbye(&self) -> bool {
        true
    }

    fn numbers_topics(&self) -> bool {
        true
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
        Some(header) if header.kind == PacketType::Connack => Recognition::Maybe,
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
        published |= header.kind == PacketType::Publish;
        let len = usize::try_from(header.packet_len()).unwrap_or(usize::MAX);
        match rest.split_at_checked(len) {
            Some((_, [])) if published => return Recognition::Yes,
            Some((_, [])) | None => return Recognition::Maybe,
            Some((_, tail)) => rest = tail,
        }
    }
}

/// What the packet at the front of `head` tells. A PUBLISH tells by its type (10 of 256 bytes), the high byte of its topic's
/// length, and the topic.
fn sight(head: &[u8]) -> Look {
    const ACK_BITS: u32 = 14;
    let header = match header::Header::read(head) {
        Ok(header) => header,
        Err(PduLen::Need(_)) => return Look::Short,
        Err(_) => return Look::No,
    };
    let body = head.get(header.bytes..).unwrap_or_default();
    if header.kind == PacketType::Publish {
        let Some((len, topic)) = body.split_first_chunk::<2>() else {
            return if header.remaining < 2 { Look::No } else { Look::Short };
        };
        let len = u32::from(u16::from_be_bytes(*len));
        if len + 2 > header.remaining {
            return Look::No;
        }
        // What there is of the topic is read before the rest of it comes.
        if connection::strict(head, Knowledge::Nothing).is_none() {
            let is_cut = topic.len() < len as usize && body::is_topic_name(topic);
            return if is_cut { Look::Short } else { Look::No };
        }
        let topic = topic.get(..len as usize).unwrap_or(topic);
        let sure: u32 = if len < 256 { 13 } else { 6 };
        return Look::Pdu(Sight::new(header.packet_len(), sure.saturating_add(text_bits(topic))));
    }
    let is_whole = body.len() >= header.remaining as usize;
    match connection::strict(head, Knowledge::Nothing) {
        Some(_) if !is_whole => Look::Short,
        Some(header) if header.kind == PacketType::Connect => {
            Look::Pdu(Sight::new(header.packet_len(), 60))
        }
        Some(header) => Look::Pdu(Sight::new(header.packet_len(), ACK_BITS).weak()),
        None if !is_whole && header.remaining < 4096 => Look::Short,
        None => Look::No,
    }
}

/// Whether a PUBLISH with a topic of some length is at the front of `head`.
fn stands_out(head: &[u8]) -> bool {
    const ENOUGH_BITS: u32 = 20;
    // Most bytes that are searched are no PUBLISH's first.
    head.first().is_some_and(|first| first >> 4 == PacketType::Publish as u8)
        && matches!(sight(head), Look::Pdu(Sight { bits: ENOUGH_BITS.., telling: true, .. }))
}
