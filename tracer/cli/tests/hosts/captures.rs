//! Packets that the two hosts captured.

use wirelap_test_support::committed::{of_protocols, repository};
pub use wirelap_test_support::pcap::Record as Packet;
use wirelap_test_support::pcap::{read, records};

/// Places of the addresses in an Ethernet frame.
pub const SOURCE: std::ops::Range<usize> = 26..30;
pub const DESTINATION: std::ops::Range<usize> = 30..34;

pub const CLIENT: [u8; 4] = [10, 77, 0, 1];
pub const SERVER: [u8; 4] = [10, 77, 0, 2];

fn capture(name: &str) -> Vec<Packet> {
    records(&read(&repository("tracer/cli/tests/hosts").join(name)))
}

pub fn client() -> Vec<Packet> {
    capture("client.pcap.gz")
}

pub fn server() -> Vec<Packet> {
    capture("server.pcap.gz")
}

/// Address of the subscriber if it has a host of its own.
pub const SUBSCRIBER: [u8; 4] = [10, 77, 0, 3];

/// The same as three hosts would have captured it: the publisher's, the broker's and the subscriber's.
pub fn three() -> [Vec<Packet>; 3] {
    let port = |packet: &Packet| {
        let place = if packet.bytes[SOURCE] == SERVER { 36..38 } else { 34..36 };
        packet.bytes[place].to_vec()
    };
    let mut sent = std::collections::BTreeMap::<Vec<u8>, usize>::new();
    for packet in client().iter().filter(|packet| packet.bytes[SOURCE] == CLIENT) {
        *sent.entry(port(packet)).or_default() += packet.bytes.len();
    }
    // A subscriber says next to nothing.
    let publishers = sent.into_iter().max_by_key(|(_, bytes)| *bytes).unwrap().0;
    let moved = |mut packet: Packet| {
        for place in [SOURCE, DESTINATION] {
            if packet.bytes[place.clone()] == CLIENT && port(&packet) != publishers {
                packet.bytes[place].copy_from_slice(&SUBSCRIBER);
            }
        }
        packet
    };
    let (publisher, subscriber) =
        client().into_iter().partition(|packet| port(packet) == publishers);
    let all = |packets: Vec<Packet>| packets.into_iter().map(moved).collect();
    [publisher, all(server()), all(subscriber)]
}

/// As a clock shows it that is ahead by `offset` nanoseconds and gains `ppm`.
pub fn shifted(mut packets: Vec<Packet>, offset: i64, ppm: i64) -> Vec<Packet> {
    let start = packets[0].at;
    for packet in &mut packets {
        packet.at += offset + (packet.at - start) * ppm / 1_000_000;
    }
    packets
}

/// A conversation by datagrams, as two hosts would have seen it that are 2 ms and a little apart: the ends of one
/// on the loopback device.
pub fn datagrams() -> [Vec<Packet>; 2] {
    const PORT: [u8; 2] = 7447_u16.to_be_bytes();
    let captured = read(&of_protocols("dissectors/captures/zenoh-udp.pcap"));
    let mut ends = [Vec::new(), Vec::new()];
    for (index, mut packet) in (0..).zip(records(&captured)) {
        let is_answer = packet.bytes[34..36] == PORT;
        if !is_answer && packet.bytes[36..38] != PORT {
            continue;
        }
        let (from, to) = if is_answer { (SERVER, CLIENT) } else { (CLIENT, SERVER) };
        packet.bytes[SOURCE].copy_from_slice(&from);
        packet.bytes[DESTINATION].copy_from_slice(&to);
        let mut arrived = packet.clone();
        arrived.at += 2_000_000 + index * 7_919 % 90_000;
        let [client, server] = &mut ends;
        let (sender, receiver) = if is_answer { (server, client) } else { (client, server) };
        sender.push(packet);
        receiver.push(arrived);
    }
    for packets in &mut ends {
        packets.sort_by_key(|packet| packet.at);
    }
    ends
}
