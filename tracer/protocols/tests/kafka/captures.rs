//! Real traffic, recorded by `captures/record.sh`, against what others read in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use wirelap_events::{Frame, FrameClass, Offset, Transport};
use wirelap_protocols::kafka::PROTOCOL;
use wirelap_protocols::stream::Stream;
use wirelap_protocols::{Connection, FrameNote, FrameSink, Memory, Protocol, Side};
use wirelap_test_support::committed::of_protocols;
use wirelap_test_support::pcap::{Packet, packets};

/// The port of the broker.
const BROKER: u16 = 9092;

/// One direction of a connection: its client's port, and whether the client sent the bytes.
type Way = (u16, bool);

/// A PDU or a record.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    Pdu { name: String, bytes: u64 },
    Record { topic: String, value: u64 },
    Control,
    Compressed,
}

/// Reads what `Expect.java` or `expect.py` wrote.
fn expectations(tsv: &str) -> BTreeMap<Way, Vec<Line>> {
    let mut found = BTreeMap::<Way, Vec<Line>>::new();
    for line in tsv.lines() {
        let columns: Vec<_> = line.split('\t').collect();
        let way = (columns[1].parse().unwrap(), columns[2] == ">");
        let name = columns[3].to_owned();
        found.entry(way).or_default().push(match columns[0] {
            "pdu" => Line::Pdu { name, bytes: columns[5].parse().unwrap() },
            "record" => {
                let value: i64 = columns[4].parse().unwrap();
                Line::Record { topic: name, value: value.try_into().unwrap_or(0) }
            }
            "control" => Line::Control,
            "compressed" => Line::Compressed,
            kind => panic!("{kind}"),
        });
    }
    found
}

/// A connection on its way through the decoder.
struct Conversation {
    conn: Box<dyn Connection>,
    streams: [Stream; 2],
    first: [Option<u32>; 2],
    /// Records that a consumer throws away.
    discarded: u64,
}

impl Conversation {
    fn new(memory: &Memory) -> Conversation {
        Conversation::of(memory, false)
    }

    /// One that began before.
    fn joined(memory: &Memory) -> Conversation {
        Conversation::of(memory, true)
    }

    fn of(memory: &Memory, mid_stream: bool) -> Conversation {
        Conversation {
            conn: PROTOCOL.connection_with(Transport::Tcp, memory),
            streams: [Side::A, Side::B].map(|side| Stream::new(side, mid_stream)),
            first: [None; 2],
            discarded: 0,
        }
    }

    fn feed(&mut self, packet: &Packet, lines: &mut Vec<Line>) {
        let side = if packet.is_to(BROKER) { Side::A } else { Side::B };
        let seq = packet.tcp.expect("TCP").seq.0;
        let first = *self.first[side as usize].get_or_insert(seq);
        let at = Offset::START.plus(seq.wrapping_sub(first).into());
        let stream = &mut self.streams[side as usize];
        let mut sink = Sink { lines, discarded: &mut self.discarded };
        stream.feed(at, &packet.payload, 0, &mut *self.conn, &mut sink);
    }
}

struct Sink<'a> {
    lines: &'a mut Vec<Line>,
    discarded: &'a mut u64,
}

impl FrameSink for Sink<'_> {
    fn frame(&mut self, frame: &Frame<'_>) {
        take(frame, self.lines);
    }

    fn note(&mut self, note: FrameNote<'_>) {
        if let FrameNote::Discarded(messages) = note {
            *self.discarded += messages;
        }
    }
}

/// Adds what a frame is; parts of a PDU are added to it.
fn take(frame: &Frame<'_>, lines: &mut Vec<Line>) {
    let parts = ["Record", "RecordBatch", "PartitionData", "CompressedRecords", "ControlRecords"];
    if parts.contains(&frame.name) {
        let pdu = lines.iter_mut().rev().find(|line| matches!(line, Line::Pdu { .. }));
        let Some(Line::Pdu { bytes, .. }) = pdu else { panic!("{frame:?} is in no PDU") };
        *bytes += frame.range.len();
    } else {
        assert_ne!(frame.class, FrameClass::Opaque, "{frame:?}");
        lines.push(Line::Pdu { name: frame.name.to_owned(), bytes: frame.range.len() });
    }
    match (frame.name, frame.data) {
        ("CompressedRecords", _) => lines.push(Line::Compressed),
        ("ControlRecords", _) => lines.push(Line::Control),
        (_, Some(data)) => {
            // What was compressed is known where its bytes end, and has none of its own.
            if !frame.range.is_empty() {
                assert_eq!((data.payload_len, data.extent), (frame.payload_bytes, frame.range));
            }
            assert_eq!(data.payload.len() as u64, data.payload_len);
            let topic = String::from_utf8(data.topic.to_vec()).unwrap();
            lines.push(Line::Record { topic, value: data.payload_len });
        }
        // Of a transaction that was aborted, or before what was asked for.
        ("Record", None) => assert_eq!(frame.class, FrameClass::Other, "{frame:?}"),
        (_, None) => {}
    }
}

/// Numbers of what the comparison went over.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    connections: usize,
    pdus: usize,
    produced: usize,
    fetched: usize,
    unread: usize,
    discarded: u64,
    topics: BTreeSet<String>,
}

