//! The committed schemas are those of the types, and keep the names that scripts rely on.

use std::path::PathBuf;
use wirelap_report::schema;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema")
}

#[test]
fn committed_schemas_are_current() {
    let update = std::env::var_os("UPDATE_SCHEMA").is_some();
    for (name, text) in schema::all() {
        let path = folder().join(name);
        if update {
            std::fs::create_dir_all(folder()).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == text,
            "docs/schema/{name} differs from the types: run UPDATE_SCHEMA=1 cargo test -p wirelap-report"
        );
    }
}

/// The part of the format that may never change, spelled out once more.
const PROMISED: &[&str] = &[
    "/schema",
    "/environment",
    "/scenario",
    "/results/0/middleware",
    "/results/0/broker",
    "/results/0/payload_bytes",
    "/results/0/messages/sent",
    "/results/0/messages/delivered",
    "/results/0/messages/matched",
    "/results/0/messages/uncovered",
    "/results/0/throughput/msg_per_s",
    "/results/0/throughput/payload_bit_per_s",
    "/results/0/latency/one_way_ns/p50",
    "/results/0/latency/one_way_ns/p90",
    "/results/0/latency/one_way_ns/p99",
    "/results/0/latency/one_way_ns/p999",
    "/results/0/latency/one_way_ns/max",
    "/results/0/latency/one_way_ns/count",
    "/results/0/latency/rtt_half_ns",
    "/results/0/segments/0/leg",
    "/results/0/segments/0/segment",
    "/results/0/segments/0/p50_ns",
    "/results/0/segments/0/p99_ns",
    "/results/0/segments/0/share",
    "/results/0/sched_gap_ns/p50",
    "/results/0/overhead/per_message_bytes/payload",
    "/results/0/overhead/per_message_bytes/protocol",
    "/results/0/overhead/per_message_bytes/control",
    "/results/0/overhead/per_message_bytes/transport",
    "/results/0/overhead/per_message_bytes/network",
    "/results/0/overhead/per_message_bytes/link",
    "/results/0/overhead/per_message_bytes/retransmitted",
    "/results/0/overhead/ratio",
    "/results/0/processes/0/role",
    "/results/0/processes/0/pid",
    "/results/0/processes/0/cpu_share",
    "/results/0/processes/0/rss_bytes",
    "/results/0/trust/coverage",
    "/results/0/trust/events_lost/rx",
    "/results/0/trust/uncaptured_bytes",
    "/results/0/trust/tracer/cpu_share",
    "/results/0/trust/tracer/rss_bytes",
];

#[test]
fn promised_names_are_there() {
    let json = serde_json::to_value(samples::report()).unwrap();
    for pointer in PROMISED {
        assert!(json.pointer(pointer).is_some(), "{pointer} is missing");
    }
    assert_eq!(json["schema"], "wirelap/run/1");
}

#[test]
fn what_is_written_is_read() {
    let report = samples::report();
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<wirelap_report::RunReport>(&text).unwrap(), report);
}

mod samples;
