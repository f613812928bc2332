//! The names of clients and of the groups that they read in, in every protocol that has them.

use proptest::prelude::*;
use wirelap_events::{ByteRange, Frame, Offset, Transport};
use wirelap_protocols::stream::Stream;
use wirelap_protocols::websocket::WebSocket;
use wirelap_protocols::{FrameNote, FrameSink, MAX_CLIENT_NAME, Pdu, Side, by_name};
use wirelap_test_support::compose::rtps::{Message, PREFIX, USER_WRITER, structure};
use wirelap_test_support::compose::{amqp, kafka, mqtt, nats, opcua, websocket, zenoh, zmtp};

/// The reported names, a line each.
#[derive(Default)]
struct Names(Vec<String>);

impl FrameSink for Names {
    fn frame(&mut self, _frame: &Frame<'_>) {}

    fn note(&mut self, note: FrameNote<'_>) {
        let text = |name: &[u8]| {
            assert!(name.len() <= MAX_CLIENT_NAME, "{note:?}");
            String::from_utf8_lossy(name).into_owned()
        };
        self.0.push(match note {
            FrameNote::Client { side, name } => format!("{side:?} is {}", text(name)),
            FrameNote::ClientTitle { name, title } => {
                format!("{} is also {}", text(name), text(title))
            }
            FrameNote::Member { side, group } => format!("{side:?} is in {}", text(group)),
            FrameNote::ReaderGroup(None) => "read in no group".into(),
            FrameNote::ReaderGroup(Some(group)) => format!("read in {}", text(group)),
            _ => return,
        });
    }
}

/// Decodes the packets of a conversation, seen from its start or not, and returns the names.
fn names(protocol: &str, mid_stream: bool, packets: &[(Side, Vec<u8>)]) -> Vec<String> {
    let protocol = by_name(protocol).unwrap();
    let transport = protocol.transports()[0];
    let mut connection = protocol.connection(transport);
    let mut streams = [Side::A, Side::B].map(|side| Stream::new(side, mid_stream));
    let mut at = [Offset::START; 2];
    let mut names = Names::default();
    for (side, bytes) in packets {
        let start = at[*side as usize];
        at[*side as usize] = start.plus(bytes.len() as u64);
        if transport == Transport::Tcp {
            let stream = &mut streams[*side as usize];
            stream.feed(start, bytes, 0, connection.as_mut(), &mut names);
        } else {
            let range = ByteRange::new(start, bytes.len() as u64);
            connection.pdu(*side, Pdu { range, bytes }, &mut names);
        }
    }
    names.0
}

fn a(bytes: impl Into<Vec<u8>>) -> (Side, Vec<u8>) {
    (Side::A, bytes.into())
}

fn b(bytes: impl Into<Vec<u8>>) -> (Side, Vec<u8>) {
    (Side::B, bytes.into())
}

#[test]
fn mqtt() {
    let session = [
        a(mqtt::connect("worker-1")),
        b(mqtt::CONNACK),
        b(mqtt::publish("before", b"x")),
        a(mqtt::subscribe("$share/workers/jobs/+")),
        a(mqtt::subscribe("news")),
        b(mqtt::publish("jobs/1", b"x")),
        b(mqtt::publish("news", b"x")),
        // Nobody reads what the client publishes here.
        a(mqtt::publish("jobs/2", b"x")),
    ];
    let groups = ["read in workers", "read in no group"];
    let whole = [&["A is worker-1", "read in no group"][..], &groups].concat();
    assert_eq!(names("mqtt", false, &session), whole);
    // Without its beginning the client may have other subscriptions, shared or not.
    assert_eq!(names("mqtt", true, &session[3..]), ["read in workers"]);
}

#[test]
fn nats() {
    let session = [
        a(nats::connect("worker \\\"1\\\"")),
        a(nats::subscribe("jobs workers 1")),
        a(nats::subscribe("news 2")),
        b(nats::message("MSG jobs 1", b"x")),
        b(nats::message("MSG news 2", b"x")),
        b(nats::message("MSG other 3", b"x")),
        a(nats::message("PUB jobs", b"x")),
    ];
    let groups = ["read in workers", "read in no group"];
    assert_eq!(names("nats", false, &session), [&["A is worker \"1\""][..], &groups].concat());
    assert_eq!(names("nats", true, &session[1..]), groups);
    assert!(names("nats", true, &session[3..]).is_empty());
}

#[test]
fn kafka_says_its_names_in_every_request() {
    let session = [
        a(kafka::metadata_of("reader-1", 1)),
        a(kafka::heartbeat_of("reader-1", "billing", 2)),
        a(kafka::fetch_of_client("reader-1", 3)),
    ];
    assert_eq!(names("kafka", false, &session), ["A is reader-1", "A is in billing"]);
    assert_eq!(names("kafka", true, &session[1..]), ["A is reader-1", "A is in billing"]);
    assert_eq!(names("kafka", true, &session[2..]), ["A is reader-1"]);
}

#[test]
fn amqp() {
    let opening = a(*b"AMQP\0\0\x09\x01");
    assert_eq!(names("amqp", false, &[opening, a(amqp::start_ok("billing"))]), ["A is billing"]);
}

#[test]
fn zenoh() {
    let session = [a(zenoh::init(false, &[0xab, 1])), b(zenoh::init(true, &[7; 16]))];
    let both = ["A is 1ab", "B is 7070707070707070707070707070707"];
    assert_eq!(names("zenoh", false, &session), both);
}

#[test]
fn opcua() {
    let request = opcua::chunk('F', 1, &opcua::create_session("Session1"));
    assert_eq!(names("opcua", true, &[a(request)]), ["A is Session1"]);
}

#[test]
fn zmtp() {
    let session = [a(zmtp::introduction_of("DEALER", "worker-1")), b(zmtp::introduction("ROUTER"))];
    assert_eq!(names("zmtp", false, &session), ["A is worker-1", "B is "]);
}

#[test]
fn dds_names_participants_and_those_that_a_message_is_for() {
    for little in [false, true] {
        let sample = structure(little, &[7; 8]);
        let message = Message::new(little).info_dst_of([9; 12]).data(USER_WRITER, 1, &sample);
        let discovery = Message::new(little).participant("talker");
        let found = names("dds", false, &[a(message.bytes), a(discovery.bytes)]);
        let me = "01100203:04050607:08090a0b";
        assert_eq!(PREFIX[..2], [1, 0x10]);
        let expected = [
            format!("A is {me}"),
            "B is 09090909:09090909:09090909".into(),
            format!("{me} is also talker"),
        ];
        assert_eq!(found, expected);
    }
}

/// Names pass through a WebSocket like everything else that a decoder reports.
#[test]
fn through_a_websocket() {
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n";
    let mut layer = WebSocket::default();
    let protocol = by_name("nats").unwrap();
    layer.carries(protocol, protocol.connection(Transport::Tcp));
    let mut stream = Stream::new(Side::A, false);
    let mut names = Names::default();
    let bytes = [REQUEST, &websocket::masked(&nats::connect("worker"))].concat();
    stream.feed(Offset::START, &bytes, 0, &mut layer, &mut names);
    assert_eq!(names.0, ["A is worker"]);
}

/// Conversations that introduce somebody.
fn introductions() -> [(&'static str, Vec<u8>); 9] {
    let dds = Message::new(true).info_dst_of([9; 12]).participant("talker").bytes;
    [
        ("mqtt", [mqtt::connect("client"), mqtt::subscribe("$share/g/a/+/#")].concat()),
        ("nats", [nats::connect("n\\u00e9"), nats::subscribe("a g 1")].concat()),
        ("kafka", kafka::heartbeat_of("client", "group", 7)),
        ("amqp", [b"AMQP\0\0\x09\x01".to_vec(), amqp::start_ok("client")].concat()),
        ("zenoh", zenoh::init(false, &[7; 16])),
        ("opcua", opcua::chunk('F', 1, &opcua::create_session("client"))),
        ("zmtp", zmtp::introduction_of("DEALER", "client")),
        ("dds", dds),
        (
            "xrce",
            vec![0x80, 0, 0, 0, 0, 1, 16, 0, 88, 82, 67, 69, 1, 0, 1, 15, 1, 2, 3, 4, 1, 0, 0, 0],
        ),
    ]
}

proptest! {
    /// [`Names`] checks the length of every name.
    #[test]
    fn hostile_names_stay_bounded(
        which in 0usize..9,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        grown in prop::collection::vec(any::<u8>(), 0..3000),
        at in any::<prop::sample::Index>(),
    ) {
        let (protocol, mut bytes) = introductions()[which].clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let at = at.index(bytes.len());
        drop(bytes.splice(at..at, grown));
        for side in [Side::A, Side::B] {
            names(protocol, false, &[(side, bytes.clone())]);
        }
    }

    #[test]
    fn a_long_name_is_none(len in 0usize..3000) {
        let name = "n".repeat(len);
        let found = names("mqtt", false, &[a(mqtt::connect(&name))]);
        let known = if len > MAX_CLIENT_NAME { "" } else { &name };
        prop_assert_eq!(found, [format!("A is {known}")]);
    }
}
