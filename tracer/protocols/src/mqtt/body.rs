//! The bytes of a packet after its fixed header (MQTT 3.1.1 §3, MQTT 5.0 §3).
//!
//! ```text
//! PUBLISH      topic (u16 length, UTF-8) · packet id if QoS > 0 · [properties] · payload
//! CONNECT      "MQTT" · level · flags · keep alive · [properties] · client id · will · user · password
//! CONNACK      flags · reason · [properties]
//! PUBACK       packet id · [reason] · [properties]             (also PUBREC, PUBREL, PUBCOMP)
//! SUBSCRIBE    packet id · [properties] · (filter · options)+
//! SUBACK       packet id · [properties] · reason+
//! UNSUBSCRIBE  packet id · [properties] · filter+
//! UNSUBACK     packet id · [properties] · [reason+]
//! PINGREQ, PINGRESP            nothing
//! DISCONNECT, AUTH             [reason] · [properties]
//! ```
//!
//! Fields in `[ ]` exist only in version 5, where acks, DISCONNECT and AUTH may leave out trailing fields.

use super::fields::{FieldError, MqttFields, ensure};
use super::header::{FixedHeader, PacketType};
use super::properties::{Properties, PropertyOwner};
use wirelap_events::TraceContext;

/// The protocol's versions that differ in layout. Version 3.1 has the layout of 3.1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MqttVersion {
    V3,
    V5,
}

/// PUBLISH up to its payload (MQTT 5.0 §3.3.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Publish<'a> {
    /// The topic name, which is not checked here, see [`is_topic_name`].
    pub topic: &'a [u8],
    /// `None` for `QoS` 0.
    pub packet_id: Option<u16>,
    pub alias: Option<u16>,
    /// Seconds for which it is kept for a subscriber that is away; `None` without an end.
    pub expiry: Option<u32>,
    /// The subscriptions that it is for, as one number; 0 if it does not tell.
    pub subscriptions: u32,
    /// True if the packet has at least one property.
    pub has_properties: bool,
    /// The properties, if there are any, and what follows them.
    properties: MqttFields<'a>,
    /// The captured bytes of the payload.
    pub payload: &'a [u8],
    pub payload_len: usize,
}

impl<'a> Publish<'a> {
    pub fn read(
        header: &FixedHeader,
        version: MqttVersion,
        mut fields: MqttFields<'a>,
    ) -> Result<Publish<'a>, FieldError> {
        let topic = fields.binary()?;
        let packet_id = if header.qos() > 0 { Some(fields.packet_id()?) } else { None };
        let (before, all) = (fields.left(), fields);
        let properties = match version {
            MqttVersion::V3 => Properties::default(),
            MqttVersion::V5 => {
                Properties::read(&mut fields, PropertyOwner::packet(PacketType::Publish))?
            }
        };
        Ok(Publish {
            topic,
            packet_id,
            alias: properties.topic_alias,
            expiry: properties.message_expiry,
            subscriptions: properties.subscriptions,
            has_properties: before.saturating_sub(fields.left()) > 1,
            properties: all,
            payload: fields.captured_rest(),
            payload_len: fields.left(),
        })
    }

    /// The trace that the message names in its user properties, in the first one that is well-formed.
    pub fn trace_context(&self) -> Option<TraceContext> {
        self.has_properties.then(|| Properties::trace_context(self.properties))?
    }

    /// True if a client or broker that follows the specification could have sent this.
    pub fn is_strict(&self) -> bool {
        match self.topic {
            [] => self.alias.is_some(),
            topic => is_topic_name(topic),
        }
    }
}

/// True if the bytes are UTF-8 without wildcards and control characters (MQTT 5.0 §4.7, §1.5.4).
pub(super) fn is_topic_name(topic: &[u8]) -> bool {
    std::str::from_utf8(topic)
        .is_ok_and(|text| !text.chars().any(|c| c.is_control() || matches!(c, '+' | '#')))
}

