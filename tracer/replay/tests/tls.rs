//! Captures of MQTT and Zenoh over TLS and QUIC, with keys: messages through mosquitto, sent and received by paho-mqtt, and through
//! a Zenoh router. QUIC is spoken by aioquic, which hands on what paho-mqtt and mosquitto say over TCP, and, stream by stream, what
//! Zenoh's clients and router say.

use std::path::PathBuf;
use wirelap_process::{Failure, Outputs};
use wirelap_recording::{Entry, Recording};
use wirelap_replay::{NoFollower, Replay};
use wirelap_report::{ReportedReliability, RunReport};
use wirelap_test_support::committed::repository;

fn capture(name: &str) -> PathBuf {
    repository("tracer/replay/tests/captures").join(name)
}

fn analyze(file: &str, keys: &[&str]) -> Result<RunReport, Failure> {
    let mut replay = Replay::new(&[], NoFollower);
    replay.tls_keys(&keys.iter().map(|name| capture(name)).collect::<Vec<_>>())?;
    replay.files(&[capture(file)])?;
    Ok(replay.end()?.report)
}

/// Messages that were sent, delivered and matched, of the only row, if there is one.
fn counts(report: &RunReport) -> Option<(u64, u64, u64)> {
    let row = report.results.first()?;
    assert_eq!((report.results.len(), row.middleware.as_str()), (1, "mqtt"));
    Some((row.messages.sent, row.messages.delivered, row.messages.matched))
}

fn says(report: &RunReport, words: &str) -> bool {
    report.notes.iter().any(|note| note.contains(words))
}

#[test]
fn the_keys_of_a_file_are_used() {
    let report = analyze("mqtt-tls12.pcap", &["mqtt-tls12.keys"]).unwrap();
    assert_eq!(counts(&report), Some((4, 4, 4)), "{:?}", report.notes);
    assert!(says(&report, "TLS keys: 2 connections read with them."), "{:?}", report.notes);
    assert!(!says(&report, "encrypted"), "{:?}", report.notes);
}

#[test]
fn the_keys_in_a_capture_are_used() {
    let report = analyze("mqtt-tls13.pcapng", &[]).unwrap();
    assert_eq!(counts(&report), Some((4, 4, 4)), "{:?}", report.notes);
    assert!(says(&report, "TLS keys: 2 connections read with them."), "{:?}", report.notes);
}

/// Suites in CBC mode with SHA-1, SHA-256 and SHA-384, the code before or after the encryption, CCM with both tags, and CCM of
/// TLS 1.3: two messages on each of nine pairs of connections to two ports.
#[test]
fn every_suite_is_read() {
    let report = analyze("mqtt-tls-suites.pcap", &["mqtt-tls-suites.keys"]).unwrap();
    let counts = report.results.iter().map(|row| [row.messages.sent, row.messages.matched]);
    let sum = counts.fold([0, 0], |[sent, matched], one| [sent + one[0], matched + one[1]]);
    assert_eq!(sum, [18, 18], "{:?}", report.notes);
    assert!(says(&report, "TLS keys: 18 connections read with them."), "{:?}", report.notes);
    assert!(!says(&report, "encrypted"), "{:?}", report.notes);
}

/// Twelve messages, of 7 to 9000 bytes; between them, keys are updated twice and the ids of both connections change.
#[test]
fn mqtt_over_quic_is_read() {
    let report = analyze("mqtt-quic.pcap", &["mqtt-quic.keys"]).unwrap();
    assert_eq!(counts(&report), Some((12, 12, 12)), "{:?}", report.notes);
    assert!(says(&report, "TLS keys: 2 connections read with them."), "{:?}", report.notes);
    assert!(!says(&report, "encrypted"), "{:?}", report.notes);
}

/// Eight messages of three priorities, each of which has a stream of its own; the longest leave several datagrams at a time.
#[test]
fn zenoh_over_quic_is_read() {
    let report = analyze("zenoh-quic.pcap", &["zenoh-quic.keys"]).unwrap();
    let [row] = &report.results[..] else { panic!("{:?}", report.notes) };
    let counts = (row.messages.sent, row.messages.delivered, row.messages.matched);
    assert_eq!((row.middleware.as_str(), counts), ("zenoh", (8, 8, 8)), "{:?}", report.notes);
    assert!(says(&report, "TLS keys: 2 connections read with them."), "{:?}", report.notes);
}

#[test]
fn without_keys_quic_stays_encrypted_and_that_is_said() {
    let report = analyze("mqtt-quic.pcap", &[]).unwrap();
    assert_eq!(counts(&report), None);
    assert!(says(&report, "QUIC 1 on UDP port 14567"), "{:?}", report.notes);
    let report = analyze("mqtt-quic.pcap", &["zenoh-quic.keys"]).unwrap();
    assert_eq!(counts(&report), None);
    assert!(says(&report, "2 connections for which there are no keys"), "{:?}", report.notes);
    assert!(says(&report, "QUIC 1 on UDP port 14567"), "{:?}", report.notes);
}

