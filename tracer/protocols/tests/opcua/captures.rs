//! Real traffic of asyncua, recorded by `captures/record.sh`.

use crate::connections::{Connection, connections};
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use wirelap_events::Transport;
use wirelap_protocols::recognise::{ProtocolChoice, choose};
use wirelap_protocols::{Side, by_name};
use wirelap_test_support::committed::of_protocols;
use wirelap_test_support::player::Player;

/// A chunk, as tshark sees it.
struct Expected {
    kind: String,
    len: u64,
    service: String,
    values: Vec<String>,
}

/// A frame in the words of a transcript.
struct Seen {
    name: String,
    class: String,
    len: u64,
    payload: u64,
    /// Node and length of a value.
    value: Option<String>,
    is_stored: bool,
}

fn folder() -> PathBuf {
    of_protocols("opcua/captures")
}

fn capture(name: &str) -> Vec<Connection> {
    connections(&std::fs::read(folder().join(name).with_extension("pcap")).unwrap())
}

/// The chunks of each connection and side, in order.
fn expectations(name: &str) -> BTreeMap<(usize, char), VecDeque<Expected>> {
    let tsv = std::fs::read_to_string(folder().join(name).with_extension("tsv")).unwrap();
    let mut found = BTreeMap::<_, VecDeque<_>>::new();
    for line in tsv.lines().skip(1) {
        let columns: Vec<_> = line.split('\t').collect();
        let direction = (columns[1].parse().unwrap(), columns[2].parse().unwrap());
        found.entry(direction).or_default().push_back(Expected {
            kind: columns[3].to_owned(),
            len: columns[4].parse().unwrap(),
            service: columns[5].to_owned(),
            values: columns[6].split(' ').filter(|v| *v != "-").map(str::to_owned).collect(),
        });
    }
    found
}

/// Returns the messages that the decoder finds in one direction.
fn decode(connection: &Connection, side: Side) -> VecDeque<Seen> {
    let protocol = by_name("opcua").unwrap();
    let player = Player::new(protocol, Transport::Tcp, false).play(&connection.chunks);
    assert!(player.is_complete());
    let found = player.found.iter().filter(|found| found.side == side);
    found.map(|found| seen(&found.text, found.range.len())).collect()
}

fn seen(text: &str, len: u64) -> Seen {
    let words: Vec<_> = text.split(' ').collect();
    let after = |key: &str| words.iter().find_map(|word| word.strip_prefix(key));
    let payload = after("payload=").map_or(0, |n| n.parse().unwrap());
    let message = after("message=").map_or(payload, |n| n.parse().unwrap());
    let class = words.iter().rposition(|word| *word == len.to_string()).unwrap() - 1;
    Seen {
        name: words[..class].join(" "),
        class: words[class].to_owned(),
        len,
        payload,
        value: after("topic=").map(|topic| format!("{topic}={message}")),
        is_stored: words.contains(&"retained"),
    }
}

/// Checks one direction, chunk by chunk, and counts.
fn compare(mut seen: VecDeque<Seen>, expected: VecDeque<Expected>, tally: &mut Tally) {
    let mut payload_of_message = 0;
    for expected in expected {
        let (mut len, mut values, mut payload) = (0, Vec::new(), 0);
        let is_message = expected.kind.starts_with("MSG");
        while len < expected.len {
            let frame = seen.pop_front().expect("a frame for every chunk");
            let name = if is_message { &expected.service } else { &expected.kind[..3] };
            // tshark names a service in the last chunk only.
            assert!(frame.name == name || expected.service == "-", "{} for {name}", frame.name);
            assert_ne!(frame.class, "opaque", "{name}");
            len += frame.len;
            payload += frame.payload;
            tally.stored += usize::from(frame.is_stored);
            tally.keep_alives += usize::from(frame.class == "keepalive");
            values.extend(frame.value);
        }
        assert_eq!((len, &values), (expected.len, &expected.values));
        payload_of_message += payload;
        if !expected.kind.ends_with('C') {
            let of = |value: &String| value.rsplit('=').next().unwrap().parse::<u64>().unwrap();
            assert_eq!(payload_of_message, values.iter().map(of).sum::<u64>());
            payload_of_message = 0;
        }
        tally.chunks += 1;
        tally.values += values.len();
        *tally.services.entry(expected.service).or_default() += 1;
    }
    assert!(seen.is_empty());
}

