//! Zenoh: captures of two sessions of the Python library (`captures/record.sh`).

use crate::{ours, quiet};
use wirelap_events::Transport;
use wirelap_test_support::committed::of_protocols as capture;
use wirelap_test_support::dissector::{ZENOH, read_with};
use wirelap_test_support::messages::{Messages, compare};

const EXPERTS: [&str; 8] = [
    "zenoh.malformed",
    "zenoh.bad_length",
    "zenoh.truncated",
    "zenoh.unknown_mandatory",
    "zenoh.unresolved",
    "zenoh.fragment.lost",
    "zenoh.continuation",
    "zenoh.version.unexpected",
];

const TCP: &str = "dissectors/captures/zenoh-tcp.pcap";
const UDP: &str = "dissectors/captures/zenoh-udp.pcap";

/// Compares both readings of a capture, and returns ours.
fn both(name: &str, transport: Transport) -> Messages {
    let path = capture(name);
    let ours = ours::read(&std::fs::read(&path).unwrap(), "zenoh", transport);
    compare(&ours, &ZENOH.read(&path, 1));
    compare(&ours, &ZENOH.read(&path, 2));
    quiet::whole("zenoh", &path, &EXPERTS);
    ours
}

/// Counts the messages that carry something to this key expression, and their bytes.
fn carried(messages: &Messages, key: &str) -> (usize, u64) {
    let all = messages.values().flatten().filter_map(|message| message.carried.as_ref());
    let lengths: Vec<_> =
        all.filter(|carried| carried.topic == key).map(|carried| carried.payload_len).collect();
    (lengths.len(), lengths.iter().sum())
}

#[test]
fn every_message_over_tcp_is_what_the_dissector_says() {
    let messages = both(TCP, Transport::Tcp);
    assert_eq!(carried(&messages, "demo/big"), (1, 300_000));
    assert_eq!(carried(&messages, "demo/declared/numbers"), (20, (0..20).sum()));
    assert_eq!(carried(&messages, "demo/undeclared/\u{e4}"), (1, 4));
    assert_eq!(carried(&messages, "query/answer"), (3, 9 + 9 + 7));
}

#[test]
fn every_message_over_udp_is_what_the_dissector_says() {
    let messages = both(UDP, Transport::Udp);
    assert_eq!(carried(&messages, "demo/big"), (1, 100_000));
    let names: Vec<_> = messages.values().flatten().map(|message| &*message.name).collect();
    assert!(names.contains(&"Scout") && names.contains(&"Hello"), "{names:?}");
}

#[test]
fn filters_find_what_they_name() {
    let path = capture(TCP);
    let count = |filter: &str| read_with("zenoh", &path, &["-Y", filter]).lines().count();
    assert_eq!(count("zenoh.push.keyexpr == \"demo/express\""), 5);
    assert_eq!(count("zenoh.payload_len == 300000"), 1);
    assert_eq!(count("zenoh.request.keyexpr == \"query/*\" && zenoh.payload_len == 5"), 1);
    assert_eq!(count("zenoh.priority == 1 && zenoh.express == 1"), 5);
    let args = ["-Y", "zenoh.fragment.index", "-T", "fields", "-e", "zenoh.fragment.index"];
    let index = read_with("zenoh", &path, &args);
    let index: Vec<usize> = index.split([',', '\n']).filter_map(|n| n.parse().ok()).collect();
    assert!(index.len() > 4 && index.iter().enumerate().all(|(n, index)| n == *index), "{index:?}");
}

#[test]
fn at_any_port_the_first_batch_tells() {
    let args = ["-d", "tcp.port==7447,echo", "-Y", "zenoh"];
    let known = read_with("zenoh", &capture(TCP), &["-Y", "zenoh"]).lines().count();
    let args_off = ["--disable-protocol", "echo"];
    let found = read_with("zenoh", &capture(TCP), &[&args[..], &args_off].concat());
    assert_eq!(found.lines().count(), known);
}

#[test]
fn captures_cut_anywhere_are_read_as_far_as_they_go() {
    quiet::cut("zenoh", &capture(TCP));
    quiet::cut("zenoh", &capture(UDP));
}
