//! Properties of MQTT 5.0 packets (§2.2.2).
//!
//! ```text
//! +----------------+------+----------------+------+-- --+
//! | length, varint | id 1 | value by its id | id 2 | …   |   the length counts ids and values
//! +----------------+------+----------------+------+-- --+
//! ```

use super::fields::{FieldError, MqttFields, ensure};
use super::header::PacketType;
use wirelap_events::TraceContext;

/// The owner of properties: a packet type, or the will inside CONNECT.
#[derive(Clone, Copy, Debug)]
pub(super) struct PropertyOwner(u8);

impl PropertyOwner {
    /// The will's properties; 0 is not used as a packet type.
    pub const WILL: PropertyOwner = PropertyOwner(0);

    pub const fn packet(kind: PacketType) -> PropertyOwner {
        PropertyOwner(kind as u8)
    }
}

/// The properties that the decoder needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Properties {
    /// The Message Expiry Interval of a PUBLISH, in seconds.
    pub message_expiry: Option<u32>,
    /// The Session Expiry Interval of a CONNECT, CONNACK or DISCONNECT, in seconds.
    pub session_expiry: Option<u32>,
    /// The Topic Alias of a PUBLISH.
    pub topic_alias: Option<u16>,
    /// The Subscription Identifiers of a PUBLISH, as one number; 0 without any.
    pub subscriptions: u32,
    /// The Topic Alias Maximum of a CONNECT or CONNACK: the highest alias that the other side may send.
    pub topic_alias_maximum: Option<u16>,
}

/// The User Property, of which there may be any number.
const USER_PROPERTY: u8 = 38;

const PUBLISH: u16 = 1 << PacketType::Publish as u8 | 1;
const SUBSCRIBE: u16 = 1 << PacketType::Subscribe as u8;
const CONNECT: u16 = 1 << PacketType::Connect as u8;
const CONNACK: u16 = 1 << PacketType::Connack as u8;
const DISCONNECT: u16 = 1 << PacketType::Disconnect as u8;
const AUTH: u16 = 1 << PacketType::Auth as u8;
const ACKS: u16 = 1 << PacketType::Puback as u8
    | 1 << PacketType::Pubrec as u8
    | 1 << PacketType::Pubrel as u8
    | 1 << PacketType::Pubcomp as u8
    | 1 << PacketType::Suback as u8
    | 1 << PacketType::Unsuback as u8;

/// Returns the owners that may have a property, as bits by packet type (table 2-4). The will may have those of PUBLISH, except for
/// three.
const fn owners(id: u8) -> u16 {
    match id {
        1..=3 | 8 | 9 => PUBLISH,
        11 => PUBLISH & !1 | SUBSCRIBE,
        17 => CONNECT | CONNACK | DISCONNECT,
        18 | 19 | 26 | 36 | 37 | 40..=42 => CONNACK,
        21 | 22 => CONNECT | CONNACK | AUTH,
        23 | 25 => CONNECT,
        24 => 1,
        28 => CONNACK | DISCONNECT,
        31 => CONNACK | ACKS | DISCONNECT | AUTH,
        33 | 34 | 39 => CONNECT | CONNACK,
        35 => PUBLISH & !1,
        USER_PROPERTY => {
            PUBLISH
                | SUBSCRIBE
                | 1 << PacketType::Unsubscribe as u8
                | CONNECT
                | CONNACK
                | ACKS
                | DISCONNECT
                | AUTH
        }
        _ => 0,
    }
}

impl Properties {
    /// Reads the length of the properties of `owner`, and the properties.
    pub fn read(
        fields: &mut MqttFields<'_>,
        owner: PropertyOwner,
    ) -> Result<Properties, FieldError> {
        let len = fields.varint()?;
        let mut inner = fields.sub(len as usize)?;
        let mut found = Properties::default();
        while inner.left() > 0 {
            let id = inner.u8()?;
            ensure(owners(id) & (1 << owner.0) != 0)?;
            found.value(id, &mut inner)?;
        }
        Ok(found)
    }

    /// The first trace that user properties name. `fields` begin with the length of all properties.
    pub fn trace_context(mut fields: MqttFields<'_>) -> Option<TraceContext> {
        let len = fields.varint().ok()?;
        let mut inner = fields.sub(len as usize).ok()?;
        let mut others = Properties::default();
        while inner.left() > 0 {
            let id = inner.u8().ok()?;
            if id != USER_PROPERTY {
                others.value(id, &mut inner).ok()?;
                continue;
            }
            let (name, value) = (inner.binary().ok()?, inner.binary().ok()?);
            if let Some(context) = TraceContext::of_header(name, value) {
                return Some(context);
            }
        }
        None
    }

