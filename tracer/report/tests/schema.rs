//! The committed schemas are those of the types, and keep the names that scripts rely on.

use std::path::PathBuf;
use wirelap_report::schema;
use wirelap_test_support::committed::repository;

fn folder() -> PathBuf {
    repository("docs/schema")
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

/// The same of what is explained: of the sample with a culprit.
const PROMISED_WHY: &[&str] = &[
    "/examined_messages",
    "/healthy",
    "/verdicts/0/kind",
    "/verdicts/0/title",
    "/verdicts/0/severity",
    "/verdicts/0/leg",
    "/verdicts/0/segment",
    "/verdicts/0/process/pid",
    "/verdicts/0/process/tid",
    "/verdicts/0/process/name",
    "/verdicts/0/median_ns",
    "/verdicts/0/median_share",
    "/verdicts/0/tail_ns",
    "/verdicts/0/tail_share",
    "/verdicts/0/evidence/0",
    "/verdicts/0/remedy",
    "/typical/0/mean_ns",
    "/tails/0/share",
    "/tails/0/messages",
    "/tails/0/least_ns",
    "/tails/0/excess_ns",
    "/tails/0/rows/0/leg",
    "/tails/0/rows/0/segment",
    "/tails/0/rows/0/cause",
    "/tails/0/rows/0/excess_ns",
    "/tails/0/rows/0/share",
    "/worst/0/message",
    "/worst/0/seq",
    "/worst/0/one_way_ns",
    "/worst/0/legs/0/from",
    "/worst/0/legs/0/to",
    "/worst/0/legs/0/sender/pid",
    "/worst/0/legs/0/reader/tid",
    "/worst/0/legs/0/stages/send",
    "/worst/0/legs/0/segments/0/time_ns",
    "/worst/0/legs/0/chain/0/tid",
    "/worst/0/legs/0/chain/0/woken_ns",
    "/worst/0/legs/0/chain/0/holder/name",
    "/worst/0/legs/1/before/0/rest",
    "/worst/0/legs/0/circumstances/reader_preempted/time_ns",
    "/cpu_holders/0/held_ns",
    "/cpu_holders/0/waits",
];

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
    "/results/0/why",
    "/results/0/processes/0/role",
    "/results/0/processes/0/pid",
    "/results/0/processes/0/cpu_share",
    "/results/0/processes/0/rss_bytes",
    "/results/0/processes/0/scheduling/run_queue_ns/p50",
    "/results/0/processes/0/scheduling/sleeps",
    "/results/0/processes/0/scheduling/preemptions",
    "/results/0/processes/0/scheduling/migrations",
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
fn promised_names_of_what_is_explained_are_there() {
    let report = samples::why::all().into_iter().find(|(name, _)| *name == "contended").unwrap().1;
    let json = serde_json::to_value(&report.results[0].why).unwrap();
    for pointer in PROMISED_WHY {
        assert!(json.pointer(pointer).is_some(), "{pointer} is missing");
    }
}

#[test]
fn a_report_from_before_anything_was_explained_is_read() {
    let mut json = serde_json::to_value(samples::report()).unwrap();
    json["results"][0].as_object_mut().unwrap().remove("why");
    json["results"][0]["processes"][0].as_object_mut().unwrap().remove("scheduling");
    let report: wirelap_report::RunReport = serde_json::from_value(json).unwrap();
    assert_eq!(report.results[0].why, None);
}

#[test]
fn what_is_written_is_read() {
    let explained = samples::why::all().map(|(_, report)| report);
    for report in explained.into_iter().chain([samples::report()]) {
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<wirelap_report::RunReport>(&text).unwrap(), report);
    }
}

mod samples;
