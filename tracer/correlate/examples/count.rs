//! Work of one kind, to be counted by callgrind: `count make|pcap TRAFFIC FILE`, `count read|write|correlate|live|session|capture FILE`.
//!
//! `make` writes a recording of 40,000 messages of some traffic (`wirelap_test_support::traffic`; `mqtt` is through a broker: 64 B, 20,000
//! a second, 12 events each). `pcap` writes the same traffic as a capture like those of `tcpdump`, with an acknowledgement of each packet.
//!
//! `read` reads a recording. `write` reads it and writes its events again; the other works read it and correlate its events. What a
//! work costs without reading is its count minus that of `read`. `live` has the settings of a session; `session` has them too, asks
//! four times a second who holds messages, and then has a snapshot made. `capture` takes the file as a capture of another program, as
//! `wirelap analyze` does, but on one thread. `live`, `session` and `capture` expect MQTT at port 18831, too.

use std::collections::HashMap;
use std::hint::black_box;
use std::net::SocketAddr;
use std::{env, fs};
use wirelap_correlate::{Config, Correlator};
use wirelap_events::{Body, Delivery, FlowKey, Nanos, PacketHook, Seq, Transport, tcp_flags};
use wirelap_recording::{Encoder, EncoderSettings, Entry, Recording, SectionHeader};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::traffic::{self, Every};

const MESSAGES: u32 = 40_000;

const USAGE: &str =
    "count make|pcap TRAFFIC FILE, count read|write|correlate|live|session|capture FILE";

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (work, file) = match arguments[..] {
        ["make", traffic, file] => {
            return fs::write(file, make(&events(traffic))).expect("written");
        }
        ["pcap", traffic, file] => {
            return fs::write(file, pcap(&events(traffic))).expect("written");
        }
        [work, file] => (work, file),
        _ => panic!("{USAGE}"),
    };
    let bytes = fs::read(file).expect("the file can be read");
    let recording = Recording::new(&bytes[..]).expect("the file is a recording");
    let count = match work {
        "read" => read(recording),
        "write" => write(recording),
        "correlate" => correlate(recording),
        "live" => whole(false, recording),
        "session" => session(recording),
        "capture" => whole(true, recording),
        _ => panic!("{USAGE}"),
    };
    println!("{count}");
}

fn events(name: &str) -> Vec<OwnedEvent> {
    let found = traffic::ALL.into_iter().find(|(known, _)| *known == name);
    let names = traffic::ALL.map(|(name, _)| name);
    let (_, maker) = found.unwrap_or_else(|| panic!("TRAFFIC is one of {names:?}"));
    maker(MESSAGES)
}

/// The bytes of a recording of these events.
fn make(events: &[OwnedEvent]) -> Vec<u8> {
    let mut encoder = encoder();
    for event in events {
        encoder.event(&event.event());
    }
    encoder.complete();
    encoder.bytes().to_vec()
}

/// The bytes of a classic pcap file with nanoseconds and Ethernet frames: the packets of these events, as they were sent.
fn pcap(events: &[OwnedEvent]) -> Vec<u8> {
    let words = [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 1];
    let mut file: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut next: HashMap<FlowKey, Seq> = HashMap::new();
    for event in events {
        let Body::Packet(packet) = event.event.body else { continue };
        if packet.hook != PacketHook::Xmit {
            continue;
        }
        let (at, flow, payload) = (event.event.at, packet.flow, &event.payload[..]);
        let Some(tcp) = packet.tcp else {
            let udp = [&[0; 4][..], &short(payload.len() + 8), &[0; 2]].concat();
            put(&mut file, at, flow, &udp, payload);
            continue;
        };
        let is_opening = tcp.flags & tcp_flags::SYN != 0;
        next.insert(flow, tcp.seq.plus(packet.payload_len + u32::from(is_opening)));
        let back = next.get(&flow.reversed()).copied();
        let flags = tcp.flags | if back.is_some() { tcp_flags::ACK } else { 0 };
        let ack = back.unwrap_or(Seq(0));
        put(&mut file, at, flow, &header(tcp.seq, ack, flags), payload);
        if !payload.is_empty() {
            let (ack, back) = (next[&flow], back.unwrap_or(Seq(0)));
            let header = header(back, ack, tcp_flags::ACK);
            put(&mut file, at + Nanos(500), flow.reversed(), &header, &[]);
        }
    }
    file
}

fn short(number: usize) -> [u8; 2] {
    u16::try_from(number).expect("packets are short").to_be_bytes()
}

