//! The packets with bytes in a capture, retransmissions left out.

use std::collections::{BTreeMap, HashSet};
use wirelap_events::Transport;
use wirelap_protocols::Reader;

/// One packet's payload.
pub struct Packet {
    pub ports: (u16, u16),
    pub payload: Vec<u8>,
}

/// Those of a transport, by the two ports of a conversation, the lower one first; in order.
pub fn conversations(pcap: &[u8], transport: Transport) -> BTreeMap<(u16, u16), Vec<Packet>> {
    let mut reader = pcap_file::pcap::PcapReader::new(pcap).unwrap();
    let mut conversations = BTreeMap::<_, Vec<Packet>>::new();
    let mut seen = HashSet::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        let Some((ports, seq, payload)) = segment(&packet.data, transport) else { continue };
        if payload.is_empty() || seq.is_some_and(|seq| !seen.insert((ports, seq))) {
            continue;
        }
        let key = (ports.0.min(ports.1), ports.0.max(ports.1));
        let packet = Packet { ports, payload: payload.to_vec() };
        conversations.entry(key).or_default().push(packet);
    }
    conversations
}

/// Ports, TCP's sequence number, payload.
type Segment<'a> = ((u16, u16), Option<u32>, &'a [u8]);

/// Reads Ethernet and IPv4.
fn segment(frame: &[u8], transport: Transport) -> Option<Segment<'_>> {
    let mut reader = Reader::new(frame);
    reader.skip(14)?;
    let header = usize::from(reader.peek()? & 0x0F) * 4;
    reader.skip(2)?;
    let total = usize::from(reader.u16_be()?);
    reader.skip(5)?;
    let protocol = reader.u8()?;
    reader.skip(header.checked_sub(10)?)?;
    let mut segment = reader.sub(total.checked_sub(header)?)?;
    let ports = (segment.u16_be()?, segment.u16_be()?);
    match (transport, protocol) {
        (Transport::Udp, 17) => {
            segment.skip(4)?;
            Some((ports, None, segment.rest()))
        }
        (Transport::Tcp, 6) => {
            let seq = segment.u32_be()?;
            segment.skip(4)?;
            let offset = usize::from(segment.u8()? >> 4) * 4;
            segment.skip(offset.checked_sub(13)?)?;
            Some((ports, Some(seq), segment.rest()))
        }
        _ => None,
    }
}
