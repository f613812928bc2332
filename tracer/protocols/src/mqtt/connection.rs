//! One MQTT connection: both directions, their version and their topic aliases.

use super::aliases::Aliases;
use super::body::{Publish, Version, check, protocol};
use super::fields::{Fault, Fields};
use super::header::{Header, PacketType};
use super::held::Held;
use super::in_flight::InFlight;
use super::version::Knowledge;
use crate::{Connection, FrameSink, Pdu, PduLen, Protocol, Side};
use wirelap_events::Total;
use wirelap_events::{ByteRange, Class, Data, Frame};

/// After a gap, a longer packet is not believed; brokers' usual limits are far below.
const PLAUSIBLE_BYTES: u32 = 64 << 20;

/// The decoder of one connection.
#[derive(Debug)]
pub(super) struct Mqtt {
    version: Knowledge,
    /// Who serves, once a packet that only one end sends has told.
    server: Option<Side>,
    /// By the side that sends them.
    aliases: [Aliases; 2],
    /// What is not released yet, by the side that sends it.
    held: [Held; 2],
    /// What is not acknowledged yet, by the side that sends it.
    in_flight: [InFlight; 2],
}

impl Mqtt {
    pub fn new() -> Mqtt {
        Mqtt {
            version: Knowledge::Nothing,
            server: None,
            aliases: Default::default(),
            held: Default::default(),
            in_flight: Default::default(),
        }
    }

    fn publish(
        &mut self,
        side: Side,
        header: &Header,
        fields: Fields<'_>,
        range: ByteRange,
        out: &mut dyn FrameSink,
    ) {
        let version = self.version.version_of(header, fields);
        let Ok(publish) = Publish::read(header, version, fields) else {
            return out.frame(&control(header, Class::Opaque, range));
        };
        if let Some(id) = publish.packet_id {
            self.in_flight[side as usize].sent(id);
            if header.qos() == 2 {
                self.held[side as usize].hold(id, range.start);
            }
        }
        let aliases = &mut self.aliases[side as usize];
        let topic = match publish.alias {
            Some(alias) if publish.topic.is_empty() => aliases.topic(alias),
            Some(alias) => {
                aliases.declare(alias, publish.topic);
                publish.topic
            }
            None => publish.topic,
        };
        if self.version == Knowledge::Nothing {
            out.uncertain_start();
        }
        let payload_len = publish.payload_len as u64;
        out.frame(&Frame {
            range,
            name: header.name,
            class: header.class,
            payload_bytes: payload_len,
            data: Some(Data {
                extent: range,
                topic,
                payload_len,
                payload: publish.payload,
                key: None,
                duplicate: header.dup(),
                retained: header.retain(),
            }),
        });
    }

    fn control(
        &mut self,
        side: Side,
        header: &Header,
        fields: Fields<'_>,
        range: ByteRange,
        out: &mut dyn FrameSink,
    ) {
        if header.kind == PacketType::Connect
            && let Ok(version) = protocol(&mut { fields })
        {
            self.version = Knowledge::Told(version);
        }
        match header.kind {
            PacketType::Connect
            | PacketType::Subscribe
            | PacketType::Unsubscribe
            | PacketType::Pingreq => {
                self.server = Some(side.other());
            }
            PacketType::Connack
            | PacketType::Suback
            | PacketType::Unsuback
            | PacketType::Pingresp => {
                self.server = Some(side);
            }
            PacketType::Pubrel => {
                if let Ok(id) = { fields }.packet_id()
                    && let Some(start) = self.held[side as usize].release(id)
                {
                    out.releases(start);
                }
            }
            PacketType::Puback | PacketType::Pubcomp => {
                if let Ok(id) = { fields }.packet_id()
                    && self.in_flight[side.other() as usize].acknowledged(id)
                {
                    out.makes_room();
                }
            }
            _ => {}
        }
        let version = self.version.version_of(header, fields);
        let class = match check(header, version, fields) {
            Ok(properties) => {
                if matches!(header.kind, PacketType::Connect | PacketType::Connack) {
                    // Absent means that none are allowed (MQTT 5.0 §3.1.2.11.5).
                    let most = properties.topic_alias_maximum.unwrap_or(0);
                    self.aliases[1_usize.saturating_sub(side as usize)].allow(most);
                }
                header.class
            }
            Err(Fault::Short) => header.class,
            Err(Fault::Malformed) => Class::Opaque,
        };
        out.frame(&control(header, class, range));
    }
}

fn control(header: &Header, class: Class, range: ByteRange) -> Frame<'static> {
    Frame { range, name: header.name, class, payload_bytes: 0, data: None }
}

/// A packet's header, and its fields as far as `bytes` go.
fn split(bytes: &[u8]) -> Result<(Header, Fields<'_>), PduLen> {
    let header = Header::read(bytes)?;
    let captured = bytes.get(header.bytes..).unwrap_or_default();
    Ok((header, Fields::new(captured, header.remaining as usize)))
}

/// The packet at the front of `head`, if every field of it that was captured is as the
/// specification has it, in a version that `known` allows.
pub(super) fn strict(head: &[u8], known: Knowledge) -> Option<Header> {
    let (header, fields) = split(head).ok()?;
    let fine = |version| check(&header, version, fields).is_ok();
    let fine = match known {
        Knowledge::Told(version) => fine(version),
        _ => fine(Version::V3) || fine(Version::V5),
    };
    (fine && header.remaining <= PLAUSIBLE_BYTES).then_some(header)
}

impl Connection for Mqtt {
    fn held_bytes(&self) -> usize {
        self.aliases.iter().map(Aliases::held_bytes).total()
    }

    fn pdu_len(&self, _: Side, head: &[u8]) -> PduLen {
        Header::read(head).map_or_else(|why| why, |header| PduLen::Known(header.packet_len()))
    }

    fn resync(&self, _: Side, head: &[u8]) -> bool {
        strict(head, self.version).is_some()
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        Protocol::stands_out(&super::PROTOCOL, head)
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        match split(pdu.bytes) {
            Ok((header, fields)) if header.kind == PacketType::Publish => {
                self.publish(side, &header, fields, pdu.range, out);
            }
            Ok((header, fields)) => self.control(side, &header, fields, pdu.range, out),
            Err(_) => out.frame(&Frame {
                range: pdu.range,
                name: "packet",
                class: Class::Opaque,
                payload_bytes: 0,
                data: None,
            }),
        }
    }

    fn server(&self) -> Option<Side> {
        self.server
    }

    fn gap(&mut self, side: Side) {
        self.aliases[side as usize].forget();
        self.held[side as usize].forget();
        self.in_flight.iter_mut().for_each(InFlight::forget);
    }
}
