//! One datagram at a time.

use crate::watch::{Conversation, Seen, SeenData};
use wirelap_events::{ByteRange, Frame, FrameClass, GlobalKey, Offset, Stamp, Transport};
use wirelap_protocols::rtps::PROTOCOL;
use wirelap_protocols::{FrameNote, FrameSink, Pdu, Protocol, Side};
use wirelap_test_support::compose::rtps::{
    DATA, INLINE_QOS, KEY, LIVELINESS_WRITER, Message, NON_STANDARD, PUBLICATIONS_WRITER,
    SPDP_WRITER, USER_WRITER, guid, sequence, structure, user_guid,
};

const STAMP: Stamp = Stamp { stream: 3, seq: 77, reply: false, warmup: false };

fn frames(message: &Message) -> Vec<Seen> {
    Conversation::new().send(&message.bytes)
}

fn briefs(message: &Message) -> Vec<(&'static str, FrameClass, u64)> {
    frames(message).iter().map(Seen::brief).collect()
}

/// The data in a message that has one.
fn data(message: &Message) -> SeenData {
    let mut found: Vec<_> = frames(message).into_iter().filter_map(|seen| seen.data).collect();
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn the_bytes_of_a_cyclone_message() {
    let bytes = [
        &b"RTPS\x02\x01\x01\x10"[..],
        &[1, 0x10, 0x9d, 0x5a, 7, 0x84, 0xaf, 2, 0xa1, 0xed, 0xcb, 0x25],
        &[9, 1, 8, 0, 0xa4, 0x11, 0x5f, 0x6b, 0, 0, 0, 0x80],
        &[0x15, 5, 36, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 2, 0, 0, 0],
        &[0, 1, 0, 0, 8, 0, 0, 0],
        &STAMP.encode(),
        &[7, 1, 28, 0, 0, 0, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0],
        &[2, 0, 0, 0],
    ]
    .concat();
    let seen = Conversation::new().send(&bytes);
    let briefs: Vec<_> = seen.iter().map(Seen::brief).collect();
    let expected = [
        ("RTPS", FrameClass::Data, 20),
        ("INFO_TS", FrameClass::Data, 12),
        ("DATA", FrameClass::Data, 40),
        ("HEARTBEAT", FrameClass::Ack, 32),
    ];
    assert_eq!(briefs, expected);
    let origin = [1, 0x10, 0x9d, 0x5a, 7, 0x84, 0xaf, 2, 0xa1, 0xed, 0xcb, 0x25, 0, 0, 0x0b, 2];
    let data = SeenData {
        extent: (32, 72),
        topic: String::new(),
        payload_len: 8,
        payload: STAMP.encode().to_vec(),
        key: GlobalKey { origin, seq: 2, unique: true },
        duplicate: false,
    };
    assert_eq!(seen[2].payload_bytes, 8);
    assert_eq!(seen[2].data.as_ref(), Some(&data));
    assert_eq!(Stamp::decode(&data.payload), Some(STAMP));
}

#[test]
fn every_submessage_has_its_name_and_class() {
    let acks = [
        (0x06, "ACKNACK"),
        (0x07, "HEARTBEAT"),
        (0x08, "GAP"),
        (0x12, "NACK_FRAG"),
        (0x13, "HEARTBEAT_FRAG"),
    ];
    let framing = [
        (0x00, "RTPS_HE"),
        (0x01, "PAD"),
        (0x09, "INFO_TS"),
        (0x0c, "INFO_SRC"),
        (0x0d, "INFO_REPLY_IP4"),
        (0x0e, "INFO_DST"),
        (0x0f, "INFO_REPLY"),
    ];
    let opaque = [
        (0x14, "DATA_SESSION"),
        (0x18, "DATA_BATCH"),
        (0x30, "SEC_BODY"),
        (0x31, "SEC_PREFIX"),
        (0x32, "SEC_POSTFIX"),
        (0x33, "SRTPS_PREFIX"),
        (0x34, "SRTPS_POSTFIX"),
    ];
    let others = [(0x02, "RESERVED"), (0x7f, "RESERVED"), (0x80, "VENDOR"), (0xff, "VENDOR")];
    for little in [false, true] {
        let check = |id, writer: u32, name, class| {
            let header = if class == FrameClass::Opaque { FrameClass::Other } else { class };
            let mut body = vec![0; 4];
            body.extend(writer.to_be_bytes());
            body.extend([0; 16]);
            let message = Message::new(little).sub(id, 0, &body);
            let expected = [("RTPS", header, 20), (name, class, 28)];
            assert_eq!(briefs(&message), expected);
        };
        for (id, name) in acks {
            check(id, USER_WRITER, name, FrameClass::Ack);
            check(id, SPDP_WRITER, name, FrameClass::Discovery);
            check(id, PUBLICATIONS_WRITER, name, FrameClass::Discovery);
            check(id, LIVELINESS_WRITER, name, FrameClass::Discovery);
            check(id, 0x0000_0142, name, FrameClass::Other);
        }
        for (id, name) in framing {
            check(id, 0, name, FrameClass::Other);
        }
        for (id, name) in opaque {
            check(id, 0, name, FrameClass::Opaque);
        }
        for (id, name) in others {
            check(id, 0, name, FrameClass::Other);
        }
    }
}

#[test]
fn framing_goes_with_what_it_frames() {
    for little in [false, true] {
        let message = Message::new(little)
            .info_dst()
            .heartbeat(SPDP_WRITER)
            .info_dst()
            .info_ts()
            .data(USER_WRITER, 1, &structure(little, &[9; 12]))
            .info_dst()
            .heartbeat(USER_WRITER)
            .info_ts()
            .data(LIVELINESS_WRITER, 1, &structure(little, &[9; 12]))
            .sub(0x01, 0, &[]);
        let expected = [
            ("RTPS", FrameClass::Data, 20),
            ("INFO_DST", FrameClass::Discovery, 16),
            ("HEARTBEAT", FrameClass::Discovery, 32),
            ("INFO_DST", FrameClass::Data, 16),
            ("INFO_TS", FrameClass::Data, 12),
            ("DATA", FrameClass::Data, 40),
            ("INFO_DST", FrameClass::Ack, 16),
            ("HEARTBEAT", FrameClass::Ack, 32),
            ("INFO_TS", FrameClass::KeepAlive, 12),
            ("DATA", FrameClass::KeepAlive, 40),
            ("PAD", FrameClass::Other, 4),
        ];
        assert_eq!(briefs(&message), expected);
    }
    let control = Message::new(true).info_dst().heartbeat(USER_WRITER).heartbeat(SPDP_WRITER);
    assert_eq!(briefs(&control)[0], ("RTPS", FrameClass::Ack, 20));
    assert_eq!(briefs(&Message::new(true)), [("RTPS", FrameClass::Other, 20)]);
}

#[test]
fn no_length_is_to_the_end_except_where_nothing_is_allowed() {
    let message = Message::new(true).sub(0x09, 2, &[]).sub(0x01, 0, &[]);
    let mut body = message.written(16, USER_WRITER, 5);
    body.extend(sequence(true, &[1; 9]));
    let message = message.sub_of_len(0x15, DATA, 0, &body);
    let expected = [
        ("RTPS", FrameClass::Data, 20),
        ("INFO_TS", FrameClass::Data, 4),
        ("PAD", FrameClass::Data, 4),
        ("DATA", FrameClass::Data, 4 + 20 + 8 + 9),
    ];
    assert_eq!(briefs(&message), expected);
    assert_eq!(data(&message).payload, [1; 9]);
}

#[test]
fn the_payload_starts_after_inline_qos_and_unknown_fields() {
    for little in [false, true] {
        let message = Message::new(little);
        let mut rest = message.parameter(0x0071, &[0, 0, 0, 0]);
        rest.extend(message.parameter(0x0070, &[0xab; 16]));
        rest.extend(message.parameter(0x0001, &[]));
        rest.extend(sequence(little, &STAMP.encode()));
        let seen = data(&message.data_with(DATA | INLINE_QOS, USER_WRITER, 1, &rest));
        assert_eq!(Stamp::decode(&seen.payload), Some(STAMP));

        let message = Message::new(little);
        let mut body = message.written(16 + 8, USER_WRITER, 1);
        body.extend([0xee; 8]);
        body.extend(sequence(little, &STAMP.encode()));
        let seen = data(&message.clone().sub(0x15, DATA, &body));
        assert_eq!(Stamp::decode(&seen.payload), Some(STAMP));
    }
}

#[test]
fn a_stamp_is_found_in_every_encoding() {
    for little in [false, true] {
        for octets in [8, 9, 10, 11, 12, 1000] {
            let mut payload = STAMP.encode().to_vec();
            payload.resize(octets, b'x');
            let mut padded = sequence(little, &payload);
            padded.resize(padded.len().next_multiple_of(4), 0);
            let mut declared = padded.clone();
            declared[3] = u8::try_from(padded.len() - 8 - octets).unwrap();
            for serialized in [sequence(little, &payload), padded, declared] {
                let seen = data(&Message::new(little).data(USER_WRITER, 1, &serialized));
                assert_eq!((seen.payload_len, &seen.payload), (octets as u64, &payload));
            }
            let serialized = structure(little, &payload);
            let seen = data(&Message::new(little).data(USER_WRITER, 1, &serialized));
            assert_eq!(seen.payload, payload);
        }
    }
}

#[test]
fn what_is_not_encapsulated_is_all_payload() {
    let sample = sequence(true, &[1; 8]);
    let message = Message::new(true).data_with(DATA | NON_STANDARD, USER_WRITER, 1, &sample);
    assert_eq!(data(&message).payload, sample);
}

#[test]
fn an_instance_disposed_of_is_no_data() {
    let message = Message::new(true);
    let mut qos = message.parameter(0x0071, &[0, 0, 0, 1]);
    qos.extend(message.parameter(0x0001, &[]));
    let key = structure(true, &[0, 0, 0, 9]);
    let message = message
        .info_ts()
        .data_with(KEY | INLINE_QOS, USER_WRITER, 1, &[&qos[..], &key[..]].concat())
        .data_with(INLINE_QOS, USER_WRITER, 2, &qos)
        .data_with(DATA | KEY, USER_WRITER, 3, &key);
    let seen = frames(&message);
    assert!(
        seen.iter().all(|seen| seen.class == FrameClass::Other && seen.data.is_none()),
        "{seen:?}"
    );
    assert!(seen.iter().all(|seen| seen.payload_bytes == 0));
}

#[test]
fn another_source_is_another_origin() {
    let mut source = vec![0; 4];
    source.extend([2, 5, 1, 0x10]);
    source.extend([0x77; 12]);
    let sample = structure(true, &[9; 12]);
    let message = Message::new(true).data(USER_WRITER, 1, &sample).sub(0x0c, 0, &source).data(
        USER_WRITER,
        1,
        &sample,
    );
    let found: Vec<_> = frames(&message).into_iter().filter_map(|seen| seen.data).collect();
    assert_eq!(found[0].key, GlobalKey { origin: user_guid(), seq: 1, unique: true });
    let mut relayed = user_guid();
    relayed[..12].fill(0x77);
    assert_eq!(found[1].key, GlobalKey { origin: relayed, seq: 1, unique: true });
    assert!(!found[1].duplicate);
}

#[test]
fn a_number_sent_again_is_a_duplicate_at_that_writer_only() {
    let mut conversation = Conversation::new();
    let sample = structure(true, &[9; 12]);
    let mut sent = |writer, number| {
        let seen = conversation.send(&Message::new(true).data(writer, number, &sample).bytes);
        seen[1].data.clone().unwrap().duplicate
    };
    assert!(!sent(USER_WRITER, 1) && !sent(USER_WRITER, 3) && !sent(0x0000_0c03, 3));
    assert!(sent(USER_WRITER, 3));
    assert!(!sent(USER_WRITER, 2), "a repair of what was lost before it was seen");
    assert!(sent(USER_WRITER, 2) && sent(0x0000_0c03, 3));
    assert!(!sent(USER_WRITER, 1 << 40));
}

#[test]
fn a_topic_is_learned_in_another_conversation() {
    for little in [false, true] {
        let memory = PROTOCOL.memory();
        let sample = structure(little, &[9; 12]);
        let (mut user, mut discovery) =
            (Conversation::sharing(&memory), Conversation::sharing(&memory));
        let topic = |conversation: &mut Conversation, writer| {
            let message = Message::new(little).data(writer, 1, &sample);
            conversation.send(&message.bytes)[1].data.clone().unwrap().topic
        };
        assert_eq!(topic(&mut user, USER_WRITER), "");
        let message = Message::new(little).publication(user_guid(), "rt/chatter");
        let seen = discovery.send(&message.bytes);
        assert!(seen.iter().all(|seen| seen.class == FrameClass::Discovery && seen.data.is_none()));
        assert_eq!(topic(&mut user, USER_WRITER), "rt/chatter");
        assert_eq!(topic(&mut user, 0x0000_0c03), "", "another writer's");
        let message = Message::new(little).publication(guid(0x0000_0c03), "rt/other");
        discovery.send_cut(Side::B, &message.bytes, message.bytes.len());
        assert_eq!(topic(&mut user, 0x0000_0c03), "rt/other");
        assert_eq!(topic(&mut user, USER_WRITER), "rt/chatter");
        assert_eq!(topic(&mut Conversation::new(), USER_WRITER), "", "nothing is global");
    }
}

#[test]
fn lies_about_lengths_are_opaque() {
    let whole = Message::new(true).heartbeat(USER_WRITER);
    let past_the_end = whole.clone().sub_of_len(0x15, DATA, 200, &[0; 24]);
    let expected = [
        ("RTPS", FrameClass::Ack, 20),
        ("HEARTBEAT", FrameClass::Ack, 32),
        ("MALFORMED", FrameClass::Opaque, 28),
    ];
    assert_eq!(briefs(&past_the_end), expected);
    let mut stray = whole.clone();
    stray.bytes.extend([0; 3]);
    assert_eq!(briefs(&stray)[2], ("MALFORMED", FrameClass::Opaque, 3));

    // Bodies too short for their fields, a number that no sample has, fields before the fields.
    let sample = structure(true, &[9; 12]);
    let early = whole.clone();
    let body = [early.written(12, USER_WRITER, 1), sample.clone()].concat();
    let negative = Message::new(true);
    let mut minus = negative.written(16, USER_WRITER, 1);
    minus[12..20].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    minus.extend(&sample);
    for message in [
        Message::new(true).sub(0x15, DATA, &[0; 19]),
        Message::new(true).sub(0x07, 0, &[0; 7]),
        Message::new(true).data(USER_WRITER, 0, &sample),
        Message::new(true).sub(0x15, DATA, &body),
        Message::new(true).sub(0x15, DATA, &minus),
        Message::new(true).data_with(DATA | INLINE_QOS, USER_WRITER, 1, &[0x70, 0, 200, 0]),
    ] {
        let seen = frames(&message);
        assert_eq!((seen[1].class, seen[1].data.as_ref()), (FrameClass::Opaque, None), "{seen:?}");
    }
}

#[test]
fn other_datagrams_are_opaque() {
    for bytes in
        [&b"RTPX\x02\x05\x01\x10............"[..], b"RTPS\x01\x05\x01\x10............", b"R"]
    {
        let seen = Conversation::new().send(bytes);
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0].brief(), ("MALFORMED", FrameClass::Opaque, bytes.len() as u64));
    }
    assert_eq!(Conversation::new().send(b""), []);
    let cut = Conversation::new().send_cut(Side::A, b"RTPS\x02\x05", 900);
    assert_eq!(
        cut.iter().map(Seen::brief).collect::<Vec<_>>(),
        [("TRUNCATED", FrameClass::Opaque, 900)]
    );
}

