//! Captures of others that are damaged, and compressed files that end too early.

use crate::packets::{block, classic, raw, section, told};
use crate::round_trip::{expected, read, write};
use std::io::{Cursor, Write};
use wirelap_events::{Body, PacketHook};
use wirelap_recording::{
    EncoderSettings, Entry, FileCounts, Problems, Recording, ShownSightings, uncompressed,
};

/// Times of the packets that can be read, what cannot, and counts.
fn packets(bytes: &[u8]) -> (usize, Problems, FileCounts) {
    let (held, problems, counts) = read(bytes);
    (held.len(), problems, counts)
}

/// Offsets of the blocks of a file in either byte order, and the file's end.
fn boundaries(bytes: &[u8], big: bool) -> Vec<usize> {
    let mut all = vec![0];
    let mut at = 0;
    while let Some(len) = bytes.get(at + 4..at + 8) {
        let len: [u8; 4] = len.try_into().unwrap();
        at += (if big { u32::from_be_bytes(len) } else { u32::from_le_bytes(len) }) as usize;
        all.push(at);
    }
    all
}

#[test]
fn pcapng_of_either_order_cut_at_any_byte_gives_what_was_before() {
    for big in [false, true] {
        let bytes = section(&[raw(), raw(), raw()], big, 101, 6, 1);
        let boundaries = boundaries(&bytes, big);
        assert_eq!(boundaries.len(), 6);
        for end in 4..bytes.len() {
            let whole = boundaries.iter().filter(|&&at| at > 0 && at <= end).count();
            let (found, problems, _) = packets(&bytes[..end]);
            assert_eq!(found, whole.saturating_sub(2), "{end}");
            assert_eq!(problems.is_empty(), boundaries.contains(&end), "{end}: {problems:?}");
        }
    }
}

#[test]
fn garbage_anywhere_costs_what_it_hits() {
    for big in [false, true] {
        let bytes = section(&[raw(), raw(), raw()], big, 101, 6, 1);
        for &at in &boundaries(&bytes, big)[1..] {
            for garbage in [&[0xEE; 7][..], &[0; 64], b"\x06\0\0\0\xF0\xFF\xFF\x7F", &[0xFF; 5000]]
            {
                let damaged = [&bytes[..at], garbage, &bytes[at..]].concat();
                let (found, problems, _) = packets(&damaged);
                assert_eq!(found, 3, "{garbage:?} at {at}");
                assert_eq!(problems.first.len(), 1);
                assert_eq!(problems.first[0].offset, at as u64);
            }
        }
    }
}

#[test]
fn a_block_in_the_other_byte_order_is_left_out() {
    for big in [false, true] {
        let bytes = section(&[raw(), raw()], big, 101, 6, 1);
        let wrong = section(&[raw()], !big, 101, 6, 1);
        let block = &wrong[boundaries(&wrong, !big)[2]..];
        for &at in &boundaries(&bytes, big)[2..] {
            let damaged = [&bytes[..at], block, &bytes[at..]].concat();
            let (found, problems, _) = packets(&damaged);
            assert_eq!((found, problems.first.len()), (2, 1), "at {at}: {problems:?}");
            let text = problems.first[0].to_string();
            assert!(text.starts_with(&format!("at byte {at}: a block ")), "{text}");
        }
    }
}

#[test]
fn each_section_has_a_byte_order_of_its_own() {
    let sections = [false, true, true, false].map(|big| section(&[raw()], big, 101, 9, 7));
    let (found, problems, counts) = packets(&sections.concat());
    assert_eq!((found, counts.packets.0), (4, 4));
    assert!(problems.is_empty(), "{problems:?}");
    // Without a header that says so, the second one's blocks mean nothing.
    let headless = &sections[1][boundaries(&sections[1], true)[1]..];
    let (found, problems, _) = packets(&[&sections[0][..], headless, &sections[3]].concat());
    assert_eq!((found, problems.first.len()), (2, 1), "{problems:?}");
}

