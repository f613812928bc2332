//! The tables that people see, as text.

mod samples;

use unicode_width::UnicodeWidthStr;
use wirelap_report::{
    Capability, DistributionSummary, DoctorReport, MissingItem, MissingKind, Observation, Pacing,
    ReportedPartial, ReportedRequests, ReportedUnseen, RttHalf, RunResult, Saturation, SeenFrom,
    doctor_table, table,
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
        trust: wirelap_report::ReportedTrust {
            window_share: 1.0,
            ..wirelap_report::ReportedTrust::default()
        },
        ..wirelap_report::RunResult::default()
    };
    report.results = vec![empty];
    insta::assert_snapshot!(table::render(&report));
}

#[test]
fn a_dash_in_place_of_a_latency_has_its_reason() {
    let mut report = samples::report();
    report.scenario.pacing = Pacing::Foreign;
    let times = |p50| DistributionSummary {
        count: 500,
        p50,
        p99: 2 * p50,
        max: 9 * p50,
        ..DistributionSummary::default()
    };
    let seen = ReportedPartial {
        by_broker: 500,
        egress_ns: times(7_000),
        requests: Some(ReportedRequests {
            round_trip_ns: times(400_000),
            here_ns: times(40_000),
            away_ns: times(360_000),
            here_share: Some(0.1),
            unanswered: 3,
        }),
        ..ReportedPartial::default()
    };
    let of = |middleware: &str, view: SeenFrom| RunResult {
        middleware: middleware.into(),
        view: Some(view),
        partial_sight: Some(seen.clone()),
        ..RunResult::default()
    };
    // Of a run, only the view is known.
    let run = RunResult { partial_sight: None, ..of("nats", SeenFrom::Sender) };
    report.results = vec![of("mqtt", SeenFrom::Broker), of("kafka", SeenFrom::Broker), run];
    let text = table::render(&report);
    assert_fits(&text);
    for (line, times) in [
        ("– seen from the broker alone: publisher and subscriber are not seen on this host\n", 1),
        ("– seen from the sender alone: the reader is not seen on this host\n", 1),
        (
            "reply: p50 400.0 µs, p99 800.0 µs, max 3.6 ms, request to reply; 10 % of that on this host\n",
            2,
        ),
        ("away: p50 360.0 µs, p99 720.0 µs, max 3.2 ms, both ways and the other host\n", 2),
        ("no reply was seen to 3 requests\n", 2),
        (" · seen from the sender alone", 1),
    ] {
        assert_eq!(text.matches(line).count(), times, "{line}: {text}");
    }
}

/// `--ring-size 1` on a fast run.
fn spoiled() -> wirelap_report::RunReport {
    let mut report = samples::report();
    let mut result = samples::tcp();
    result.messages.matched = 240;
    result.messages.uncovered = 1_760;
    result.trust.coverage = 0.12;
    result.trust.events_lost = [("rx".to_owned(), 9_000), ("xmit".to_owned(), 4_000)].into();
    result.trust.unseen_sent = ReportedUnseen { packets: 310, bytes: 21_080 };
    result.judge();
    (report.partial, report.results) = (false, vec![result]);
    report
}

#[test]
fn what_cannot_be_used_looks_so() {
    let text = table::render(&spoiled());
    assert_fits(&text);
    assert!(text.contains("\n✗ tcp"), "{text}");
    assert!(text.contains("✗ unusable"), "{text}");
    assert!(text.contains("  ✗ unusable: only 240 of 2,000 deliveries were followed"), "{text}");
    assert!(text.contains("  ✗ unusable: 13,000 of 73,000 events were lost because"), "{text}");
    assert!(!text.contains("no event lost") && !text.contains("nothing wrong"), "{text}");
    let page = table::explained(&spoiled());
    assert_fits(&page);
    assert!(page.contains("Unusable: 13,000 of 73,000 events were lost"), "{page}");
}

