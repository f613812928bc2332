//! Reads captures of UDP and TCP.

use crate::common::Chunk;
use std::collections::BTreeMap;
use wirelap_protocols::Side;

/// The packets with bytes between each client's port and the agent's, in order. Side A is the client.
pub fn conversations(pcap: &[u8], agent: u16) -> BTreeMap<u16, Vec<Chunk>> {
    let u32_at = |at: usize| u32::from_le_bytes(pcap[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!(u32_at(0), 0xa1b2_c3d4, "a little-endian pcap file");
    assert_eq!(u32_at(20), 1, "of Ethernet frames");
    let mut found: BTreeMap<u16, Vec<Chunk>> = BTreeMap::new();
    let mut at = 24;
    while at < pcap.len() {
        let captured = u32_at(at + 8);
        assert_eq!(captured, u32_at(at + 12), "captured whole");
        let ip = &pcap[at + 30..at + 16 + captured];
        at += 16 + captured;
        assert_eq!(ip[0], 0x45, "IPv4 without options");
        let segment = &ip[20..];
        let port = |at: usize| u16::from_be_bytes([segment[at], segment[at + 1]]);
        let header = match ip[9] {
            17 => 8,
            6 => usize::from(segment[12] >> 4) * 4,
            other => panic!("IP protocol {other}"),
        };
        let (from, to) = (port(0), port(2));
        let (side, client) = if to == agent { (Side::A, from) } else { (Side::B, to) };
        if segment.len() > header {
            found.entry(client).or_default().push(Chunk::whole(side, &segment[header..]));
        }
    }
    found
}
