//! Real traffic of Cyclone DDS, recorded by `captures/record.sh`, against what tshark reads in it.
//!
//! The captures may be snapped; tshark read the whole packets. Submessages of which too little was
//! captured are left out of the comparison, and counted.

use crate::watch::{Conversation, Seen};
use std::collections::{HashMap, HashSet};
use std::net::SocketAddrV4;
use wirelap_events::FrameClass;
use wirelap_protocols::rtps::PROTOCOL;
use wirelap_protocols::{Protocol, Side};
use wirelap_test_support::committed::of_protocols;
use wirelap_test_support::pcap::{Packet, packets};

/// A submessage, as tshark sees it.
struct Expected {
    packet: usize,
    start: u64,
    len: u64,
    id: u8,
    writer: Option<u32>,
    number: Option<u64>,
    first: Option<u64>,
    fragments: Option<u64>,
    each: Option<u64>,
    sample: Option<u64>,
    padding: u64,
    topic: String,
}

fn expectations(tsv: &str) -> Vec<Expected> {
    tsv.lines().skip(1).map(expectation).collect()
}

fn expectation(line: &str) -> Expected {
    let columns: Vec<_> = line.split('\t').collect();
    let number = |column: usize| columns[column].parse::<u64>().ok();
    Expected {
        packet: columns[0].parse().unwrap(),
        start: columns[1].parse().unwrap(),
        len: columns[2].parse().unwrap(),
        id: u8::from_str_radix(columns[3], 16).unwrap(),
        writer: u32::from_str_radix(columns[4], 16).ok(),
        number: number(5),
        first: number(6),
        fragments: number(7),
        each: number(8),
        sample: number(9),
        padding: number(10).unwrap_or(0),
        topic: columns[11].trim_start_matches('-').to_owned(),
    }
}

impl Expected {
    fn name(&self) -> &'static str {
        match self.id {
            0x06 => "ACKNACK",
            0x07 => "HEARTBEAT",
            0x08 => "GAP",
            0x09 => "INFO_TS",
            0x0e => "INFO_DST",
            0x12 => "NACK_FRAG",
            0x13 => "HEARTBEAT_FRAG",
            0x15 => "DATA",
            0x16 => "DATA_FRAG",
            id => panic!("submessage {id:02x} is new in the captures"),
        }
    }

    /// True if the sample holds application data, or a part of it.
    fn is_user_data(&self) -> bool {
        self.sample.is_some() && self.writer.is_some_and(|writer| writer & 0xc0 == 0)
    }

    fn class(&self) -> Option<FrameClass> {
        let writer = self.writer?;
        Some(match (self.id, writer & 0xc0) {
            (0x15 | 0x16, 0) if self.sample.is_some() => FrameClass::Data,
            (0x15 | 0x16, 0) => FrameClass::Other,
            (0x15, 0xc0) if writer == 0x0002_00c2 => FrameClass::KeepAlive,
            (_, 0) => FrameClass::Ack,
            _ => FrameClass::Discovery,
        })
    }
}

/// Numbers of what the comparison went over.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    submessages: usize,
    /// Too little was captured of these.
    cut: usize,
    samples: usize,
    duplicates: usize,
    topics: HashSet<String>,
}

fn tally(submessages: usize, cut: usize, samples: usize, topics: &[&str]) -> Tally {
    let topics = topics.iter().map(ToString::to_string).collect();
    Tally { submessages, cut, samples, duplicates: 0, topics }
}

// The numbers of samples are those that ddsperf counted; half of the pings' are pongs.

#[test]
fn small_samples() {
    assert_eq!(compare("small"), tally(293, 0, 15, &["DDSPerfRDataKS"]));
}

#[test]
fn best_effort_pings_and_pongs() {
    assert_eq!(compare("ping"), tally(237, 0, 18, &["DDSPerfUPingKS", "DDSPerfUPongKS"]));
}

#[test]
fn samples_lost_and_repaired_in_parts() {
    // Discovery was lost too: the topic becomes known on the way, for us as for tshark.
    assert_eq!(compare("repaired"), tally(443, 0, 26, &["", "DDSPerfRDataKS"]));
}

#[test]
fn large_samples_snapped() {
    assert_eq!(compare("fragments"), tally(319, 48, 3, &["DDSPerfRDataKS"]));
}

