use super::*;
use crate::stream::Stream;
use crate::{Connection, Protocol, Side, mqtt};
use wirelap_events::{ByteRange, Frame, FrameClass, Offset, Transport};
use wirelap_test_support::compose::websocket::{Deflater, REQUEST, response};
use wirelap_test_support::compose::{varint, websocket};

const CONNECT: &[u8] = b"\x10\x0c\0\x04MQTT\x04\x02\0\x3c\0\0";
const PUBLISH: &[u8] = b"\x30\x0c\0\x05a/b/chello";

/// A masked frame with this first byte.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    websocket::frame(first, Some([0x37, 0xfa, 0x21, 0x3d]), payload)
}

fn layer() -> WebSocket {
    let mut layer = WebSocket::default();
    layer.carries(&mqtt::PROTOCOL, mqtt::PROTOCOL.connection(Transport::Tcp));
    layer
}

/// The frames of `bytes`, which come in packets of `size`: name, range, extent of the message.
fn frames(bytes: &[u8], size: usize) -> Vec<(&'static str, ByteRange, Option<ByteRange>)> {
    let mut layer = layer();
    let mut stream = Stream::new(Side::A, false);
    let mut all = Vec::new();
    for (n, part) in bytes.chunks(size).enumerate() {
        stream.feed(Offset((n * size) as u64), part, 0, &mut layer, &mut |frame: &Frame<'_>| {
            all.push((frame.name, frame.range, frame.data.map(|data| data.extent)));
        });
    }
    assert_eq!((stream.undecoded_bytes(), stream.pending_bytes()), (0, 0));
    let covered: u64 = all.iter().map(|(_, range, _)| range.len()).sum();
    assert_eq!(covered, bytes.len() as u64, "every byte is in one frame: {all:?}");
    all
}

fn messages(bytes: &[u8], size: usize) -> Vec<(u64, u64)> {
    let extents = frames(bytes, size).into_iter().filter_map(|(_, _, extent)| extent);
    extents.map(|extent| (extent.start.0, extent.end.0)).collect()
}

#[test]
fn a_messages_bytes_are_those_of_the_flow() {
    let connect = frame(0x82, CONNECT);
    let mut bytes = [REQUEST, &connect].concat();
    let first = bytes.len() as u64;
    bytes.extend(frame(0x82, PUBLISH));
    let second = bytes.len() as u64;
    // Two packets in one frame: the second one has no header before it.
    bytes.extend(frame(0x82, &[PUBLISH, PUBLISH].concat()));
    let third = second + 6 + PUBLISH.len() as u64;
    let want = [(first, second), (second, third), (third, bytes.len() as u64)];
    for size in [1, 2, 3, 7, 64, 4096] {
        assert_eq!(messages(&bytes, size), want, "packets of {size}");
    }
}

#[test]
fn a_message_may_be_in_fragments_with_a_ping_between() {
    let mut bytes = [REQUEST, &frame(0x82, CONNECT)].concat();
    let start = bytes.len() as u64;
    bytes.extend(frame(0x02, &PUBLISH[..3]));
    bytes.extend(frame(0x89, b"?"));
    bytes.extend(frame(0x00, &PUBLISH[3..8]));
    bytes.extend(frame(0x80, &PUBLISH[8..]));
    let end = bytes.len() as u64;
    bytes.extend(frame(0x88, &1000_u16.to_be_bytes()));
    for size in [1, 5, 4096] {
        assert_eq!(messages(&bytes, size), [(start, end)], "packets of {size}");
    }
    let names: Vec<_> = frames(&bytes, 4096).into_iter().map(|(name, ..)| name).collect();
    assert!(names.contains(&"Ping (WebSocket)") && names.contains(&"Close (WebSocket)"));
}

#[test]
fn lengths_of_all_three_widths_are_read() {
    let mut bytes = [REQUEST, &frame(0x82, CONNECT)].concat();
    for len in [10_usize, 200, 70_000, 300_000] {
        let mut packet = vec![0x30];
        packet.extend(varint(7 + len));
        packet.extend(b"\0\x05a/b/c");
        packet.resize(packet.len() + len, b'x');
        bytes.extend(frame(0x82, &packet));
    }
    for size in [1000, 65_536, 1 << 20] {
        let all = messages(&bytes, size);
        assert_eq!(all.len(), 4, "packets of {size}");
        assert!(all.windows(2).all(|two| two[0].1 == two[1].0), "{all:?}");
        assert_eq!(all[3].1, bytes.len() as u64);
    }
}

