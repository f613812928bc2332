//! Samples that come in parts.

use crate::watch::{Conversation, Seen};
use proptest::prelude::*;
use wirelap_events::{FrameClass, GlobalKey, Stamp};
use wirelap_protocols::Side;
use wirelap_test_support::compose::rtps::{
    Cut, DATA, Message, SPDP_WRITER, USER_WRITER, sequence, structure, user_guid,
};

const STAMP: Stamp = Stamp { stream: 0, seq: 9, reply: true, warmup: false };

/// A sample cut into fragments of `each` bytes, `count` of them to a submessage.
struct Parts {
    little: bool,
    serialized: Vec<u8>,
    each: usize,
    count: usize,
}

impl Parts {
    /// A sequence of `octets`, padded to 4 bytes as the encapsulation header may say.
    fn sequence(little: bool, octets: usize, each: usize, count: usize) -> Parts {
        let mut payload = STAMP.encode().to_vec();
        payload.resize(octets, b'p');
        let mut serialized = sequence(little, &payload);
        let padding = serialized.len().next_multiple_of(4) - serialized.len();
        serialized[3] = u8::try_from(padding).unwrap();
        serialized.resize(serialized.len() + padding, 0);
        Parts { little, serialized, each, count }
    }

    fn submessages(&self) -> usize {
        self.serialized.len().div_ceil(self.each).div_ceil(self.count)
    }

    fn cut(&self, index: usize) -> (Cut, &[u8]) {
        let start = index * self.count * self.each;
        let end = (start + self.count * self.each).min(self.serialized.len());
        let cut = Cut {
            first: u32::try_from(index * self.count + 1).unwrap(),
            count: u16::try_from((end - start).div_ceil(self.each)).unwrap(),
            each: u16::try_from(self.each).unwrap(),
            sample: u32::try_from(self.serialized.len()).unwrap(),
        };
        (cut, &self.serialized[start..end])
    }

    /// The datagram with submessage `index` of the sample with this number.
    fn datagram(&self, number: u64, index: usize) -> Vec<u8> {
        let (cut, part) = self.cut(index);
        Message::new(self.little).data_frag(USER_WRITER, number, cut, part).bytes
    }
}

/// The frame of the submessage in a datagram of [`Parts`].
fn part(conversation: &mut Conversation, datagram: &[u8]) -> Seen {
    conversation.send(datagram).remove(1)
}

#[test]
fn a_sample_is_complete_with_its_last_fragment() {
    for (little, octets, each, count) in [
        (true, 200_000, 1344, 10),
        (false, 200_000, 1344, 1),
        (true, 100, 64, 1),
        (true, 9, 1400, 1),
    ] {
        let parts = Parts::sequence(little, octets, each, count);
        let mut conversation = Conversation::new();
        let mut payload = 0;
        for index in 0..parts.submessages() {
            let seen = part(&mut conversation, &parts.datagram(7, index));
            assert_eq!((seen.name, seen.class), ("DATA_FRAG", FrameClass::Data));
            payload += seen.payload_bytes;
            assert_eq!(seen.data.is_some(), index + 1 == parts.submessages());
            let Some(data) = seen.data else { continue };
            assert_eq!(data.payload_len, octets as u64);
            assert_eq!(Stamp::decode(&data.payload), Some(STAMP));
            assert_eq!(data.key, GlobalKey { origin: user_guid(), seq: 7, unique: true });
            assert_eq!(data.extent, (20, conversation.sent()));
            assert!(!data.duplicate);
        }
        assert_eq!(payload, octets as u64);
    }
}

#[test]
fn a_structure_in_parts_has_no_length_to_skip() {
    let mut parts = Parts::sequence(true, 500, 100, 2);
    parts.serialized = structure(true, &parts.serialized[8..]);
    let mut conversation = Conversation::new();
    let seen: Vec<_> = (0..parts.submessages())
        .map(|index| part(&mut conversation, &parts.datagram(1, index)))
        .collect();
    assert_eq!(seen.iter().map(|seen| seen.payload_bytes).sum::<u64>(), 500);
    assert_eq!(seen.last().unwrap().data.as_ref().unwrap().payload_len, 500);
}

#[test]
fn a_repeated_fragment_brings_nothing_new() {
    let parts = Parts::sequence(true, 300, 64, 1);
    let mut conversation = Conversation::new();
    let mut payload = 0;
    for index in 0..parts.submessages() {
        let first = part(&mut conversation, &parts.datagram(1, index));
        let again = part(&mut conversation, &parts.datagram(1, index));
        assert_eq!((again.class, again.payload_bytes, again.data), (FrameClass::Data, 0, None));
        payload += first.payload_bytes;
    }
    assert_eq!(payload, 300);
    // The whole sample once more, as a late reader asks for it.
    for index in 0..parts.submessages() {
        let again = part(&mut conversation, &parts.datagram(1, index));
        assert_eq!((again.class, again.payload_bytes, again.data), (FrameClass::Data, 0, None));
    }
    // And in one piece.
    let whole = Message::new(true).data(USER_WRITER, 1, &parts.serialized);
    assert!(part(&mut conversation, &whole.bytes).data.unwrap().duplicate);
}

