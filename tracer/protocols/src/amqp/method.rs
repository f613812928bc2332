//! Methods (AMQP 0-9-1 §1.3 to §1.9, `RabbitMQ`'s extensions), and the arguments of those that a content follows.

use crate::{Reader, Side};
use wirelap_events::FrameClass;

/// The class `basic`, the only one whose methods have content.
pub(super) const BASIC: u16 = 60;
/// The class `connection`, whose methods are on channel 0.
const CONNECTION: u16 = 10;
/// The class `channel`.
const CHANNEL: u16 = 20;
/// The class `queue`.
const QUEUE: u16 = 50;

/// The end that sends a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sender {
    Client,
    Server,
    Both,
}

/// A method.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Method {
    class_id: u16,
    id: u16,
    /// The name in the specification.
    pub name: &'static str,
    pub class: FrameClass,
    sender: Sender,
}

macro_rules! methods {
    ($($class_id:literal: $($id:literal $name:literal $class:ident $sender:ident),+;)*) => {
        const METHODS: &[Method] = &[$($(Method {
            class_id: $class_id,
            id: $id,
            name: $name,
            class: FrameClass::$class,
            sender: Sender::$sender,
        }),+),*];
    };
}

methods! {
    60: 40 "basic.publish" Data Client, 60 "basic.deliver" Data Server, 80 "basic.ack" Ack Both,
        71 "basic.get-ok" Data Server, 50 "basic.return" Other Server, 120 "basic.nack" Ack Both,
        90 "basic.reject" Ack Client, 70 "basic.get" Other Client, 72 "basic.get-empty" Other Server,
        10 "basic.qos" Subscribe Client, 11 "basic.qos-ok" Subscribe Server,
        20 "basic.consume" Subscribe Client, 21 "basic.consume-ok" Subscribe Server,
        30 "basic.cancel" Subscribe Both, 31 "basic.cancel-ok" Subscribe Both,
        100 "basic.recover-async" Ack Client, 110 "basic.recover" Ack Client,
        111 "basic.recover-ok" Ack Server;
    10: 10 "connection.start" Session Server, 11 "connection.start-ok" Session Client,
        20 "connection.secure" Session Server, 21 "connection.secure-ok" Session Client,
        30 "connection.tune" Session Server, 31 "connection.tune-ok" Session Client,
        40 "connection.open" Session Client, 41 "connection.open-ok" Session Server,
        50 "connection.close" Session Both, 51 "connection.close-ok" Session Both,
        60 "connection.blocked" Other Server, 61 "connection.unblocked" Other Server,
        70 "connection.update-secret" Session Client,
        71 "connection.update-secret-ok" Session Server;
    20: 10 "channel.open" Session Client, 11 "channel.open-ok" Session Server,
        20 "channel.flow" Other Both, 21 "channel.flow-ok" Other Both,
        40 "channel.close" Session Both, 41 "channel.close-ok" Session Both;
    40: 10 "exchange.declare" Subscribe Client, 11 "exchange.declare-ok" Subscribe Server,
        20 "exchange.delete" Subscribe Client, 21 "exchange.delete-ok" Subscribe Server,
        30 "exchange.bind" Subscribe Client, 31 "exchange.bind-ok" Subscribe Server,
        40 "exchange.unbind" Subscribe Client, 51 "exchange.unbind-ok" Subscribe Server;
    50: 10 "queue.declare" Subscribe Client, 11 "queue.declare-ok" Subscribe Server,
        20 "queue.bind" Subscribe Client, 21 "queue.bind-ok" Subscribe Server,
        30 "queue.purge" Other Client, 31 "queue.purge-ok" Other Server,
        40 "queue.delete" Subscribe Client, 41 "queue.delete-ok" Subscribe Server,
        50 "queue.unbind" Subscribe Client, 51 "queue.unbind-ok" Subscribe Server;
    85: 10 "confirm.select" Other Client, 11 "confirm.select-ok" Other Server;
    90: 10 "tx.select" Other Client, 11 "tx.select-ok" Other Server,
        20 "tx.commit" Other Client, 21 "tx.commit-ok" Other Server,
        30 "tx.rollback" Other Client, 31 "tx.rollback-ok" Other Server;
}