#[test]
fn a_datagram_cut_anywhere_keeps_what_was_captured() {
    for little in [false, true] {
        let qos = Message::new(little).parameter(0x0001, &[]);
        let sample = sequence(little, &STAMP.encode());
        let message = Message::new(little)
            .info_dst()
            .heartbeat(SPDP_WRITER)
            .info_ts()
            .data_with(DATA | INLINE_QOS, USER_WRITER, 1, &[&qos[..], &sample].concat())
            .heartbeat(USER_WRITER);
        let bytes = &message.bytes;
        let whole = frames(&message);
        let payload_from = 20 + 16 + 32 + 12 + 4 + 20 + 4 + 8;
        for cut in 0..bytes.len() {
            let seen = Conversation::new().send_cut(Side::A, &bytes[..cut], bytes.len());
            let captured = |seen: &&Seen| seen.start + seen.len <= cut as u64;
            let kept: Vec<_> = seen.iter().filter(captured).map(|s| (s.name, s.start)).collect();
            let sent: Vec<_> = whole.iter().filter(captured).map(|s| (s.name, s.start)).collect();
            assert_eq!(kept, sent, "cut at {cut}");
            let data = seen.iter().find_map(|seen| seen.data.as_ref());
            assert_eq!(data.is_some(), cut >= payload_from, "cut at {cut}");
            if let Some(data) = data {
                assert_eq!(data.payload_len, 8);
                let captured = (cut - payload_from).min(8);
                assert_eq!(data.payload, STAMP.encode()[..captured]);
                assert_eq!(seen[0].class, FrameClass::Data);
            }
            let last = seen.last().unwrap();
            let opaque =
                last.class == FrameClass::Opaque && last.len + last.start == bytes.len() as u64;
            let heartbeat_known = cut >= bytes.len() - 32 + 4 + 8;
            assert_eq!(opaque, !heartbeat_known, "cut at {cut}: {last:?}");
        }
    }
}