#[test]
fn a_compressed_message_of_which_nothing_is_known_harms_nothing() {
    let mut bytes = [REQUEST, &frame(0x82, CONNECT)].concat();
    bytes.extend(frame(0x42, b"???"));
    bytes.extend(frame(0x80, b"??"));
    let start = bytes.len() as u64;
    bytes.extend(frame(0x82, PUBLISH));
    assert_eq!(messages(&bytes, 4096), [(start, bytes.len() as u64)]);
}

/// The server's messages, compressed, in packets of their own; the first ones were not captured.
fn compressed(forgets: bool, extensions: &str, skip: usize) -> (WebSocket, Vec<(u64, u64)>, bool) {
    let mut layer = layer();
    let mut deflater = Deflater::new(forgets);
    let mut packets: Vec<_> = (0..12)
        .map(|n: u8| {
            let text = [PUBLISH, &PUBLISH[..13], &[n]].concat();
            websocket::frame(0xC2, None, &deflater.message(&text))
        })
        .collect();
    if !extensions.is_empty() {
        packets.insert(0, response(extensions));
    }
    let (mut at, mut found) = (0, Vec::new());
    let mut stream = Stream::new(Side::B, skip > 0);
    for (n, packet) in packets.iter().enumerate() {
        if n >= skip {
            stream.feed(Offset(at), packet, 0, &mut layer, &mut |frame: &Frame<'_>| {
                let extent = frame.data.map(|data| (data.extent.start.0, data.extent.end.0));
                found.extend(extent);
            });
        }
        at += packet.len() as u64;
    }
    assert_eq!(stream.undecoded_bytes(), 0);
    let lacks = layer.lacks_context();
    (layer, found, lacks)
}

#[test]
fn compressed_messages_are_read_where_the_compressed_bytes_lie() {
    for (forgets, extensions) in
        [(false, "permessage-deflate"), (true, "permessage-deflate; server_no_context_takeover")]
    {
        let (layer, found, lacks) = compressed(forgets, extensions, 0);
        assert_eq!((found.len(), lacks), (24, false), "two in each");
        assert!(found.chunks(2).all(|two| two[0] == two[1]), "{found:?}");
        assert!(found.chunks(2).zip(found[2..].chunks(2)).all(|(a, b)| a[0].1 == b[0].0));
        assert_eq!(layer.held_bytes() > 40_000, !forgets, "nothing is kept to refer to");
    }
}

#[test]
fn joined_late_what_refers_to_nothing_is_read_and_the_rest_is_said() {
    let (_, found, lacks) = compressed(true, "", 4);
    assert_eq!((found.len(), lacks), (16, false));
    let (_, found, lacks) = compressed(false, "", 4);
    assert!(lacks && found.len() < 4, "{found:?}");
}

#[test]
fn a_trial_finds_what_is_carried_and_replays_it() {
    let hints = || [40_000, 9001].into();
    let mut trial = WebSocketTrial::default();
    let publish = frame(0x82, PUBLISH);
    let bytes = [REQUEST, &frame(0x82, CONNECT), &publish].concat();
    trial.packet(Side::A, false, Offset(0), REQUEST, 0);
    assert!(trial.is_open() && trial.opened(hints()).is_none());
    trial.packet(Side::A, false, Offset(0), &bytes, 0);
    let protocol = trial.opened(hints()).unwrap();
    assert_eq!(protocol.name(), "mqtt");
    let (mut layer, _) = trial.into_parts();
    layer.carries(protocol, protocol.connection(Transport::Tcp));
    let mut classes = Vec::new();
    while layer.next_kept().is_some() {
        layer.replay(&mut |frame: &Frame<'_>| classes.push((frame.class, frame.data.is_some())));
    }
    assert_eq!(classes.first(), Some(&(FrameClass::Session, false)), "the handshake");
    assert_eq!(classes.iter().filter(|(_, has_data)| *has_data).count(), 1);
    assert_eq!(layer.server(), Some(Side::B));
}

#[test]
fn a_gap_costs_no_later_message() {
    let publish = frame(0x82, PUBLISH);
    let mut layer = layer();
    let mut stream = Stream::new(Side::A, true);
    let mut found = 0;
    let mut at = 0;
    for n in 0..10 {
        if n != 4 {
            stream.feed(Offset(at), &publish, 0, &mut layer, &mut |frame: &Frame<'_>| {
                found += usize::from(frame.data.is_some());
            });
        }
        at += publish.len() as u64;
    }
    assert_eq!(found, 9);
}