/// Decodes a capture and compares every submessage.
fn compare(name: &str) -> Tally {
    let folder = of_protocols("rtps/captures");
    let pcap = std::fs::read(folder.join(name).with_extension("pcap")).unwrap();
    let tsv = std::fs::read_to_string(folder.join(name).with_extension("tsv")).unwrap();
    let mut expected: HashMap<usize, Vec<Expected>> = HashMap::new();
    for submessage in expectations(&tsv) {
        expected.entry(submessage.packet).or_default().push(submessage);
    }
    let memory = PROTOCOL.memory();
    let mut conversations = HashMap::new();
    let mut samples = Samples::default();
    let mut tally = Tally::default();
    for datagram in packets(&pcap) {
        let (from, to) = (datagram.source, datagram.destination);
        let side = if from <= to { Side::A } else { Side::B };
        let key = (from.min(to), from.max(to));
        let conversation =
            conversations.entry(key).or_insert_with(|| Conversation::sharing(&memory));
        let seen = conversation.send_cut(side, &datagram.payload, datagram.payload_len);
        let Some(expected) = expected.remove(&datagram.number) else {
            assert!(!datagram.payload.starts_with(b"RTPS"), "tshark found nothing in a message");
            continue;
        };
        check_datagram(&datagram, &seen, &expected, &mut tally, |seen, expected, tally| {
            samples.check(key, &datagram.payload, seen, expected, tally);
        });
    }
    assert!(expected.is_empty(), "packets that were not decoded: {:?}", expected.keys());
    tally
}

fn check_datagram(
    datagram: &Packet,
    seen: &[Seen],
    expected: &[Expected],
    tally: &mut Tally,
    mut check_data: impl FnMut(&Seen, &Expected, &mut Tally),
) {
    let packet = datagram.number;
    assert_eq!((seen[0].name, seen[0].len), ("RTPS", 20));
    let user = expected.iter().any(Expected::is_user_data);
    assert!(!user || seen[0].class == FrameClass::Data, "packet {packet}");
    for (index, expected) in expected.iter().enumerate() {
        tally.submessages += 1;
        let seen = &seen[(index + 1).min(seen.len() - 1)];
        if seen.class == FrameClass::Opaque {
            assert!(seen.start + seen.len > datagram.payload.len() as u64, "packet {packet}");
            tally.cut += 1;
            continue;
        }
        assert_eq!((seen.name, seen.start), (expected.name(), expected.start), "packet {packet}");
        assert_eq!(seen.len, expected.len, "packet {packet}");
        if let Some(class) = expected.class() {
            assert_eq!(seen.class, class, "packet {packet} at {}", seen.start);
        }
        check_data(seen, expected, tally);
    }
    if datagram.payload.len() == datagram.payload_len {
        assert_eq!(seen.len(), expected.len() + 1, "packet {packet}");
    }
}

/// The fragments of each sample that went over each conversation; counted here on its own.
#[derive(Default)]
struct Samples {
    seen: HashMap<([u8; 16], u64, Ends), HashSet<u64>>,
    complete: HashSet<([u8; 16], u64, Ends)>,
    payload: HashMap<([u8; 16], u64, Ends), u64>,
}

type Ends = (SocketAddrV4, SocketAddrV4);

impl Samples {
    fn check(
        &mut self,
        ends: Ends,
        datagram: &[u8],
        seen: &Seen,
        expected: &Expected,
        tally: &mut Tally,
    ) {
        if !expected.is_user_data() {
            assert_eq!((seen.data.as_ref(), seen.payload_bytes), (None, 0));
            return;
        }
        let (sample, number) = (expected.sample.unwrap(), expected.number.unwrap());
        let mut guid = [0; 16];
        guid[..12].copy_from_slice(&datagram[8..20]);
        guid[12..].copy_from_slice(&expected.writer.unwrap().to_be_bytes());
        let key = (guid, number, ends);
        let repeated = self.complete.contains(&key);
        let fragments = self.seen.entry(key).or_default();
        let total = expected.each.map_or(1, |each| sample.div_ceil(each));
        let first = expected.first.unwrap_or(1);
        fragments.extend(first..first + expected.fragments.unwrap_or(1));
        let completes = fragments.len() as u64 == total;
        if completes {
            self.complete.insert(key);
        }
        let whole = expected.id == 0x15;
        let Some(data) = &seen.data else {
            assert!(!whole && (repeated || !completes), "sample {number} is complete: {seen:?}");
            *self.payload.entry(key).or_default() += seen.payload_bytes;
            return;
        };
        assert!(completes, "sample {number} is incomplete: {seen:?}");
        assert_eq!((data.key.origin, data.key.seq), (guid, number));
        assert_eq!(data.payload_len, sample - 4 - expected.padding);
        assert_eq!((&data.topic, data.duplicate), (&expected.topic, repeated));
        let payload = self.payload.remove(&key).unwrap_or(0) + seen.payload_bytes;
        assert_eq!(payload, data.payload_len);
        tally.samples += 1;
        tally.duplicates += usize::from(data.duplicate);
        tally.topics.insert(data.topic.clone());
    }
}
