//! Reading and writing files: events a second.
//!
//! Messages of 64 bytes from one thread to another, as probes tell them: a send, the packet on its way out and in,
//! readiness, a wakeup, a read. And the packets alone, as tcpdump would have written them.

#![allow(missing_docs, reason = "criterion's macros")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use wirelap_events::{TxState, tcp_flags};
use wirelap_recording::{Encoder, EncoderSettings, Recording, SectionHeader};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::{World, process};

const MESSAGES: u32 = 10_000;
const PAYLOAD: [u8; 64] = [b'x'; 64];

/// The events of so many messages.
fn events(messages: u32) -> Vec<OwnedEvent> {
    let mut world = World::new();
    world.state = Some(TxState { window: 65_535, mss: 32_768, cwnd: 10, ..TxState::default() });
    let [sender, reader] = [(7, "sender"), (8, "reader")].map(|(pid, name)| process(pid, name));
    let mut pair = world.existing(sender, "127.0.0.1:40000", reader, "127.0.0.1:1883");
    world.events.clear();
    for _ in 0..messages {
        world.message(&mut pair.up, &PAYLOAD);
    }
    world.events
}

fn write(events: &[OwnedEvent]) -> Vec<u8> {
    let settings = EncoderSettings { payload: true, ..EncoderSettings::default() };
    let mut encoder = Encoder::new(SectionHeader::default(), settings, Box::new(|_, _| None));
    let mut file = Vec::new();
    for event in events {
        encoder.event(&event.event());
        if encoder.bytes().len() > 1 << 16 {
            file.extend_from_slice(encoder.bytes());
            encoder.clear();
        }
    }
    encoder.complete();
    file.extend_from_slice(encoder.bytes());
    file
}

/// Packets of such messages in a pcap file of nanoseconds, of raw IP.
fn capture(messages: u32) -> Vec<u8> {
    const LEN: u16 = 20 + 20 + 64;
    let words = [0xA1B2_3C4D_u32, 0x0004_0002, 0, 0, 65_535, 101];
    let mut file: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    for number in 0..messages {
        let words = [number / 20_000, number % 20_000 * 50_000, LEN.into(), LEN.into()];
        file.extend(words.into_iter().flat_map(u32::to_le_bytes));
        let [high, low] = LEN.to_be_bytes();
        file.extend([0x45, 0, high, low, 0, 0, 0x40, 0, 64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
        file.extend([40_000_u16, 1883].into_iter().flat_map(u16::to_be_bytes));
        file.extend([number * 64, 1].into_iter().flat_map(u32::to_be_bytes));
        file.extend([0x50, tcp_flags::ACK, 2, 0, 0, 0, 0, 0]);
        file.extend(PAYLOAD);
    }
    file
}

fn entries(bytes: &[u8]) -> u64 {
    let mut recording = Recording::new(bytes).unwrap();
    let mut count = 0;
    while let Some(entry) = recording.next() {
        black_box(&entry);
        count += 1;
    }
    assert!(recording.problems().is_empty());
    count
}

fn files(criterion: &mut Criterion) {
    let events = events(MESSAGES);
    let recording = write(&events);
    let packets = capture(MESSAGES);
    let mut group = criterion.benchmark_group("read");
    for (name, bytes) in [("recording", &recording), ("capture", &packets)] {
        group.throughput(Throughput::Elements(entries(bytes)));
        group.bench_with_input(BenchmarkId::from_parameter(name), bytes, |bencher, bytes| {
            bencher.iter(|| entries(bytes));
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("write");
    group.throughput(Throughput::Elements(events.len() as u64));
    group.bench_function("recording", |bencher| bencher.iter(|| write(&events)));
    group.finish();
}

criterion_group!(benches, files);
criterion_main!(benches);
