//! Messages in chunks, of every size, and what is there of them at any moment.

use wirelap_events::{ByteRange, Frame, Offset, Transport};
use wirelap_protocols::{FrameNote, FrameSink, Pdu, Side, by_name};
use wirelap_test_support::compose::opcua::{chunk, chunks, monitor, publish, write};
use wirelap_test_support::player::{Chunk, Player};

fn play(packets: &[(Side, Vec<u8>)]) -> Player {
    let packets: Vec<_> = packets.iter().map(|(side, bytes)| Chunk::whole(*side, bytes)).collect();
    let player = Player::new(by_name("opcua").unwrap(), Transport::Tcp, false).play(&packets);
    assert!(player.is_complete());
    player
}

/// Topic and length of each value, and whether it is one that was there before.
fn values(player: &Player) -> Vec<(String, u64, bool)> {
    let mut found = Vec::new();
    for text in player.texts() {
        let word = |key: &str| text.split(' ').find_map(|word| word.strip_prefix(key));
        let Some(topic) = word("topic=") else { continue };
        let len = word("message=").or(word("payload=")).unwrap_or("0").parse().unwrap();
        found.push((topic.to_owned(), len, text.ends_with("retained")));
    }
    found
}

/// Payload bytes of all frames.
fn payload(player: &Player) -> u64 {
    let words = player.texts().into_iter().flat_map(|text| text.split(' '));
    words.filter_map(|word| word.strip_prefix("payload=")?.parse::<u64>().ok()).sum()
}

#[test]
fn values_are_found_wherever_chunks_end() {
    let contents: [&[u8]; 3] = [&[b'a'; 40], b"", &[b'c'; 17]];
    let body = write(&contents);
    for len in 40..=body.len() {
        let packets: Vec<_> = chunks(5, &body, len).into_iter().map(|c| (Side::A, c)).collect();
        let player = play(&packets);
        let expected = [("ns=1;i=1", 40), ("ns=1;i=2", 0), ("ns=1;i=3", 17)];
        let expected = expected.map(|(topic, len)| (topic.to_owned(), len, false));
        assert_eq!(values(&player), expected, "in chunks of {len}");
        assert_eq!(payload(&player), 57, "in chunks of {len}");
    }
}

#[test]
fn notifications_are_found_wherever_chunks_end() {
    let body = publish(3, &[&[(100, b"one"), (101, b"two!")], &[], &[(100, b"three")]]);
    for len in 8..=body.len() {
        let mut packets = vec![(Side::A, chunk('F', 4, &monitor(3, 2)))];
        packets.extend(chunks(5, &body, len).into_iter().map(|c| (Side::B, c)));
        let player = play(&packets);
        let expected = [("ns=1;i=1", 3, true), ("ns=1;i=2", 4, true), ("ns=1;i=1", 5, false)];
        let expected = expected.map(|(topic, len, stored)| (topic.to_owned(), len, stored));
        assert_eq!(values(&player), expected, "in chunks of {len}");
        assert_eq!(payload(&player), 12, "in chunks of {len}");
    }
}

#[test]
fn a_huge_value_is_counted_and_found_at_its_end() {
    let value = vec![b'v'; 1 << 20];
    let body = write(&[&value]);
    let packets: Vec<_> = chunks(5, &body, 65_000).into_iter().map(|c| (Side::A, c)).collect();
    let player = play(&packets);
    assert_eq!(values(&player), [("ns=1;i=1".to_owned(), 1 << 20, false)]);
    assert_eq!(payload(&player), 1 << 20);
    let total: usize = packets.iter().map(|(_, bytes)| bytes.len()).sum();
    let last = *player.texts().last().unwrap();
    assert!(last.ends_with(&format!("captured={} extent={total}", 64 * 1024 - head(&body))));
}

#[test]
fn values_after_one_that_is_too_long_to_be_kept_are_found() {
    let long = vec![b'v'; 200_000];
    let body = publish(3, &[&[(100, &long), (101, &long), (100, b"short")], &[(101, &long)]]);
    for len in [60_000, 65_512] {
        let mut packets = vec![(Side::A, chunk('F', 4, &monitor(3, 2)))];
        packets.extend(chunks(5, &body, len).into_iter().map(|c| (Side::B, c)));
        let player = play(&packets);
        let expected = [
            ("ns=1;i=1", 200_000, true),
            ("ns=1;i=2", 200_000, true),
            ("ns=1;i=1", 5, false),
            ("ns=1;i=2", 200_000, false),
        ];
        let expected = expected.map(|(topic, len, stored)| (topic.to_owned(), len, stored));
        assert_eq!(values(&player), expected, "in chunks of {len}");
        assert_eq!(payload(&player), 600_005, "in chunks of {len}");
    }
}