/// A TCP header whose ports are zero.
fn header(seq: Seq, ack: Seq, flags: u8) -> Vec<u8> {
    let (seq, ack) = (seq.0.to_be_bytes(), ack.0.to_be_bytes());
    [&[0; 4][..], &seq, &ack, &[0x50, flags], &[0xFF; 2], &[0; 4]].concat()
}

/// Adds a frame to the file. The first four bytes of `header`, the transport's, are replaced by the flow's ports.
fn put(file: &mut Vec<u8>, at: Nanos, flow: FlowKey, header: &[u8], payload: &[u8]) {
    let (SocketAddr::V4(from), SocketAddr::V4(to)) = (flow.src, flow.dst) else {
        panic!("traffic has IPv4 addresses")
    };
    let len = 14 + 20 + header.len() + payload.len();
    let protocol = if flow.transport == Transport::Udp { 17 } else { 6 };
    for word in [at.0 / 1_000_000_000, at.0 % 1_000_000_000, len as u64, len as u64] {
        file.extend(u32::try_from(word).expect("times are short").to_le_bytes());
    }
    file.extend([0; 12]);
    file.extend([8, 0, 0x45, 0]);
    file.extend(short(len - 14));
    file.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    file.extend(from.ip().octets());
    file.extend(to.ip().octets());
    file.extend(from.port().to_be_bytes());
    file.extend(to.port().to_be_bytes());
    file.extend(&header[4..]);
    file.extend(payload);
}

fn encoder() -> Encoder {
    let settings = EncoderSettings { payload: true, ..EncoderSettings::default() };
    Encoder::new(SectionHeader::default(), settings, Box::new(|_, _| None))
}

/// Reads a recording. Returns the number of its entries.
fn read(mut recording: Recording<&[u8]>) -> usize {
    let mut entries = 0;
    while let Some(entry) = recording.next() {
        black_box(&entry);
        entries += 1;
    }
    entries
}

/// Writes the events of a recording again. Returns the number of bytes written, but for those that are still buffered in the end.
fn write(mut recording: Recording<&[u8]>) -> usize {
    let mut encoder = encoder();
    let mut written = 0;
    while let Some(entry) = recording.next() {
        if let Entry::Event(event) | Entry::Known(event) = &entry {
            encoder.event(event);
        }
        if encoder.bytes().len() > 1 << 16 {
            written += encoder.bytes().len();
            encoder.clear();
        }
    }
    written
}

/// Correlates a recording, with a tick every five milliseconds. Returns the number of deliveries.
fn correlate(mut recording: Recording<&[u8]>) -> usize {
    let config = Config { patience: Nanos::from_millis(200), ..Config::default() };
    let mut correlator = Correlator::new(config);
    let (mut deliveries, mut ticks) = (0, Every::TICK);
    while let Some(entry) = recording.next() {
        let Entry::Event(event) = entry else { continue };
        correlator.event(&event);
        if ticks.is_due(event.at) {
            correlator.tick(event.at, &mut |_: &Delivery| deliveries += 1);
        }
    }
    deliveries
}

/// Correlates a recording to its end, of which only the packets are looked at if so wanted. Returns the number of deliveries.
fn whole(packets_only: bool, mut recording: Recording<&[u8]>) -> usize {
    let mut correlator = correlator(packets_only);
    let mut deliveries = 0;
    while let Some(entry) = recording.next() {
        let Entry::Event(event) = entry else { continue };
        correlator.take(&event, &mut |_: &Delivery| deliveries += 1);
    }
    correlator.finish(&mut |_: &Delivery| deliveries += 1);
    deliveries
}

/// Correlates a recording as a session does that somebody watches. Returns the number of deliveries.
fn session(mut recording: Recording<&[u8]>) -> usize {
    let mut correlator = correlator(false);
    let (mut deliveries, mut looks) = (0, Every::LOOK);
    while let Some(entry) = recording.next() {
        let Entry::Event(event) = entry else { continue };
        correlator.take(&event, &mut |_: &Delivery| deliveries += 1);
        if looks.is_due(event.at) {
            black_box(correlator.holding(event.at));
            black_box(correlator.snapshot(event.at));
        }
    }
    deliveries
}

fn correlator(packets_only: bool) -> Correlator {
    let decode = vec![(18831, "mqtt".to_owned())];
    Correlator::new(Config { packets_only, topics: true, decode, ..Config::default() })
}
