//! Traces that messages name in their headers, as the bytes of each protocol have them.

use lz4_flex::frame::FrameEncoder;
use std::io::Write;
use wirelap_events::{Frame, Offset, TraceContext};
use wirelap_protocols::stream::Stream;
use wirelap_protocols::{Connection, FrameNote, FrameSink, Side, by_name};
use wirelap_test_support::compose::{amqp, kafka, mqtt, varint, websocket, zenoh};
use wirelap_test_support::over_websocket::layer;

const FIRST: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const SECOND: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

/// The messages' traces, where these are asked for.
struct Traces {
    takes: bool,
    next: Option<TraceContext>,
    messages: Vec<Option<TraceContext>>,
}

impl FrameSink for Traces {
    fn frame(&mut self, frame: &Frame<'_>) {
        let trace = self.next.take();
        if frame.data.is_some() {
            self.messages.push(trace);
        }
    }

    fn note(&mut self, note: FrameNote<'_>) {
        if let FrameNote::TraceContext(context) = note {
            assert!(self.takes, "nobody has asked");
            self.next = Some(context);
        }
    }

    fn takes_trace_contexts(&self) -> bool {
        self.takes
    }
}

/// The traces of messages that client (A) and server (B) send in turn. Of each packet, the first `captured` bytes were captured.
fn told(
    protocol: &str,
    said: &[(Side, &[u8])],
    takes: bool,
    captured: usize,
) -> Vec<Option<TraceContext>> {
    let protocol = by_name(protocol).unwrap();
    let mut connection = protocol.connection(protocol.transports()[0]);
    told_by(connection.as_mut(), said, takes, captured)
}

fn told_by(
    connection: &mut dyn Connection,
    said: &[(Side, &[u8])],
    takes: bool,
    captured: usize,
) -> Vec<Option<TraceContext>> {
    let mut streams = [Side::A, Side::B].map(|side| (Stream::new(side, false), Offset::START));
    let mut traces = Traces { takes, next: None, messages: Vec::new() };
    for (side, bytes) in said {
        let (stream, at) = &mut streams[*side as usize];
        let head = &bytes[..bytes.len().min(captured)];
        let missing = (bytes.len() - head.len()) as u64;
        stream.feed(*at, head, missing, connection, &mut traces);
        *at = at.plus(bytes.len() as u64);
    }
    traces.messages
}

/// Checks the traces of messages, and that none is looked for that nobody asks for.
fn check(protocol: &str, said: &[(Side, &[u8])], expected: &[Option<&str>]) {
    let expected: Vec<_> =
        expected.iter().map(|value| value.map(|value| read(value.as_bytes()).unwrap())).collect();
    assert_eq!(told(protocol, said, true, usize::MAX), expected, "{protocol}");
    let without = told(protocol, said, false, usize::MAX);
    assert_eq!(without, vec![None; expected.len()], "{protocol}");
}

fn read(value: &[u8]) -> Option<TraceContext> {
    TraceContext::read(value)
}

/// A record with these headers, behind a value of so many bytes.
fn record(len: usize, headers: &[(&str, Option<&str>)]) -> Vec<u8> {
    let sized = |bytes: &[u8]| [varint(2 * bytes.len()), bytes.to_vec()].concat();
    let mut body = [&b"\0\0\0\x01"[..], &sized(&vec![b'v'; len])].concat();
    body.extend(varint(2 * headers.len()));
    for (name, value) in headers {
        body.extend(sized(name.as_bytes()));
        body.extend(value.map_or(vec![1], |value| sized(value.as_bytes())));
    }
    sized(&body)
}

/// Records, of which the second names the trace in its second header.
fn records() -> Vec<u8> {
    let named = [("null", None), ("TraceParent", Some(FIRST)), ("traceparent", Some(SECOND))];
    [record(20, &[]), record(20, &named), record(20, &[("other", Some(FIRST))])].concat()
}

