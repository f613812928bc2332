//! Reads captures.

/// A UDP datagram in a capture.
pub struct Datagram {
    /// Its packet, counted from 1.
    pub packet: usize,
    /// Address and port of sender and receiver.
    pub ends: [[u8; 6]; 2],
    pub bytes: Vec<u8>,
    /// Bytes on the wire.
    pub len: usize,
}

/// Reads a pcap file of Ethernet frames with IPv4 and UDP.
pub fn datagrams(pcap: &[u8]) -> Vec<Datagram> {
    let u32_at = |at: usize| u32::from_le_bytes(pcap[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!(u32_at(0), 0xa1b2_c3d4, "a little-endian pcap file");
    assert_eq!(u32_at(20), 1, "of Ethernet frames");
    let mut found = Vec::new();
    let mut at = 24;
    while at < pcap.len() {
        let captured = u32_at(at + 8);
        let frame = &pcap[at + 16..at + 16 + captured];
        at += 16 + captured;
        let ip = &frame[14..];
        assert_eq!((ip[0], ip[9]), (0x45, 17), "IPv4 without options, and UDP");
        let udp = &ip[20..];
        let end = |address: usize, port: usize| {
            [
                ip[address],
                ip[address + 1],
                ip[address + 2],
                ip[address + 3],
                udp[port],
                udp[port + 1],
            ]
        };
        found.push(Datagram {
            packet: found.len() + 1,
            ends: [end(12, 0), end(16, 2)],
            bytes: udp[8..].to_vec(),
            len: usize::from(u16::from_be_bytes([udp[4], udp[5]])) - 8,
        });
    }
    found
}
