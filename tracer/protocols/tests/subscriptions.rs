//! Beginnings of subscriptions whose messages name them, as the bytes of AMQP and NATS say it.

use wirelap_events::{Frame, Offset};
use wirelap_protocols::stream::Stream;
use wirelap_protocols::{FrameNote, FrameSink, Side, by_name};
use wirelap_test_support::compose::{amqp, nats};

/// A note on a subscription, or a message and the subscription that it is for.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Begins(u32),
    Renumbered(u32, u32),
    MessageFor(u32),
}

#[derive(Default)]
struct Notes(Vec<Told>);

impl FrameSink for Notes {
    fn frame(&mut self, _frame: &Frame<'_>) {}

    fn note(&mut self, note: FrameNote<'_>) {
        match note {
            FrameNote::Subscribes { number, .. } => self.0.push(Told::Begins(number)),
            FrameNote::Renumbers { begun, number } => self.0.push(Told::Renumbered(begun, number)),
            FrameNote::Subscription(number) => self.0.push(Told::MessageFor(number)),
            _ => {}
        }
    }
}

/// Decodes a conversation in which client (A) and server (B) say this in turn, and returns what it tells.
fn told(protocol: &str, said: &[(Side, &[u8])]) -> Vec<Told> {
    let protocol = by_name(protocol).unwrap();
    let mut connection = protocol.connection(protocol.transports()[0]);
    let mut streams = [Side::A, Side::B].map(|side| (Stream::new(side, false), Offset::START));
    let mut notes = Notes::default();
    for (side, bytes) in said {
        let (stream, at) = &mut streams[*side as usize];
        stream.feed(*at, bytes, 0, connection.as_mut(), &mut notes);
        *at = at.plus(bytes.len() as u64);
    }
    notes.0
}

const OPENING: &[u8] = b"AMQP\0\0\x09\x01";

#[test]
fn a_consumer_begins_with_the_tag_that_its_messages_have() {
    let message = amqp::deliver("", "t", 1, b"hi");
    for no_wait in [false, true] {
        let consume = amqp::consume(1, "queue", "tag", no_wait);
        let said = [(Side::A, OPENING), (Side::A, &consume[..]), (Side::B, &message)];
        let [Told::Begins(begun), Told::MessageFor(of)] = told("amqp", &said)[..] else {
            panic!("{:?}", told("amqp", &said));
        };
        assert_eq!(begun, of);
        // Another channel has other consumers.
        let consume = amqp::consume(2, "queue", "tag", no_wait);
        let said = [(Side::A, OPENING), (Side::A, &consume[..])];
        assert_ne!(told("amqp", &said), [Told::Begins(of)]);
    }
}

#[test]
fn a_consumer_whose_tag_the_server_chooses_began_without_one() {
    let message = amqp::deliver("", "t", 1, b"hi");
    let (consume, chosen) = (amqp::consume(1, "queue", "", false), amqp::consume_ok(1, "tag"));
    let said =
        [(Side::A, OPENING), (Side::A, &consume[..]), (Side::B, &chosen), (Side::B, &message)];
    let [Told::Begins(begun), Told::Renumbered(of, number), Told::MessageFor(known)] =
        told("amqp", &said)[..]
    else {
        panic!("{:?}", told("amqp", &said));
    };
    assert_eq!((begun, number), (of, known));
}

#[test]
fn arguments_that_are_too_short_tell_nothing() {
    for arguments in [&b""[..], b"\0", b"\0\0\x09q", b"\0\0\x01q\x05tag"] {
        let frame = amqp::frame(1, 1, &[&b"\0\x3c\0\x14"[..], arguments].concat());
        assert_eq!(told("amqp", &[(Side::A, OPENING), (Side::A, &frame)]), [], "{arguments:?}");
    }
}

#[test]
fn a_nats_subscription_begins_with_the_number_that_its_messages_have() {
    let message = nats::message("MSG t 7", b"hi");
    for line in ["SUB t 7\r\n", "SUB t workers 7\r\n", "sub\tt  7\n"] {
        let said =
            [(Side::A, &b"CONNECT {}\r\n"[..]), (Side::A, line.as_bytes()), (Side::B, &message)];
        let [Told::Begins(begun), Told::MessageFor(of)] = told("nats", &said)[..] else {
            panic!("{line}: {:?}", told("nats", &said));
        };
        assert_eq!(begun, of, "{line}");
    }
    let said = [(Side::A, &b"CONNECT {}\r\n"[..]), (Side::A, b"SUB t\r\n")];
    assert_eq!(told("nats", &said), []);
}
