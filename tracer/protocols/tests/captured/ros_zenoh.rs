//! Nodes of pyzeros, which speaks as `rmw_zenoh` does.

use crate::decode::connections;
use std::collections::BTreeSet;
use wirelap_events::{Frame, Offset, Transport};
use wirelap_protocols::ros2::{RosFact, RosName};
use wirelap_protocols::stream::Stream;
use wirelap_protocols::{FrameNote, FrameSink, Protocol, Side, zenoh};

#[derive(Default)]
struct Seen {
    facts: BTreeSet<String>,
    topics: Vec<String>,
}

impl FrameSink for Seen {
    fn frame(&mut self, frame: &Frame<'_>) {
        let name = frame.data.and_then(|data| RosName::of("zenoh", data.topic));
        self.topics.extend(name.map(|name| format!("{name} {}", name.type_name.clone().unwrap())));
    }

    fn note(&mut self, note: FrameNote<'_>) {
        let FrameNote::Ros(fact) = note else { return };
        let RosFact::Token(token) = fact else { panic!("no DDS: {fact:?}") };
        let endpoint = token.endpoint.as_ref().map_or(String::new(), |endpoint| {
            let end = if endpoint.serves { "<" } else { ">" };
            format!(" {end} {} {}", endpoint.name, endpoint.name.type_name.clone().unwrap())
        });
        self.facts.insert(format!("{} {}{endpoint}", token.domain, token.node));
    }
}

#[test]
fn nodes_and_topics_have_their_names() {
    let mut seen = Seen::default();
    let pcap = include_bytes!("captures/ros_zenoh.pcap");
    for packets in connections(pcap, |port| port == 7447).into_values() {
        let mut connection = zenoh::PROTOCOL.connection(Transport::Tcp);
        let mut streams = [Side::A, Side::B].map(|side| Stream::new(side, false));
        let mut at = [Offset::START; 2];
        for (from_client, bytes) in packets {
            let side = usize::from(!from_client);
            streams[side].feed(at[side], &bytes, 0, connection.as_mut(), &mut seen);
            at[side] = at[side].plus(bytes.len() as u64);
        }
    }
    let facts: Vec<_> = seen.facts.iter().map(String::as_str).collect();
    let topic = "/demo/chatter std_msgs/msg/String";
    let expected = [
        "0 /demo/listener".to_owned(),
        format!("0 /demo/listener > {topic}"),
        "0 /demo/talker".to_owned(),
        format!("0 /demo/talker < {topic}"),
    ];
    assert_eq!(facts, expected);
    let line = include_str!("captures/ros_zenoh.tsv").lines().nth(1).unwrap();
    let counts: u64 = line.split('\t').map(|count| count.parse::<u64>().unwrap()).sum();
    assert_eq!(seen.topics, vec![topic; usize::try_from(counts).unwrap()]);
}