/// The version that a CONNECT requests (MQTT 5.0 §3.1.2.1, §3.1.2.2).
///
/// A bridge sets the top bit of the protocol level (Mosquitto's `try_private`).
pub(super) fn protocol(fields: &mut MqttFields<'_>) -> Result<MqttVersion, FieldError> {
    let name = fields.binary()?;
    match (name, fields.u8()? & 0x7F) {
        (b"MQIsdp", 3) | (b"MQTT", 4) => Ok(MqttVersion::V3),
        (b"MQTT", 5) => Ok(MqttVersion::V5),
        _ => Err(FieldError::Malformed),
    }
}

/// Checks every field of a packet in `version`, up to the last byte (CONNECT has its own version). Returns the packet's
/// properties.
pub(super) fn check(
    header: &FixedHeader,
    version: MqttVersion,
    mut fields: MqttFields<'_>,
) -> Result<Properties, FieldError> {
    let fields = &mut fields;
    match header.kind {
        PacketType::Connect => connect(fields),
        PacketType::Connack => connack(version, fields),
        PacketType::Publish => Publish::read(header, version, *fields)
            .and_then(|publish| ensure(publish.is_strict()))
            .map(|()| Properties::default()),
        PacketType::Puback | PacketType::Pubrec | PacketType::Pubrel | PacketType::Pubcomp => {
            fields.packet_id()?;
            trailer(header.kind, version, fields)
        }
        PacketType::Subscribe => list(header.kind, version, fields, |fields| {
            topic_filter(fields)?;
            subscription_options(version, fields.u8()?)
        }),
        PacketType::Suback => list(header.kind, version, fields, |fields| {
            let code = fields.u8()?;
            ensure(code <= 2 || code == 0x80 || (version == MqttVersion::V5 && is_failure(code)))
        }),
        PacketType::Unsubscribe => list(header.kind, version, fields, topic_filter),
        PacketType::Unsuback if version == MqttVersion::V3 => {
            fields.packet_id()?;
            fields.end().map(|()| Properties::default())
        }
        PacketType::Unsuback => list(header.kind, version, fields, |fields| {
            let code = fields.u8()?;
            ensure(matches!(code, 0 | 0x11) || is_failure(code))
        }),
        PacketType::Pingreq | PacketType::Pingresp => fields.end().map(|()| Properties::default()),
        PacketType::Disconnect => trailer(header.kind, version, fields),
        PacketType::Auth => {
            ensure(version == MqttVersion::V5)?;
            trailer(header.kind, version, fields)
        }
    }
}

/// The client identifier of a CONNECT; empty if the server is to assign one (MQTT 5.0 §3.1.3.1).
pub(super) fn client_id(mut fields: MqttFields<'_>) -> Result<&[u8], FieldError> {
    let fields = &mut fields;
    let version = protocol(fields)?;
    fields.u8()?;
    fields.u16()?;
    properties(PropertyOwner::packet(PacketType::Connect), version, fields)?;
    fields.string().map(str::as_bytes)
}

/// MQTT 5.0 §3.1.
fn connect(fields: &mut MqttFields<'_>) -> Result<Properties, FieldError> {
    let version = protocol(fields)?;
    let flags = fields.u8()?;
    let (will, will_qos) = (flags & 4 != 0, (flags >> 3) & 3);
    ensure(flags & 1 == 0 && will_qos != 3 && (will || flags & 0x38 == 0))?;
    fields.u16()?;
    let properties = properties(PropertyOwner::packet(PacketType::Connect), version, fields)?;
    fields.string()?;
    if will {
        self::properties(PropertyOwner::WILL, version, fields)?;
        fields.string()?;
        fields.binary()?;
    }
    if flags & 0x80 != 0 {
        fields.string()?;
    }
    if flags & 0x40 != 0 {
        fields.binary()?;
    }
    fields.end().map(|()| properties)
}

