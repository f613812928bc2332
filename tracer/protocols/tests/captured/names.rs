//! The names that nats-py and pika gave their connections, and the queue group of two subscriptions.

use crate::decode::names;
use std::collections::BTreeMap;
use wirelap_protocols::by_name;

/// The names of connections by their ports, in the first two columns.
fn expected(tsv: &'static str) -> BTreeMap<u16, &'static str> {
    let lines = tsv.lines().skip(1);
    let columns = lines.map(|line| line.split('\t').collect::<Vec<_>>());
    columns.map(|columns| (columns[1].parse().unwrap(), columns[0])).collect()
}

#[test]
fn connections_of_nats_are_named_and_read_in_their_queue_groups() {
    let pcap = include_bytes!("captures/nats.pcap");
    let found = names(pcap, by_name("nats").unwrap(), |port| port == 4222);
    let expected = expected(include_str!("captures/nats.tsv"));
    assert_eq!(found.len(), expected.len());
    for ((port, _), names) in &found {
        assert_eq!(names.client, [expected[port]]);
        let groups: Vec<(&str, usize)> =
            names.groups.iter().map(|(group, count)| (group.as_str(), *count)).collect();
        match expected[port] {
            "subscriber" => assert_eq!(groups, [("", 41)]),
            "workers" => assert_eq!(groups, [("queue", 41)]),
            _ => assert!(groups.iter().all(|(group, _)| group.is_empty()), "{groups:?}"),
        }
    }
}

#[test]
fn connections_of_amqp_are_named() {
    let pcap = include_bytes!("captures/amqp.pcap");
    let found = names(pcap, by_name("amqp").unwrap(), |port| port == 5672);
    let expected = expected(include_str!("captures/amqp.tsv"));
    for (port, name) in expected {
        let names: Vec<_> = found.iter().filter(|((client, _), _)| *client == port).collect();
        assert_eq!(names[0].1.client, [name]);
    }
}
