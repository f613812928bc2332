//! The whole pipeline on any bytes: a file, its events, messages, and every report on them. Used by the fuzz targets, and by
//! the test that mutates committed captures.

// Each user has its own part of this.
#![allow(dead_code)]

use std::io;
use wirelap_correlate::{Config, Correlator, Snapshot};
use wirelap_events::{
    Body, Delivery, Event, Nanos, Offset, Packet, ReadKind, ReadyKind, SendKind, Seq,
};
use wirelap_recording::{Encoder, Entry, Recording, Section, Settings, Shown};
use wirelap_report::explain::{Options, pages};
use wirelap_report::trace::{About, TraceWriter};
use wirelap_report::{RunReport, from_snapshot, table};

/// The same random numbers each time.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() >> 11) as usize % end.max(1)
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Numbers that break things.
    fn extreme(&mut self) -> u64 {
        let near = [
            0,
            1,
            0x7F,
            0xFF,
            0x7FFF,
            0xFFFF,
            0x7FFF_FFFF,
            0xFFFF_FFFF,
            1 << 32,
            u64::MAX / 2,
            u64::MAX / 2 + 1,
            u64::MAX - 1,
            u64::MAX,
        ];
        if self.one_in(4) { self.next() >> self.below(64) } else { near[self.below(near.len())] }
    }
}

/// A file with some of its bytes changed.
pub fn mutate(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..=random.below(12) {
        let at = random.below(out.len());
        let len = 1 + random.below(64);
        let end = out.len().min(at + len);
        match random.below(8) {
            0 => out.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << random.below(8)),
            1 => out.iter_mut().skip(at).take(1).for_each(|byte| *byte = random.next() as u8),
            2 | 3 => {
                let number = random.extreme().to_le_bytes();
                let number = &number[..[1, 2, 4, 8][random.below(4)]];
                let is_turned = random.one_in(2);
                for (index, byte) in out.iter_mut().skip(at).take(number.len()).enumerate() {
                    *byte = number[if is_turned { number.len() - 1 - index } else { index }];
                }
            }
            // A number of variable length, as long as can be.
            4 => out.iter_mut().skip(at).take(9).for_each(|byte| *byte |= 0x80),
            5 => drop(out.drain(at..end)),
            6 => {
                let again = out[at..end].to_vec();
                let to = random.below(out.len());
                drop(out.splice(to..to, again));
            }
            _ => {
                let again = out[at..end].to_vec();
                let to = random.below(out.len());
                out.iter_mut().skip(to).zip(again).for_each(|(byte, other)| *byte = other);
            }
        }
    }
    if random.one_in(8) {
        out.truncate(random.below(out.len()));
    }
    out
}

/// An event with some of its numbers changed.
fn warp<'a>(event: &Event<'a>, random: &mut Random) -> Event<'a> {
    let mut event = *event;
    let change = |random: &mut Random, number: &mut u64| {
        if random.one_in(3) {
            *number = random.extreme();
        }
    };
    let change32 = |random: &mut Random, number: &mut u32| {
        if random.one_in(3) {
            *number = random.extreme() as u32;
        }
    };
    let seq = |random: &mut Random, seq: &mut Seq| {
        if random.one_in(3) {
            *seq = Seq(random.extreme() as u32);
        }
    };
    change(random, &mut event.at.0);
    match &mut event.body {
        Body::Packet(packet) => warp_packet(packet, random),
        Body::Send(send) => match &mut send.kind {
            SendKind::Stream { start, len, state } => {
                seq(random, start);
                change32(random, len);
                if let Some(state) = state {
                    for number in [
                        &mut state.in_flight,
                        &mut state.unsent,
                        &mut state.window,
                        &mut state.mss,
                        &mut state.cwnd,
                        &mut state.segments_out,
                        &mut state.send_buffer,
                    ] {
                        change32(random, number);
                    }
                    change(random, &mut state.pacing);
                }
            }
            SendKind::Datagram { len, entered } => {
                change32(random, len);
                if let Some(at) = entered {
                    change(random, &mut at.0);
                }
            }
        },
        Body::Read(read) => match &mut read.kind {
            ReadKind::Stream { end, len } => {
                seq(random, end);
                change32(random, len);
            }
            ReadKind::Datagram { len, .. } => change32(random, len),
        },
        Body::Ready(ready) => match &mut ready.kind {
            ReadyKind::Stream(next) => seq(random, next),
            ReadyKind::Datagram { .. } => {}
        },
        Body::Wake(wake) => {
            change(random, &mut wake.woken.0);
            change(random, &mut wake.throttled.0);
            change(random, &mut wake.holder.held.0);
            if let Some(at) = &mut wake.left {
                change(random, &mut at.0);
            }
            wake.others.iter_mut().for_each(|other| change(random, &mut other.held.0));
        }
        Body::Retransmit(again) => {
            seq(random, &mut again.start);
            change32(random, &mut again.len);
        }
        Body::Drop(dropped) => {
            change32(random, &mut dropped.len);
            if let Some(at) = &mut dropped.queued {
                change(random, &mut at.0);
            }
        }
        Body::Quota(quota) => {
            change(random, &mut quota.quota.0);
            change(random, &mut quota.period.0);
            change(random, &mut quota.throttled.0);
            change32(random, &mut quota.periods);
            change32(random, &mut quota.throttled_periods);
        }
        Body::Lost(lost) => change(random, &mut lost.count),
        Body::Socket(_) | Body::Closed(_) | Body::State(_) | Body::Window(_) => {}
    }
    event
}