/// MQTT 5.0 §3.2.
fn connack(version: MqttVersion, fields: &mut MqttFields<'_>) -> Result<Properties, FieldError> {
    ensure(fields.u8()? <= 1)?;
    let code = fields.u8()?;
    ensure(match version {
        MqttVersion::V3 => code <= 5,
        MqttVersion::V5 => code == 0 || is_failure(code),
    })?;
    let properties = properties(PropertyOwner::packet(PacketType::Connack), version, fields)?;
    fields.end().map(|()| properties)
}

fn properties(
    owner: PropertyOwner,
    version: MqttVersion,
    fields: &mut MqttFields<'_>,
) -> Result<Properties, FieldError> {
    match version {
        MqttVersion::V3 => Ok(Properties::default()),
        MqttVersion::V5 => Properties::read(fields, owner),
    }
}

/// Checks reason and properties, each of which may be left out (MQTT 5.0 §3.4.2, §3.14.2, §3.15.2).
fn trailer(
    kind: PacketType,
    version: MqttVersion,
    fields: &mut MqttFields<'_>,
) -> Result<Properties, FieldError> {
    if fields.left() == 0 {
        return Ok(Properties::default());
    }
    ensure(version == MqttVersion::V5)?;
    let code = fields.u8()?;
    ensure(matches!(code, 0 | 4 | 0x10 | 0x18 | 0x19) || is_failure(code))?;
    if fields.left() == 0 {
        return Ok(Properties::default());
    }
    let properties = Properties::read(fields, PropertyOwner::packet(kind))?;
    fields.end().map(|()| properties)
}

/// Checks a packet ID, properties, and at least one entry.
fn list<'a>(
    kind: PacketType,
    version: MqttVersion,
    fields: &mut MqttFields<'a>,
    mut entry: impl FnMut(&mut MqttFields<'a>) -> Result<(), FieldError>,
) -> Result<Properties, FieldError> {
    fields.packet_id()?;
    let properties = properties(PropertyOwner::packet(kind), version, fields)?;
    ensure(fields.left() > 0)?;
    while fields.left() > 0 {
        entry(fields)?;
    }
    Ok(properties)
}

/// True if a CONNECT does not ask for a new session (Clean Session, Clean Start: MQTT 5.0 §3.1.2.4).
pub(super) fn keeps_session(mut fields: MqttFields<'_>) -> bool {
    protocol(&mut fields).and_then(|_| fields.u8()).is_ok_and(|flags| flags & 2 == 0)
}

/// True if a CONNECT says that it is of a bridge (see [`protocol`]).
pub(super) fn is_bridge(mut fields: MqttFields<'_>) -> bool {
    fields.binary().and_then(|_| fields.u8()).is_ok_and(|level| level & 0x80 != 0)
}

/// Calls `each` with the topic filters of a SUBSCRIBE or UNSUBSCRIBE, and their options, up to the first that was not captured or is
/// invalid.
pub(super) fn topic_filters<'a>(
    kind: PacketType,
    version: MqttVersion,
    mut fields: MqttFields<'a>,
    mut each: impl FnMut(&'a [u8], u8),
) -> Result<(), FieldError> {
    list(kind, version, &mut fields, |fields| {
        let filter = fields.string()?.as_bytes();
        each(filter, if kind == PacketType::Subscribe { fields.u8()? } else { 0 });
        Ok(())
    })
    .map(drop)
}

fn topic_filter(fields: &mut MqttFields<'_>) -> Result<(), FieldError> {
    ensure(!fields.string()?.is_empty())
}

/// MQTT 3.1.1 §3.8.3; MQTT 5.0 §3.8.3.1.
fn subscription_options(version: MqttVersion, options: u8) -> Result<(), FieldError> {
    ensure(match version {
        MqttVersion::V3 => options <= 2,
        MqttVersion::V5 => options & 0xC0 == 0 && options & 3 != 3 && options & 0x30 != 0x30,
    })
}

/// True if a reason code is a failure (MQTT 5.0 §2.4).
fn is_failure(code: u8) -> bool {
    (0x80..=0xA2).contains(&code)
}
