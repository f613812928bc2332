//! Packets of classic pcap files.

use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::Read;
use std::net::SocketAddrV4;
use std::path::Path;
use wirelap_events::{Seq, TcpFields, Transport};
use wirelap_protocols::Reader;

/// Opens a file, and decompresses it if its name ends with `.gz`.
pub fn open(path: &Path) -> Box<dyn Read> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if path.extension().is_some_and(|extension| extension == "gz") {
        Box::new(MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    }
}

/// A file's bytes, decompressed if its name ends with `.gz`.
pub fn read(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    open(path).read_to_end(&mut bytes).unwrap();
    bytes
}

/// An entry of a file.
#[derive(Clone, Debug)]
pub struct Record {
    /// Nanoseconds since 1970.
    pub at: i64,
    /// Bytes on the wire.
    pub original: u32,
    /// The frame, as far as it was captured.
    pub bytes: Vec<u8>,
}

/// The entries of a little-endian file of Ethernet frames. The last one may be half written and is then left out.
pub fn records(pcap: &[u8]) -> Vec<Record> {
    let mut file = Reader::new(pcap);
    let unit = match file.u32_le() {
        Some(0xA1B2_C3D4) => 1_000,
        Some(0xA1B2_3C4D) => 1,
        other => panic!("{other:x?} begins no little-endian pcap file"),
    };
    file.skip(16).unwrap();
    assert_eq!(file.u32_le(), Some(1), "of Ethernet frames");
    let mut records = Vec::new();
    while let Some(record) = record(&mut file, unit) {
        records.push(record);
    }
    records
}

fn record(file: &mut Reader<'_>, unit: i64) -> Option<Record> {
    let (seconds, part) = (file.u32_le()?, file.u32_le()?);
    let (captured, original) = (file.u32_le()?, file.u32_le()?);
    let bytes = file.take(usize::try_from(captured).ok()?)?.to_vec();
    let at = i64::from(seconds) * 1_000_000_000 + i64::from(part) * unit;
    Some(Record { at, original, bytes })
}

/// A TCP segment or a UDP datagram over IPv4.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Number of the packet's entry in the file, counted from 1.
    pub number: usize,
    /// Address of the sender.
    pub source: SocketAddrV4,
    /// To whom.
    pub destination: SocketAddrV4,
    /// TCP's header; UDP has none.
    pub tcp: Option<TcpFields>,
    /// Captured bytes of the packet's payload.
    pub payload: Vec<u8>,
    /// Bytes of its payload on the wire.
    pub payload_len: usize,
}

impl Packet {
    /// Transport that the packet was sent over.
    pub fn transport(&self) -> Transport {
        if self.tcp.is_some() { Transport::Tcp } else { Transport::Udp }
    }

    /// Source and destination.
    pub fn ports(&self) -> (u16, u16) {
        (self.source.port(), self.destination.port())
    }

    /// True if the packet goes to this port.
    pub fn is_to(&self, server: u16) -> bool {
        self.destination.port() == server
    }

    /// The port of the other end of a conversation with a server.
    pub fn client(&self, server: u16) -> u16 {
        if self.is_to(server) { self.source.port() } else { self.destination.port() }
    }
}

/// The TCP segments and UDP datagrams over IPv4 in a file; everything else is left out.
pub fn packets(pcap: &[u8]) -> Vec<Packet> {
    let records = records(pcap);
    let all = (1..).zip(&records);
    all.filter_map(|(number, record)| packet(number, &record.bytes)).collect()
}

/// The packets with payload, retransmissions of TCP left out.
pub fn fresh(pcap: &[u8]) -> Vec<Packet> {
    let mut seen = std::collections::HashSet::new();
    let mut packets = packets(pcap);
    packets.retain(|packet| {
        let is_new = packet.tcp.is_none_or(|tcp| !seen.contains(&(packet.ports(), tcp.seq)));
        let is_fresh = is_new && !packet.payload.is_empty();
        if let (true, Some(tcp)) = (is_fresh, packet.tcp) {
            seen.insert((packet.ports(), tcp.seq));
        }
        is_fresh
    });
    packets
}

/// Reads Ethernet, IPv4, and TCP or UDP.
fn packet(number: usize, frame: &[u8]) -> Option<Packet> {
    const ETHERNET: usize = 14;
    let mut ip = Reader::new(frame);
    ip.skip(ETHERNET - 2)?;
    if ip.u16_be()? != 0x0800 {
        return None;
    }
    let header = usize::from(ip.u8()? & 0x0F) * 4;
    ip.skip(1)?;
    let total = usize::from(ip.u16_be()?);
    ip.skip(5)?;
    let protocol = ip.u8()?;
    ip.skip(2)?;
    let [source, destination] = [ip.u32_be()?, ip.u32_be()?];
    ip.skip(header.checked_sub(20)?)?;
    // A short frame is filled up with what is no payload.
    let mut transport = Reader::new(ip.take_up_to(total.checked_sub(header)?));
    let [source, destination] = [
        SocketAddrV4::new(source.into(), transport.u16_be()?),
        SocketAddrV4::new(destination.into(), transport.u16_be()?),
    ];
    let (tcp, own) = match protocol {
        6 => {
            let (seq, ack) = (Seq(transport.u32_be()?), Seq(transport.u32_be()?));
            let own = usize::from(transport.u8()? >> 4) * 4;
            let (flags, window) = (transport.u8()?, transport.u16_be()?);
            transport.skip(own.checked_sub(16)?)?;
            (Some(TcpFields { seq, ack, flags, window }), own)
        }
        17 => {
            transport.skip(4)?;
            (None, 8)
        }
        _ => return None,
    };
    let payload = transport.rest().to_vec();
    let payload_len = total.checked_sub(header + own)?;
    Some(Packet { number, source, destination, tcp, payload, payload_len })
}
