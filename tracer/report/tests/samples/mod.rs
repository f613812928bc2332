//! A report with something in every place.

pub mod why;

use wirelap_report::{
    AddedTime, DistributionSummary, Environment, EthernetBytes, GroundTruth, Latency, LayersBytes,
    MessageCounts, OperationBytes, Pacing, PartsBytes, PerMessageBytes, ReportedOverhead,
    ReportedProcess, ReportedScheduling, ReportedTracerCost, ReportedTrust, RttHalf, RunKind,
    RunReport, RunResult, Scenario, SegmentRow, Slowdown, Throughput,
};

/// Two middlewares, ping-pong; the second lost events and disagrees with the workloads.
pub fn report() -> RunReport {
    let mut results = vec![tcp(), mqtt()];
    results.iter_mut().for_each(RunResult::judge);
    RunReport {
        schema: wirelap_report::run::RUN_SCHEMA.into(),
        partial: true,
        incomplete: None,
        machine_key: None,
        environment: Environment {
            kernel: "6.18.0".into(),
            cpu_model: "A processor".into(),
            cores: 2,
            wirelap_version: "0.1.0".into(),
            seed: 7,
            started_at: "2026-11-20T10:00:00Z".into(),
            ..Environment::default()
        },
        scenario: Scenario {
            name: None,
            settings: std::collections::BTreeMap::default(),
            kind: RunKind::Latency,
            pacing: Pacing::PingPong,
            middlewares: vec!["tcp".into(), "mqtt".into()],
            payload_bytes: vec![64],
            rate_msg_per_s: None,
            rates_msg_per_s: vec![],
            messages: Some(1000),
            duration_s: None,
            warmup: 100,
            repeat: 1,
            topology: None,
            ab: None,
            pin: vec![],
            links: None,
            order: vec!["mqtt 64 B #1".into(), "tcp 64 B #1".into()],
        },
        results,
        hooks: vec![],
        skipped: vec![],
        saturation_msg_per_s: vec![],
        breakdown: None,
        slow_subscribers: None,
        unknown: wirelap_report::ReportedUnknown::default(),
        hosts: vec![],
        ros2: None,
        notes: vec!["stopped by Ctrl-C".into()],
    }
}

fn distribution(unit: u64) -> DistributionSummary {
    DistributionSummary {
        count: 2000,
        min: unit / 2,
        p50: unit,
        p90: unit * 2,
        p99: unit * 3,
        p999: unit * 8,
        max: unit * 40,
    }
}

fn trust(lost: u64) -> ReportedTrust {
    ReportedTrust {
        coverage: 1.0,
        events_lost: [("rx".to_owned(), lost)].into(),
        events: 60_000,
        window_share: 1.0,
        tracer: ReportedTracerCost {
            cpu_share: 0.21,
            rss_bytes: 36_000_000,
            ring_bytes: Some(16 << 20),
            slowdown: Some(Slowdown {
                traced_p50_ns: 14_600,
                untraced_p50_ns: 12_500,
                ratio: 1.168,
                ratio_low: 1.12,
                ratio_high: 1.21,
                turns: 28,
                messages: 90_210,
                ends: Some(AddedTime { added_ns: 610.0, low_ns: 500.0, high_ns: 720.0 }),
                path: Some(AddedTime { added_ns: 1_480.0, low_ns: 1_300.0, high_ns: 1_650.0 }),
            }),
            slowdown_unknown: None,
        },
        ..ReportedTrust::default()
    }
}

fn operation(name: &str, count: u64, total_bytes: u64) -> OperationBytes {
    OperationBytes {
        operation: name.into(),
        count,
        total_bytes,
        mean_bytes: total_bytes as f64 / count as f64,
    }
}

pub fn tcp() -> RunResult {
    RunResult {
        middleware: "tcp".into(),
        payload_bytes: 64,
        messages: MessageCounts {
            sent: 2000,
            delivered: 2000,
            matched: 2000,
            ..MessageCounts::default()
        },
        throughput: Throughput {
            msg_per_s: 41_234.5,
            payload_bit_per_s: 21_112_064.0,
            relative_error: None,
        },
        latency: Latency {
            one_way_ns: distribution(9_000),
            rtt_half_ns: Some(RttHalf { p50: 12_000, trimmed_p50: 11_950, ..RttHalf::default() }),
            ..Latency::default()
        },
        segments: vec![SegmentRow {
            leg: 1,
            segment: "wire".into(),
            p50_ns: 400,
            p99_ns: 900,
            share: 1.0,
            total_ns: Some(800_000),
            count: 2000,
            clock_error_ns: None,
        }],
        sched_gap_ns: distribution(3_000),
        overhead: ReportedOverhead {
            per_message_bytes: PerMessageBytes {
                payload: 64.0,
                protocol: 4.0,
                transport: 32.0,
                network: 20.0,
                link: 14.0,
                ..PerMessageBytes::default()
            },
            ratio: 2.25,
            total_bytes: 268_000,
            packets: 2000,
            deliveries: 2000,
            layers_bytes: LayersBytes {
                payload: 128_000,
                protocol: 8_000,
                transport: 64_000,
                network: 40_000,
                link: 28_000,
                ..LayersBytes::default()
            },
            parts_bytes: PartsBytes {
                payload: 128_000,
                header: 8_000,
                session: 400,
                transport: 64_000,
                network: 40_000,
                link: 27_350,
                connection: 250,
                ..PartsBytes::default()
            },
            legs: vec![],
            operations: vec![operation("open", 2, 400), operation("publish", 2000, 8_000)],
            ethernet: EthernetBytes { frames: 2000, frame_bytes: 276_000, line_bytes: 316_000 },
            retransmissions: 0,
        },
        processes: vec![ReportedProcess {
            role: "ping".into(),
            pid: 4,
            host: None,
            name: "wirelap-workload".into(),
            cpu_share: Some(0.4),
            rss_bytes: Some(4_000_000),
            scheduling: Some(ReportedScheduling {
                run_queue_ns: distribution(3_000),
                sleeps: 2_000,
                preemptions: 3,
                migrations: 1,
            }),
            unix_clients: None,
            ..ReportedProcess::default()
        }],
        trust: trust(0),
        ground_truth: Some(GroundTruth {
            published: 2000,
            delivered: 2000,
            compared: 2000,
            ..GroundTruth::default()
        }),
        ..RunResult::default()
    }
}

fn mqtt() -> RunResult {
    RunResult {
        middleware: "mqtt".into(),
        broker: Some("mosquitto".into()),
        partial: true,
        error: Some("the broker (mosquitto, pid 77) was killed by signal 9".into()),
        messages: MessageCounts {
            sent: 2000,
            delivered: 1990,
            matched: 1980,
            uncovered: 10,
            ..MessageCounts::default()
        },
        ground_truth: Some(GroundTruth {
            published: 2000,
            delivered: 1990,
            compared: 1980,
            violations: 2,
            worst_violation_ns: 700,
            ..GroundTruth::default()
        }),
        trust: ReportedTrust { coverage: 0.995, ..trust(17) },
        ..tcp()
    }
}