fn warp_packet(packet: &mut Packet<'_>, random: &mut Random) {
    for number in [&mut packet.wire_bytes, &mut packet.payload_len] {
        if random.one_in(3) {
            *number = random.extreme() as u32;
        }
    }
    for number in [
        &mut packet.link_header,
        &mut packet.ip_header,
        &mut packet.transport_header,
        &mut packet.segments,
    ] {
        if random.one_in(4) {
            *number = random.extreme() as u16;
        }
    }
    if let Some(at) = &mut packet.queued
        && random.one_in(3)
    {
        at.0 = random.extreme();
    }
    if let Some(tcp) = &mut packet.tcp
        && random.one_in(3)
    {
        tcp.seq = Seq(random.extreme() as u32);
        tcp.ack = Seq(random.extreme() as u32);
        tcp.flags = random.next() as u8;
        tcp.window = random.extreme() as u16;
    }
}

/// What holds of each delivery.
fn check(delivery: &Delivery) {
    for (_, segments) in delivery.segments() {
        assert!(segments.iter().all(|(_, time)| time <= segments.sum()));
    }
    assert!(!delivery.legs.is_empty());
    assert!(delivery.legs.iter().all(|leg| leg.flow_range.range.end >= Offset(0)));
}

/// Everything that is said of what was seen.
fn tell(snapshot: &Snapshot) {
    let report = RunReport {
        schema: wirelap_report::run::RUN_SCHEMA.to_owned(),
        results: from_snapshot::results(snapshot),
        notes: snapshot.notes.clone(),
        unknown: (&snapshot.unknown).into(),
        ..serde_json::from_str(EMPTY).expect("a report")
    };
    let text = serde_json::to_string(&report).expect("JSON");
    let again: RunReport = serde_json::from_str(&text).expect("what was written can be read");
    for report in [&report, &again] {
        let _ = (table::render(report), table::explained(report));
        let _ = pages(report, Options::default());
    }
}

const EMPTY: &str = r#"{"schema":"","partial":false,"results":[],"hooks":[],"notes":[],
    "environment":{"kernel":"","cpu_model":"","cores":2,"governor":null,
        "clock_source":null,"memory_bytes":0,"hostname":null,"wirelap_version":"",
        "versions":{},"settings":{},"seed":1,"command_line":[],"started_at":""},
    "scenario":{"kind":"latency","pacing":"ping_pong","middlewares":[],"payload_bytes":[],
        "rate_msg_per_s":null,"messages":1,"duration_s":null,"warmup":0,"repeat":1,"pin":[],"order":[]}}"#;

/// Reads a file to its end, with one of some events warped, and says everything about it. Returns how many messages it had.
pub fn run(bytes: &[u8], mut warped: Option<(usize, Random)>) -> u64 {
    let Ok(mut recording) = Recording::new(bytes) else { return 0 };
    let config = Config { packets_only: !recording.is_own(), topics: true, ..Config::default() };
    let mut correlator = Correlator::new(config);
    let about = About { wirelap_version: String::new(), source: Vec::new(), ..About::default() };
    let mut drawing = TraceWriter::new(io::sink(), about, recording.wall());
    let settings = Settings { shown: Shown::All, payload: true };
    let mut encoder = Encoder::new(Section::default(), settings, Box::new(|_, _| None));
    let mut ready: Vec<Delivery> = Vec::new();
    let mut now = Nanos(0);
    let mut entries = 0_u32;
    let mut messages = 0;
    while let Some(entry) = recording.next() {
        encoder.entry(&entry);
        let mut out = |delivery: &Delivery| ready.push(delivery.clone());
        match entry {
            Entry::Event(event) | Entry::Known(event) => {
                let event = warped.as_mut().map_or(event, |(one_in, random)| {
                    if random.one_in(*one_in) { warp(&event, random) } else { event }
                });
                now = now.max(event.at);
                drawing.learn(&event);
                correlator.take(&event, &mut out);
            }
            Entry::Tick(at) => correlator.tick(at, &mut out),
            Entry::Note(_) => {}
        }
        for delivery in ready.drain(..) {
            check(&delivery);
            drawing.delivery(&delivery, Some("a topic")).expect("a sink takes all");
            messages += 1;
        }
        entries += 1;
        if entries.is_multiple_of(4096) {
            tell(&correlator.snapshot(now));
        }
    }
    encoder.complete();
    tell(&correlator.snapshot(now));
    correlator.finish(&mut |delivery: &Delivery| ready.push(delivery.clone()));
    for delivery in &ready {
        check(delivery);
        drawing.delivery(delivery, None).expect("a sink takes all");
    }
    let snapshot = correlator.snapshot(now);
    tell(&snapshot);
    drawing.end(&snapshot).expect("a sink takes all");
    tell(&correlator.snapshot(Nanos(u64::MAX)));
    messages + ready.len() as u64
}
