//! Cost of a decoded Zenoh message: `cargo bench -p wirelap-protocols --bench zenoh`.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use wirelap_events::{ByteRange, Frame, Offset, Transport};
use wirelap_protocols::{Connection, Pdu, Protocol, Side, zenoh::PROTOCOL};
use wirelap_test_support::compose::zenoh::batch;

/// A Push of a 64 B Put by number: what a declared publisher sends.
fn put() -> Vec<u8> {
    let mut bytes = vec![0x5d, 0x01, 0x01, 64];
    bytes.extend([b'x'; 64]);
    bytes
}

/// Number 1 is declared.
fn connection() -> Box<dyn Connection> {
    let mut conn = PROTOCOL.connection(Transport::Tcp);
    let declare = batch(b"\x25\x01\x1e\x20\x01\x00\x0dwirelap/bench");
    let range = ByteRange::new(Offset::START, declare.len() as u64);
    conn.pdu(Side::A, Pdu { range, bytes: &declare }, &mut |_: &Frame<'_>| {});
    conn
}

fn decode(conn: &mut dyn Connection, bytes: &[u8]) -> u64 {
    let mut messages = 0;
    let range = ByteRange::new(Offset::START, bytes.len() as u64);
    conn.pdu(Side::A, Pdu { range, bytes }, &mut |frame: &Frame<'_>| {
        messages += u64::from(black_box(frame).data.is_some());
    });
    messages
}

fn puts(c: &mut Criterion) {
    let mut group = c.benchmark_group("zenoh put 64 B");
    for count in [1, 100] {
        let mut body = vec![0x25, 0x02];
        body.extend(put().repeat(count));
        let bytes = batch(&body);
        let mut conn = connection();
        assert_eq!(decode(&mut *conn, &bytes), count as u64);
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::new("in a batch", count), |b| {
            b.iter(|| decode(&mut *conn, black_box(&bytes)));
        });
    }
    group.finish();
}

fn fragments(c: &mut Criterion) {
    const MESSAGE: usize = 1_000_000;
    const PIECE: usize = 65_000;
    let mut message = b"\x5d\x01\x01\xc0\x84\x3d".to_vec();
    message.resize(message.len() + MESSAGE, b'x');
    let last = message.len() / PIECE;
    let batches: Vec<_> = message
        .chunks(PIECE)
        .enumerate()
        .map(|(index, piece)| {
            let more = if index < last { 0x40 } else { 0 };
            let mut body = vec![0x26 | more, u8::try_from(index).unwrap() + 1];
            if index == 0 {
                // The mark of a first fragment.
                body[0] |= 0x80;
                body.push(0x02);
            }
            body.extend(piece);
            batch(&body)
        })
        .collect();
    let mut conn = connection();
    let mut play = || batches.iter().map(|batch| decode(&mut *conn, batch)).sum::<u64>();
    assert_eq!(play(), 1);
    let mut group = c.benchmark_group("zenoh put 1 MB");
    group.throughput(Throughput::Bytes(MESSAGE as u64));
    group.bench_function("in fragments", |b| b.iter(&mut play));
    group.finish();
}

fn recognise(c: &mut Criterion) {
    let mut body = vec![0x25, 0x02];
    body.extend(put().repeat(20));
    let bytes = batch(&body);
    c.bench_function("zenoh recognise a batch of 20", |b| {
        b.iter(|| PROTOCOL.recognise(Transport::Tcp, black_box(&bytes), false));
    });
}

criterion_group!(benches, puts, fragments, recognise);
criterion_main!(benches);
