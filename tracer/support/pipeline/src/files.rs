//! The whole pipeline on any bytes: a file, its events, messages, and every report on them. Used by the fuzz targets, and by
//! the test that mutates committed captures.

use crate::warp::warp;
use std::io;
use wirelap_correlate::{Config, Correlator, Snapshot, TlsKeys};
use wirelap_events::{Delivery, Nanos, Offset};
use wirelap_recording::{
    Encoder, EncoderSettings, Entry, Recording, SectionHeader, ShownSightings,
};
use wirelap_report::explain::{ExplainOptions, pages};
use wirelap_report::trace::{TraceMetadata, TraceWriter};
use wirelap_report::{RunReport, from_snapshot, table, words};
use wirelap_test_support::random::Random;

/// Checks the invariants of a delivery.
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
        notes: words::snapshot_notes(snapshot),
        unknown: (&snapshot.unknown).into(),
        ros2: wirelap_report::Ros2::of(&snapshot.ros),
        ..serde_json::from_str(EMPTY).expect("a report")
    };
    let text = serde_json::to_string(&report).expect("JSON");
    let again: RunReport = serde_json::from_str(&text).expect("what was written can be read");
    for report in [&report, &again] {
        let _ = (table::render(report), table::explained(report));
        let _ = pages(report, ExplainOptions::default());
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
    let keys = TlsKeys::default();
    let config = Config {
        packets_only: !recording.is_own(),
        topics: true,
        trace_contexts: true,
        tls_keys: keys.clone(),
        ..Config::default()
    };
    let mut correlator = Correlator::new(config);
    let about = TraceMetadata {
        wirelap_version: String::new(),
        source: Vec::new(),
        ..TraceMetadata::default()
    };
    let mut drawing = TraceWriter::new(io::sink(), about, recording.wall());
    let settings = EncoderSettings { shown: ShownSightings::All, payload: true };
    let mut encoder = Encoder::new(SectionHeader::default(), settings, Box::new(|_, _| None));
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
            Entry::TlsKeys(text) => drop(keys.add(text)),
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
