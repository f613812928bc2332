//! Ends of a client's subscriptions, and notices that keep a server from reading, as the bytes of AMQP and NATS say them: a note of
//! the decoder each.

use wirelap_events::{Frame, Offset};
use wirelap_protocols::stream::Stream;
use wirelap_protocols::{FrameNote, FrameSink, Side, Throttle, by_name};

/// `connection.start` of a server without mechanisms, which shows that it is one.
const START: &[u8] = b"\x01\0\0\0\0\0\x12\0\x0a\0\x0a\0\x09\0\0\0\0\0\0\0\0\0\0\0\0\xce";
/// `channel.open` of a client.
const CHANNEL_OPEN: &[u8] = b"\x01\0\x01\0\0\0\x05\0\x14\0\x0a\0\xce";
/// `connection.blocked`: the reason is a short string.
const BLOCKED: &[u8] = b"\x01\0\0\0\0\0\x0f\0\x0a\0\x3c\x0alow memory\xce";
/// `connection.unblocked`, without arguments.
const UNBLOCKED: &[u8] = b"\x01\0\0\0\0\0\x04\0\x0a\0\x3d\xce";
/// `basic.cancel`: a consumer tag, and one octet whose lowest bit is no-wait.
const CANCEL: &[u8] = b"\x01\0\x01\0\0\0\x0a\0\x3c\0\x1e\x04ctag\0\xce";
const CANCEL_NO_WAIT: &[u8] = b"\x01\0\x01\0\0\0\x0a\0\x3c\0\x1e\x04ctag\x01\xce";
/// `basic.cancel-ok`: a consumer tag.
const CANCEL_OK: &[u8] = b"\x01\0\x01\0\0\0\x09\0\x3c\0\x1f\x04ctag\xce";
/// A heartbeat.
const HEARTBEAT: &[u8] = b"\x08\0\0\0\0\0\0\xce";

const INFO: &[u8] = b"INFO {\"server_id\":\"N\"}\r\n";
const CONNECT: &[u8] = b"CONNECT {\"verbose\":false}\r\n";
const MSG: &[u8] = b"MSG a 1 2\r\nhi\r\n";

/// The notes as text, a line each.
#[derive(Default)]
struct Notes(Vec<String>);

impl FrameSink for Notes {
    fn frame(&mut self, _frame: &Frame<'_>) {}

    fn note(&mut self, note: FrameNote<'_>) {
        match note {
            FrameNote::Throttles(Throttle::Begins) => self.0.push("reads no more".into()),
            FrameNote::Throttles(Throttle::Ends) => self.0.push("reads again".into()),
            FrameNote::Unsubscribes(side) => self.0.push(format!("{side:?} unsubscribes")),
            _ => {}
        }
    }
}

/// A conversation between a client, which is A, and a server, which is B.
#[derive(Clone)]
struct Talk {
    protocol: &'static str,
    mid_stream: bool,
    /// Sender and bytes of each packet, or the number of bytes that are missing.
    packets: Vec<(Side, Result<Vec<u8>, u64>)>,
}

impl Talk {
    fn of(protocol: &'static str) -> Talk {
        Talk { protocol, mid_stream: false, packets: Vec::new() }
    }

    /// Joined when it had begun.
    fn joined(protocol: &'static str) -> Talk {
        Talk { mid_stream: true, ..Talk::of(protocol) }
    }

    fn client(mut self, bytes: &[u8]) -> Talk {
        self.packets.push((Side::A, Ok(bytes.into())));
        self
    }

    fn server(mut self, bytes: &[u8]) -> Talk {
        self.packets.push((Side::B, Ok(bytes.into())));
        self
    }

    /// Bytes of the server that were not captured.
    fn missing(mut self, bytes: u64) -> Talk {
        self.packets.push((Side::B, Err(bytes)));
        self
    }

    /// Decodes the packets and returns the notes.
    fn notes(&self) -> Vec<String> {
        let protocol = by_name(self.protocol).unwrap();
        let mut connection = protocol.connection(protocol.transports()[0]);
        let mut streams = [Side::A, Side::B].map(|side| Stream::new(side, self.mid_stream));
        let mut at = [Offset::START; 2];
        let mut notes = Notes::default();
        for (side, bytes) in &self.packets {
            let (stream, at) = (&mut streams[*side as usize], &mut at[*side as usize]);
            match bytes {
                Ok(bytes) => stream.feed(*at, bytes, 0, connection.as_mut(), &mut notes),
                Err(len) => stream.gap(*at, *len, connection.as_mut(), &mut notes),
            }
            let len = bytes.as_ref().map_or_else(|len| *len, |bytes| bytes.len() as u64);
            *at = at.plus(len);
        }
        notes.0
    }

