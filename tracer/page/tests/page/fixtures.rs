//! Reports with something in every section.

use wirelap_events::Nanos;
use wirelap_page::{ExplainOptions, File, page};
use wirelap_report::{
    ClientSize, DistributionSummary, Environment, Histograms, Hook, IdleUse, Pacing, ProcessUse,
    Repetition, ReportedTimeSpent, ReportedTimeSpentRow, ReportedUnknownTraffic, RttHalf, RunKind,
    RunReport, RunResult, Samples, Scenario, Skipped, Slowdown, from_snapshot,
};
use wirelap_test_pipeline::snapshots;

/// The page of one report.
pub fn page_of(report: &RunReport) -> String {
    page(&[File { name: "run.json", report }], ExplainOptions::default())
}

/// Every kind of report, named.
pub fn all() -> Vec<(&'static str, RunReport)> {
    vec![
        ("latency", latency()),
        ("throughput", throughput()),
        ("rates", rates_of_one_run()),
        ("live", from_snapshot::run_report(&snapshots::five(30))),
        ("degraded", from_snapshot::run_report(&snapshots::degraded())),
        ("many", from_snapshot::run_report(&snapshots::many(24))),
        ("empty", from_snapshot::run_report(&snapshots::empty(0))),
        ("extreme", extreme()),
    ]
}

/// Five middlewares in ping-pong, three repetitions each, and a baseline that is not traced.
pub fn latency() -> RunReport {
    let mut report = from_snapshot::run_report(&snapshots::five(30));
    report.environment = environment();
    report.scenario = Scenario {
        kind: RunKind::Latency,
        pacing: Pacing::PingPong,
        messages: Some(2_000),
        duration_s: None,
        payload_bytes: vec![64],
        warmup: 1_000,
        repeat: 3,
        pin: vec![("ping".into(), 0), ("pong".into(), 1)],
        links: None,
        ..report.scenario
    };
    report.results.iter_mut().for_each(measure);
    report.results.push(ping());
    report.hooks = [("send", Some("tp_btf/sock_send_length")), ("ready", None)]
        .map(|(observation, hook)| Hook {
            observation: observation.into(),
            hook: hook.map(Into::into),
        })
        .to_vec();
    report.skipped = vec![Skipped {
        middleware: "kafka".into(),
        broker: Some("apache".into()),
        why: "Apache Kafka is not installed".into(),
        remedy: Some("wirelap-workload fetch kafka".into()),
    }];
    report.unknown.traffic = vec![ReportedUnknownTraffic {
        sentence: "TLS 1.3 on port 8883: 3 connections, 1.2 MB; encrypted.".into(),
        ..ReportedUnknownTraffic::default()
    }];
    report.notes = vec!["The CPUs were busy with other programs.".into()];
    report
}

fn environment() -> Environment {
    Environment {
        kernel: "6.18.0".into(),
        cpu_model: "A processor".into(),
        cores: 2,
        memory_bytes: 24 << 30,
        clock_source: Some("tsc".into()),
        wirelap_version: "0.1.0".into(),
        versions: [("mqtt".to_owned(), [("mosquitto".to_owned(), "2.0.11".to_owned())].into())]
            .into(),
        settings: [(
            "mqtt".to_owned(),
            [("client.tcp_nodelay".to_owned(), "true".to_owned())].into(),
        )]
        .into(),
        seed: 7,
        command_line: ["wirelap", "run", "latency", "--on", "tcp,mqtt"].map(Into::into).to_vec(),
        started_at: "2026-11-20T10:00:00Z".into(),
        ..Environment::default()
    }
}

/// Gives a result the figures of three repetitions.
fn measure(result: &mut RunResult) {
    let p50 = result.latency.one_way_ns.p50;
    let mut all = Samples::new();
    for number in 1..=3_u32 {
        let samples = samples(p50 + p50 * u64::from(number) / 40);
        all.merge(&samples);
        result.repetitions.push(repetition(number, &samples, result));
    }
    result.latency.one_way_ns = all.distribution();
    result.latency.rtt_half_ns = Some(rtt_half(&result.latency.one_way_ns));
    let count = result.latency.one_way_ns.count;
    (result.messages.sent, result.messages.delivered) = (count, count);
    result.messages.matched = count;
    result.trust.tracer.slowdown = Some(Slowdown {
        traced_p50_ns: 14_600,
        untraced_p50_ns: 12_500,
        ratio: 1.168,
        ratio_low: 1.12,
        ratio_high: 1.21,
        turns: 28,
        messages: 90_210,
        ends: None,
        path: None,
    });
    result.client_size = Some(ClientSize {
        bytes: 3 << 20,
        without_middleware_bytes: 1 << 20,
        build: "for size".into(),
    });
    result.judge();
}

fn rtt_half(one_way: &DistributionSummary) -> RttHalf {
    let DistributionSummary { count, min, p50, p90, p99, p999, max } = *one_way;
    RttHalf { count, min, p50: p50 + 3_000, p90, p99, p999, max, trimmed_p50: p50 + 2_950 }
}

/// 4,000 times with a long tail around a median.
fn samples(p50: u64) -> Samples {
    let mut samples = Samples::new();
    for number in 0..4_000_u64 {
        let share = (number as f64 + 0.5) / 4_000.0;
        let factor = 0.74 + 0.5 * share + 0.01 / (1.0 - share);
        samples.add(Nanos::from_f64(p50 as f64 * factor));
    }
    samples
}

