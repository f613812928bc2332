//! Messages that our decoders read in the packets of a recording.

use std::collections::HashMap;
use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use wirelap_events::{
    Body, ByteRange, Event, Frame, FrameClass, Offset, Packet, PacketHook, PacketKind, Seq,
    Transport, tcp_flags,
};
use wirelap_protocols::stream::Stream;
use wirelap_protocols::{Connection, Memory, Pdu, Protocol, Side, by_name};
use wirelap_recording::{Entry, Recording};
use wirelap_test_support::messages::{Carried, Message, Messages};

/// Adds what a frame tells to the messages of its direction.
pub type Take = fn(&Frame<'_>, &mut Vec<Message>);

/// Numbers of the messages that carry something for an application.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Carrying {
    /// Messages to a server.
    pub to_servers: u64,
    /// All others, but for …
    pub others: u64,
    /// … those that a server had stored, and what was sent again.
    pub stored: u64,
    /// Payload of all.
    pub bytes: u64,
}

/// Messages and servers in a recording.
#[derive(Debug, Default)]
pub struct Found {
    pub messages: Messages,
    /// The messages that carry something.
    pub carrying: Carrying,
    /// The ports that TCP connections were opened to.
    pub servers: Vec<u16>,
}

/// All messages of a recording, every conversation of which is of this protocol. `take` says which frames are messages.
pub fn read(recording: &Path, protocol: &str, take: Take) -> Found {
    let protocol = by_name(protocol).unwrap();
    let memory = protocol.memory();
    let mut recording = Recording::new(File::open(recording).unwrap()).unwrap();
    let mut conversations = HashMap::new();
    let mut found = Found::default();
    while let Some(entry) = recording.next() {
        let Entry::Event(Event { body: Body::Packet(packet), .. }) = entry else { continue };
        // Each is seen twice on the loopback device, once with its bytes; an ICMP error is no datagram.
        if packet.hook != PacketHook::Xmit || packet.kind != PacketKind::Whole {
            continue;
        }
        let [src, dst] = [packet.flow.src, packet.flow.dst];
        let ends = (src.min(dst), src.max(dst));
        conversations
            .entry(ends)
            .or_insert_with(|| Conversation::new(protocol, packet.flow.transport, &memory, src))
            .packet(&packet, take, &mut found);
    }
    assert!(recording.problems().is_empty(), "{:?}", recording.problems());
    for conversation in conversations.values() {
        for stream in &conversation.streams {
            let unread = stream.undecoded_bytes() + stream.pending_bytes();
            assert_eq!(unread, 0, "bytes in no frame: {stream:?}");
        }
    }
    found.messages.retain(|_, messages| !messages.is_empty());
    found.servers.sort_unstable();
    found.servers.dedup();
    found
}

struct Conversation {
    /// The end that spoke first.
    first: SocketAddr,
    connection: Box<dyn Connection>,
    streams: [Stream; 2],
    /// TCP: the sequence number of the first byte.
    starts: [Option<Seq>; 2],
    /// UDP: bytes so far.
    sent: [u64; 2],
}

impl Conversation {
    fn new(
        protocol: &dyn Protocol,
        transport: Transport,
        memory: &Memory,
        first: SocketAddr,
    ) -> Conversation {
        Conversation {
            first,
            connection: protocol.connection_with(transport, memory),
            streams: [Side::A, Side::B].map(|side| Stream::new(side, false)),
            starts: [None; 2],
            sent: [0; 2],
        }
    }

    fn packet(&mut self, packet: &Packet<'_>, take: Take, found: &mut Found) {
        let side = if packet.flow.src == self.first { Side::A } else { Side::B };
        let (from, to) = (packet.flow.src.port(), packet.flow.dst.port());
        assert_eq!(packet.payload.len() as u64, u64::from(packet.payload_len), "captured whole");
        let has = |flag| packet.tcp.is_some_and(|tcp| tcp.flags & flag != 0);
        if has(tcp_flags::SYN) && !has(tcp_flags::ACK) {
            found.servers.push(to);
        }
        // Over UDP a server is who does not speak first.
        let is_answered = packet.tcp.is_none() && matches!(side, Side::A);
        let is_to_server = is_answered || found.servers.contains(&to);
        let messages = found.messages.entry((from, to)).or_default();
        let mut sink = |frame: &Frame<'_>| {
            take(frame, messages);
            let Some(data) = frame.data else { return };
            let carrying = &mut found.carrying;
            carrying.bytes += data.payload_len;
            *if data.retained || data.duplicate {
                &mut carrying.stored
            } else if is_to_server {
                &mut carrying.to_servers
            } else {
                &mut carrying.others
            } += 1;
        };
        let index = side as usize;
        if let Some(tcp) = packet.tcp {
            let syn = tcp.flags & tcp_flags::SYN != 0;
            let first = *self.starts[index].get_or_insert(tcp.seq.plus(u32::from(syn)));
            let at = Offset::START.plus(tcp.seq.0.wrapping_sub(first.0).into());
            if !packet.payload.is_empty() {
                let connection = &mut *self.connection;
                self.streams[index].feed(at, packet.payload, 0, connection, &mut sink);
            }
        } else {
            let start = Offset::START.plus(self.sent[index]);
            let range = ByteRange::new(start, packet.payload_len.into());
            self.sent[index] += u64::from(packet.payload_len);
            self.connection.pdu(side, Pdu { range, bytes: packet.payload }, &mut sink);
        }
    }
}

/// A frame as a message.
pub fn message(frame: &Frame<'_>) -> Message {
    assert!(frame.class != FrameClass::Opaque, "{frame:?}");
    let carried = frame.data.map(|data| Carried {
        topic: String::from_utf8(data.topic.to_vec()).unwrap(),
        payload_len: data.payload_len,
    });
    Message { name: frame.name.to_owned(), carried }
}
