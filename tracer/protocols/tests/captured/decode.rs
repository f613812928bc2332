//! Reads captures, and plays them to a decoder.

use std::collections::BTreeMap;
use wirelap_events::{Frame, FrameClass, Offset, Transport};
use wirelap_protocols::recognise::{ProtocolChoice, choose};
use wirelap_protocols::stream::Stream;
use wirelap_protocols::{FrameNote, FrameSink, Protocol, Side};
use wirelap_test_support::pcap::fresh;

/// The ports of a connection: of the end that opened it, and of the one that listens.
pub type Ports = (u16, u16);

/// A frame that was found.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The end that opened the connection sent it.
    pub from_client: bool,
    pub name: &'static str,
    pub class: FrameClass,
    /// The frame's bytes.
    pub bytes: Vec<u8>,
    pub payload_bytes: u64,
    pub message: Option<Message>,
}

/// A message that is complete with a frame.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message {
    pub topic: String,
    pub payload: Vec<u8>,
    pub payload_len: u64,
    pub duplicate: bool,
    pub retained: bool,
}

/// The bytes of one connection, in the order of its packets.
pub type Packets = Vec<(bool, Vec<u8>)>;

/// The frames of each connection in a capture, each of which must be recognised by its first packet.
pub fn decode(
    pcap: &[u8],
    protocol: &dyn Protocol,
    is_server: fn(u16) -> bool,
) -> BTreeMap<Ports, Vec<Seen>> {
    let connections = connections(pcap, is_server).into_iter();
    connections.map(|(ports, packets)| (ports, frames(&packets, protocol))).collect()
}

/// Names that the decoder reports on one connection.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The names of the end that opened the connection.
    pub client: Vec<String>,
    /// Messages by the group in which they are read; an empty one for those that are read in none.
    pub groups: BTreeMap<String, usize>,
}

impl FrameSink for Names {
    fn frame(&mut self, _frame: &Frame<'_>) {}

    fn note(&mut self, note: FrameNote<'_>) {
        let text = |name: &[u8]| String::from_utf8(name.to_vec()).unwrap();
        match note {
            FrameNote::Client { side: Side::A, name } => self.client.push(text(name)),
            FrameNote::ReaderGroup(group) => {
                *self.groups.entry(text(group.unwrap_or_default())).or_default() += 1;
            }
            _ => {}
        }
    }
}

/// The names on each connection in a capture.
pub fn names(
    pcap: &[u8],
    protocol: &dyn Protocol,
    is_server: fn(u16) -> bool,
) -> BTreeMap<Ports, Names> {
    let named = connections(pcap, is_server).into_iter().map(|(ports, packets)| {
        let mut connection = protocol.connection(Transport::Tcp);
        let mut streams = [Side::A, Side::B].map(|side| Stream::new(side, false));
        let mut at = [Offset::START; 2];
        let mut names = Names::default();
        for (from_client, bytes) in packets {
            let side = usize::from(!from_client);
            streams[side].feed(at[side], &bytes, 0, connection.as_mut(), &mut names);
            at[side] = at[side].plus(bytes.len() as u64);
        }
        (ports, names)
    });
    named.collect()
}

fn frames(packets: &Packets, protocol: &dyn Protocol) -> Vec<Seen> {
    let choice = choose(Transport::Tcp, &packets[0].1, true, [1, 2]);
    assert!(
        matches!(choice, ProtocolChoice::Protocol(p) if p.name() == protocol.name()),
        "{choice:?}"
    );
    let mut connection = protocol.connection(Transport::Tcp);
    let mut streams = [Side::A, Side::B].map(|side| Stream::new(side, false));
    let mut flows = [Vec::new(), Vec::new()];
    let mut seen = Vec::new();
    for (from_client, bytes) in packets {
        let side = usize::from(!from_client);
        let at = Offset::START.plus(flows[side].len() as u64);
        flows[side].extend_from_slice(bytes);
        let flow = &flows[side];
        let mut sink = |frame: &Frame<'_>| seen.push(see(*from_client, frame, flow));
        streams[side].feed(at, bytes, 0, connection.as_mut(), &mut sink);
    }
    let left = streams.map(|stream| stream.undecoded_bytes() + stream.pending_bytes());
    assert_eq!(left, [0, 0], "bytes in no frame");
    seen
}

fn see(from_client: bool, frame: &Frame<'_>, flow: &[u8]) -> Seen {
    let place = |offset: Offset| usize::try_from(offset.0 - Offset::START.0).unwrap();
    Seen {
        from_client,
        name: frame.name,
        class: frame.class,
        bytes: flow[place(frame.range.start)..place(frame.range.end)].to_vec(),
        payload_bytes: frame.payload_bytes,
        message: frame.data.map(|data| Message {
            topic: String::from_utf8(data.topic.to_vec()).unwrap(),
            payload: data.payload.to_vec(),
            payload_len: data.payload_len,
            duplicate: data.duplicate,
            retained: data.retained,
        }),
    }
}

/// The packets with payload of each connection in a capture.
pub fn connections(pcap: &[u8], is_server: fn(u16) -> bool) -> BTreeMap<Ports, Packets> {
    let mut connections = BTreeMap::<Ports, Packets>::new();
    for packet in fresh(pcap) {
        let (source, destination) = packet.ports();
        let from_client = is_server(destination);
        let ports = if from_client { (source, destination) } else { (destination, source) };
        connections.entry(ports).or_default().push((from_client, packet.payload));
    }
    connections
}