#[derive(Debug, Default)]
struct Tally {
    chunks: usize,
    values: usize,
    stored: usize,
    keep_alives: usize,
    services: BTreeMap<String, usize>,
}

#[test]
fn every_chunk_and_value_is_as_tshark_reads_it() {
    let connections = capture("plain");
    assert_eq!(connections.len(), 2);
    let mut expected = expectations("plain");
    let mut total = Tally::default();
    for (index, connection) in connections.iter().enumerate() {
        for (side, letter) in [(Side::A, 'A'), (Side::B, 'B')] {
            let expected = expected.remove(&(index, letter)).unwrap();
            compare(decode(connection, side), expected, &mut total);
        }
    }
    assert!(expected.is_empty());
    // What `traffic.py` does: 3 rounds of 5 writes, one of two, one large; and what it prints: 23
    // changes, the first five of them what was there; 4 values read.
    assert_eq!((total.values, total.stored), (15 + 2 + 1 + 23 + 4, 5));
    assert_eq!(total.services["WriteRequest"], 15 + 1 + 1);
    assert_eq!(total.services["WriteResponse"], 17);
}

#[test]
fn a_channel_that_only_signs_is_read_without_its_signatures() {
    let mut values = Vec::new();
    for connection in &capture("sign") {
        for side in [Side::A, Side::B] {
            for frame in decode(connection, side) {
                assert_ne!(frame.class, "opaque", "{}", frame.name);
                values.extend(frame.value);
            }
        }
    }
    let plain = plain_values();
    // The large one is only in the other capture, written and notified.
    let large = "ns=2;s=the.answer=70000";
    let plain: Vec<_> = plain.into_iter().filter(|value| value != large).collect();
    values.sort();
    assert_eq!(values, plain);
}

/// The values of the readable channel, as tshark reads them.
fn plain_values() -> Vec<String> {
    let expected = expectations("plain").into_values().flatten();
    let mut values: Vec<_> = expected.flat_map(|expected| expected.values).collect();
    values.sort();
    values
}

#[test]
fn a_channel_that_encrypts_says_so() {
    let mut encrypted = 0;
    for connection in &capture("encrypt") {
        for side in [Side::A, Side::B] {
            let frames = decode(connection, side);
            let (opaque, open): (Vec<_>, Vec<_>) =
                frames.into_iter().partition(|frame| frame.class == "opaque");
            // Clients ask for the server's endpoints first, on a channel of their own.
            if open.iter().any(|frame| frame.name.starts_with("GetEndpoints")) {
                assert!(opaque.is_empty());
                continue;
            }
            encrypted += 1;
            let names: Vec<_> = opaque.iter().map(|frame| frame.name.as_str()).collect();
            assert!(names.len() >= 8 && names.iter().all(|n| *n == "MSG encrypted"), "{names:?}");
            assert!(opaque.iter().all(|frame| frame.payload == 0 && frame.value.is_none()));
            let names: Vec<_> = open.iter().map(|frame| frame.name.as_str()).collect();
            let handshake = if side == Side::A { "HEL" } else { "ACK" };
            assert_eq!(names[..2], [handshake, "OPN"]);
        }
    }
    assert_eq!(encrypted, 4, "two connections, both directions");
}

#[test]
fn every_packet_of_a_readable_channel_is_recognised() {
    for connection in &capture("plain") {
        for chunk in &connection.chunks {
            // The second packet of a chunk that takes two begins with anything.
            if !chunk.bytes.windows(8).any(|bytes| bytes == b"LLLLLLLL") {
                let choice = choose(Transport::Tcp, &chunk.bytes, false, [1, 2]);
                let ProtocolChoice::Protocol(protocol) = choice else {
                    panic!("{choice:?} {}", chunk.bytes.escape_ascii())
                };
                assert_eq!(protocol.name(), "opcua");
            }
        }
    }
}