/// A packet of `len` payload bytes, of which a snap length of 96 leaves some.
fn snapped(len: u16, link: usize) -> (Vec<u8>, u32) {
    let mut packet = raw();
    packet.truncate(40);
    packet.resize(40 + usize::from(len), 0xAA);
    packet[2..4].copy_from_slice(&(40 + len).to_be_bytes());
    let mut frame = [&[0; 12][..], &[8, 0]].concat();
    frame.resize(link, 0);
    frame.append(&mut packet);
    let original = u32::try_from(frame.len()).unwrap();
    frame.truncate(96);
    (frame, original)
}

#[test]
fn a_snap_length_of_96_leaves_headers_lengths_and_the_first_payload() {
    for len in [0, 1, 42, 43, 1000, 65_000] {
        let (bytes, original) = snapped(len, 14);
        let captured = u32::try_from(bytes.len()).unwrap();
        let mut file = classic(&[bytes], 0xA1B2_C3D4, false, 1);
        file[24 + 12..24 + 16].copy_from_slice(&original.to_le_bytes());
        let mut recording = Recording::new(&file[..]).unwrap();
        let Some(Entry::Event(event)) = recording.next() else { panic!("a packet") };
        let Body::Packet(packet) = event.body else { panic!("{event:?}") };
        assert_eq!((packet.payload_len, packet.wire_bytes), (len.into(), original));
        assert_eq!(packet.payload.len(), captured as usize - 54, "{len}");
        assert_eq!(packet.hook, PacketHook::Rx);
    }
}

#[test]
fn headers_that_a_snap_length_cuts_are_counted() {
    let (bytes, original) = snapped(1000, 14);
    let mut counts = Vec::new();
    for snap in [14, 33, 34, 53, 54, 96] {
        let body = [&[0; 12][..], &u32::to_le_bytes(snap), &original.to_le_bytes()].concat();
        let body = [&body[..], &bytes[..snap as usize]].concat();
        let file = [section(&[], false, 1, 9, 0), block(6, &body, false)].concat();
        let (found, problems, count) = packets(&file);
        assert!(problems.is_empty());
        counts.push((found, count.cut.0));
    }
    assert_eq!(counts, [(0, 1), (0, 1), (0, 1), (0, 1), (1, 0), (1, 0)]);
}

/// A zstd frame of a raw block (RFC 8878 §3.1.1).
fn zstd(bytes: &[u8]) -> Vec<u8> {
    let len = u32::try_from(bytes.len()).unwrap();
    // One segment, its size in four bytes.
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0xA0];
    frame.extend(len.to_le_bytes());
    frame.extend(&(len << 3 | 1).to_le_bytes()[..3]);
    frame.extend(bytes);
    frame
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

#[test]
fn a_compressed_file_that_ends_too_early_is_read_as_far_as_it_goes() {
    let told: Vec<_> = (0..40)
        .map(|n| told(PacketHook::Xmit, 1_000 + u64::from(n), n * 2, &n.to_le_bytes()))
        .collect();
    let bytes = write(&told, EncoderSettings { shown: ShownSightings::Once, payload: true });
    let whole = expected(&told);
    for packed in [gzip(&bytes), zstd(&bytes)] {
        let mut most = 0;
        for end in 20..=packed.len() {
            let source = uncompressed(Box::new(Cursor::new(packed[..end].to_vec())));
            let Ok(source) = source else { continue };
            let Ok(mut recording) = Recording::new(source) else { continue };
            let mut found = 0;
            while let Some(entry) = recording.next() {
                assert_eq!(crate::round_trip::Held::of(&entry), whole[found], "{end}");
                found += 1;
            }
            // What is missing of a trailer is only a checksum.
            let problems = recording.problems();
            assert!(found == whole.len() || !problems.is_empty(), "{end} of {}", packed.len());
            if let Some(problem) = problems.first.first() {
                let text = problem.to_string();
                let is_clear = text.contains("cannot be read on: ") || text.contains("ends in the");
                assert!(is_clear, "{end}: {text}");
            }
            most = most.max(found);
        }
        assert_eq!(most, whole.len());
    }
}
