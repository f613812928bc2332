//! Files that are cut, overwritten or invented.

use crate::any;
use crate::packets::{classic, raw, told};
use crate::round_trip::{Held, expected, read, write};
use proptest::prelude::*;
use wirelap_events::PacketHook;
use wirelap_recording::{EncoderSettings, Recording, ShownSightings};
use wirelap_test_support::event::OwnedEvent;

fn sample() -> Vec<OwnedEvent> {
    (0..6).map(|n| told(PacketHook::Xmit, 1_000 + u64::from(n), n * 2, &[0xC0, 0])).collect()
}

const WHOLE: EncoderSettings = EncoderSettings { shown: ShownSightings::Once, payload: true };

/// Offsets of the blocks of a file, and the file's end.
fn boundaries(bytes: &[u8]) -> Vec<usize> {
    let mut at = 0;
    let mut all = vec![0];
    while let Some(len) = bytes.get(at + 4..at + 8) {
        at += u32::from_le_bytes(len.try_into().unwrap()) as usize;
        all.push(at);
    }
    all
}

#[test]
fn a_file_cut_at_any_byte_gives_what_was_before() {
    let told = sample();
    let bytes = write(&told, WHOLE);
    let (whole, boundaries) = (read(&bytes).0, boundaries(&bytes));
    assert_eq!(whole, expected(&told));
    for end in 4..bytes.len() {
        let (held, problems, _) = read(&bytes[..end]);
        assert_eq!(held, whole[..held.len()], "{end}");
        let on_boundary = boundaries.contains(&end);
        assert_eq!(problems.is_empty(), on_boundary, "{end}: {problems:?}");
        let before = boundaries.iter().filter(|&&at| at <= end).max().unwrap();
        if let [only] = &problems.first[..] {
            assert_eq!(only.offset, *before as u64);
            assert!(only.what.starts_with("the file ends in the middle of a block"), "{only}");
        }
        assert!(problems.first.len() <= 1);
    }
}

#[test]
fn garbage_between_blocks_is_left_out() {
    let told = sample();
    let bytes = write(&told, WHOLE);
    for &at in &boundaries(&bytes)[1..] {
        for garbage in [&[0xEE; 7][..], &[0; 64], b"\x06\0\0\0\xF0\xFF\xFF\x7F\0\0\0\0"] {
            let damaged = [&bytes[..at], garbage, &bytes[at..]].concat();
            let (held, problems, _) = read(&damaged);
            assert_eq!(held, expected(&told), "at {at}");
            assert_eq!(problems.first.len(), 1, "{problems:?}");
            assert_eq!(problems.first[0].offset, at as u64);
        }
    }
}

#[test]
fn an_absurd_length_is_told_with_its_place() {
    let mut bytes = write(&sample(), WHOLE);
    let at = boundaries(&bytes)[2];
    bytes[at + 4..at + 8].copy_from_slice(&0x7FFF_FFF0u32.to_le_bytes());
    let (held, problems, _) = read(&bytes);
    assert!(!held.is_empty());
    let text = problems.first[0].to_string();
    assert!(text.starts_with(&format!("at byte {at}: a block longer than 16 MiB:")), "{text}");

    let mut bytes = classic(&[raw(), raw()], 0xA1B2_C3D4, false, 101);
    bytes[24 + 8..24 + 12].copy_from_slice(&[0xFF; 4]);
    let (held, problems, _) = read(&bytes);
    assert_eq!(held, []);
    let text = problems.first[0].to_string();
    assert!(text.starts_with("at byte 24: a packet of 4294967295 bytes"), "{text}");
}

#[test]
fn a_classic_file_cut_at_any_byte_gives_what_was_before() {
    let bytes = classic(&[raw(), raw(), raw()], 0xA1B2_C3D4, false, 101);
    for end in 4..bytes.len() {
        let (held, problems, _) = read(&bytes[..end]);
        let whole = end.saturating_sub(24) / 58;
        assert_eq!(held.len(), whole, "{end}");
        assert_eq!(problems.is_empty(), end >= 24 && (end - 24) % 58 == 0, "{end}");
    }
}

#[test]
fn what_a_later_version_adds_is_left_out() {
    let mut later = write(&sample(), WHOLE);
    let tags: Vec<usize> =
        (0..later.len()).filter(|&at| later[at..].starts_with(b"WL\x01")).collect();
    // The section, the interface, each packet, and what is behind the last one.
    assert_eq!(tags.len(), 1 + 1 + 6 + 1);
    for at in tags {
        later[at + 2] = 2;
    }
    let (held, problems, counts) = read(&later);
    assert!(problems.is_empty());
    assert_eq!(held.len(), 6);
    assert_eq!([counts.packets, counts.own, counts.records], [6, 0, 0]);
    assert!(held.iter().all(|held| matches!(held, Held::Event(_))));
}

proptest! {
    #[test]
    fn any_truncation_gives_a_beginning(
        told in prop::collection::vec(any::told(), 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = write(&told, WHOLE);
        let end = 4 + cut.index(bytes.len() - 4);
        let (held, ..) = read(&bytes[..end]);
        let whole = expected(&told);
        prop_assert_eq!(&held[..], &whole[..held.len()]);
    }

    #[test]
    fn any_overwriting_ends(
        told in prop::collection::vec(any::told(), 1..20),
        writes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut bytes = write(&told, WHOLE);
        for (at, byte) in writes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(mut recording) = Recording::new(&bytes[..]) {
            let mut entries = 0;
            while recording.next().is_some() {
                entries += 1;
            }
            prop_assert!(entries <= bytes.len());
        }
    }

    #[test]
    fn any_bytes_end(tail in prop::collection::vec(any::<u8>(), 0..2000), kind in 0..5usize) {
        let magic: [&[u8]; 5] = [
            &[0x0A, 0x0D, 0x0D, 0x0A],
            &[0xA1, 0xB2, 0xC3, 0xD4],
            &[0xD4, 0xC3, 0xB2, 0xA1],
            &[0xA1, 0xB2, 0x3C, 0x4D],
            &[],
        ];
        let bytes = [magic[kind], &tail].concat();
        if let Ok(mut recording) = Recording::new(&bytes[..]) {
            while recording.next().is_some() {}
        }
    }
}