/// Decodes a capture and compares every PDU and every record.
fn compare(pcap: &Path, tsv: &Path) -> Tally {
    let pcap = std::fs::read(pcap).unwrap();
    let expected = expectations(&std::fs::read_to_string(tsv).unwrap());
    let memory = PROTOCOL.memory();
    let mut conversations = BTreeMap::new();
    let mut found = BTreeMap::<Way, Vec<Line>>::new();
    for packet in packets(&pcap).iter().filter(|packet| !packet.payload.is_empty()) {
        let client = packet.client(BROKER);
        let lines = found.entry((client, packet.is_to(BROKER))).or_default();
        let conversation =
            conversations.entry(client).or_insert_with(|| Conversation::new(&memory));
        conversation.feed(packet, lines);
    }
    for conversation in conversations.values() {
        for stream in &conversation.streams {
            assert_eq!((stream.undecoded_bytes(), stream.pending_bytes()), (0, 0));
        }
    }
    let discarded = conversations.values().map(|conversation| conversation.discarded).sum();
    let mut tally = Tally { connections: conversations.len(), discarded, ..Tally::default() };
    assert!(found.keys().eq(expected.keys()));
    for (way, lines) in &expected {
        let found = &found[way];
        for (index, line) in lines.iter().enumerate() {
            assert_eq!(found.get(index), Some(line), "line {index} of {way:?}");
            tally.add(line, way.1);
        }
        assert_eq!(found.len(), lines.len(), "{way:?}");
    }
    tally
}

impl Tally {
    fn add(&mut self, line: &Line, from_client: bool) {
        match line {
            Line::Pdu { .. } => self.pdus += 1,
            Line::Record { topic, .. } => {
                let count = if from_client { &mut self.produced } else { &mut self.fetched };
                *count += 1;
                self.topics.insert(topic.clone());
            }
            Line::Control | Line::Compressed => self.unread += 1,
        }
    }
}

/// A capture of this folder, against what `by` read in it.
fn check(name: &str, by: &str) -> Tally {
    let folder = of_protocols("kafka/captures");
    compare(&folder.join(name).with_extension("pcap"), &folder.join(by).with_extension("tsv"))
}

/// Connections, PDUs, records produced and fetched, batches that are compressed or of the broker's own, topics.
fn tally(counts: [usize; 5], topics: &[&str]) -> Tally {
    let [connections, pdus, produced, fetched, unread] = counts;
    let topics = topics.iter().map(ToString::to_string).collect();
    Tally { connections, pdus, produced, fetched, unread, discarded: 0, topics }
}

// librdkafka 2.0: Produce 7, Fetch 11.

#[test]
fn kcat_as_tshark_reads_it() {
    assert_eq!(check("kcat", "kcat-tshark"), tally([4, 49, 30, 30, 0], &["kcat-0"]));
}

#[test]
fn kcat_as_kafka_reads_it() {
    assert_eq!(check("kcat", "kcat"), tally([4, 49, 30, 30, 0], &["kcat-0"]));
}

// Apache Kafka 4.3: Produce 13, Fetch 18. The ids are named on other connections.

#[test]
fn kafkas_own_tools() {
    assert_eq!(check("perf", "perf"), tally([8, 60, 60, 60, 0], &["perf-0"]));
}

// librdkafka 2.16: Produce 10, Fetch 16. Four codecs, a commit and an abort, both ways or one.

#[test]
fn values_of_all_kinds() {
    let topics = ["booked-0", "mixed-0", "mixed-1", "mixed-2", "packed-0", "silent-0"];
    // One record was in the transaction that was aborted.
    let expected = Tally { discarded: 1, ..tally([32, 257, 56, 51, 10], &topics) };
    assert_eq!(check("python", "python"), expected);
}

/// The same conversations, each of them joined after its first requests: names were asked for before, and the request
/// of the first response was not seen. As many records are found, by other names at most.
#[test]
fn clients_that_connected_before() {
    let pcap = of_protocols("kafka/captures/perf.pcap");
    let all = packets(&std::fs::read(pcap).unwrap());
    let memory = PROTOCOL.memory();
    let mut conversations = BTreeMap::new();
    let (mut found, mut seen) = (Vec::new(), BTreeMap::<u16, u32>::new());
    for packet in all.iter().filter(|packet| !packet.payload.is_empty()) {
        let asks = packet.is_to(BROKER) && packet.payload.get(4..6) == Some(&[0, 1]);
        let produces = packet.is_to(BROKER) && packet.payload.get(4..6) == Some(&[0, 0]);
        let client = packet.client(BROKER);
        let seen = seen.entry(client).or_default();
        // Up to the first Fetch request, that one included, and up to the first Produce request.
        if *seen == 0 && !produces {
            *seen += u32::from(asks);
            continue;
        }
        *seen += 1;
        let conversation =
            conversations.entry(client).or_insert_with(|| Conversation::joined(&memory));
        conversation.feed(packet, &mut found);
    }
    let records = found.iter().filter(|line| matches!(line, Line::Record { .. })).count();
    assert_eq!(records, 120, "60 produced and 60 fetched");
}