#[test]
fn headers_of_records_name_a_trace() {
    let request = kafka::produce(1, "t", &kafka::batch(3, &records()));
    check("kafka", &[(Side::A, &request)], &[None, Some(FIRST), None]);
    let ask = kafka::fetch(7);
    let answer = kafka::fetched(7, "t", &kafka::batch(3, &records()));
    check("kafka", &[(Side::A, &ask), (Side::B, &answer)], &[None, Some(FIRST), None]);
}

#[test]
fn headers_in_a_compressed_batch_name_a_trace() {
    let mut encoder = FrameEncoder::new(Vec::new());
    encoder.write_all(&records()).unwrap();
    let mut batch = kafka::batch(3, &encoder.finish().unwrap());
    batch[22] = 3;
    let request = kafka::produce(1, "t", &batch);
    check("kafka", &[(Side::A, &request)], &[None, Some(FIRST), None]);
}

#[test]
fn headers_that_were_not_captured_are_as_if_they_were_not_there() {
    let named = [("traceparent", Some(FIRST))];
    let request = kafka::produce(1, "t", &kafka::batch(1, &record(500, &named)));
    assert_eq!(told("kafka", &[(Side::A, &request)], true, usize::MAX), [read(FIRST.as_bytes())]);
    for captured in [300, request.len() - 60, request.len() - 10] {
        let messages = told("kafka", &[(Side::A, &request)], true, captured);
        assert_eq!(messages, [None], "{captured}");
    }
}

/// A message of NATS with a header.
fn with_header(line: &str, header: &str) -> Vec<u8> {
    let header = format!("NATS/1.0\r\n{header}\r\n");
    let total = header.len() + 2;
    format!("{line} {} {total}\r\n{header}hi\r\n", header.len()).into()
}

#[test]
fn lines_of_a_header_name_a_trace() {
    let two = format!("A: 1\r\nTraceparent:  {FIRST} \r\ntraceparent: {SECOND}\r\n");
    let cases = [
        (two, Some(FIRST)),
        (format!("traceparent: x\r\nTRACEPARENT:{SECOND}\r\n"), Some(SECOND)),
        (format!("x-traceparent: {FIRST}\r\ntraceparent-x: {FIRST}\r\n"), None),
        ("traceparent\r\n".to_owned(), None),
    ];
    for (header, expected) in cases {
        check("nats", &[(Side::A, &with_header("HPUB a", &header))], &[expected]);
        check("nats", &[(Side::B, &with_header("HMSG a 1", &header))], &[expected]);
    }
    check("nats", &[(Side::A, b"PUB traceparent 2\r\nhi\r\n")], &[None]);
}

/// Names, types and values of headers.
type Headers<'a> = &'a [(&'a str, u8, &'a str)];

/// A message in two frames of its body, with these headers.
fn with_headers(headers: Headers<'_>) -> Vec<u8> {
    let short = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let long = |len: usize| u32::try_from(len).unwrap().to_be_bytes();
    let mut table = Vec::new();
    for (name, kind, value) in headers {
        table.extend([&short(name)[..], &[*kind], &long(value.len()), value.as_bytes()].concat());
    }
    let properties = [&[0xA0, 0][..], &short("text/plain"), &long(table.len()), &table].concat();
    let header = [&[0, 60, 0, 0][..], &4_u64.to_be_bytes(), &properties].concat();
    let publish = [&[0, 60, 0, 40, 0, 0][..], &short(""), &short("q"), &[0]].concat();
    let frames = [(1, &publish[..]), (2, &header), (3, b"hi"), (3, b"ho")];
    frames.map(|(kind, payload)| amqp::frame(kind, 1, payload)).concat()
}