    /// Checks what is noted, also with each packet cut in two at each of its bytes, but for those by which the decoder finds its
    /// place: the first two of a talk that is joined, and all from missing bytes on.
    fn notes_are(&self, expected: &[&str]) {
        assert_eq!(self.notes(), expected);
        let whole = if self.mid_stream { 2 } else { 0 };
        for (index, (side, bytes)) in self.packets.iter().enumerate().skip(whole) {
            let Ok(bytes) = bytes else { break };
            for cut in 1..bytes.len() {
                let mut talk = self.clone();
                let parts = [&bytes[..cut], &bytes[cut..]].map(|part| (*side, Ok(part.to_vec())));
                talk.packets.splice(index..=index, parts);
                assert_eq!(talk.notes(), expected, "packet {index} cut at {cut}");
            }
        }
    }
}

/// The same bytes with another one at a place.
fn with(bytes: &[u8], at: usize, value: u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] = value;
    bytes
}

mod amqp {
    use super::*;

    fn opened() -> Talk {
        Talk::of("amqp").client(b"AMQP\0\0\x09\x01").server(START).client(CHANNEL_OPEN)
    }

    #[test]
    fn a_server_that_is_blocked_reads_no_more() {
        let talk = opened().server(BLOCKED).server(HEARTBEAT).server(UNBLOCKED);
        talk.notes_are(&["reads no more", "reads again"]);
        let twice = [BLOCKED, UNBLOCKED, BLOCKED].concat();
        opened().server(&twice).notes_are(&["reads no more", "reads again", "reads no more"]);
    }

    #[test]
    fn joined_when_the_server_is_blocked_or_after() {
        let blocked = Talk::joined("amqp").server(BLOCKED).client(HEARTBEAT).server(UNBLOCKED);
        blocked.notes_are(&["reads no more", "reads again"]);
        let after = Talk::joined("amqp").server(UNBLOCKED).client(HEARTBEAT).server(BLOCKED);
        after.notes_are(&["reads again", "reads no more"]);
        // In the middle of a frame: what follows is found.
        let inside = [&BLOCKED[9..], BLOCKED, UNBLOCKED].concat();
        assert_eq!(Talk::joined("amqp").server(&inside).notes(), ["reads no more", "reads again"]);
    }

    /// The server may have said in the missing bytes that it reads again.
    #[test]
    fn what_was_said_before_missing_bytes_does_not_hold_any_more() {
        let talk = opened().server(BLOCKED).missing(100).server(&[HEARTBEAT; 2].concat());
        talk.notes_are(&["reads no more", "reads again"]);
        let still = opened().server(BLOCKED).missing(100).server(&[BLOCKED, HEARTBEAT].concat());
        still.notes_are(&["reads no more", "reads again", "reads no more"]);
        let not_blocked = opened().server(HEARTBEAT).missing(100).server(&[HEARTBEAT; 2].concat());
        not_blocked.notes_are(&[]);
        // What is missing of the client's bytes tells nothing of the server.
        let mut client = opened().server(BLOCKED);
        client.packets.push((Side::A, Err(100)));
        client.client(&[HEARTBEAT; 2].concat()).server(HEARTBEAT).notes_are(&["reads no more"]);
    }

    #[test]
    fn whoever_cancels_the_client_gets_less() {
        for cancel in [CANCEL, CANCEL_NO_WAIT] {
            opened().client(cancel).server(CANCEL_OK).notes_are(&["A unsubscribes"]);
            // RabbitMQ does so when the queue is gone.
            opened().server(cancel).client(CANCEL_OK).notes_are(&["A unsubscribes"]);
        }
        let both = [CHANNEL_OPEN, CANCEL_NO_WAIT, CANCEL].concat();
        opened().client(&both).notes_are(&["A unsubscribes"; 2]);
        opened().server(CANCEL_OK).client(CANCEL_OK).notes_are(&[]);
    }

    #[test]
    fn joined_when_a_consumer_is_cancelled() {
        let joined = || Talk::joined("amqp").client(CHANNEL_OPEN).server(HEARTBEAT);
        joined().client(CANCEL).server(CANCEL_OK).notes_are(&["A unsubscribes"]);
        joined().server(CANCEL_NO_WAIT).notes_are(&["A unsubscribes"]);
        // Nothing has shown which end is the server: most often the client cancels.
        let first = Talk::joined("amqp").client(CANCEL);
        assert_eq!(first.notes(), ["A unsubscribes"]);
    }

    /// The name of the method is enough, whatever follows it.
    #[test]
    fn wrong_lengths() {
        // A reason, and a tag, that is longer than its frame, or is not there.
        let after = |method: &[u8]| opened().server(method).server(UNBLOCKED);
        for len in [0, 9, 255] {
            after(&with(BLOCKED, 11, len)).notes_are(&["reads no more", "reads again"]);
            opened().client(&with(CANCEL, 11, len)).notes_are(&["A unsubscribes"]);
        }
        let bare = b"\x01\0\0\0\0\0\x04\0\x0a\0\x3c\xce";
        after(bare).notes_are(&["reads no more", "reads again"]);
        // A frame without room for a method, one whose end is elsewhere, ones that are too large: the next frame is found.
        let no_room = b"\x01\0\0\0\0\0\x03\0\x0a\0\xce".to_vec();
        let too_large = [0xff, 0x7f].map(|size| with(BLOCKED, 3, size));
        for wrong in [no_room, with(BLOCKED, 6, 14)].into_iter().chain(too_large) {
            assert_eq!(after(&wrong).notes(), ["reads again"], "{wrong:?}");
            for cut in 1..wrong.len() {
                let talk = opened().server(&wrong[..cut]).server(&wrong[cut..]).server(UNBLOCKED);
                assert!(!talk.notes().contains(&"reads no more".into()), "{wrong:?} cut at {cut}");
            }
        }
        // One that is said to be longer takes the next with it, and what comes then is looked for.
        let long = [&with(BLOCKED, 6, 16)[..], UNBLOCKED, HEARTBEAT].concat();
        assert!(opened().server(&long).notes().len() <= 1);
    }
}