impl Method {
    /// The method with these numbers.
    pub fn of(class_id: u16, id: u16) -> Option<&'static Method> {
        METHODS.iter().find(|method| method.class_id == class_id && method.id == id)
    }

    /// True if the method is of the connection itself rather than of one of its channels.
    pub fn is_of_connection(&self) -> bool {
        self.class_id == CONNECTION
    }

    /// True if the method is about a queue.
    pub fn is_of_queue(&self) -> bool {
        self.class_id == QUEUE
    }

    /// True for `connection.start-ok`, with which the client says what it is.
    pub fn is_start_ok(&self) -> bool {
        self.class_id == CONNECTION && self.id == 11
    }

    /// True for `basic.get`, with which the client asks for a message.
    pub fn is_get(&self) -> bool {
        self.class_id == BASIC && self.id == 70
    }

    /// True for `basic.get-ok` and `basic.get-empty`, with which the server answers a `basic.get`.
    pub fn answers_get(&self) -> bool {
        self.class_id == BASIC && matches!(self.id, 71 | 72)
    }

    /// True for `basic.consume`, with which the client asks for a consumer.
    pub fn is_consume(&self) -> bool {
        self.class_id == BASIC && self.id == 20
    }

    /// True for `basic.consume-ok`, with which the server says which tag a consumer has.
    pub fn is_consume_ok(&self) -> bool {
        self.class_id == BASIC && self.id == 21
    }

    /// True if this method opens or closes its channel.
    pub fn turns_channel(&self) -> bool {
        self.class_id == CHANNEL && matches!(self.id, 10 | 40)
    }

    /// The server, if only one end sends this method and `side` has sent it.
    pub fn server(&self, side: Side) -> Option<Side> {
        match self.sender {
            Sender::Client => Some(side.other()),
            Sender::Server => Some(side),
            Sender::Both => None,
        }
    }
}

/// A message on its way to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AmqpDelivery {
    /// The number by which the client acknowledges it.
    pub tag: u64,
}

impl AmqpDelivery {
    /// Reads the arguments of `basic.deliver` and `basic.get-ok`; `None` for other methods.
    pub fn read(method: &Method, arguments: &[u8]) -> Option<AmqpDelivery> {
        let mut reader = Reader::new(arguments);
        match (method.class_id, method.id) {
            (BASIC, 60) => drop(short_string(&mut reader)?),
            (BASIC, 71) => {}
            _ => return None,
        }
        Some(AmqpDelivery { tag: reader.u64_be()? })
    }
}

/// The client's answer to a delivery: it has taken messages, or refuses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AmqpAcknowledgement {
    /// One message.
    One(u64),
    /// All up to this one.
    UpTo(u64),
}

impl AmqpAcknowledgement {
    /// Reads the arguments of `basic.ack`, `basic.nack` and `basic.reject`; `None` for other methods.
    pub fn read(method: &Method, arguments: &[u8]) -> Option<AmqpAcknowledgement> {
        let mut reader = Reader::new(arguments);
        let tag = reader.u64_be()?;
        match (method.class_id, method.id) {
            (BASIC, 80 | 120) if reader.u8()? & 1 != 0 => Some(AmqpAcknowledgement::UpTo(tag)),
            (BASIC, 80 | 90 | 120) => Some(AmqpAcknowledgement::One(tag)),
            _ => None,
        }
    }
}

/// True if `basic.nack` or `basic.reject` with these arguments wants its messages sent again.
pub(super) fn is_put_back(method: &Method, arguments: &[u8]) -> bool {
    let mut reader = Reader::new(arguments);
    let bits = reader.skip(8).and_then(|()| reader.u8()).unwrap_or_default();
    let bit = match (method.class_id, method.id) {
        (BASIC, 90) => 1,
        (BASIC, 120) => 2,
        _ => 0,
    };
    bits & bit != 0
}

/// True if the messages that `basic.consume` or `basic.get` asks for need no acknowledgement; `None` for other methods.
pub(super) fn needs_no_acks(method: &Method, arguments: &[u8]) -> Option<bool> {
    let mut reader = Reader::new(arguments);
    let bit = match (method.class_id, method.id) {
        (BASIC, 20) => 2,
        (BASIC, 70) => 1,
        _ => return None,
    };
    reader.skip(2)?;
    short_string(&mut reader)?;
    if method.is_consume() {
        short_string(&mut reader)?;
    }
    Some(reader.u8()? & bit != 0)
}

/// Place that a content is published to or delivered from: the arguments of `basic.publish`, `basic.deliver`, `basic.get-ok` and
/// `basic.return`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Envelope<'a> {
    /// Empty for the default exchange.
    pub exchange: &'a [u8],
    pub routing_key: &'a [u8],
    /// True if the message was delivered before, perhaps to another consumer.
    pub redelivered: bool,
    /// True if the broker gives the message back to its publisher, because it could not route it.
    pub returned: bool,
    /// True if the client has asked for the message (`basic.get`).
    pub was_asked: bool,
    /// The consumer that the message is for.
    pub consumer: Option<&'a [u8]>,
}

impl<'a> Envelope<'a> {
    /// True if a content follows this method.
    pub fn is_before_content(method: &Method) -> bool {
        method.class_id == BASIC && matches!(method.id, 40 | 50 | 60 | 71)
    }

