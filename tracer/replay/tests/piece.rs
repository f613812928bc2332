//! A piece that another program has cut out of a recording.

#![allow(missing_docs, reason = "a test")]

use wirelap_replay::{NoFollower, Replay};
use wirelap_report::SeenFrom;
use wirelap_test_support::committed::repository;
use wirelap_test_support::pcap::read;

const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;

/// The section and interfaces of a pcapng file, and a range of its packets: what editcap keeps.
fn piece(file: &[u8], packets: std::ops::Range<usize>) -> Vec<u8> {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let (mut at, mut count, mut kept) = (0, 0, Vec::new());
    while at < file.len() {
        let end = at + word(at + 4) as usize;
        let is_kept = match word(at) {
            SECTION | INTERFACE => true,
            PACKET => {
                count += 1;
                packets.contains(&count)
            }
            _ => false,
        };
        if is_kept {
            kept.extend_from_slice(&file[at..end]);
        }
        at = end;
    }
    kept
}

#[test]
fn a_piece_of_a_recording_knows_its_readers() {
    let whole = read(&repository("tracer/correlate/tests/why/brisk.pcapng.gz"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("piece.pcapng");
    std::fs::write(&path, piece(&whole, 150..500)).unwrap();
    let mut replay = Replay::new(&[], NoFollower);
    replay.read_for_report(&[path]).unwrap();
    let report = replay.end().unwrap().report;
    let [result] = &report.results[..] else { panic!("{} results", report.results.len()) };
    assert!(!matches!(result.view, Some(SeenFrom::Sender)), "{:?}", result.view);
    assert_eq!(result.trust.to_unseen_readers, 0);
    let (delivered, matched) = (result.messages.delivered, result.messages.matched);
    assert!(delivered > 80 && delivered - matched <= 2, "{matched} of {delivered}");
    assert!(result.latency.one_way_ns.p50 > 0);
    let notes = report.notes.join(" ");
    assert!(notes.contains("a piece of a recording, without the beginning"), "{notes}");
}