/// The frames of a client that puts each field of a PUBLISH into one of its own.
fn fields(n: u8) -> Vec<Vec<u8>> {
    let payload: Vec<u8> = (0..150).map(|byte: u8| byte.wrapping_mul(37) ^ n).collect();
    let length = varint(2 + 5 + 2 + payload.len());
    let fields: [&[u8]; 6] = [&[0x32], &length, b"\0\x05", b"a/b/c", &[0, n], &payload];
    fields.iter().map(|field| frame(0x82, field)).collect()
}

/// Returns the number of messages that are found in the packets that are there, and of bytes in no frame. The missing ones are gaps.
fn found_in(packets: &[Option<Vec<u8>>], lens: &[usize], mid_stream: bool) -> (usize, u64) {
    let (mut layer, mut stream) = (layer(), Stream::new(Side::A, mid_stream));
    let (mut at, mut messages) = (0, 0);
    for (packet, len) in packets.iter().zip(lens) {
        if let Some(bytes) = packet {
            stream.feed(Offset(at), bytes, 0, &mut layer, &mut |frame: &Frame<'_>| {
                messages += usize::from(frame.data.is_some());
            });
        }
        at += *len as u64;
    }
    assert!(!layer.lacks_context(), "nothing is compressed");
    (messages, stream.undecoded_bytes())
}

#[test]
fn after_a_missing_packet_frames_with_a_field_each_are_read_on() {
    let opening = vec![REQUEST.to_vec(), frame(0x82, CONNECT)];
    let all = [opening, (1..=8).flat_map(fields).collect()].concat();
    let lens: Vec<usize> = all.iter().map(Vec::len).collect();
    for missing in 2..all.len() - 6 {
        let mut packets: Vec<_> = all.iter().cloned().map(Some).collect();
        packets[missing] = None;
        let (messages, undecoded) = found_in(&packets, &lens, false);
        assert_eq!((messages, undecoded), (7, lens[missing] as u64), "without packet {missing}");
    }
}

#[test]
fn joined_late_frames_with_a_field_each_are_read() {
    let all: Vec<_> = (1..=8).flat_map(fields).collect();
    for first in 0..7 {
        let packets: Vec<_> = all[first..].iter().cloned().map(Some).collect();
        let lens: Vec<usize> = all[first..].iter().map(Vec::len).collect();
        let (messages, undecoded) = found_in(&packets, &lens, true);
        assert_eq!((messages, undecoded), (8 - first.div_ceil(6), 0), "from packet {first} on");
    }
    // A saturated sender's packets end anywhere.
    let bytes = [all.concat(), all.concat()].concat();
    for size in [64, 100, 333, 1_448] {
        let packets: Vec<_> = bytes[20..].chunks(size).map(|part| Some(part.to_vec())).collect();
        let lens = vec![size; packets.len()];
        let (messages, _) = found_in(&packets, &lens, true);
        assert!(messages >= 13, "{messages} of 15 in packets of {size}");
    }
}

#[test]
fn what_the_handshake_does_not_allow_is_not_taken_to_be_compressed() {
    let mut layer = layer();
    let mut stream = Stream::new(Side::B, false);
    let (opening, noise) = (response(""), [0xC2, 3, 0xAA, 0x10, 0]);
    stream.feed(Offset(0), &opening, 0, &mut layer, &mut |_: &Frame<'_>| {});
    let mut at = opening.len() as u64 + 1;
    for _ in 0..9 {
        stream.feed(Offset(at), &noise, 0, &mut layer, &mut |_: &Frame<'_>| {});
        at += noise.len() as u64;
    }
    assert!(!layer.lacks_context());
    assert_eq!(stream.undecoded_bytes(), at - opening.len() as u64);
}
