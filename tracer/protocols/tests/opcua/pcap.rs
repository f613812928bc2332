//! Reads captures of TCP.

use crate::common::Chunk;
use std::collections::HashMap;
use wirelap_protocols::Side;

/// The packets of one connection that carry bytes, in order.
#[derive(Default)]
pub struct Connection {
    pub chunks: Vec<Chunk>,
    /// The next sequence number of each port.
    next: HashMap<u16, u32>,
}

/// Reads a pcap file of Ethernet frames with IPv4 and TCP, without loss, as loopback gives it. Side A
/// is whoever connected.
pub fn connections(pcap: &[u8]) -> Vec<Connection> {
    let u32_at = |at: usize| u32::from_le_bytes(pcap[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!(u32_at(0), 0xa1b2_c3d4, "a little-endian pcap file");
    assert_eq!(u32_at(20), 1, "of Ethernet frames");
    let mut found: Vec<(u16, Connection)> = Vec::new();
    let mut at = 24;
    while at < pcap.len() {
        let captured = u32_at(at + 8);
        assert_eq!(captured, u32_at(at + 12), "captured whole");
        let frame = &pcap[at + 16..at + 16 + captured];
        at += 16 + captured;
        let ip = &frame[14..];
        assert_eq!((ip[0], ip[9]), (0x45, 6), "IPv4 without options, and TCP");
        packet(&ip[20..], &mut found);
    }
    found.into_iter().map(|(_, connection)| connection).collect()
}

fn packet(tcp: &[u8], found: &mut Vec<(u16, Connection)>) {
    let port = |at: usize| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
    let (from, to) = (port(0), port(2));
    let seq = u32::from_be_bytes(tcp[4..8].try_into().unwrap());
    let (syn, ack) = (tcp[13] & 2 != 0, tcp[13] & 16 != 0);
    if syn && !ack {
        found.push((from, Connection::default()));
    }
    let open = found.iter_mut().rfind(|(client, _)| *client == from || *client == to);
    let (client, connection) = open.expect("a connection seen from its start");
    if syn {
        connection.next.insert(from, seq.wrapping_add(1));
    }
    let payload = &tcp[usize::from(tcp[12] >> 4) * 4..];
    if payload.is_empty() {
        return;
    }
    let next = connection.next.get_mut(&from).unwrap();
    assert_eq!(*next, seq, "in order and once");
    *next = next.wrapping_add(u32::try_from(payload.len()).unwrap());
    let side = if from == *client { Side::A } else { Side::B };
    connection.chunks.push(Chunk::whole(side, payload));
}
