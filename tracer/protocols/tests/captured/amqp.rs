//! pika and `RabbitMQ`: messages are what the programs sent and got, and frames what tshark reads.

use crate::decode::{Ports, Seen, decode};
use std::collections::BTreeMap;
use wirelap_events::FrameClass;
use wirelap_protocols::by_name;
use wirelap_test_support::committed::of_protocols;
use wirelap_test_support::tshark::{command, output};

const PORT: u16 = 5672;

/// Port, direction, topic.
type Kind = (u16, String, String);

fn connections() -> BTreeMap<Ports, Vec<Seen>> {
    decode(include_bytes!("captures/amqp.pcap"), by_name("amqp").unwrap(), |port| port == PORT)
}

#[test]
fn messages_are_what_the_programs_sent_and_got() {
    let lines = include_str!("captures/amqp.tsv").lines().skip(1);
    let expected: BTreeMap<Kind, (u64, u64)> = lines
        .map(|line| {
            let columns: Vec<_> = line.split('\t').collect();
            let kind = (columns[1].parse().unwrap(), columns[2].to_owned(), columns[3].to_owned());
            (kind, (columns[4].parse().unwrap(), columns[5].parse().unwrap()))
        })
        .collect();
    let mut found = BTreeMap::<Kind, (u64, u64)>::new();
    let (mut again, mut payload) = (0, 0);
    for ((port, _), frames) in &connections() {
        for seen in frames {
            payload += seen.payload_bytes;
            let Some(message) = &seen.message else { continue };
            let direction = if seen.from_client { "to" } else { "from" };
            let kind = (*port, direction.to_owned(), message.topic.clone());
            let count = found.entry(kind).or_default();
            *count = (count.0 + 1, count.1 + message.payload_len);
            again += u32::from(message.duplicate);
        }
    }
    assert_eq!(found, expected);
    assert_eq!(again, 1, "one was refused once");
    assert_eq!(payload, expected.values().map(|(_, bytes)| bytes).sum::<u64>());
}

#[test]
fn acks_and_returns_are_control() {
    let mut names = BTreeMap::<(&str, FrameClass), u64>::new();
    for seen in connections().values().flatten() {
        *names.entry((seen.name, seen.class)).or_default() += 1;
    }
    let of = |name, class| names.get(&(name, class)).copied().unwrap_or_default();
    // 2 × 41 by the subscribers, 5 by the worker; 21 confirms by the broker.
    assert_eq!(of("basic.ack", FrameClass::Ack), 2 * 41 + 5 + 21);
    assert_eq!(of("basic.nack", FrameClass::Ack), 1);
    assert_eq!(of("basic.return", FrameClass::Other), 1);
    assert_eq!(of("content-header", FrameClass::Other), 1);
    assert_eq!(of("basic.get-ok", FrameClass::Data), 1);
    assert!(names.keys().all(|(_, class)| *class != FrameClass::Opaque), "{names:?}");
}

/// The types of a direction's frames, and class and number of its methods, as tshark reads them.
fn tshark(is_from_client: bool) -> BTreeMap<u16, Vec<String>> {
    let capture = of_protocols("captured/captures/amqp.pcap");
    let (own, filter) = if is_from_client {
        ("tcp.srcport", format!("amqp && tcp.dstport == {PORT}"))
    } else {
        ("tcp.dstport", format!("amqp && tcp.srcport == {PORT}"))
    };
    let mut tshark = command();
    tshark.args(["-T", "fields", "-e", own, "-e", "amqp.type", "-Y", &filter, "-r"]).arg(capture);
    let mut frames = BTreeMap::<u16, Vec<String>>::new();
    for line in output(&mut tshark).lines() {
        let (port, types) = line.split_once('\t').unwrap();
        let frames = frames.entry(port.parse().unwrap()).or_default();
        frames.extend(types.split(',').filter(|kind| !kind.is_empty()).map(str::to_owned));
    }
    frames
}

#[test]
fn every_frame_is_what_tshark_says() {
    for is_from_client in [true, false] {
        let mut ours = BTreeMap::<u16, Vec<String>>::new();
        for ((port, _), frames) in &connections() {
            let frames = frames.iter().filter(|seen| seen.from_client == is_from_client);
            // The opening header is not a frame.
            let types = frames.filter(|seen| seen.name != "protocol-header");
            let types = types.map(|seen| seen.bytes[0].to_string());
            ours.entry(*port).or_default().extend(types);
        }
        assert_eq!(ours, tshark(is_from_client));
    }
}
