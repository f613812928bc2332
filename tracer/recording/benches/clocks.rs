//! Clocks of several hosts while packets pass between them: sightings a second with a refresh each, and one refresh of many.

#![allow(missing_docs, reason = "criterion's macros")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use wirelap_events::{Nanos, PacketHook, Seq};
use wirelap_recording::hosts::live::LiveClocks;
use wirelap_test_support::world::{World, process};

/// Lets so many packets pass each way between two hosts, so far apart. `next` is a sequence number.
fn exchange(
    clocks: &mut LiveClocks,
    hosts: [usize; 2],
    start: Nanos,
    (packets, apart): (u32, Nanos),
    next: &mut Seq,
) {
    let mut world = World::new();
    let [client, server] = [(7, "client"), (8, "server")].map(|(pid, name)| process(pid, name));
    let pair = world.existing(client, "10.0.0.1:40000", server, "10.0.0.2:1883");
    for packet in 0..packets {
        let at = start + apart * u64::from(packet);
        let [a, b] = hosts;
        for (way, [from, to]) in [(&pair.up, [a, b]), (&pair.down, [b, a])] {
            *next = next.plus(64);
            let seq = *next;
            let sent = world.tcp_packet(way, PacketHook::Xmit, seq, 64);
            let received = world.tcp_packet(way, PacketHook::Rx, seq, 64);
            clocks.packet(from, at, &sent);
            clocks.packet(to, at + Nanos::from_micros(100), &received);
        }
    }
}

fn packets(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("clocks");
    // As many as are all kept, and as many as a fast link has.
    for packets in [400, 100_000] {
        let mut clocks = LiveClocks::new(2);
        let (mut now, mut next) = (Nanos::from_millis(1_000_000), Seq(0));
        let apart = Nanos(1_000_000_000 / u64::from(packets));
        group.throughput(Throughput::Elements(u64::from(packets) * 4));
        group.bench_with_input(BenchmarkId::new("second", packets), &packets, |bencher, _| {
            bencher.iter(|| {
                exchange(&mut clocks, [0, 1], now, (packets, apart), &mut next);
                now += Nanos::from_millis(1_000);
                clocks.refresh(now);
            });
        });
        black_box(clocks.state(1));
    }
    group.throughput(Throughput::Elements(1));
    group.sample_size(10);
    group.bench_function("refresh of 50 hosts", |bencher| {
        let mut clocks = LiveClocks::new(50);
        let (mut now, mut next) = (Nanos::from_millis(1_000_000), Seq(0));
        for _ in 0..60 {
            for (a, b) in (0..50).flat_map(|b| (0..b).map(move |a| (a, b))) {
                exchange(&mut clocks, [a, b], now, (2, Nanos::from_millis(400)), &mut next);
            }
            now += Nanos::from_millis(1_000);
            clocks.refresh(now);
        }
        assert!(clocks.bound(3, 47).is_some());
        bencher.iter(|| {
            now += Nanos::from_millis(1_000);
            clocks.refresh(now);
        });
    });
    group.finish();
}

criterion_group!(benches, packets);
criterion_main!(benches);
