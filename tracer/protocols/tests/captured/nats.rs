//! nats-py and nats-server: messages and bytes of each connection are what the server counted.

use crate::decode::{Message, Ports, Seen, decode};
use std::collections::BTreeMap;
use wirelap_events::FrameClass;
use wirelap_protocols::by_name;

/// A connection as the server's monitoring shows it.
struct Counted {
    name: String,
    /// Messages and bytes from the client, then to it.
    counts: [(u64, u64); 2],
}

fn counted() -> BTreeMap<u16, Counted> {
    let lines = include_str!("captures/nats.tsv").lines().skip(1);
    lines
        .map(|line| {
            let columns: Vec<_> = line.split('\t').collect();
            let number = |column: usize| columns[column].parse().unwrap();
            let counts = [(number(2), number(3)), (number(4), number(5))];
            (columns[1].parse().unwrap(), Counted { name: columns[0].to_owned(), counts })
        })
        .collect()
}

fn connections() -> BTreeMap<Ports, Vec<Seen>> {
    decode(include_bytes!("captures/nats.pcap"), by_name("nats").unwrap(), |port| port == 4222)
}

fn of<'c>(all: &'c BTreeMap<Ports, Vec<Seen>>, name: &str) -> &'c [Seen] {
    let (port, _) = counted().into_iter().find(|(_, counted)| counted.name == name).unwrap();
    &all[&(port, 4222)]
}

/// Header and payload of a message, by what stands around them.
fn message_bytes(seen: &Seen) -> Option<u64> {
    let body = seen.bytes.strip_suffix(b"\r\n")?;
    let line = body.iter().position(|&b| b == b'\n')? + 1;
    ["PUB", "HPUB", "MSG", "HMSG"].contains(&seen.name).then_some((body.len() - line) as u64)
}

#[test]
fn every_connection_is_as_the_server_counted_it() {
    let all = connections();
    let counted = counted();
    assert_eq!(all.len(), counted.len());
    for (port, counted) in &counted {
        for (from_client, expected) in [true, false].into_iter().zip(counted.counts) {
            let frames = all[&(*port, 4222)].iter().filter(|seen| {
                // The server does not count its word that nobody listens.
                let is_refusal = String::from_utf8_lossy(&seen.bytes).contains("NATS/1.0 503");
                seen.from_client == from_client && !is_refusal
            });
            let bytes: Vec<u64> = frames.filter_map(message_bytes).collect();
            let found = (bytes.len() as u64, bytes.iter().sum::<u64>());
            assert_eq!(found, expected, "{}, from client: {from_client}", counted.name);
        }
    }
}

/// The messages of a connection, sorted.
fn messages(frames: &[Seen], from_client: bool) -> Vec<Message> {
    let of_side = frames.iter().filter(|seen| seen.from_client == from_client);
    let mut messages: Vec<_> = of_side.filter_map(|seen| seen.message.clone()).collect();
    messages.sort();
    messages
}

#[test]
fn what_was_published_is_what_was_delivered() {
    let all = connections();
    let published = messages(of(&all, "publisher"), true);
    assert_eq!(published.len(), 41);
    assert_eq!(published, messages(of(&all, "subscriber"), false));
    assert_eq!(published, messages(of(&all, "workers"), false));
    let [requester, service] = ["requester", "service"].map(|name| of(&all, name));
    let mut requests = messages(requester, true);
    requests.retain(|message| message.topic != "service.none");
    assert_eq!(requests.len(), 10);
    assert_eq!(requests, messages(service, false));
    assert_eq!(messages(service, true), messages(requester, false));
}

#[test]
fn streams_deliver_what_was_published_and_the_rest_is_control() {
    let all = connections();
    let [publisher, reader] = ["stream publisher", "stream reader"].map(|name| of(&all, name));
    let published = messages(publisher, true);
    assert_eq!(published.len(), 10);
    assert_eq!(messages(publisher, false), []);
    let (again, delivered): (Vec<_>, Vec<_>) =
        messages(reader, false).into_iter().partition(|message| message.duplicate);
    assert_eq!(delivered, published);
    assert_eq!(again.len(), 1, "one was refused once");
    assert_eq!(messages(reader, true), []);
    let acks = |frames: &[Seen], name: &str| {
        frames.iter().filter(|seen| (seen.name, seen.class) == (name, FrameClass::Ack)).count()
    };
    assert_eq!(acks(publisher, "MSG"), 10);
    // Five acks with an answer, five without, one refusal.
    assert_eq!((acks(reader, "PUB"), acks(reader, "MSG")), (11, 5));
}