#[test]
fn overlapping_submessages_count_once() {
    let parts = Parts::sequence(true, 1000, 100, 1);
    let mut conversation = Conversation::new();
    let bytes = |first: usize, count: usize| {
        let end = ((first + count) * 100).min(parts.serialized.len());
        let (each, sample) = (100, u32::try_from(parts.serialized.len()).unwrap());
        let (first, count) = (first, u16::try_from(count).unwrap());
        let cut = Cut { first: u32::try_from(first).unwrap() + 1, count, each, sample };
        let part = &parts.serialized[first * 100..end];
        Message::new(true).data_frag(USER_WRITER, 1, cut, part).bytes
    };
    let mut payload = Vec::new();
    let mut complete = Vec::new();
    for (first, count) in [(2, 4), (0, 3), (5, 5), (4, 4), (9, 2)] {
        let seen = part(&mut conversation, &bytes(first, count));
        payload.push(seen.payload_bytes);
        complete.push(seen.data.is_some());
    }
    assert_eq!(payload, [400, 192, 400, 0, 8]);
    assert_eq!(complete, [false, false, false, false, true]);
}

#[test]
fn samples_interleave() {
    let parts = Parts::sequence(true, 200, 64, 1);
    let mut conversation = Conversation::new();
    let mut complete = Vec::new();
    for index in 0..parts.submessages() {
        for number in [1, 2, 3] {
            let seen = part(&mut conversation, &parts.datagram(number, index));
            complete.extend(seen.data.map(|data| data.key.seq));
        }
    }
    assert_eq!(complete, [1, 2, 3]);
}

#[test]
fn the_other_direction_is_another_sample() {
    let parts = Parts::sequence(true, 100, 64, 1);
    let mut conversation = Conversation::new();
    let (first, second) = (parts.datagram(1, 0), parts.datagram(1, 1));
    assert_eq!(part(&mut conversation, &first).data, None);
    let seen = conversation.send_cut(Side::B, &second, second.len());
    assert_eq!(seen[1].data, None);
    assert!(part(&mut conversation, &second).data.is_some());
}

#[test]
fn the_sample_idle_for_longest_makes_room() {
    const OPEN: u64 = 32;
    let parts = Parts::sequence(true, 100, 64, 1);
    let mut conversation = Conversation::new();
    for number in 1..=OPEN + 1 {
        assert_eq!(part(&mut conversation, &parts.datagram(number, 0)).data, None);
    }
    assert!(part(&mut conversation, &parts.datagram(2, 1)).data.is_some());
    assert!(part(&mut conversation, &parts.datagram(OPEN + 1, 1)).data.is_some());
    assert_eq!(part(&mut conversation, &parts.datagram(1, 1)).data, None, "given up");
    assert!(part(&mut conversation, &parts.datagram(1, 0)).data.is_some(), "repaired");
}

#[test]
fn a_sample_cut_otherwise_starts_over() {
    let (old, new) = (Parts::sequence(true, 100, 64, 1), Parts::sequence(true, 100, 32, 2));
    let mut conversation = Conversation::new();
    part(&mut conversation, &old.datagram(1, 0));
    assert_eq!(part(&mut conversation, &new.datagram(1, 1)).data, None);
    let seen = part(&mut conversation, &new.datagram(1, 0));
    assert_eq!(seen.data.unwrap().payload_len, 100);
}

#[test]
fn a_sample_of_too_many_fragments_is_counted_but_never_complete() {
    let cut = |first, sample| Cut { first, count: 2, each: 16, sample };
    let sample = 16 * ((1 << 16) + 1);
    let mut conversation = Conversation::new();
    for (cut, payload) in [(cut(1, sample), 28), (cut(7, sample), 32), (cut(1 << 16, sample), 32)] {
        let message = Message::new(true).data_frag(USER_WRITER, 1, cut, &structure(true, &[9; 28]));
        let seen = part(&mut conversation, &message.bytes);
        assert_eq!((seen.class, seen.payload_bytes, seen.data), (FrameClass::Data, payload, None));
    }
}