#[test]
fn values_around_the_most_that_is_kept_are_found_wherever_chunks_end() {
    for len in [59_000, 64_000, 65_500, 65_536, 66_000, 70_000, 100_000, 131_072] {
        let long = vec![b'v'; len];
        let body = publish(3, &[&[(100, &long), (101, b"a"), (100, b"bc"), (101, &long)]]);
        for chunk_len in [8_192, 20_000, 60_000, 65_000, 65_512] {
            let mut packets = vec![(Side::A, chunk('F', 4, &monitor(3, 2)))];
            packets.extend(chunks(5, &body, chunk_len).into_iter().map(|c| (Side::B, c)));
            let player = play(&packets);
            let lens: Vec<u64> = values(&player).into_iter().map(|(_, len, _)| len).collect();
            assert_eq!(lens, [len as u64, 1, 2, len as u64], "in chunks of {chunk_len}");
            assert_eq!(payload(&player), 2 * len as u64 + 3, "in chunks of {chunk_len}");
        }
    }
}

/// Numbers of values that are told, and of those that are said not to be readable.
#[derive(Default)]
struct Told {
    values: u64,
    unread: u64,
    cut_short: Vec<u64>,
}

impl FrameSink for Told {
    fn frame(&mut self, frame: &Frame<'_>) {
        self.values += u64::from(frame.data.is_some());
    }

    fn note(&mut self, note: FrameNote<'_>) {
        match note {
            FrameNote::UnreadMessages(messages) => self.unread += messages,
            FrameNote::CutShort(messages) => self.cut_short.push(messages),
            _ => {}
        }
    }
}

#[test]
fn values_behind_the_captured_bytes_are_counted_as_unread() {
    let (one, long) = ([b'v'; 100], vec![b'v'; 5000]);
    let message = chunk('F', 5, &write(&[&one, &one, &long, &one, &one]));
    let tell = |captured: usize| {
        let mut told = Told::default();
        let mut connection = by_name("opcua").unwrap().connection(Transport::Tcp);
        let range = ByteRange::new(Offset::START, message.len() as u64);
        let bytes = &message[..captured];
        connection.pdu(Side::A, Pdu { range, bytes }, &mut told);
        (told.values, told.unread)
    };
    let first_two = message.len() - 5000 - 2 * 100;
    assert_eq!(tell(message.len()), (5, 0));
    assert_eq!(tell(first_two), (3, 2), "the third one's length is known");
    assert_eq!(tell(200), (1, 4));
}

/// Bytes of the only entry before its value, at the front of what is kept of it.
fn head(body: &[u8]) -> usize {
    let value = body.iter().position(|byte| *byte == b'v').unwrap();
    value - write(&[]).len()
}

#[test]
fn an_aborted_message_leaves_nothing_behind() {
    let whole = write(&[b"0123456789"]);
    let (start, _) = whole.split_at(whole.len() - 4);
    let packets = [
        (Side::A, chunk('C', 5, start)),
        (Side::A, chunk('A', 5, &[0, 0, 0, 0x80, 0xFF, 0xFF, 0xFF, 0xFF])),
        (Side::A, chunk('F', 6, &write(&[b"next"]))),
        // Never completed either, but without saying so.
        (Side::A, chunk('C', 7, start)),
        (Side::A, chunk('F', 8, &write(&[b"last"]))),
    ];
    let player = play(&packets);
    let expected = [("ns=1;i=1".to_owned(), 4, false), ("ns=1;i=1".to_owned(), 4, false)];
    assert_eq!(values(&player), expected);
    assert!(player.texts()[1].starts_with("WriteRequest other"));
}

#[test]
fn values_of_an_aborted_message_are_told() {
    let body = write(&[b"0123456789", b"9876543210"]);
    let (start, _) = body.split_at(body.len() - 4);
    let mut told = Told::default();
    let mut connection = by_name("opcua").unwrap().connection(Transport::Tcp);
    let mut at = Offset::START;
    for bytes in [chunk('C', 5, start), chunk('A', 5, &[0; 8]), chunk('A', 6, &[0; 8])] {
        let range = ByteRange::new(at, bytes.len() as u64);
        connection.pdu(Side::A, Pdu { range, bytes: &bytes }, &mut told);
        at = range.end;
    }
    assert_eq!((told.values, told.cut_short), (1, vec![1]));
}

#[test]
fn handles_belong_to_their_subscription_and_connection() {
    let packets = [
        (Side::A, chunk('F', 4, &monitor(3, 1))),
        (Side::B, chunk('F', 5, &publish(8, &[&[(100, b"other")]]))),
        (Side::B, chunk('F', 6, &publish(3, &[]))),
    ];
    let player = play(&packets);
    assert_eq!(values(&player), [(String::new(), 5, false)]);
    assert!(player.texts()[2].starts_with("PublishResponse keepalive"));
}

#[test]
fn tiny_chunks_without_end_cost_little() {
    // An array of Strings, a byte a chunk: an entry that is never complete.
    let mut body = write(&[]);
    let count = body.len() - 4;
    body[count] = 1;
    body.extend([1, 1, 1, 0, 13, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0x8C, 0xFF, 0xFF, 0xFF, 0x7F]);
    let mut packets = vec![(Side::A, chunk('C', 5, &body))];
    packets.extend((0..20_000).map(|_| (Side::A, chunk('C', 5, &[0]))));
    packets.push((Side::A, chunk('F', 5, &[0])));
    assert_eq!(values(&play(&packets)), []);
}
