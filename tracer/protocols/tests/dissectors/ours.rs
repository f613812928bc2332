//! Messages that our decoders find in a capture.

use std::collections::BTreeMap;
use wirelap_events::{ByteRange, Frame, FrameClass, Offset, Transport};
use wirelap_protocols::stream::Stream;
use wirelap_protocols::{Pdu, Side, by_name};
use wirelap_test_support::messages::{Carried, Message, Messages};
use wirelap_test_support::pcap::{Packet, fresh};

/// All messages of a capture, every conversation of which is of this protocol.
pub fn read(pcap: &[u8], protocol: &str, transport: Transport) -> Messages {
    let mut messages = Messages::new();
    let mut conversations = BTreeMap::<_, Vec<Packet>>::new();
    for packet in fresh(pcap).into_iter().filter(|packet| packet.transport() == transport) {
        let (from, to) = packet.ports();
        conversations.entry((from.min(to), from.max(to))).or_default().push(packet);
    }
    for packets in conversations.values() {
        conversation(packets, protocol, transport, &mut messages);
    }
    messages
}

fn conversation(packets: &[Packet], protocol: &str, transport: Transport, messages: &mut Messages) {
    let mut connection = by_name(protocol).unwrap().connection(transport);
    let mut streams = [Side::A, Side::B].map(|side| Stream::new(side, false));
    let mut fed = [Offset::START; 2];
    for packet in packets {
        let side = usize::from(packet.ports() != packets[0].ports());
        let (at, bytes) = (fed[side], &packet.payload[..]);
        fed[side] = at.plus(bytes.len() as u64);
        let of_direction = messages.entry(packet.ports()).or_default();
        let mut sink = |frame: &Frame<'_>| of_direction.push(message(frame));
        match transport {
            Transport::Tcp => streams[side].feed(at, bytes, 0, &mut *connection, &mut sink),
            Transport::Udp => {
                let range = ByteRange::new(at, bytes.len() as u64);
                connection.pdu([Side::A, Side::B][side], Pdu { range, bytes }, &mut sink);
            }
        }
    }
    for stream in &streams {
        assert_eq!(stream.undecoded_bytes() + stream.pending_bytes(), 0, "bytes in no frame");
    }
}

fn message(frame: &Frame<'_>) -> Message {
    assert!(frame.class != FrameClass::Opaque, "{frame:?}");
    let carried = frame.data.map(|data| Carried {
        topic: String::from_utf8(data.topic.to_vec()).unwrap(),
        payload_len: data.payload_len,
    });
    Message { name: frame.name.to_owned(), carried }
}