#[test]
fn fragments_cut_by_the_snap_length_still_count() {
    let parts = Parts::sequence(true, 5000, 1344, 1);
    let header = 20 + 4 + 32;
    let mut conversation = Conversation::new();
    let mut frames = Vec::new();
    for index in 0..parts.submessages() {
        let datagram = parts.datagram(1, index);
        let captured = header + if index == 0 { 8 + 8 } else { 0 };
        frames
            .push(conversation.send_cut(Side::A, &datagram[..captured], datagram.len()).remove(1));
    }
    assert_eq!(frames.iter().map(|seen| seen.payload_bytes).sum::<u64>(), 5000);
    let data = frames.pop().unwrap().data.unwrap();
    assert_eq!((data.payload_len, data.payload), (5000, STAMP.encode().to_vec()));

    // Without its first bytes it cannot be told where the payload starts.
    let datagram = parts.datagram(2, 0);
    let seen = conversation.send_cut(Side::A, &datagram[..header + 7], datagram.len());
    assert_eq!((seen[1].class, seen[1].payload_bytes), (FrameClass::Opaque, 0));
    let seen = conversation.send_cut(Side::A, &datagram[..header - 1], datagram.len());
    assert_eq!(seen[1].class, FrameClass::Opaque);
}

#[test]
fn numbers_that_disagree_are_opaque() {
    let good = Cut { first: 1, count: 2, each: 32, sample: 100 };
    let body = structure(true, &[9; 60]);
    let class = |cut: Cut, part: &[u8]| {
        let message = Message::new(true).data_frag(USER_WRITER, 1, cut, part);
        part_class(&message)
    };
    assert_eq!(class(good, &body), FrameClass::Data);
    assert_eq!(class(Cut { first: 0, ..good }, &body), FrameClass::Opaque);
    assert_eq!(class(Cut { first: 4, ..good }, &body), FrameClass::Opaque, "past the end");
    assert_eq!(class(Cut { first: u32::MAX, ..good }, &body), FrameClass::Opaque);
    assert_eq!(class(Cut { count: 0, ..good }, &body), FrameClass::Opaque);
    assert_eq!(class(Cut { each: 0, ..good }, &body), FrameClass::Opaque);
    assert_eq!(class(Cut { sample: 0, ..good }, &body), FrameClass::Opaque);
    assert_eq!(class(good, &body[..63]), FrameClass::Opaque, "fewer bytes than fragments");
}

#[test]
fn fragments_of_discovery_and_of_keys_are_no_data() {
    let cut = Cut { first: 1, count: 2, each: 32, sample: 64 };
    let body = structure(true, &[9; 60]);
    let message = Message::new(true).data_frag(SPDP_WRITER, 1, cut, &body);
    assert_eq!(part_class(&message), FrameClass::Discovery);
    let mut key = Message::new(true).data_frag(USER_WRITER, 1, cut, &body);
    key.bytes[21] |= 0x04;
    assert_eq!(part_class(&key), FrameClass::Other);
}

fn part_class(message: &Message) -> FrameClass {
    let seen = Conversation::new().send(&message.bytes);
    assert_eq!((seen.len(), seen[1].data.as_ref()), (2, None));
    assert!(seen[1].class == FrameClass::Data || seen[1].payload_bytes == 0);
    seen[1].class
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_with_repeats_gives_the_sample_once(
        little in any::<bool>(),
        octets in 8..4000_usize,
        each in 16..600_usize,
        count in 1..4_usize,
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
        rotate in any::<prop::sample::Index>(),
    ) {
        let parts = Parts::sequence(little, octets, each, count);
        let submessages = parts.submessages();
        let all = (0..submessages).map(|index| (index + rotate.index(submessages)) % submessages);
        let order: Vec<_> =
            order.iter().map(|index| index.index(submessages)).chain(all.rev()).collect();
        let mut conversation = Conversation::new();
        let (mut payload, mut data) = (0, Vec::new());
        let mut missing: std::collections::HashSet<_> = (0..submessages).collect();
        for index in order {
            let was_missing = missing.remove(&index);
            let seen = part(&mut conversation, &parts.datagram(1, index));
            payload += seen.payload_bytes;
            prop_assert_eq!(seen.data.is_some(), was_missing && missing.is_empty());
            data.extend(seen.data);
        }
        prop_assert_eq!(data.len(), 1);
        prop_assert_eq!(data[0].payload_len, octets as u64);
        prop_assert_eq!(Stamp::decode(&data[0].payload), Some(STAMP));
        prop_assert_eq!(data[0].extent.0, 20);
        prop_assert_eq!(payload, octets as u64);
    }
}

#[test]
fn a_whole_sample_and_parts_of_the_next_share_a_datagram() {
    let parts = Parts::sequence(true, 100, 64, 1);
    let (cut, part) = parts.cut(0);
    let message = Message::new(true).data_with(DATA, USER_WRITER, 1, &parts.serialized).data_frag(
        USER_WRITER,
        2,
        cut,
        part,
    );
    let seen = Conversation::new().send(&message.bytes);
    assert_eq!(seen[1].data.as_ref().unwrap().key.seq, 1);
    assert_eq!((seen[2].payload_bytes, seen[2].data.as_ref()), (56, None));
}
