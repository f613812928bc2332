//! Cost of a decoded message: `cargo bench -p wirelap-protocols`.
//!
//! Small messages are measured a message at a time and many to a packet, large ones whole in a
//! super-packet and cut into segments that must be put together.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::io::Write;
use wirelap_events::{ByteRange, Frame, Offset, Transport};
use wirelap_protocols::stream::Stream;
use wirelap_protocols::{Connection, Pdu, Protocol, Side, by_name};
use wirelap_test_support::compose::{amqp, kafka, mqtt, nats, payload, plain, stamp, zmtp};

const TOPIC: &str = "wirelap/bench";

fn stamped(len: usize) -> Vec<u8> {
    payload(stamp(7), len)
}

/// A message of two parts, topic and payload.
fn zmtp_message(payload_len: usize) -> Vec<u8> {
    [zmtp::part(true, TOPIC.as_bytes()), zmtp::part(false, &stamped(payload_len))].concat()
}

/// One direction of an endless flow.
struct Flow {
    conn: Box<dyn Connection>,
    stream: Stream,
    at: Offset,
    messages: u64,
}

impl Flow {
    fn new(protocol: &str, opening: &[u8]) -> Flow {
        let protocol: &dyn Protocol = by_name(protocol).unwrap();
        let stream = Stream::new(Side::A, false);
        let conn = protocol.connection(Transport::Tcp);
        let mut flow = Flow { conn, stream, at: Offset::START, messages: 0 };
        flow.feed(opening);
        flow
    }

    fn feed(&mut self, packet: &[u8]) {
        let messages = &mut self.messages;
        let mut sink = |frame: &Frame<'_>| {
            *messages += u64::from(black_box(frame).data.is_some());
        };
        self.stream.feed(self.at, packet, 0, &mut *self.conn, &mut sink);
        self.at = self.at.plus(packet.len() as u64);
    }
}

/// Headers of an application.
const NAMES: [&str; 8] = [
    "traceparent",
    "tracestate",
    "content-type",
    "Nats-Msg-Id",
    "x-request-id",
    "x-tenant",
    "schema-version",
    "source",
];

fn nats_with_headers(payload_len: usize) -> Vec<u8> {
    let lines = NAMES.map(|name| format!("{name}: 00-4bf92f3577b34da6a3ce929d0e0e4736\r\n"));
    let header = format!("NATS/1.0\r\n{}\r\n", lines.concat());
    let total = header.len() + payload_len;
    let line = format!("HMSG wirelap.bench 1 {} {total}\r\n", header.len());
    [line.as_bytes(), header.as_bytes(), &stamped(payload_len), b"\r\n"].concat()
}

fn amqp_with_headers(payload_len: usize) -> Vec<u8> {
    let fields: Vec<(&str, &str)> =
        NAMES.iter().map(|name| (*name, "00-4bf92f3577b34da6a3ce929d0e0e4736")).collect();
    amqp::deliver_with(["ex", "bench"], 7, &fields, &stamped(payload_len))
}

