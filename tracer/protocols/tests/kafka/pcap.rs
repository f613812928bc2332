//! Reads captures.

use wirelap_protocols::Reader;

/// The payload of a TCP segment.
pub struct Segment {
    pub client: u16,
    pub from_client: bool,
    pub sequence: u32,
    pub payload: Vec<u8>,
}

/// The segments with payload in a little-endian pcap file of Ethernet frames.
pub fn segments(pcap: &[u8], server: u16) -> Vec<Segment> {
    let mut file = Reader::new(pcap);
    assert_eq!(file.u32_le(), Some(0xa1b2_c3d4), "a little-endian pcap file");
    file.skip(20).unwrap();
    let mut found = Vec::new();
    while file.skip(8).is_some() {
        let captured = file.u32_le().unwrap();
        file.skip(4).unwrap();
        let frame = file.take(captured as usize).unwrap();
        let segment = segment(frame, server).expect("Ethernet, IPv4 and TCP");
        if !segment.payload.is_empty() {
            found.push(segment);
        }
    }
    found
}

fn segment(frame: &[u8], server: u16) -> Option<Segment> {
    let mut ip = Reader::new(frame.get(14..)?);
    assert_eq!(ip.peek()? >> 4, 4);
    let header = usize::from(ip.u8()? & 15) * 4;
    ip.skip(1)?;
    let len = usize::from(ip.u16_be()?);
    ip.skip(header - 4)?;
    let mut tcp = ip.sub(len - header)?;
    let (from, to) = (tcp.u16_be()?, tcp.u16_be()?);
    let sequence = tcp.u32_be()?;
    tcp.skip(4)?;
    let header = usize::from(tcp.u8()? >> 4) * 4;
    tcp.skip(header - 13)?;
    let from_client = to == server;
    let client = if from_client { from } else { to };
    Some(Segment { client, from_client, sequence, payload: tcp.rest().to_vec() })
}