    fn value(&mut self, id: u8, fields: &mut MqttFields<'_>) -> Result<(), FieldError> {
        match id {
            1 | 23 | 25 | 36 | 37 | 40..=42 => ensure(fields.u8()? <= 1),
            2 => {
                self.message_expiry = Some(fields.u32()?);
                Ok(())
            }
            17 => {
                self.session_expiry = Some(fields.u32()?);
                Ok(())
            }
            24 | 39 => fields.u32().map(drop),
            3 | 8 | 18 | 21 | 26 | 28 | 31 => fields.string().map(drop),
            9 | 22 => fields.binary().map(drop),
            11 => {
                let identifier = fields.varint()?;
                self.subscriptions = self.subscriptions.rotate_left(7) ^ identifier;
                ensure(identifier != 0)
            }
            19 => fields.u16().map(drop),
            33 => ensure(fields.u16()? != 0),
            34 => {
                self.topic_alias_maximum = Some(fields.u16()?);
                Ok(())
            }
            35 => {
                let alias = fields.u16()?;
                self.topic_alias = Some(alias);
                ensure(alias != 0)
            }
            USER_PROPERTY => fields.string().and_then(|_| fields.string()).map(drop),
            _ => Err(FieldError::Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLISH: PropertyOwner = PropertyOwner::packet(PacketType::Publish);

    fn read(owner: PropertyOwner, bytes: &[u8]) -> Result<Properties, FieldError> {
        let mut fields = MqttFields::new(bytes, bytes.len());
        let found = Properties::read(&mut fields, owner)?;
        fields.end().map(|()| found)
    }

    /// Every property of table 2-4 with a value, and the owners that may have it.
    const ALL: &[(&[u8], &[PropertyOwner])] = {
        const fn of(kind: PacketType) -> PropertyOwner {
            PropertyOwner::packet(kind)
        }
        use PacketType::{
            Auth, Connack, Connect, Disconnect, Publish, Suback, Subscribe, Unsubscribe,
        };
        &[
            (&[1, 1], &[of(Publish), PropertyOwner::WILL]),
            (&[2, 0, 0, 0, 9], &[of(Publish), PropertyOwner::WILL]),
            (&[3, 0, 1, b'x'], &[of(Publish), PropertyOwner::WILL]),
            (&[8, 0, 1, b'x'], &[of(Publish), PropertyOwner::WILL]),
            (&[9, 0, 1, 0xFF], &[of(Publish), PropertyOwner::WILL]),
            (&[11, 0x80, 0x01], &[of(Publish), of(Subscribe)]),
            (&[17, 0, 0, 0, 9], &[of(Connect), of(Connack), of(Disconnect)]),
            (&[18, 0, 1, b'x'], &[of(Connack)]),
            (&[19, 0, 9], &[of(Connack)]),
            (&[21, 0, 1, b'x'], &[of(Connect), of(Connack), of(Auth)]),
            (&[22, 0, 1, 0xFF], &[of(Connect), of(Connack), of(Auth)]),
            (&[23, 0], &[of(Connect)]),
            (&[24, 0, 0, 0, 9], &[PropertyOwner::WILL]),
            (&[25, 1], &[of(Connect)]),
            (&[26, 0, 1, b'x'], &[of(Connack)]),
            (&[28, 0, 1, b'x'], &[of(Connack), of(Disconnect)]),
            (&[31, 0, 1, b'x'], &[of(Connack), of(Suback), of(Disconnect), of(Auth)]),
            (&[33, 0, 9], &[of(Connect), of(Connack)]),
            (&[34, 0, 9], &[of(Connect), of(Connack)]),
            (&[35, 0, 9], &[of(Publish)]),
            (&[36, 1], &[of(Connack)]),
            (&[37, 1], &[of(Connack)]),
            (
                &[38, 0, 1, b'k', 0, 1, b'v'],
                &[
                    of(Connect),
                    of(Connack),
                    of(Publish),
                    PropertyOwner::WILL,
                    of(Subscribe),
                    of(Suback),
                    of(Unsubscribe),
                    of(Disconnect),
                    of(Auth),
                ],
            ),
            (&[39, 0, 0, 0, 9], &[of(Connect), of(Connack)]),
            (&[40, 1], &[of(Connack)]),
            (&[41, 1], &[of(Connack)]),
            (&[42, 1], &[of(Connack)]),
        ]
    };

    #[test]
    fn each_property_is_known_where_it_belongs_and_nowhere_else() {
        let representatives = [1, 2, 3, 8, 9, 10, 14, 15, 0].map(PropertyOwner);
        for &(property, owners) in ALL {
            let bytes = [&[u8::try_from(property.len()).unwrap()], property].concat();
            for owner in representatives {
                let belongs = owners.iter().any(|o| o.0 == owner.0);
                assert_eq!(read(owner, &bytes).is_ok(), belongs, "{property:?} in {owner:?}");
            }
        }
    }

    #[test]
    fn a_property_cut_by_its_own_length_is_malformed_and_by_the_capture_is_short() {
        for &(property, owners) in ALL {
            for cut in 1..property.len() {
                let head = property.get(..cut).unwrap();
                let wrong = [&[u8::try_from(cut).unwrap()], head].concat();
                assert_eq!(read(owners[0], &wrong), Err(FieldError::Malformed), "{wrong:?}");
                let cut_short = [&[u8::try_from(property.len()).unwrap()], head].concat();
                let mut fields = MqttFields::new(&cut_short, property.len() + 1);
                let found = Properties::read(&mut fields, owners[0]);
                assert_eq!(found, Err(FieldError::Short), "{cut_short:?}");
            }
        }
    }

    #[test]
    fn the_alias_is_found_among_others() {
        let bytes = [8, 1, 0, 35, 0x12, 0x34, 2, 0, 0, 0, 7];
        assert_eq!(read(PUBLISH, &bytes), Err(FieldError::Malformed));
        let bytes = [10, 1, 0, 35, 0x12, 0x34, 2, 0, 0, 0, 7];
        assert_eq!(read(PUBLISH, &bytes).unwrap().topic_alias, Some(0x1234));
        assert_eq!(read(PUBLISH, &[3, 35, 0, 0]), Err(FieldError::Malformed));
    }
}
