//! Bytes that nobody should send: nothing panics, and the frames still cover every datagram (which
//! `Conversation` checks).

use crate::watch::Conversation;
use proptest::prelude::*;
use wirelap_protocols::Side;
use wirelap_test_support::compose::rtps::{Cut, Message, USER_WRITER, sequence, user_guid};

/// A datagram with something of everything.
fn rich(little: bool) -> Vec<u8> {
    let cut = Cut { first: 1, count: 2, each: 16, sample: 100 };
    let message = Message::new(little).info_dst().info_ts().publication(user_guid(), "t");
    let qos = message.parameter(0x0001, &[]);
    message
        .data(USER_WRITER, 1, &sequence(little, &[7; 20]))
        .data_with(6, USER_WRITER, 2, &[&qos[..], &sequence(little, &[7; 20])].concat())
        .data_frag(USER_WRITER, 3, cut, &[5; 32])
        .sub(0x0c, 0, &[3; 20])
        .heartbeat(USER_WRITER)
        .bytes
}

#[test]
fn a_datagram_full_of_framing_is_walked_once() {
    // 16,000 submessages that each ask what follows them: walked anew for each, this would take minutes.
    let mut message = Message::new(true);
    for _ in 0..16_000 {
        message = message.sub(0x01, 0, &[]);
    }
    let mut conversation = Conversation::new();
    for _ in 0..100 {
        assert_eq!(conversation.send(&message.bytes).len(), 16_001);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(
        datagrams in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..300), any::<bool>(), 0..200_usize), 1..6),
    ) {
        let mut conversation = Conversation::new();
        for (mut bytes, with_header, missing) in datagrams {
            if with_header {
                bytes.splice(0..0, Message::new(true).bytes);
            }
            conversation.send_cut(Side::A, &bytes, bytes.len() + missing);
            // More bytes than the datagram has.
            conversation.send_cut(Side::B, &bytes, bytes.len().saturating_sub(missing));
        }
    }

    #[test]
    fn damaged_messages(
        little in any::<bool>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = rich(little);
        for (place, value) in flips {
            let at = place.index(bytes.len());
            bytes[at] = value;
        }
        let mut conversation = Conversation::new();
        conversation.send(&bytes);
        let captured = cut.index(bytes.len());
        conversation.send_cut(Side::A, &bytes[..captured], bytes.len());
        conversation.send(&bytes[..captured]);
    }

    #[test]
    fn plausible_submessages_with_random_bodies(
        little in any::<bool>(),
        submessages in prop::collection::vec((0..0x35_u8, any::<u8>(), prop::collection::vec(any::<u8>(), 0..80)), 0..8),
    ) {
        let mut message = Message::new(little);
        for (id, flags, body) in submessages {
            message = message.sub(id, flags, &body);
        }
        Conversation::new().send(&message.bytes);
    }
}
