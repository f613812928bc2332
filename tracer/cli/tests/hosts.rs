//! Captures of two hosts. `hosts/` has both ends of a publisher, a subscriber and a broker, by tcpdump in two network
//! namespaces whose packets took 5 ms and more each way: one clock, so that every offset of it is known.

#![allow(missing_docs, reason = "a test")]

use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use wirelap_events::{Body, Nanos, PacketHook};
use wirelap_recording::{Encoder, Recording, Section, Settings};

/// A packet of a capture.
#[derive(Clone)]
struct Packet {
    at: i64,
    original: u32,
    bytes: Vec<u8>,
}

/// Of Ethernet.
const SOURCE: std::ops::Range<usize> = 26..30;
const DESTINATION: std::ops::Range<usize> = 30..34;

const CLIENT: [u8; 4] = [10, 77, 0, 1];
const SERVER: [u8; 4] = [10, 77, 0, 2];

fn capture(name: &str) -> Vec<Packet> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts").join(name);
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&fs::read(path).unwrap()[..]).read_to_end(&mut bytes).unwrap();
    let mut rest = &bytes[24..];
    let mut packets = Vec::new();
    while !rest.is_empty() {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
        let len = word(8) as usize;
        packets.push(Packet {
            at: i64::from(word(0)) * 1_000_000_000 + i64::from(word(4)),
            original: word(12),
            bytes: rest[16..16 + len].to_vec(),
        });
        rest = &rest[16 + len..];
    }
    packets
}

fn client() -> Vec<Packet> {
    capture("client.pcap.gz")
}

fn server() -> Vec<Packet> {
    capture("server.pcap.gz")
}

/// As a clock shows it that is ahead by `offset` nanoseconds and gains `ppm`.
fn shifted(mut packets: Vec<Packet>, offset: i64, ppm: i64) -> Vec<Packet> {
    let start = packets[0].at;
    for packet in &mut packets {
        packet.at += offset + (packet.at - start) * ppm / 1_000_000;
    }
    packets
}

struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Bench {
        Bench(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, packets: &[Packet]) -> PathBuf {
        let words = [0xA1B2_3C4D_u32, 0x0004_0002, 0, 0, 65_535, 1];
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        for packet in packets {
            let [seconds, part] = [packet.at / 1_000_000_000, packet.at % 1_000_000_000];
            let [seconds, part] = [seconds, part].map(|time| u32::try_from(time).unwrap());
            let len = u32::try_from(packet.bytes.len()).unwrap();
            bytes.extend(
                [seconds, part, len, packet.original].into_iter().flat_map(u32::to_le_bytes),
            );
            bytes.extend(&packet.bytes);
        }
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn wirelap(&self, words: &[&str], captures: [&[Packet]; 2]) -> Output {
        let [first, second] = captures;
        let files = [self.write("client.pcap", first), self.write("server.pcap", second)];
        Command::new(env!("CARGO_BIN_EXE_wirelap")).args(words).args(files).output().unwrap()
    }

    fn analyze(&self, captures: [&[Packet]; 2]) -> Value {
        let output = self.wirelap(&["analyze", "--json", "-"], captures);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// One sentence and status 2.
    fn refused(&self, captures: [&[Packet]; 2], why: &str) {
        let output = self.wirelap(&["analyze"], captures);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        assert!(complaint.starts_with("wirelap: ") && complaint.contains(why), "{complaint}");
    }

    fn one(&self, packets: &[Packet]) -> Value {
        let file = self.write("one.pcap", packets);
        let mut wirelap = Command::new(env!("CARGO_BIN_EXE_wirelap"));
        let output = wirelap.args(["analyze", "--json", "-"]).arg(file).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

fn clocks(report: &Value) -> &Value {
    &report["results"][0]["trust"]["clocks"]
}

/// Milliseconds of a segment of a leg: the median.
fn segment(report: &Value, leg: u64, name: &str) -> Option<f64> {
    let rows = report["results"][0]["segments"].as_array().unwrap().iter();
    let mut found = rows.filter(|row| row["leg"] == leg && row["segment"] == name);
    Some(found.next()?["p50_ns"].as_f64().unwrap() / 1e6)
}

fn notes(report: &Value) -> String {
    report["notes"].to_string()
}

#[test]
fn a_clock_that_is_ahead_or_runs_fast_is_found_out() {
    let bench = Bench::new();
    let (client, server) = (client(), server());
    let even = bench.analyze([&client, &server]);
    let worst = |report: &Value| number(&report["results"][0]["why"]["worst"][0]["one_way_ns"]);
    for (offset, ppm) in [
        (0, 0),
        (3_217_004_711, 0),
        (-86_400_500_000_000, 0),
        (10_000_000, 90),
        (-7_200_000_000_000, -250),
    ] {
        let report = bench.analyze([&client, &shifted(server.clone(), offset, ppm)]);
        let found = clocks(&report);
        let within = number(&found["within_ns"]);
        let error = (number(&found["offset_ns"]) - offset).abs();
        assert!(error <= within, "{offset} {ppm}: {error} {found}");
        assert!(within < 200_000 && number(&found["at_most_ns"]) < 5_200_000, "{found}");
        let drift = (found["drift_ppm"].as_f64().unwrap() - ppm as f64).abs();
        assert!(drift <= found["drift_within_ppm"].as_f64().unwrap(), "{found}");
        // Both ends of the one-way time are on the first host.
        assert_eq!(worst(&report), worst(&even));
        let messages = &report["results"][0]["messages"];
        assert_eq!(messages["matched"], 160);
        for leg in [1, 2] {
            let [wire, expected] =
                [&report, &even].map(|report| segment(report, leg, "wire").unwrap());
            // The histogram's classes are a hundredth wide.
            let slack = 2.0 * within as f64 / 1e6 + 0.06;
            assert!((wire - expected).abs() < slack, "{leg}: {wire} {expected}");
            assert!((4.9..5.6).contains(&wire), "{wire}");
        }
        let text = notes(&report);
        assert!(text.contains("Two hosts: the clock of"), "{text}");
        assert!(text.contains("packets cannot tell"), "{text}");
    }
}

/// By tshark: of each PUBLISH, the time of the packet from the broker less that of the packet to it, at the client.
const ONE_WAYS: u64 = 1_723_464_362;

#[test]
fn one_way_times_are_those_that_tshark_tells() {
    let bench = Bench::new();
    let server = shifted(server(), -40_000_000_000, 120);
    let output = bench.wirelap(&["export", "--perfetto", "-o", "-"], [&client(), &server]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let trace: Value = serde_json::from_slice(&output.stdout).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let messages = events.iter().filter(|event| event["ph"] == "X" && event["cat"] == "message");
    let times = messages.map(|message| message["args"]["one_way_ns"].as_u64().unwrap());
    assert_eq!(times.sum::<u64>(), ONE_WAYS);
    let wires = events.iter().filter(|event| event["name"] == "wire").count();
    assert_eq!(wires, 2 * 160);
}

#[test]
fn the_order_of_the_files_says_whose_clock_counts() {
    let bench = Bench::new();
    let ahead = shifted(server(), 5_000_000_000, 0);
    let there = bench.analyze([&client(), &ahead]);
    let back = bench.analyze([&ahead, &client()]);
    let sum = number(&clocks(&there)["offset_ns"]) + number(&clocks(&back)["offset_ns"]);
    assert!(sum.abs() <= 1, "{sum}");
    assert_eq!(back["results"][0]["messages"], there["results"][0]["messages"]);
    assert!(segment(&back, 1, "wire").is_some());
}

#[test]
fn one_end_alone_says_what_it_does_not_have() {
    let bench = Bench::new();
    for (packets, dwell) in [(client(), 10.0..11.0), (server(), 0.05..0.2)] {
        let report = bench.one(&packets);
        assert_eq!(report["results"][0]["messages"]["matched"], 160);
        assert_eq!(segment(&report, 1, "wire"), None);
        let seen = segment(&report, 2, "broker_dwell").unwrap();
        assert!(dwell.contains(&seen), "{seen}");
        assert!(clocks(&report).is_null());
        let text = notes(&report);
        assert!(
            text.contains("Not in the files, and so in no figure: send, xmit, ready"),
            "{text}"
        );
        assert!(text.contains("with both ways if the broker is on another host"), "{text}");
    }
}

/// What `wirelap record` would have written of these packets, on a host that started some time ago.
fn recorded(capture: &Path, hook: impl Fn(&wirelap_events::Packet<'_>) -> PacketHook) -> Vec<u8> {
    const SINCE_1970: i64 = 1_700_000_000_000_000_000;
    let section = Section { wall: SINCE_1970, ..Section::default() };
    let settings = Settings { payload: true, ..Settings::default() };
    let mut encoder = Encoder::new(section, settings, Box::new(|_, _| None));
    let mut recording = Recording::new(wirelap_recording::open(capture).unwrap()).unwrap();
    while let Some(mut event) = recording.next_packet() {
        event.at = Nanos(event.at.0.checked_add_signed(-SINCE_1970).unwrap());
        if let Body::Packet(packet) = &mut event.body {
            packet.hook = hook(packet);
        }
        encoder.event(&event);
    }
    encoder.complete();
    encoder.bytes().to_vec()
}

#[test]
fn recordings_of_two_hosts_are_put_together_by_their_packets() {
    let bench = Bench::new();
    let server = shifted(server(), -70_000_000_000, 0);
    let sent_by = |address: [u8; 4]| {
        move |packet: &wirelap_events::Packet<'_>| {
            let is_sent = packet.flow.src.ip() == std::net::IpAddr::from(address);
            if is_sent { PacketHook::Xmit } else { PacketHook::Rx }
        }
    };
    let files = [("a.pcapng", client(), CLIENT), ("b.pcapng", server.clone(), SERVER)].map(
        |(name, packets, address)| {
            let capture = bench.write("capture.pcap", &packets);
            let path = bench.0.path().join(name);
            fs::write(&path, recorded(&capture, sent_by(address))).unwrap();
            path
        },
    );
    let mut wirelap = Command::new(env!("CARGO_BIN_EXE_wirelap"));
    let output = wirelap.args(["analyze", "--json", "-"]).args(&files).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let captures = bench.analyze([&client(), &server]);
    let [result, expected] = [&report, &captures].map(|report| &report["results"][0]);
    for part in ["messages", "latency", "segments"] {
        assert_eq!(result[part], expected[part], "{part}");
    }
    let found = number(&clocks(&report)["offset_ns"]);
    assert_eq!(found, number(&clocks(&captures)["offset_ns"]));
    assert!(notes(&report).contains("only the packets are put together"), "{}", notes(&report));
    // Two files of a ring are one recording.
    let bytes = fs::read(&files[0]).unwrap();
    fs::write(&files[1], &bytes[..200]).unwrap();
    let mut wirelap = Command::new(env!("CARGO_BIN_EXE_wirelap"));
    let output = wirelap.args(["analyze", "--json", "-"]).args(&files).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn both_ends_in_one_file_are_one_capture() {
    let bench = Bench::new();
    let mut both = [client(), server()].concat();
    both.sort_by_key(|packet| packet.at);
    let report = bench.one(&both);
    let apart = bench.analyze([&client(), &server()]);
    let [result, apart] = [&report, &apart].map(|report| &report["results"][0]);
    assert_eq!(result["messages"], apart["messages"]);
    assert_eq!(result["overhead"], apart["overhead"]);
    let worst = |result: &Value| number(&result["why"]["worst"][0]["one_way_ns"]);
    assert_eq!(worst(result), worst(apart));
    for leg in [1, 2] {
        let wire = segment(&report, leg, "wire").unwrap();
        assert!((5.0..5.5).contains(&wire), "{wire}");
    }
    let text = notes(&report);
    assert!(text.contains("each packet is there twice"), "{text}");
}

#[test]
fn parts_of_one_capture_are_read_one_after_the_other() {
    let bench = Bench::new();
    let all = client();
    let half = all.len() / 2;
    let report = bench.analyze([&all[..half], &all[half..]]);
    assert!(clocks(&report).is_null());
    assert_eq!(report["results"][0]["messages"], bench.one(&all)["results"][0]["messages"]);
}

#[test]
fn what_cannot_be_put_together_is_told() {
    let bench = Bench::new();
    let client = client();
    let translated: Vec<Packet> = server()
        .into_iter()
        .map(|mut packet| {
            for place in [SOURCE, DESTINATION] {
                if packet.bytes[place.clone()] == CLIENT {
                    packet.bytes[place].copy_from_slice(&[192, 168, 1, 1]);
                }
            }
            packet
        })
        .collect();
    bench.refused([&client, &translated], "no flow in common");
    let one_way: Vec<Packet> =
        server().into_iter().filter(|packet| packet.bytes[SOURCE] == SERVER).collect();
    bench.refused([&client, &one_way], "packets of one direction only");
    let mut set = server();
    let half = set.len() / 2;
    for packet in &mut set[half..] {
        packet.at += 60_000_000_000;
    }
    bench.refused([&client, &set], "a clock was set meanwhile");
}

#[test]
fn a_short_part_of_the_other_side_is_enough() {
    let bench = Bench::new();
    let server = shifted(server(), -9_000_000_000, 0);
    let third = server.len() / 3;
    let report = bench.analyze([&client(), &server[third..2 * third]]);
    let error = (number(&clocks(&report)["offset_ns"]) + 9_000_000_000).abs();
    assert!(error <= number(&clocks(&report)["within_ns"]), "{}", clocks(&report));
}