#[test]
fn beside_unseen_packets_nothing_is_said_to_be_whole() {
    let mut report = samples::report();
    let mut result = samples::tcp();
    result.trust.unseen_sent = ReportedUnseen { packets: 1, bytes: 68 };
    result.trust.unseen_received = ReportedUnseen { packets: 1, bytes: 68 };
    result.judge();
    report.results = vec![result];
    let text = table::render(&report);
    let told = "no probe saw at least 1 packet when sent (68 B) and 1 packet when received (68 B)";
    let line = text.replace("\n     ", " ");
    assert!(line.contains(told), "{text}");
    assert!(!text.contains("no event lost"), "{text}");
    let page = table::explained(&report);
    assert!(!page.contains("No event was lost"), "{page}");
}

#[test]
fn what_is_not_known_is_no_zero() {
    let mut report = samples::report();
    report.scenario.pacing = Pacing::Foreign;
    let result = RunResult {
        middleware: "kafka".into(),
        messages: wirelap_report::MessageCounts {
            sent: 1_400,
            ..wirelap_report::MessageCounts::default()
        },
        ..RunResult::default()
    };
    report.results = vec![result];
    let page = table::explained(&report);
    assert!(page.contains("1,400 messages of unknown size were sent from"), "{page}");
    assert!(!page.contains("0 B") && !page.contains("0 a second"), "{page}");
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
        can_capture_packets: false,
        no_packets: Some("capturing packets needs CAP_NET_RAW".into()),
        observations: vec![
            observation("send", Some("tp_btf/sock_send_length")),
            observation("ready", None),
        ],
        distribution: Some("Debian GNU/Linux 12 (bookworm)".into()),
        missing: vec![
            MissingItem {
                name: "CAP_BPF".into(),
                kind: MissingKind::Right,
                lost: vec!["nothing can be traced".into()],
                command: "sudo /usr/bin/wirelap live".into(),
            },
            MissingItem {
                name: "cgroup v2".into(),
                kind: MissingKind::Setting,
                lost: vec!["the first packet".into(), "a closed socket".into()],
                command: "sudo mount -t cgroup2 none /run/cgroup2".into(),
            },
        ],
        notes: vec![],
    };
    let text = doctor_table::render(&report);
    assert_fits(&text);
    insta::assert_snapshot!(text);
}

#[test]
fn results_of_several_rates_and_of_two_variants_have_names_of_their_own() {
    let mut report = samples::report();
    report.scenario.pacing = Pacing::Rate;
    report.scenario.rates_msg_per_s = vec![100.0, 20_000.0];
    report.scenario.repeat = 4;
    report.scenario.ab = Some(["qos=0".into(), "qos=1".into()]);
    let of = |variant: &str, rate| RunResult {
        variant: Some(variant.to_owned()),
        broker: Some("rumqttd".to_owned()),
        middleware: "mqtt".to_owned(),
        rate_msg_per_s: Some(rate),
        ..samples::tcp()
    };
    report.results = vec![of("A", 100.0), of("B", 100.0), of("A", 20_000.0)];
    report.saturation_msg_per_s = vec![
        Saturation {
            middleware: "mqtt".into(),
            broker: Some("rumqttd".into()),
            variant: Some("A".into()),
            payload_bytes: 16,
            highest_reached: Some(20_000.0),
            lowest_missed: Some(23_500.0),
        },
        Saturation {
            middleware: "tcp".into(),
            payload_bytes: 16,
            highest_reached: Some(1e6),
            ..Saturation::default()
        },
    ];
    let text = table::render(&report);
    assert_fits(&text);
    for expected in [
        "latency · 100, 20 k msg/s · ",
        " · 4 repetitions each in blocks ABBA · A: qos=0, B: qos=1\n",
        "  payload  rate/s  1-way p50 ",
        "\nmqtt/rumqttd B     64 B     100 ",
        "\nmqtt/rumqttd A at 20 k msg/s: ",
        "\nsaturation: mqtt/rumqttd A, 16 B: 20 k msg/s were reached, 23.5 k msg/s were not\n",
        "\nsaturation: tcp, 16 B: above 1 M msg/s\n",
    ] {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
    let pages = table::explained(&report);
    assert!(pages.contains("\nmqtt/rumqttd A, 64 B, 20 k msg/s\n"), "{pages}");
}
