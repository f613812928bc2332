//! pyzmq: every message is what its program sent.

use crate::decode::decode;
use std::collections::BTreeMap;
use wirelap_events::FrameClass;
use wirelap_protocols::by_name;

/// Port, direction, topic, payload bytes.
type Kind = (u16, String, String, u64);

fn expected() -> BTreeMap<Kind, u64> {
    let lines = include_str!("captures/zmtp.tsv").lines().skip(1);
    lines
        .map(|line| {
            let [port, direction, topic, payload, messages] =
                line.split('\t').collect::<Vec<_>>().try_into().unwrap();
            let topic = topic.trim_start_matches('-').to_owned();
            let kind =
                (port.parse().unwrap(), direction.to_owned(), topic, payload.parse().unwrap());
            (kind, messages.parse().unwrap())
        })
        .collect()
}

#[test]
fn messages_are_those_that_were_sent() {
    let connections =
        decode(include_bytes!("captures/zmtp.pcap"), by_name("zmtp").unwrap(), |port| {
            (5551..=5559).contains(&port)
        });
    let mut found = BTreeMap::<Kind, u64>::new();
    for ((_, port), frames) in &connections {
        let payload: u64 = frames.iter().map(|seen| seen.payload_bytes).sum();
        let mut messages = 0;
        for seen in frames {
            let Some(message) = &seen.message else { continue };
            let direction = if seen.from_client { "to" } else { "from" };
            let kind = (*port, direction.to_owned(), message.topic.clone(), message.payload_len);
            *found.entry(kind).or_default() += 1;
            messages += message.payload_len;
        }
        assert_eq!(payload, messages, "payload on port {port}");
    }
    assert_eq!(found, expected());
}

#[test]
fn everything_else_is_control() {
    let connections =
        decode(include_bytes!("captures/zmtp.pcap"), by_name("zmtp").unwrap(), |port| {
            (5551..=5559).contains(&port)
        });
    assert_eq!(connections.len(), 7);
    let mut names = BTreeMap::<(&str, FrameClass), u64>::new();
    for seen in connections.values().flatten().filter(|seen| seen.class != FrameClass::Data) {
        *names.entry((seen.name, seen.class)).or_default() += 1;
    }
    // However fast the machine was.
    let beats = ["PING", "PONG"].map(|name| names.remove(&(name, FrameClass::KeepAlive)));
    assert!(beats.iter().all(Option::is_some), "{beats:?}");
    let names: Vec<_> = names.into_iter().map(|((name, _), count)| (name, count)).collect();
    assert_eq!(names, [("READY", 14), ("SUBSCRIBE", 1), ("greeting", 14)]);
}
