//! What people see, as text.

mod samples;

use unicode_width::UnicodeWidthStr;
use wirelap_report::{
    Capability, DoctorReport, Observation, Pacing, RttHalf, RunResult, doctor_table, table,
};

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
fn what_is_not_traced_says_so_instead_of_looking_like_a_failure() {
    let mut report = samples::report();
    let untraced = |middleware: &str, change: fn(&mut RunResult)| {
        let mut result = RunResult {
            middleware: middleware.into(),
            payload_bytes: 64,
            untraced: true,
            ..RunResult::default()
        };
        change(&mut result);
        result
    };
    let ping = untraced("ping", |ping| {
        (ping.messages.sent, ping.messages.delivered) = (1000, 999);
        (ping.throughput.msg_per_s, ping.throughput.payload_bit_per_s) = (90e3, 46e6);
        ping.latency.rtt_half_ns = Some(RttHalf { trimmed_p50: 5100, ..RttHalf::default() });
    });
    let iperf3 = untraced("iperf3", |iperf3| iperf3.throughput.payload_bit_per_s = 25.3e9);
    report.results = vec![ping];
    let round_trips = table::render(&report);
    report.scenario.pacing = Pacing::BackToBack;
    report.results = vec![iperf3];
    insta::assert_snapshot!(format!("{round_trips}\n{}", table::render(&report)));
}

#[test]
fn each_result_says_why_in_a_line() {
    let lines = samples::why::all().map(|(name, report)| {
        let text = table::render(&report);
        assert_fits(&text);
        let from = text.find("  why: ").unwrap_or(text.len());
        let why = text[from..].split("\n  note:").next().unwrap_or_default();
        format!("{name}:\n{why}")
    });
    insta::assert_snapshot!(lines.join("\n"));
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
