//! Messages of a connection, and what is none.

use super::Nats;
use super::connection::NatsConnection;
use crate::stream::Stream;
use crate::{FrameNote, FrameSink, Protocol, Side};
use wirelap_events::{Frame, FrameClass, Offset, Transport};

/// The class of each message with its verb, and whether it is retained.
#[derive(Default)]
struct Classes(Vec<(&'static str, FrameClass, bool)>);

impl FrameSink for Classes {
    fn frame(&mut self, frame: &Frame<'_>) {
        let retained = frame.data.as_ref().is_some_and(|data| data.retained);
        self.0.push((frame.name, frame.class, retained));
    }

    fn note(&mut self, _note: FrameNote<'_>) {}
}

/// The frames of a conversation in which the client (A) and the server (B) say this in turn.
fn frames(said: &[(Side, &str)]) -> Vec<(&'static str, FrameClass, bool)> {
    let mut connection = NatsConnection::default();
    let mut streams = [Side::A, Side::B].map(|side| (Stream::new(side, false), Offset::START));
    let mut classes = Classes::default();
    for (side, text) in said {
        let (stream, at) = &mut streams[*side as usize];
        stream.feed(*at, text.as_bytes(), 0, &mut connection, &mut classes);
        *at = at.plus(text.len() as u64);
    }
    classes.0
}

const INFO: (Side, &str) = (Side::B, "INFO {\"server_id\":\"N\"}\r\n");
const CONNECT: (Side, &str) = (Side::A, "CONNECT {\"verbose\":false}\r\n");

/// The classes of what comes to `me.box.a` after a client has published `first`.
fn answers(first: &str, come: &[&str]) -> Vec<(FrameClass, bool)> {
    let mut said = vec![INFO, CONNECT, (Side::A, "SUB me.box.* 1\r\n"), (Side::A, first)];
    said.extend(come.iter().map(|text| (Side::B, *text)));
    frames(&said).into_iter().skip(4).map(|(_, class, retained)| (class, retained)).collect()
}

#[test]
fn the_ack_of_a_publish_is_an_answer_whatever_its_subject() {
    let ack = "MSG me.box.a 1 23\r\n{\"stream\":\"ST\",\"seq\":1}\r\n";
    let publish = "PUB orders me.box.a 2\r\nhi\r\n";
    let (once, data) = ((FrameClass::Ack, false), (FrameClass::Data, false));
    assert_eq!(answers(publish, &[ack, ack]), [once, data], "one answer is expected");
    let twice = [publish, publish].concat();
    assert_eq!(answers(&twice, &[ack, ack])[1..], [once, once]);
    let other = "PUB orders me.box.b 2\r\nhi\r\n";
    assert_eq!(answers(other, &[ack]), [data], "nobody has given this subject");
    let reply = "MSG me.box.a 1 2\r\nhi\r\n";
    assert_eq!(answers(publish, &[reply]), [data], "an application's reply");
}

/// A message with a header.
fn with_header(verb: &str, fields: &str, payload: &str) -> String {
    let header = format!("NATS/1.0\r\n{fields}\r\n\r\n");
    let total = header.len() + payload.len();
    format!("{verb} {} {total}\r\n{header}{payload}\r\n", header.len())
}

#[test]
fn answers_to_the_parts_of_a_batch_are_no_messages() {
    let part = with_header("HPUB orders me.box.a", "Nats-Batch-Id: b", "hi");
    let last =
        with_header("HPUB orders me.box.b", "Nats-Batch-Id: b\r\nNats-Batch-Commit: 1", "hi");
    let empty = "MSG me.box.a 1 0\r\n\r\n";
    let stored =
        "MSG me.box.b 1 44\r\n{\"stream\":\"S\",\"seq\":2,\"batch\":\"b\",\"count\":2}\r\n";
    let all = [part, last].concat();
    let (ack, data) = ((FrameClass::Ack, false), (FrameClass::Data, false));
    assert_eq!(answers(&all, &[empty, stored, empty]), [data, ack, ack, data]);
    let fast = [0, 1, 4, 3]
        .map(|operation| format!("PUB orders me.box.id.9.ok.1.{operation}.$FI 0\r\n\r\n"))
        .concat();
    let far = "MSG me.box.id.9.ok.1.1.$FI 1 31\r\n{\"type\":\"ack\",\"seq\":1,\"msgs\":9}\r\n";
    let other = (FrameClass::Other, false);
    assert_eq!(answers(&fast, &[far, far]), [data, other, other, ack, ack]);
}

#[test]
fn empty_answers_between_servers_are_those_to_what_asks_for_them() {
    let part = with_header("HMSG $G orders _INBOX.a", "Nats-Batch-Id: b", "hi");
    let confirmed = "RMSG $G $JS.ACK.S.C.1.2.3.4.5 _INBOX.b 4\r\n+ACK\r\n";
    let empty = |to| format!("RMSG $G _INBOX.{to} 0\r\n\r\n");
    let said = [
        (Side::A, part.as_str()),
        (Side::A, confirmed),
        (Side::B, &empty("a")),
        (Side::B, &empty("b")),
        (Side::B, &empty("c")),
    ];
    let classes = |said: &[(Side, &str)]| {
        frames(said).into_iter().map(|(_, class, _)| class).collect::<Vec<FrameClass>>()
    };
    let (ack, data) = (FrameClass::Ack, FrameClass::Data);
    assert_eq!(classes(&said), [data, ack, ack, ack, data]);
    // The server that answers is another one's neighbour: this route carries what has nothing to do with it.
    let said = [said[0], said[4], said[2]];
    assert_eq!(classes(&said), [data, data, ack]);
    let own = part.replace("_INBOX.a", "me.box.a");
    let said = [(Side::A, own.as_str()), (Side::B, "RMSG $G me.box.a 0\r\n\r\n")];
    assert_eq!(classes(&said), [data, ack], "a client has another prefix for its inboxes");
}

#[test]
fn between_clusters_an_empty_answer_comes_on_another_connection() {
    let memory = Nats.memory();
    let part = with_header("HMSG $G orders _GR_.abcdef.ghijkl._INBOX.a", "Nats-Batch-Id: b", "hi");
    let mut classes = Classes::default();
    for text in [part.as_str(), "RMSG $G _GR_.abcdef.ghijkl._INBOX.a 0\r\n\r\n"] {
        let mut connection = Nats.connection_with(Transport::Tcp, &memory);
        let mut stream = Stream::new(Side::A, false);
        stream.feed(Offset::START, text.as_bytes(), 0, &mut *connection, &mut classes);
    }
    let found = classes.0.iter().map(|(_, class, _)| *class).collect::<Vec<_>>();
    assert_eq!(found, [FrameClass::Data, FrameClass::Ack]);
}

#[test]
fn a_value_for_a_bucket_of_another_domain_is_a_message() {
    let said = [INFO, CONNECT, (Side::A, "PUB $JS.hub.API.$KV.b.k r 2\r\nhi\r\n")];
    assert_eq!(frames(&said)[2..], [("PUB", FrameClass::Data, false)]);
}

#[test]
fn a_request_that_nobody_listens_to_has_no_reply() {
    #[derive(Default)]
    struct Exchanges(Vec<&'static str>);
    impl FrameSink for Exchanges {
        fn frame(&mut self, _frame: &Frame<'_>) {}

        fn note(&mut self, note: FrameNote<'_>) {
            match note {
                FrameNote::Request { .. } => self.0.push("request"),
                FrameNote::Reply { .. } => self.0.push("reply"),
                FrameNote::NoReply(_) => self.0.push("no reply"),
                _ => {}
            }
        }
    }
    let asked = "PUB a _INBOX.r 2\r\nhi\r\n";
    let nobody = "HMSG _INBOX.r 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n";
    let reply = "MSG _INBOX.r 1 2\r\nhi\r\n";
    for (answer, last) in [(nobody, "no reply"), (reply, "reply")] {
        let mut connection = NatsConnection::default();
        let mut seen = Exchanges::default();
        for (side, text) in [INFO, CONNECT, (Side::A, asked), (Side::B, answer)] {
            let mut stream = Stream::new(side, false);
            stream.feed(Offset::START, text.as_bytes(), 0, &mut connection, &mut seen);
        }
        assert_eq!(seen.0, ["request", last], "{answer}");
    }
}

#[test]
fn other_answers_of_jetstream_are_known_by_the_reply_subject() {
    let api = "MSG me.box.a 1 50\r\n{\"type\":\"io.nats.jetstream.api.v1.x_response\"    }\r\n";
    let create = "PUB $JS.API.STREAM.CREATE.S me.box.a 2\r\n{}\r\n";
    assert_eq!(answers(create, &[api]), [(FrameClass::Other, false)]);
    let confirmed = "PUB $JS.ACK.S.C.1.2.3.4.5 me.box.a 4\r\n+ACK\r\n";
    let empty = "MSG me.box.a 1 0\r\n\r\n";
    assert_eq!(answers(confirmed, &[empty]), [(FrameClass::Ack, false)]);
    assert_eq!(
        answers(confirmed, &[empty, empty])[1],
        (FrameClass::Data, false),
        "an application's reply"
    );
    let get = "PUB $JS.API.DIRECT.GET.S me.box.a 12\r\n{\"batch\": 2}\r\n";
    let stored =
        "HMSG me.box.a 1 46 48\r\nNATS/1.0\r\nNats-Stream: S\r\nNats-Sequence: 7\r\n\r\nhi\r\n";
    let all = answers(get, &[stored, stored]);
    assert!(all.iter().all(|found| *found == (FrameClass::Data, true)), "{all:?}");
}
