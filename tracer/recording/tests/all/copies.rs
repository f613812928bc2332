//! Captures of others, written again: every block as it was, and packets with what became of their messages.

use crate::messages::{beside, flow_range, leg};
use crate::packets::{block, classic, raw, section};
use crate::round_trip::{Held, read};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use wirelap_events::{Body, Nanos};
use wirelap_recording::{BlockOrEntry, Entry, MessageSink, PendingLimits, Recording, Verbatim};

const ROOM: PendingLimits = PendingLimits { time: Nanos::from_millis(1_000), bytes: 1 << 20 };

/// A copy in which every second packet's message is told. The `n`th packet carries a hundred bytes.
fn copy(bytes: &[u8], to: &Path, limits: PendingLimits) -> Vec<u8> {
    let mut recording = Recording::new(bytes).unwrap();
    let mut verbatim = Verbatim::create(to, limits).unwrap();
    let mut count = 0;
    while let Some(next) = recording.next_block_or_entry() {
        match next {
            BlockOrEntry::Block(block) => verbatim.block(&block),
            // A damaged block may say that packets are missing.
            BlockOrEntry::Entry(Entry::Event(event)) if matches!(event.body, Body::Lost(_)) => {}
            BlockOrEntry::Entry(Entry::Event(event)) => {
                assert!(matches!(event.body, Body::Packet(_)));
                let carried = flow_range(1, 1_000 + count * 100, 100);
                verbatim.carries(carried);
                if count % 2 == 1 {
                    verbatim.message(&mut vec![leg(count, 0, 1, carried)]);
                }
                count += 1;
            }
            // They are in the block.
            BlockOrEntry::Entry(Entry::TlsKeys(_)) => {}
            BlockOrEntry::Entry(other) => panic!("{other:?}"),
        }
    }
    verbatim.close().unwrap();
    fs::read(to).unwrap()
}

fn copied(bytes: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    copy(bytes, &folder.path().join("copy"), ROOM)
}

/// A file's blocks, in the byte order of their section.
fn blocks(mut bytes: &[u8]) -> Vec<(bool, Vec<u8>)> {
    let (mut all, mut big) = (Vec::new(), false);
    while !bytes.is_empty() {
        if bytes[..4] == [0x0A, 0x0D, 0x0D, 0x0A] {
            big = bytes[8..12] == [0x1A, 0x2B, 0x3C, 0x4D];
        }
        let len = number(&bytes[4..8], big);
        let (block, rest) = bytes.split_at(len);
        assert_eq!(number(&block[len - 4..], big), len, "both lengths");
        all.push((big, block.to_vec()));
        bytes = rest;
    }
    all
}

fn number(bytes: &[u8], big: bool) -> usize {
    let fold = |number: usize, byte: &u8| number << 8 | usize::from(*byte);
    if big { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) }
}

fn half(number: u16, big: bool) -> [u8; 2] {
    if big { number.to_be_bytes() } else { number.to_le_bytes() }
}

fn word(number: u32, big: bool) -> [u8; 4] {
    if big { number.to_be_bytes() } else { number.to_le_bytes() }
}

