//! The Zenoh decoder against Zenoh's own encoder (zenoh-codec): random messages, alone, batched, in
//! fragments, cut.

#[macro_use]
mod messages;
mod exchanges;
mod handshake;

use messages::{Carried, Case, any_data, any_message};
use proptest::prelude::*;
use wirelap_events::{ByteRange, Frame, FrameClass, Offset, Transport};
use wirelap_protocols::{Connection, Pdu, PduLen, Protocol, Recognition, Side, zenoh::PROTOCOL};
use zenoh_protocol::core::{Priority, Reliability};
use zenoh_protocol::transport::{self, FragmentHeader, FrameHeader};

/// A frame that was found.
#[derive(Debug)]
struct Found {
    name: &'static str,
    class: FrameClass,
    len: u64,
    payload_bytes: u64,
    data: Option<(Carried, u64)>,
}

/// Decodes one PDU and checks that its frames cover it.
fn decode(conn: &mut dyn Connection, at: u64, bytes: &[u8], len: u64) -> Vec<Found> {
    let range = ByteRange::new(Offset(at), len);
    let (mut found, mut end) = (Vec::new(), range.start);
    let mut sink = |frame: &Frame<'_>| {
        assert_eq!(frame.range.start, end, "a gap or an overlap before {frame:?}");
        assert!(!frame.range.is_empty() && frame.payload_bytes <= frame.range.len());
        end = frame.range.end;
        let data = frame.data.map(|data| {
            let (topic, payload) = (data.topic.to_vec(), data.payload.to_vec());
            let topic = String::from_utf8(topic).unwrap();
            let key = data.key.map(|key| (key.origin, key.seq));
            (Carried { topic, payload, key }, data.payload_len)
        });
        let Frame { name, class, payload_bytes, .. } = *frame;
        found.push(Found { name, class, len: frame.range.len(), payload_bytes, data });
    };
    conn.pdu(Side::A, Pdu { range, bytes }, &mut sink);
    assert_eq!(end, range.end, "bytes are missing at the end");
    found
}

fn batch(body: &[u8]) -> Vec<u8> {
    let mut bytes = u16::try_from(body.len()).unwrap().to_le_bytes().to_vec();
    bytes.extend(body);
    bytes
}

fn decode_batch(body: &[u8]) -> Vec<Found> {
    let mut conn = PROTOCOL.connection(Transport::Tcp);
    let bytes = batch(body);
    let len = bytes.len() as u64;
    assert_eq!(conn.pdu_len(Side::A, &bytes), PduLen::Known(len));
    assert!(conn.resync(Side::A, &bytes));
    decode(&mut *conn, 7, &bytes, len)
}

fn priority(value: u8) -> Priority {
    Priority::try_from(value).unwrap()
}

fn frame_header(sn: u32, prio: u8) -> Vec<u8> {
    let ext_qos = transport::frame::ext::QoSType::new(priority(prio));
    let reliability =
        if sn.is_multiple_of(2) { Reliability::Reliable } else { Reliability::BestEffort };
    encode!(&FrameHeader { reliability, sn, ext_qos })
}

fn check(found: &Found, case: &Case, len: usize) {
    assert_eq!((found.name, found.len), (case.name, len as u64), "{case:?}");
    let payload_len = case.carried.as_ref().map_or(0, |carried| carried.payload.len() as u64);
    assert_eq!(found.payload_bytes, payload_len);
    assert_eq!(found.class == FrameClass::Data, case.carried.is_some());
    assert_eq!(found.data, case.carried.clone().map(|carried| (carried, payload_len)));
}