mod nats {
    use super::*;

    fn opened() -> Talk {
        Talk::of("nats").server(INFO).client(CONNECT)
    }

    #[test]
    fn who_unsubscribes_gets_less_at_once() {
        opened().client(b"SUB a 1\r\nUNSUB 1\r\n").notes_are(&["A unsubscribes"]);
        opened().client(b"sub a.* workers 1\r\nunsub\t 1 \n").notes_are(&["A unsubscribes"]);
        // What has ended does not end again, until its number is used again.
        let again = opened().client(b"SUB a 1\r\nUNSUB 1\r\nUNSUB 1\r\nSUB b 1\r\nUNSUB 1\r\n");
        again.notes_are(&["A unsubscribes"; 2]);
    }

    #[test]
    fn with_a_maximum_after_so_many_messages_since_the_subscription() {
        let limited = || opened().client(b"SUB a 1\r\nSUB b 2\r\nUNSUB 1 2\r\n");
        limited().notes_are(&[]);
        limited().server(MSG).server(b"MSG b 2 0\r\n\r\n").notes_are(&[]);
        limited().server(&[MSG; 2].concat()).notes_are(&["A unsubscribes"]);
        let header = b"HMSG a 1 12 12\r\nNATS/1.0\r\n\r\n\r\n";
        limited().server(&[MSG, header, MSG].concat()).notes_are(&["A unsubscribes"]);
        // Messages of before count.
        let had = || opened().client(b"SUB a 1\r\n").server(&[MSG; 2].concat());
        had().client(b"UNSUB 1 2\r\n").notes_are(&["A unsubscribes"]);
        had().client(b"UNSUB 1 3\r\n").server(MSG).notes_are(&["A unsubscribes"]);
        // The last one counts.
        limited().client(b"UNSUB 1 3\r\n").server(&[MSG; 2].concat()).notes_are(&[]);
        limited().client(b"UNSUB 1\r\n").server(MSG).notes_are(&["A unsubscribes"]);
    }

    /// Servers take what is no maximum for none.
    #[test]
    fn hostile_maxima() {
        for most in ["0", "x", "-1", "9999999999", "18446744073709551617"] {
            let line = format!("SUB a 1\r\nUNSUB 1 {most}\r\n");
            opened().client(line.as_bytes()).notes_are(&["A unsubscribes"]);
        }
        let largest = b"SUB a 1\r\nUNSUB 1 999999999\r\n";
        opened().client(largest).server(MSG).notes_are(&[]);
        // Lines without a number, with too many words, without an end.
        opened().client(b"SUB a 1\r\nUNSUB\r\nUNSUB \r\nUNSUB 1 2 3 4\r\n").notes_are(&[]);
        let endless = [b"SUB a 1\r\nUNSUB ".to_vec(), vec![b'1'; 40_000]].concat();
        assert_eq!(opened().client(&endless).client(b"\r\n").notes(), [""; 0]);
        // A number that is too long to be kept.
        let long = format!("SUB a {0}\r\nUNSUB {0}\r\n", "1".repeat(300));
        assert_eq!(opened().client(long.as_bytes()).notes(), ["A unsubscribes"]);
    }

    #[test]
    fn of_a_number_that_was_not_seen() {
        // It may be of before.
        Talk::joined("nats")
            .client(b"PUB a 2\r\nhi\r\n")
            .server(MSG)
            .client(b"UNSUB 7\r\nUNSUB 8 3\r\n")
            .notes_are(&["A unsubscribes"]);
        // Joined between the letters of the first one, whose rest is a line of another meaning.
        let inside = b"SUB 7\r\nUNSUB 9\r\nPUB a 2\r\nhi\r\n";
        assert_eq!(Talk::joined("nats").client(inside).notes(), ["A unsubscribes"]);
    }

    /// The server keeps the subscription that it has.
    #[test]
    fn a_number_that_is_in_use() {
        let limited = b"SUB a 1\r\nUNSUB 1 2\r\nSUB b 1\r\n";
        opened().client(limited).server(&[MSG; 2].concat()).notes_are(&["A unsubscribes"]);
    }

    /// Clients make a subscription for the answer to each request.
    #[test]
    fn the_end_of_a_request_is_none() {
        let asks = b"SUB _INBOX.x 1\r\nUNSUB 1 1\r\nSUB _INBOX.y.* 2\r\nUNSUB 2\r\n";
        opened().client(asks).server(b"MSG _INBOX.x 1 2\r\nhi\r\n").notes_are(&[]);
    }
}