#[test]
fn without_keys_it_stays_encrypted_and_that_is_said() {
    let report = analyze("mqtt-tls12.pcap", &[]).unwrap();
    assert_eq!(counts(&report), None);
    assert!(says(&report, "TLS 1.2") && says(&report, "--tls-keys"), "{:?}", report.notes);
    // Those of other connections.
    let mut replay = Replay::new(&[], NoFollower);
    let files = ["mqtt-tls13.pcapng", "mqtt-tls12.pcap"].map(capture);
    replay.files(&files).unwrap();
    let report = replay.end().unwrap().report;
    assert_eq!(counts(&report), Some((4, 4, 4)), "{:?}", report.notes);
    assert!(says(&report, "2 connections for which there are no keys"), "{:?}", report.notes);
}

#[test]
fn with_wrong_keys_nothing_is_read() {
    let text = std::fs::read_to_string(capture("mqtt-tls12.keys")).unwrap();
    // Another secret for the same connections.
    let wrong = text.lines().filter(|line| line.starts_with("CLIENT_RANDOM"));
    let wrong = wrong.flat_map(|line| [&line[..line.len() - 8], "01234567\n"]);
    let wrong = wrong.collect::<String>();
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    std::fs::write(&keys, wrong + "nothing\n").unwrap();
    let mut replay = Replay::new(&[], NoFollower);
    replay.tls_keys(&[keys]).unwrap();
    replay.files(&[capture("mqtt-tls12.pcap")]).unwrap();
    let report = replay.end().unwrap().report;
    assert_eq!(counts(&report), None);
    assert!(says(&report, "2 connections of which no record was read"), "{:?}", report.notes);
    assert!(says(&report, "1 line is no line of a key log"), "{:?}", report.notes);
    assert!(says(&report, "TLS 1.2 on port"), "{:?}", report.notes);
}

#[test]
fn a_file_without_keys_is_refused() {
    let Err(failure) = analyze("mqtt-tls12.pcap", &["mqtt-tls12.pcap"]) else { panic!() };
    assert!(failure.to_string().contains("has no keys of TLS connections"), "{failure}");
    let Err(failure) = analyze("mqtt-tls12.pcap", &["none"]) else { panic!() };
    assert!(failure.to_string().contains("cannot be read"), "{failure}");
}

#[test]
fn an_annotated_copy_has_the_keys_and_no_text() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.pcapng");
    let outputs = Outputs::new(false, None);
    outputs.allow(&copy, false).unwrap();
    let mut replay = Replay::new(&[], NoFollower);
    replay.annotate(&copy, &outputs);
    replay.files(&[capture("mqtt-tls13.pcapng")]).unwrap();
    assert_eq!(counts(&replay.end().unwrap().report), Some((4, 4, 4)));
    let bytes = std::fs::read(&copy).unwrap();
    let has = |words: &[u8]| bytes.windows(words.len()).any(|window| window == words);
    assert!(has(b"message 1, leg 1 of 2, mqtt"), "the packets are annotated");
    assert!(!has(b"secret/plant"), "the topics were encrypted");
    let mut recording = Recording::new(&bytes[..]).unwrap();
    let mut keys = 0;
    while let Some(entry) = recording.next() {
        keys += usize::from(matches!(entry, Entry::TlsKeys(_)));
    }
    assert_eq!(keys, 1);
}

/// The verdict on the figures of MQTT over QUIC in a capture without the packet of this number.
fn verdict_without(number: usize) -> ReportedReliability {
    let pcap = std::fs::read(capture("mqtt-quic.pcap")).unwrap();
    let (head, mut rest) = pcap.split_at(24);
    let mut records = Vec::new();
    while let Some(len) = rest.get(8..12) {
        let len = 16 + usize::try_from(u32::from_le_bytes(len.try_into().unwrap())).unwrap();
        records.push(&rest[..len]);
        rest = &rest[len..];
    }
    records.remove(number);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.pcap");
    std::fs::write(&path, [head, &records.concat()].concat()).unwrap();
    let mut replay = Replay::new(&[], NoFollower);
    replay.tls_keys(&[capture("mqtt-quic.keys")]).unwrap();
    replay.files(&[path]).unwrap();
    replay.end().unwrap().report.results[0].trust.verdict
}

#[test]
fn a_packet_of_quic_that_is_missing_is_a_doubt() {
    let whole = analyze("mqtt-quic.pcap", &["mqtt-quic.keys"]).unwrap();
    assert_eq!(whole.results[0].trust.verdict, ReportedReliability::Good);
    // Those before are of the handshakes, and those behind close the connections.
    for number in (17..152).step_by(9) {
        assert_ne!(verdict_without(number), ReportedReliability::Good, "{number}");
    }
}