/// Fragments of one message, in pieces of the given lengths, over and over.
fn fragments(bytes: &[u8], lens: &[usize], first_sn: u32) -> Vec<Vec<u8>> {
    let (mut rest, mut lens) = (bytes, lens.iter().cycle());
    let mut batches = Vec::new();
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at(rest.len().min(*lens.next().unwrap()));
        let index = u32::try_from(batches.len()).unwrap();
        let mut body = encode!(&FragmentHeader {
            reliability: Reliability::Reliable,
            more: !tail.is_empty(),
            sn: first_sn.wrapping_add(index) & 0x0FFF_FFFF,
            ext_qos: transport::fragment::ext::QoSType::default(),
            ext_first: (index == 0).then(transport::fragment::ext::First::new),
            ext_drop: None,
        });
        body.extend(piece);
        batches.push(batch(&body));
        rest = tail;
    }
    batches
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_batch_of_messages(
        cases in prop::collection::vec(any_message(), 1..6),
        sn in 0..1_u32 << 28,
        prio in 1..8_u8,
    ) {
        let header = frame_header(sn, prio);
        let mut body = header.clone();
        let encoded: Vec<_> = cases.iter().map(|case| encode!(&case.message)).collect();
        body.extend(encoded.concat());
        let found = decode_batch(&body);
        prop_assert_eq!(found.len(), 1 + cases.len());
        prop_assert_eq!((found[0].name, found[0].len), ("FRAME", header.len() as u64 + 2));
        for ((found, case), bytes) in found[1..].iter().zip(&cases).zip(&encoded) {
            check(found, case, bytes.len());
        }
        let head = batch(&body);
        for (transport, head) in [(Transport::Tcp, &head[..]), (Transport::Udp, &body)] {
            prop_assert_eq!(PROTOCOL.recognise(transport, head, false), Recognition::Yes);
        }
    }

    #[test]
    fn transport_messages((name, body) in handshake::any_message()) {
        let found = decode_batch(&body);
        prop_assert_eq!(found.len(), 1);
        prop_assert_eq!(found[0].name, name);
        let starts = name.starts_with("Init");
        let expected = if starts { Recognition::Yes } else { Recognition::No };
        prop_assert_eq!(PROTOCOL.recognise(Transport::Tcp, &batch(&body), true), expected);
    }

    #[test]
    fn a_message_in_fragments(
        case in any_data(),
        lens in prop::collection::vec(1..90_usize, 1..5),
        sn in prop_oneof![0..1_u32 << 28, (1_u32 << 28) - 3..1 << 28],
        lost in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let bytes = encode!(&case.message);
        let mut batches = fragments(&bytes, &lens, sn);
        let lost = lost.map(|lost| lost.index(batches.len()));
        if let Some(lost) = lost {
            batches.remove(lost);
        }
        let mut conn = PROTOCOL.connection(Transport::Tcp);
        if lost == Some(0) {
            // What follows may look like a message, so it must be known that something is missing.
            conn.gap(Side::A);
        }
        let (mut at, mut payload_bytes, mut data) = (100, 0, Vec::new());
        for batch in &batches {
            let len = batch.len() as u64;
            let found = decode(&mut *conn, at, batch, len);
            prop_assert_eq!(found.len(), 1);
            prop_assert_eq!(found[0].name, "FRAGMENT");
            payload_bytes += found[0].payload_bytes;
            data.extend(found.into_iter().filter_map(|found| found.data));
            at += len;
        }
        let carried = case.carried.filter(|_| lost.is_none());
        if let Some(Carried { payload, .. }) = &carried {
            prop_assert_eq!(payload_bytes, payload.len() as u64);
        }
        let whole = carried.map(|carried| (carried.payload.len() as u64, carried));
        let expected: Vec<_> = whole.into_iter().map(|(len, carried)| (carried, len)).collect();
        prop_assert_eq!(data, expected);
    }

    #[test]
    fn a_batch_cut_anywhere(cases in prop::collection::vec(any_message(), 1..4)) {
        let encoded: Vec<_> = cases.iter().map(|case| encode!(&case.message)).collect();
        let mut body = frame_header(5, 5);
        body.extend(encoded.concat());
        let bytes = batch(&body);
        for kept in 0..bytes.len() {
            let mut conn = PROTOCOL.connection(Transport::Tcp);
            let found = decode(&mut *conn, 0, &bytes[..kept], bytes.len() as u64);
            // What is found is what is there, except that payloads may be shorter.
            let names: Vec<_> = cases.iter().map(|case| case.name).collect();
            let messages = found.iter().filter(|f| f.class != FrameClass::Opaque && f.name != "FRAME");
            for ((found, name), bytes) in messages.zip(names).zip(&encoded) {
                prop_assert_eq!((found.name, found.len), (name, bytes.len() as u64));
            }
            prop_assert!(found.iter().filter(|found| found.class == FrameClass::Opaque).count() <= 1);
        }
    }

    #[test]
    fn a_damaged_batch(
        cases in prop::collection::vec(any_message(), 1..4),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut body = frame_header(5, 5);
        body.extend(cases.iter().flat_map(|case| encode!(&case.message)));
        let mut bytes = batch(&body);
        for (place, value) in flips {
            let place = place.index(bytes.len());
            bytes[place] ^= value;
        }
        let mut conn = PROTOCOL.connection(Transport::Tcp);
        let len = bytes.len() as u64;
        let mut end = Offset(0);
        let mut sink = |frame: &Frame<'_>| {
            // A damaged batch may be a compressed one, whose messages have no bytes of their own.
            if !frame.range.is_empty() {
                assert_eq!(frame.range.start, end);
                end = frame.range.end;
            }
        };
        conn.pdu(Side::A, Pdu { range: ByteRange::new(Offset(0), len), bytes: &bytes }, &mut sink);
        prop_assert_eq!(end, Offset(len));
    }
}