/// A `WriteRequest` with a stamped `ByteString`, of anybody's session.
fn opcua_write(payload_len: usize) -> Vec<u8> {
    let mut body = vec![1, 0, 0xA1, 2, 0, 0];
    body.extend([0; 16]);
    body.extend([0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    body.extend(b"\x03\x01\0\x0c\0\0\0wirelapbench\x0d\0\0\0\xff\xff\xff\xff\x01\x0f");
    body.extend(u32::try_from(payload_len).unwrap().to_le_bytes());
    body.extend(stamped(payload_len));
    let mut message = b"MSGF".to_vec();
    message.extend(u32::try_from(24 + body.len()).unwrap().to_le_bytes());
    message.extend([0; 16]);
    message.extend(body);
    message
}

const CONNECT_V311: &[u8] = b"\x10\x0c\0\x04MQTT\x04\x02\0\x3c\0\0";

fn small(c: &mut Criterion) {
    let mut group = c.benchmark_group("64 B");
    group.throughput(Throughput::Elements(1));
    for (name, protocol, opening, message) in [
        ("mqtt 3.1.1", "mqtt", CONNECT_V311, mqtt::publish(TOPIC, &stamped(64))),
        ("mqtt 5", "mqtt", mqtt::CONNECT_V5, mqtt::publish_v5(TOPIC, &stamped(64))),
        ("mqtt, CONNECT not seen", "mqtt", &[][..], mqtt::publish(TOPIC, &stamped(64))),
        ("nats PUB", "nats", &[][..], nats::message("PUB wirelap.bench", &stamped(64))),
        ("nats MSG", "nats", &[][..], nats::message("MSG wirelap.bench 1", &stamped(64))),
        ("nats HMSG, eight headers", "nats", &[][..], nats_with_headers(64)),
        ("amqp", "amqp", &[][..], amqp::deliver("ex", "bench", 7, &stamped(64))),
        ("amqp, eight headers", "amqp", &[][..], amqp_with_headers(64)),
        ("zmtp, two parts", "zmtp", &[][..], zmtp_message(64)),
        ("opcua", "opcua", &[][..], opcua_write(64)),
        ("plain tcp", "tcp", &[][..], plain(stamp(7), 64)),
    ] {
        let mut flow = Flow::new(protocol, opening);
        group.bench_function(name, |b| b.iter(|| flow.feed(black_box(&message))));
        assert_eq!(flow.stream.undecoded_bytes() + flow.stream.pending_bytes(), 0);
    }
    group.throughput(Throughput::Elements(700));
    for (name, protocol, opening, message) in [
        ("mqtt 3.1.1", "mqtt", CONNECT_V311, mqtt::publish(TOPIC, &stamped(64))),
        ("nats MSG", "nats", &[][..], nats::message("MSG wirelap.bench 1", &stamped(64))),
        ("zmtp, two parts", "zmtp", &[][..], zmtp_message(64)),
    ] {
        let batch = message.repeat(700);
        let mut flow = Flow::new(protocol, opening);
        let id = format!("{name}, 700 in a packet");
        group.bench_function(id, |b| b.iter(|| flow.feed(black_box(&batch))));
        assert_eq!(flow.stream.undecoded_bytes() + flow.stream.pending_bytes(), 0);
    }
    group.finish();
}

fn large(c: &mut Criterion) {
    let mut group = c.benchmark_group("mqtt, large payloads");
    for (payload, segment) in
        [(60_000, 65_536), (200_000, 1448), (200_000, 65_536), (1 << 20, 65_536)]
    {
        let message = mqtt::publish(TOPIC, &stamped(payload));
        group.throughput(Throughput::Bytes(message.len() as u64));
        let mut flow = Flow::new("mqtt", CONNECT_V311);
        let id = BenchmarkId::new(format!("{payload} B"), format!("packets of {segment}"));
        group.bench_function(id, |b| {
            b.iter(|| message.chunks(segment).for_each(|packet| flow.feed(black_box(packet))));
        });
        assert_eq!(flow.stream.undecoded_bytes(), 0);
    }
    group.finish();
}

/// An RTPS message with `INFO_TS` and a submessage of a user writer, and the place of its number.
fn rtps(id: u8, fields: &[u8], serialized: &[u8]) -> (Vec<u8>, usize) {
    let mut message = b"RTPS\x02\x01\x01\x10............\x09\x01\x08\0........".to_vec();
    let len = u16::try_from(20 + fields.len() + serialized.len()).unwrap();
    message.extend([id, 0x05 & !(u8::from(id == 0x16) << 2)]);
    message.extend(len.to_le_bytes());
    message.extend([0, 0, 16 + u8::try_from(fields.len()).unwrap(), 0, 0, 0, 0, 0, 0, 0, 11, 2]);
    message.extend([0; 8]);
    let number = message.len() - 4;
    message.extend(fields);
    message.extend(serialized);
    (message, number)
}

/// A lone octet sequence with a stamp, encapsulated.
fn octets(payload_len: usize) -> Vec<u8> {
    let mut serialized = vec![0, 1, 0, 0];
    serialized.extend(u32::try_from(payload_len).unwrap().to_le_bytes());
    serialized.extend(stamped(payload_len));
    serialized
}

/// A sample of RTPS in as few messages as Cyclone DDS sends: whole, or ten fragments to a message.
fn rtps_sample(payload_len: usize) -> Vec<(Vec<u8>, usize)> {
    const FRAGMENT: usize = 1344;
    let serialized = octets(payload_len);
    if serialized.len() < 10 * FRAGMENT {
        return vec![rtps(0x15, &[], &serialized)];
    }
    let fragments = serialized.chunks(10 * FRAGMENT).enumerate().map(|(index, part)| {
        let mut fields = u32::try_from(10 * index + 1).unwrap().to_le_bytes().to_vec();
        for number in [part.len().div_ceil(FRAGMENT), FRAGMENT] {
            fields.extend(u16::try_from(number).unwrap().to_le_bytes());
        }
        fields.extend(u32::try_from(serialized.len()).unwrap().to_le_bytes());
        rtps(0x16, &fields, part)
    });
    fragments.collect()
}

fn dds(c: &mut Criterion) {
    let mut group = c.benchmark_group("dds");
    group.throughput(Throughput::Elements(1));
    for payload_len in [64, 200_000] {
        let mut datagrams = rtps_sample(payload_len);
        let mut conn = by_name("dds").unwrap().connection(Transport::Udp);
        let (mut at, mut number, mut samples) = (Offset::START, 0_u32, 0_u32);
        group.bench_function(BenchmarkId::from_parameter(format!("{payload_len} B")), |b| {
            b.iter(|| {
                number += 1;
                for (bytes, place) in &mut datagrams {
                    bytes[*place..*place + 4].copy_from_slice(&number.to_le_bytes());
                    let range = ByteRange::new(at, bytes.len() as u64);
                    let pdu = Pdu { range, bytes: black_box(bytes) };
                    conn.pdu(Side::A, pdu, &mut |frame: &Frame<'_>| {
                        samples += u32::from(black_box(frame).data.is_some_and(|d| !d.duplicate));
                    });
                    at = range.end;
                }
            });
        });
        assert_eq!(samples, number);
    }
    group.finish();
}

/// So many records of 64 B.
fn records(count: usize) -> Vec<u8> {
    kafka::record(&stamped(64)).repeat(count)
}

/// A Produce request with a batch of so many records, compressed by this codec.
fn produce(count: usize, codec: u8, records: &[u8]) -> Vec<u8> {
    let mut batch = kafka::batch(count, records);
    batch[22] = codec;
    kafka::produce(1, "bench", &batch)
}

fn kafka_plain(c: &mut Criterion) {
    let mut group = c.benchmark_group("kafka 64 B");
    // The last ones are longer than what is waited for.
    for (records, segment) in [(1, 65_536), (100, 65_536), (5000, 65_536), (5000, 1448)] {
        let request = produce(records, 0, &self::records(records));
        let mut flow = Flow::new("kafka", &request);
        assert_eq!(flow.messages, records as u64);
        group.throughput(Throughput::Elements(records as u64));
        let id = BenchmarkId::new(format!("{records} in a batch"), format!("packets of {segment}"));
        group.bench_function(id, |b| {
            b.iter(|| request.chunks(segment).for_each(|packet| flow.feed(black_box(packet))));
        });
        assert_eq!(flow.stream.undecoded_bytes() + flow.stream.pending_bytes(), 0);
    }
    group.finish();
}

/// Batches of 100 records as each codec leaves them.
fn kafka_compressed(c: &mut Criterion) {
    let mut group = c.benchmark_group("kafka 64 B, 100 in a compressed batch");
    group.throughput(Throughput::Elements(100));
    let records = records(100);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&records).unwrap();
    let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
    lz4.write_all(&records).unwrap();
    let fastest = ruzstd::encoding::CompressionLevel::Fastest;
    for (name, codec, bytes) in [
        ("gzip", 1, gzip.finish().unwrap()),
        ("snappy", 2, snap::raw::Encoder::new().compress_vec(&records).unwrap()),
        ("lz4", 3, lz4.finish().unwrap()),
        ("zstd", 4, ruzstd::encoding::compress_to_vec(&records[..], fastest)),
    ] {
        let request = produce(100, codec, &bytes);
        let mut flow = Flow::new("kafka", &request);
        assert_eq!(flow.messages, 100);
        group.bench_function(name, |b| b.iter(|| flow.feed(black_box(&request))));
    }
    group.finish();
}

