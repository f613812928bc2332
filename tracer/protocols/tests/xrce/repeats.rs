//! Samples that a reliable stream sends again, and in any order.

use wirelap_events::Transport;
use wirelap_protocols::{Side, by_name};
use wirelap_test_support::player::{Chunk, Player};

/// A message of session 0x81 on a stream.
fn message(stream: u8, sequence: u16, submessages: &[(u8, u8, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0x81, stream];
    bytes.extend(sequence.to_le_bytes());
    for (id, flags, body) in submessages {
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend([*id, *flags]);
        bytes.extend(u16::try_from(body.len()).unwrap().to_le_bytes());
        bytes.extend(*body);
    }
    bytes
}

fn texts(messages: &[Vec<u8>]) -> Vec<String> {
    let chunks: Vec<_> = messages.iter().map(|bytes| Chunk::whole(Side::A, bytes)).collect();
    let player = Player::new(by_name("xrce").unwrap(), Transport::Udp, false).play(&chunks);
    player.texts().into_iter().filter(|text| !text.starts_with("XRCE")).map(str::to_owned).collect()
}

const HELLO: &[u8] = b"\0\x01\0\x15hello";

#[test]
fn a_sample_that_is_sent_again_is_a_copy() {
    let sent = message(0x80, 4, &[(7, 1, HELLO)]);
    let next = message(0x80, 5, &[(7, 1, HELLO)]);
    assert_eq!(
        texts(&[sent.clone(), next.clone(), sent.clone(), next]),
        [
            "WRITE_DATA data 13 payload=5 topic=0x0015",
            "WRITE_DATA data 13 payload=5 topic=0x0015",
            "WRITE_DATA data 13 payload=5 topic=0x0015 dup",
            "WRITE_DATA data 13 payload=5 topic=0x0015 dup",
        ]
    );
    // On another stream the number is another one.
    let other = message(0x81, 4, &[(7, 1, HELLO)]);
    assert!(texts(&[sent, other]).iter().all(|text| !text.ends_with("dup")));
}

#[test]
fn fragments_are_put_together_whatever_their_order() {
    let part = |sequence, last: bool, bytes: &[u8]| {
        message(0x80, sequence, &[(13, if last { 3 } else { 1 }, bytes)])
    };
    let before = message(0x80, 9, &[(11, 1, &[1, 0, 2, 0, 0x80])]);
    let parts = [
        part(10, false, b"\x07\x01\x10\0\0\x01\0\x15abcd"),
        part(11, false, b"efgh"),
        part(12, true, b"ijkl"),
    ];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut messages = vec![before.clone()];
        messages.extend(order.map(|index| parts[index].clone()));
        // Once more: nothing of it counts again.
        messages.extend(order.map(|index| parts[index].clone()));
        let texts = texts(&messages);
        let whole: Vec<_> = texts.iter().filter(|text| text.contains("topic=")).collect();
        assert_eq!(whole.len(), 1, "{order:?}: {texts:#?}");
        assert!(whole[0].contains("message=12"), "{order:?}: {texts:#?}");
        let bytes = |text: &String| {
            let word = text.split(' ').find_map(|word| word.strip_prefix("payload="));
            word.map_or(0, |n| n.parse::<u64>().unwrap())
        };
        assert_eq!(texts.iter().map(bytes).sum::<u64>(), 12, "{order:?}");
    }
}

#[test]
fn a_new_session_numbers_from_the_start() {
    let open = b"XRCE\x01\0\x01\x0fkeyk\x81\0\0\x02";
    let create = [&[0x80, 0, 0, 0][..], &[0, 1, 16, 0], open].concat();
    let sent = message(0x80, 0, &[(7, 1, HELLO)]);
    let texts = texts(&[create.clone(), sent.clone(), create, sent]);
    assert_eq!(texts[1], texts[3]);
    assert!(!texts[3].ends_with("dup"));
}
