//! The connections of a capture.

use std::collections::HashMap;
use wirelap_events::{Seq, tcp_flags};
use wirelap_protocols::Side;
use wirelap_test_support::pcap::{Packet, packets};
use wirelap_test_support::player::Chunk;

/// The packets of one connection that carry bytes, in order.
#[derive(Default)]
pub struct Connection {
    pub chunks: Vec<Chunk>,
    /// The next sequence number of each port.
    next: HashMap<u16, Seq>,
}

/// Those of a capture without loss, as loopback gives it. Side A is whoever connected.
pub fn connections(pcap: &[u8]) -> Vec<Connection> {
    let mut found: Vec<(u16, Connection)> = Vec::new();
    for packet in packets(pcap) {
        add(&packet, &mut found);
    }
    found.into_iter().map(|(_, connection)| connection).collect()
}

fn add(packet: &Packet, found: &mut Vec<(u16, Connection)>) {
    let (from, to) = packet.ports();
    let tcp = packet.tcp.expect("TCP");
    let [syn, ack] = [tcp_flags::SYN, tcp_flags::ACK].map(|flag| tcp.flags & flag != 0);
    if syn && !ack {
        found.push((from, Connection::default()));
    }
    let open = found.iter_mut().rfind(|(client, _)| *client == from || *client == to);
    let (client, connection) = open.expect("a connection seen from its start");
    if syn {
        connection.next.insert(from, tcp.seq.plus(1));
    }
    if packet.payload_len == 0 {
        return;
    }
    assert_eq!(packet.payload.len(), packet.payload_len, "captured whole");
    let next = connection.next.get_mut(&from).unwrap();
    assert_eq!(*next, tcp.seq, "in order and once");
    *next = next.plus(u32::try_from(packet.payload_len).unwrap());
    let side = if from == *client { Side::A } else { Side::B };
    connection.chunks.push(Chunk::whole(side, &packet.payload));
}