/// An option, padded.
fn option(number: u16, value: &[u8], big: bool) -> Vec<u8> {
    let len = u16::try_from(value.len()).unwrap();
    let mut out = [&half(number, big)[..], &half(len, big), value].concat();
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// A packet at this time, with these options.
fn packet(time: u32, options: &[u8], big: bool) -> Vec<u8> {
    let words = [0, 0, time, 42, 42].map(|number| word(number, big)).concat();
    let mut body = [&words[..], &raw()].concat();
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend_from_slice(options);
    block(6, &body, big)
}

/// A section with much that wirelap does not know, and packets with all kinds of options.
fn colourful(big: bool) -> Vec<u8> {
    let end = [0; 4];
    let comment = option(1, b"somebody's", big);
    let flags = option(2, &[1, 0, 0, 0], big);
    let theirs = option(2989, &[&word(32_473, big)[..], b"theirs"].concat(), big);
    let mut file = section(&[], big, 101, 6, 0);
    let arp = block(6, &[&[0; 12][..], &word(4, big), &word(4, big), &[1, 2, 3, 4]].concat(), big);
    for block in [
        block(10, b"\x4b\x53\x4c\x54\x04\0\0\0keys", big),
        packet(1, &[], big),
        arp,
        packet(2, &[], big),
        block(5, &[0; 12], big),
        packet(3, &[&comment[..], &flags, &end].concat(), big),
        packet(4, &[&comment[..], &flags, &theirs, &end].concat(), big),
        // Not told where the options end, and one that is longer than the block.
        packet(5, &comment, big),
        packet(6, &[&comment[..], &theirs].concat(), big),
        packet(7, &[], big),
        packet(8, &[&half(1, big)[..], &half(999, big)].concat(), big),
        packet(9, &[], big),
        // Has no options.
        block(3, &[&word(42, big)[..], &raw()].concat(), big),
        packet(10, &[], big),
        block(2, &[&[0; 12][..], &word(42, big), &word(42, big), &raw()].concat(), big),
        block(0x8000_0001, b"whose?", big),
    ] {
        file.extend(block);
    }
    file
}

/// A block without what was told in it, and without the end of options that nothing ended before.
fn bare(block: &[u8], before: &[u8], big: bool) -> Vec<u8> {
    let Some(text) = block.windows(8).position(|bytes| bytes == b"message ") else {
        return block.to_vec();
    };
    // An option's number and length stand before its text.
    let (start, mut at) = (text - 4, text - 4);
    for expected in [1, 2989] {
        assert_eq!(number(&block[at..at + 2], big), expected);
        at += 4 + number(&block[at + 2..at + 4], big).next_multiple_of(4);
    }
    let mut behind = &block[at..block.len() - 4];
    if start + behind.len() + 4 == before.len() + 4 {
        assert_eq!(behind, [0; 4]);
        behind = &[];
    }
    let len = word(u32::try_from(start + behind.len() + 4).unwrap(), big);
    [&block[..4], &len, &block[8..start], behind, &len].concat()
}

#[test]
fn every_block_is_as_it_was_and_messages_are_told() {
    for big in [false, true] {
        let file = colourful(big);
        let (before, after) = (blocks(&file), blocks(&copied(&file)));
        assert_eq!(before.len(), after.len());
        let mut told = 0;
        for ((_, before), (_, after)) in before.iter().zip(&after) {
            told += usize::from(before != after);
            assert_eq!(&bare(after, before, big), before);
        }
        // Every second of twelve packets with messages; one of them is in a simple block.
        assert_eq!(told, 5, "{big}");
    }
}

#[test]
fn a_copy_of_a_copy_is_told_anew() {
    for big in [false, true] {
        let once = copied(&colourful(big));
        assert_eq!(copied(&once), once);
        // The packets are numbered otherwise, and none is told twice.
        let shifted = [section(&[raw()], big, 101, 6, 0), once].concat();
        let told = |bytes: &[u8]| bytes.windows(8).filter(|found| found == b"message ").count();
        assert_eq!(told(&copied(&shifted)), 6);
    }
}

#[test]
fn what_stands_in_several_sections_is_told_in_each_ones_byte_order() {
    let both = [colourful(true), colourful(false)].concat();
    let after = blocks(&copied(&both));
    for (index, (big, before)) in blocks(&both).iter().enumerate() {
        assert_eq!(&bare(&after[index].1, before, *big), before);
    }
}

#[test]
fn a_section_that_grows_does_not_tell_its_length() {
    let mut file = section(&[raw(), raw()], false, 101, 6, 0);
    let len = file.len() as u64 - 28;
    file[16..24].copy_from_slice(&len.to_le_bytes());
    let copy = copied(&file);
    assert_eq!(copy[16..24], [0xFF; 8]);
    assert_eq!(copy[..16], file[..16]);
}

/// Packets that a reader finds, with times, places and bytes.
fn packets(bytes: &[u8]) -> Vec<Held> {
    read(bytes).0.into_iter().filter(|held| !matches!(held, Held::TlsKeys(_))).collect()
}

#[test]
fn a_classic_file_becomes_pcapng_with_the_same_packets() {
    for (magic, resolution) in [(0xA1B2_C3D4, 6), (0xA1B2_3C4D, 9)] {
        for big in [false, true] {
            let ethernet = [&[0; 12][..], &[8, 0], &raw()].concat();
            let arp = [&[0; 12][..], &[8, 6], &[0; 29]].concat();
            let file = classic(&[ethernet.clone(), arp.clone(), ethernet.clone()], magic, big, 1);
            let copy = copied(&file);
            assert_eq!(packets(&copy), packets(&file));
            let blocks = blocks(&copy);
            let kinds: Vec<usize> =
                blocks.iter().map(|(_, block)| number(&block[..4], false)).collect();
            assert_eq!(kinds, [0x0A0D_0D0A, 1, 6, 6, 6]);
            let interface = &blocks[1].1;
            assert_eq!(interface[8..16], [1, 0, 0, 0, 0xFF, 0xFF, 0, 0]);
            assert_eq!(interface[16..24], [9, 0, 1, 0, resolution, 0, 0, 0]);
            for ((_, block), (index, bytes)) in
                blocks[2..].iter().zip([&ethernet, &arp, &ethernet].iter().enumerate())
            {
                let unit = if resolution == 6 { 1_000_000 } else { 1_000_000_000 };
                let time = (number(&block[12..16], false) << 32) + number(&block[16..20], false);
                assert_eq!(time, 1_700_000_000 * unit + index);
                assert_eq!(number(&block[20..24], false), bytes.len());
                assert_eq!(&block[28..28 + bytes.len()], &bytes[..]);
            }
        }
    }
}

#[test]
fn a_check_sum_behind_each_packet_is_still_told() {
    let file = classic(&[raw()], 0xA1B2_C3D4, false, 0x2400_0065);
    let interface = &blocks(&copied(&file))[1].1;
    assert_eq!(interface[24..32], [13, 0, 1, 0, 4, 0, 0, 0]);
}

#[test]
fn of_a_file_that_is_cut_what_can_be_read_is_kept() {
    let pcapng = [colourful(true), colourful(false)].concat();
    let classic = classic(&[raw(), raw(), raw()], 0xA1B2_C3D4, false, 101);
    for file in [pcapng, classic] {
        let whole = blocks(&copied(&file));
        for end in 28..file.len() {
            let copy = blocks(&copied(&file[..end]));
            assert_eq!(copy, whole[..copy.len()], "{end}");
            assert_eq!(
                packets(&file[..end]).len(),
                copy.iter().filter(|(big, block)| is_seen(*big, block)).count()
            );
        }
    }
}

#[test]
fn what_has_no_section_gets_one() {
    let file = colourful(true);
    let without = blocks(&copied(&[&file[..4], &[0xEE; 24], &colourful(false)].concat()));
    assert_eq!(without.len(), blocks(&file).len());
    // Nothing but four bytes of one.
    let empty = copied(&file[..4]);
    assert!(read(&empty).1.is_empty());
    assert_eq!(blocks(&empty).len(), 1);
}

/// True if a reader finds a packet of TCP in a block.
fn is_seen(big: bool, block: &[u8]) -> bool {
    [2, 3, 6].contains(&number(&block[..4], big))
        && block.windows(4).any(|bytes| bytes == [10, 0, 0, 1])
}

#[test]
fn packets_wait_within_bounds() {
    let file = section(&vec![raw(); 20_000], false, 101, 6, 0);
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("copy");
    let told = |bytes: &[u8]| {
        let all = beside(bytes);
        (all.len(), all.iter().filter(|(comments, _)| !comments.is_empty()).count())
    };
    assert_eq!(told(&copy(&file, &to, ROOM)), (20_000, 10_000));
    let nothing = PendingLimits { bytes: 0, ..ROOM };
    assert_eq!(told(&copy(&file, &to, nothing)).0, 20_000);
}

proptest! {
    #[test]
    fn any_damage_leaves_a_copy_that_reads_the_same(
        at in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        big in any::<bool>(),
    ) {
        let mut file = colourful(big);
        for (at, byte) in at {
            let at = at.index(file.len() - 4) + 4;
            file[at] = byte;
        }
        let copy = copied(&file);
        prop_assert_eq!(packets(&copy), packets(&file));
        prop_assert!(read(&copy).1.is_empty());
    }
}