/// A `WRITE_DATA` with an octet sequence on a reliable stream, in a datagram.
fn xrce(c: &mut Criterion) {
    let mut group = c.benchmark_group("xrce");
    group.throughput(Throughput::Elements(1));
    let mut bytes = vec![0x81, 0x80, 0, 0, 7, 1, 72, 0, 0, 1, 0, 0x15, 64, 0, 0, 0];
    bytes.extend(stamped(64));
    let mut conn = by_name("xrce").unwrap().connection(Transport::Udp);
    let (mut at, mut number, mut samples) = (Offset::START, 0_u16, 0_u64);
    group.bench_function("64 B", |b| {
        b.iter(|| {
            number = number.wrapping_add(1);
            bytes[2..4].copy_from_slice(&number.to_le_bytes());
            let range = ByteRange::new(at, bytes.len() as u64);
            conn.pdu(Side::A, Pdu { range, bytes: black_box(&bytes) }, &mut |frame: &Frame<'_>| {
                samples += u64::from(black_box(frame).data.is_some_and(|d| !d.duplicate));
            });
            at = range.end;
        });
    });
    assert_eq!(samples * bytes.len() as u64, at.0 - Offset::START.0);
    group.finish();
}

criterion_group!(benches, small, large, dds, kafka_plain, kafka_compressed, xrce);
criterion_main!(benches);