fn repetition(number: u32, samples: &Samples, result: &RunResult) -> Repetition {
    let use_of = |role: &str, cpu_share| ProcessUse {
        role: role.into(),
        name: "wirelap-workloa".into(),
        cpu_share: Some(cpu_share),
        cpu_ns_per_message: Some(2_000.0),
        rss_bytes: Some((9 + u64::from(number)) << 20),
        idle: Some(IdleUse { seconds: 10.0, cpu_share: 0.000_42, rss_bytes: 8 << 20 }),
        ..ProcessUse::default()
    };
    let rows = result.segments.iter().map(|row| ReportedTimeSpentRow {
        leg: row.leg,
        segment: row.segment.clone(),
        cause: (row.segment == "runqueue").then(|| "run_queue_contention".to_owned()),
        mean_ns: row.share * 20_000.0,
        middle_ns: row.share * 18_000.0,
        tail_ns: row.share * 90_000.0,
    });
    Repetition {
        number,
        position: number * 5,
        messages: result.messages,
        throughput: result.throughput,
        one_way_ns: samples.distribution(),
        rtt_half_ns: Some(rtt_half(&samples.distribution())),
        histograms: Histograms { one_way_ns: samples.histogram(), ..Histograms::default() },
        time_spent: ReportedTimeSpent { messages: 4_000, tail_messages: 40, rows: rows.collect() },
        byte_deliveries: 4_000,
        wire_bytes: 596_000,
        processes: vec![use_of("ping", 0.31), use_of("pong", 0.22)],
        ..Repetition::default()
    }
}

fn ping() -> RunResult {
    let mut ping = RunResult {
        middleware: "ping".into(),
        payload_bytes: 64,
        untraced: true,
        ..RunResult::default()
    };
    (ping.messages.sent, ping.messages.delivered) = (1_000, 999);
    ping.latency.rtt_half_ns = Some(RttHalf {
        count: 999,
        min: 4_000,
        p50: 5_000,
        p90: 6_000,
        p99: 9_000,
        p999: 30_000,
        max: 44_000,
        trimmed_p50: 5_100,
    });
    ping
}

/// Two middlewares at four payloads.
pub fn throughput() -> RunReport {
    let mut report = latency();
    report.scenario.kind = RunKind::Throughput;
    report.scenario.pacing = Pacing::BackToBack;
    report.scenario.payload_bytes = vec![64, 1_024, 16_384, 262_144];
    let zenoh = report.results[3].clone();
    let tcp = report.results[0].clone();
    report.results = [zenoh, tcp]
        .iter()
        .flat_map(|result| [64, 1_024, 16_384, 262_144_u64].map(|size| at_size(result, size)))
        .collect();
    report
}

fn at_size(result: &RunResult, size: u64) -> RunResult {
    let mut result = RunResult { payload_bytes: size, ..result.clone() };
    result.throughput.msg_per_s = 4e9 / (size as f64 + 3_000.0);
    result.throughput.payload_bit_per_s = result.throughput.msg_per_s * size as f64 * 8.0;
    result
}

/// The same middlewares at two rates, in two files.
pub fn at_rates() -> [RunReport; 2] {
    [100.0, 10_000.0].map(|rate| {
        let mut report = latency();
        report.scenario.pacing = Pacing::Rate;
        report.scenario.rate_msg_per_s = Some(rate);
        report
    })
}

/// One middleware with one payload at three rates, in one file.
pub fn rates_of_one_run() -> RunReport {
    let mut report = latency();
    let one = report.results[0].clone();
    report.scenario.pacing = Pacing::Rate;
    report.scenario.rates_msg_per_s = vec![1e3, 2e3, 5e3];
    let at_rate = |&rate: &f64| {
        let mut result = RunResult { rate_msg_per_s: Some(rate), ..one.clone() };
        (result.throughput.msg_per_s, result.throughput.payload_bit_per_s) = (rate, rate * 512.0);
        result
    };
    report.results = report.scenario.rates_msg_per_s.iter().map(at_rate).collect();
    report
}

/// The largest numbers, and numbers that are none.
pub fn extreme() -> RunReport {
    let mut report = latency();
    report.scenario.rate_msg_per_s = Some(f64::NAN);
    for (number, result) in report.results.iter_mut().enumerate() {
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, -1.0, 0.0][number % 6];
        let most = [u64::MAX, 0, 1][number % 3];
        for row in &mut result.segments {
            (row.share, row.total_ns) = (odd, Some(most));
        }
        (result.throughput.msg_per_s, result.throughput.payload_bit_per_s) = (odd, odd);
        result.payload_bytes = most;
        (result.latency.one_way_ns.p50, result.latency.one_way_ns.max) = (most, u64::MAX);
        result.latency.one_way_ns.count = most;
        result.overhead.parts_bytes.payload = most;
        result.overhead.deliveries = most;
        result.overhead.per_message_bytes.payload = odd;
        for repetition in &mut result.repetitions {
            repetition.histograms.one_way_ns = Some("damaged".into());
            (repetition.one_way_ns.p50, repetition.one_way_ns.p99) = (most, u64::MAX);
            for process in &mut repetition.processes {
                (process.cpu_share, process.rss_bytes) = (Some(odd), Some(most));
            }
        }
        for process in &mut result.processes {
            process.cpu_share = Some(odd);
        }
        let why = result.why.get_or_insert_default();
        why.typical = vec![
            wirelap_report::why::ReportedTypicalRow {
                leg: 1,
                segment: "wire".into(),
                mean_ns: most,
            },
            wirelap_report::why::ReportedTypicalRow {
                leg: 255,
                segment: "no segment".into(),
                mean_ns: most,
            },
        ];
        for tail in &mut why.tails {
            tail.rows.iter_mut().for_each(|row| (row.share, row.excess_ns) = (odd, i64::MIN));
        }
        for message in &mut why.worst {
            message
                .legs
                .iter_mut()
                .flat_map(|leg| &mut leg.segments)
                .for_each(|one| one.time_ns = most);
        }
    }
    report
}