    /// Reads the arguments of a method that a content follows; `None` if they were not captured or are invalid.
    pub fn read(method: &Method, arguments: &'a [u8]) -> Option<Envelope<'a>> {
        let mut reader = Reader::new(arguments);
        let mut redelivered = false;
        let mut consumer = None;
        match method.id {
            40 => reader.skip(2)?,
            50 => {
                reader.skip(2)?;
                short_string(&mut reader)?;
            }
            60 => {
                consumer = Some(short_string(&mut reader)?);
                reader.skip(8)?;
                redelivered = reader.u8()? & 1 != 0;
            }
            71 => {
                reader.skip(8)?;
                redelivered = reader.u8()? & 1 != 0;
            }
            _ => return None,
        }
        let exchange = short_string(&mut reader)?;
        let routing_key = short_string(&mut reader)?;
        Some(Envelope {
            exchange,
            routing_key,
            redelivered,
            consumer,
            returned: method.id == 50,
            was_asked: method.id == 71,
        })
    }

    /// Writes the message's topic over `topic`.
    pub fn write_topic(&self, topic: &mut Vec<u8>) {
        topic.clear();
        if !self.exchange.is_empty() {
            topic.extend_from_slice(self.exchange);
            topic.push(b'/');
        }
        topic.extend_from_slice(self.routing_key);
    }
}

/// The reason that a server gives in `basic.return`, `channel.close` and `connection.close`, unless all is well (reply code 200); `None` for
/// other methods, and if it was not captured.
pub(super) fn refusal<'a>(method: &Method, arguments: &'a [u8]) -> Option<&'a [u8]> {
    const SUCCESS: u16 = 200;
    if !matches!(method.name, "basic.return" | "channel.close" | "connection.close") {
        return None;
    }
    let mut reader = Reader::new(arguments);
    let code = reader.u16_be()?;
    let text = short_string(&mut reader)?;
    (code != SUCCESS).then_some(text)
}

/// A string with a length of one byte (§4.2.5.3).
pub(super) fn short_string<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let len = reader.u8()?;
    reader.take(len.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_method_is_there_twice() {
        for (index, method) in METHODS.iter().enumerate() {
            let same = |other: &Method| (other.class_id, other.id) == (method.class_id, method.id);
            assert_eq!(METHODS.iter().position(same), Some(index), "{method:?}");
        }
    }

    #[test]
    fn envelopes_of_all_methods_with_content() {
        let cases: [(u16, &[u8], bool); 4] = [
            (40, b"\0\0\x02ex\x03key\x01", false),
            (50, b"\x01\x38\x08NO_ROUTE\x02ex\x03key", false),
            (60, b"\x03tag\0\0\0\0\0\0\0\x07\x01\x02ex\x03key", true),
            (71, b"\0\0\0\0\0\0\0\x07\x01\x02ex\x03key\0\0\0\x05", true),
        ];
        for (id, arguments, redelivered) in cases {
            let method = Method::of(BASIC, id).unwrap();
            assert!(Envelope::is_before_content(method));
            let envelope = Envelope::read(method, arguments).unwrap();
            assert_eq!((envelope.redelivered, envelope.returned), (redelivered, id == 50));
            let mut topic = b"old".to_vec();
            envelope.write_topic(&mut topic);
            assert_eq!(topic, b"ex/key", "{}", method.name);
            for cut in 0..8 {
                assert_eq!(Envelope::read(method, &arguments[..cut]), None);
            }
        }
    }

    #[test]
    fn numbers_of_what_is_delivered_and_acknowledged() {
        let of = |id| Method::of(BASIC, id).unwrap();
        let arguments = b"\x03tag\0\0\0\0\0\0\0\x07\0\x02ex\x03key";
        assert_eq!(AmqpDelivery::read(of(60), arguments), Some(AmqpDelivery { tag: 7 }));
        assert_eq!(AmqpDelivery::read(of(71), &arguments[4..]), Some(AmqpDelivery { tag: 7 }));
        assert_eq!(AmqpDelivery::read(of(40), arguments), None);
        let [one, all] = [b"\0\0\0\0\0\0\0\x07\0", b"\0\0\0\0\0\0\0\x07\x01"];
        assert_eq!(AmqpAcknowledgement::read(of(80), one), Some(AmqpAcknowledgement::One(7)));
        assert_eq!(AmqpAcknowledgement::read(of(120), all), Some(AmqpAcknowledgement::UpTo(7)));
        assert_eq!(AmqpAcknowledgement::read(of(90), all), Some(AmqpAcknowledgement::One(7)));
        assert_eq!(AmqpAcknowledgement::read(of(60), all), None);
        assert_eq!(AmqpAcknowledgement::read(of(80), &all[..8]), None);
    }

    #[test]
    fn the_default_exchange_has_no_name() {
        let publish = Method::of(BASIC, 40).unwrap();
        let envelope = Envelope::read(publish, b"\0\0\0\x05queue\0").unwrap();
        let mut topic = Vec::new();
        envelope.write_topic(&mut topic);
        assert_eq!(topic, b"queue");
    }
}