#[test]
fn headers_of_a_message_of_several_frames_name_a_trace() {
    let cases: [(Headers<'_>, _); 4] = [
        (
            &[("x", b'S', "y"), ("traceparent", b'S', FIRST), ("traceparent", b'S', SECOND)],
            Some(FIRST),
        ),
        (&[("traceparent", b'x', SECOND)], Some(SECOND)),
        (&[("traceparent", b'A', SECOND)], None),
        (&[], None),
    ];
    let plain = amqp::publish("", "q", b"hi");
    for (headers, expected) in cases {
        let said = [&b"AMQP\0\0\x09\x01"[..], &with_headers(headers), &plain].concat();
        check("amqp", &[(Side::A, &said)], &[expected, None]);
    }
}

/// A PUBLISH of version 5 with these user properties between others.
fn with_properties(properties: &[(&str, &str)]) -> Vec<u8> {
    let text =
        |text: &str| [&u16::try_from(text.len()).unwrap().to_be_bytes(), text.as_bytes()].concat();
    let mut all = b"\x01\x01".to_vec();
    for (name, value) in properties {
        all.extend([&[38][..], &text(name), &text(value)].concat());
    }
    all.extend(b"\x02\0\0\0\x09");
    let body = [text("t"), varint(all.len()), all, b"hi".to_vec()].concat();
    [vec![0x30], varint(body.len()), body].concat()
}

#[test]
fn user_properties_name_a_trace() {
    let named = with_properties(&[("a", "b"), ("traceparent", FIRST), ("traceparent", SECOND)]);
    let other = with_properties(&[("tracestate", FIRST), ("traceparent", "00-0-0-0")]);
    let plain = mqtt::publish_v5("traceparent", SECOND.as_bytes());
    let said = [mqtt::CONNECT_V5, &named, &other, &plain].concat();
    check("mqtt", &[(Side::A, &said)], &[Some(FIRST), None, None]);
    // Before version 5 the same bytes are payload.
    let said = [mqtt::CONNECT, &named].concat();
    check("mqtt", &[(Side::A, &said)], &[None]);
}

#[test]
fn a_websocket_hides_no_trace() {
    let named = with_properties(&[("traceparent", FIRST)]);
    let carried = [mqtt::CONNECT_V5, &named].map(websocket::masked).concat();
    for (takes, expected) in [(true, read(FIRST.as_bytes())), (false, None)] {
        let said = [websocket::REQUEST, &carried].concat();
        let messages = told_by(&mut layer(), &[(Side::A, &said)], takes, usize::MAX);
        assert_eq!(messages, [expected]);
    }
}

/// A PUT with an attachment, which stands before the payload, and a DEL with one.
fn attached(attachment: &[u8]) -> [Vec<u8>; 2] {
    let attachment = [varint(attachment.len()), attachment.to_vec()].concat();
    let start = |body: u8| vec![0x3D, 0, 1, b'k', body];
    let put = [&start(0x81)[..], &[0x43], &attachment, &[2], b"hi"].concat();
    let delete = [&start(0x82)[..], &[0x42], &attachment].concat();
    [put, delete]
}

#[test]
fn attachments_name_a_trace() {
    let entry = |text: &str| [varint(text.len()), text.into()].concat();
    let map = [vec![2], entry("x"), entry("y"), entry("traceparent"), entry(SECOND)].concat();
    let opening = zenoh::opening(zenoh::SessionOption::Plain).map(|message| zenoh::batch(&message));
    for (attachment, expected) in [
        (FIRST.as_bytes(), Some(FIRST)),
        (&map, Some(SECOND)),
        (&map[1..], None),
        (b"any bytes", None),
    ] {
        let [put, delete] = attached(attachment);
        let messages = [put.clone(), delete, zenoh::push("k", b"hi")].concat();
        let batch = zenoh::batch(&zenoh::frame(1, &messages));
        // The same in fragments: all but the last say that more follow, and the first is marked.
        let (head, tail) = put.split_at(put.len() / 2);
        let fragments = [
            zenoh::batch(&[&[0xE6, 2, 2][..], head].concat()),
            zenoh::batch(&[&[0x26, 3][..], tail].concat()),
        ];
        let said = [
            (Side::A, &opening[0]),
            (Side::B, &opening[1]),
            (Side::A, &opening[2]),
            (Side::B, &opening[3]),
            (Side::A, &batch),
            (Side::A, &fragments[0]),
            (Side::A, &fragments[1]),
        ];
        let said = said.map(|(side, bytes)| (side, bytes.as_slice()));
        check("zenoh", &said, &[expected, expected, None, expected]);
    }
}
