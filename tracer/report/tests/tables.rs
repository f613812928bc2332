//! What people see, as text.

mod samples;

use unicode_width::UnicodeWidthStr;
use wirelap_report::{Capability, DoctorReport, Observation, doctor_table, table};

fn assert_fits(text: &str) {
    for line in text.lines() {
        assert!(line.width() <= 100, "{} columns: {line}", line.width());
    }
}

#[test]
fn a_run_as_a_table() {
    let text = table::render(&samples::report());
    assert_fits(&text);
    insta::assert_snapshot!(text);
}

#[test]
fn a_result_without_traffic_shows_dashes() {
    let mut report = samples::report();
    report.results.truncate(1);
    let empty = wirelap_report::RunResult {
        middleware: "udp".into(),
        payload_bytes: 64,
        trust: wirelap_report::Trust { window_share: 1.0, ..wirelap_report::Trust::default() },
        ..wirelap_report::RunResult::default()
    };
    report.results = vec![empty];
    insta::assert_snapshot!(table::render(&report));
}

#[test]
fn doctor_without_root() {
    let observation = |name: &str, hook: Option<&str>| Observation {
        observation: name.into(),
        hook: hook.map(Into::into),
        lost_without: "when data reached the socket".into(),
        remedy: Some("a kernel with CONFIG_DEBUG_INFO_BTF=y".into()),
    };
    let report = DoctorReport {
        schema: wirelap_report::doctor::DOCTOR_SCHEMA.into(),
        wirelap_version: "0.1.0".into(),
        kernel: "6.18.0".into(),
        btf: Some("/sys/kernel/btf/vmlinux".into()),
        clock_source: Some("tsc".into()),
        clock: "CLOCK_MONOTONIC".into(),
        can_attach: false,
        capabilities: vec![
            Capability { name: "CAP_BPF".into(), held: false },
            Capability { name: "CAP_PERFMON".into(), held: true },
        ],
        observations: vec![
            observation("send", Some("tp_btf/sock_send_length")),
            observation("ready", None),
        ],
        notes: vec![],
    };
    let text = doctor_table::render(&report);
    assert_fits(&text);
    insta::assert_snapshot!(text);
}