/// Counts the messages, and those that are told to be unread.
#[derive(Default)]
struct Counts {
    messages: u64,
    unread: u64,
}

impl FrameSink for Counts {
    fn frame(&mut self, frame: &Frame<'_>) {
        self.messages += u64::from(frame.data.is_some());
    }

    fn note(&mut self, note: FrameNote<'_>) {
        if let FrameNote::UnreadMessages(messages) = note {
            self.unread += messages;
        }
    }
}

/// `tshark` reads the same number of samples in these bytes.
#[test]
fn samples_that_are_not_decoded_are_counted_as_unread() {
    for little in [false, true] {
        let message = Message::new(little);
        let ids = [&[0; 4][..], &[0; 4], &USER_WRITER.to_be_bytes()].concat();
        let number = |number: u32| [message.u32(0), message.u32(number)].concat();
        let behind = [message.u32(41), message.u32(42)].concat();
        let batch = [&ids[..], &number(7), &number(100), &behind, &[0; 12]].concat();
        let session = [&ids[..], &number(1), &[0; 8]].concat();
        let count = |message: &Message, captured: usize| {
            let mut told = Counts::default();
            let range = ByteRange::new(Offset::START, message.bytes.len() as u64);
            let bytes = &message.bytes[..captured];
            PROTOCOL.connection(Transport::Udp).pdu(Side::A, Pdu { range, bytes }, &mut told);
            (told.messages, told.unread)
        };
        let whole = message.clone().sub(0x18, 0, &batch).sub(0x14, DATA, &session);
        assert_eq!(count(&whole, whole.bytes.len()), (0, 43));
        assert_eq!(count(&whole, 30), (0, 1), "its number was not captured");
        let data = message.clone().sub(
            0x15,
            DATA,
            &[&ids[..], &number(1), &[0, 1, 0, 0], &[9; 40]].concat(),
        );
        assert_eq!(count(&data, 26), (0, 1), "its writer was not captured");
    }
}
