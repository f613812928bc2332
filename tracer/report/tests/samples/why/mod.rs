//! Results with something to explain, made from what the correlator says.

mod messages;

use super::{report, tcp};
use messages::{across_idle, held_up, outrun};
use wirelap_correlate as seen;
use wirelap_correlate::{
    Cause, Circumstance, Clause, CpuHolders, HolderShare, Remedy, Severity, Tail, TailRow,
    TypicalRow, Verdict, VerdictKind,
};
use wirelap_events::{Comm, Nanos, Pid, Segment, TaskId, Tid, TraceDetail, TxState};
use wirelap_report::{
    DistributionSummary, MessageCounts, Pacing, ReportedProcess, ReportedWhy, RttHalf, RunKind,
    RunReport, RunResult, SegmentRow,
};

/// All of them, named.
pub fn all() -> [(&'static str, RunReport); 6] {
    [
        ("healthy", healthy()),
        ("nagle", nagle()),
        ("contended", contended()),
        ("never-delivered", never_delivered()),
        ("few", few()),
        ("untraced", untraced()),
    ]
}

/// Nothing is wrong.
fn healthy() -> RunReport {
    let typical = [
        (1, Segment::SocketTx, 1_900),
        (1, Segment::Qdisc, 300),
        (1, Segment::Wire, 700),
        (1, Segment::StackRx, 1_500),
        (1, Segment::Wakeup, 1_100),
        (1, Segment::RunQueue, 2_600),
        (1, Segment::Read, 900),
    ];
    let why = seen::Why {
        messages: 2_000,
        typical: rows(&typical),
        tails: vec![Tail {
            share: 0.01,
            messages: 20,
            least: Nanos(27_000),
            excess: Nanos(31_000),
            rows: vec![
                tail_row(1, Segment::RunQueue, Cause::Ordinary, 21_800, 31_000),
                tail_row(1, Segment::Wakeup, Cause::Ordinary, 9_420, 31_000),
                tail_row(1, Segment::Wire, Cause::Ordinary, 30, 31_000),
                tail_row(1, Segment::SocketTx, Cause::Ordinary, -250, 31_000),
            ],
        }],
        ..seen::Why::default()
    };
    of(vec![explained(tcp(), &why)])
}

/// `QoS` 1 through rumqttd: its socket has Nagle's algorithm on.
fn nagle() -> RunReport {
    let typical = [
        (1, Segment::Write, 1_000),
        (1, Segment::SocketTx, 9_000),
        (1, Segment::Wire, 700),
        (1, Segment::StackRx, 2_100),
        (1, Segment::RunQueue, 12_000),
        (1, Segment::Read, 2_000),
        (2, Segment::BrokerDwell, 61_000),
        (2, Segment::SocketTx, 21_884_000),
        (2, Segment::Wire, 800),
        (2, Segment::StackRx, 2_400),
        (2, Segment::RunQueue, 14_000),
        (2, Segment::Read, 11_000),
    ];
    let broker = TaskId { pid: Pid(77), tid: Tid(81) };
    let why = seen::Why {
        protocol: "mqtt",
        broker: Some("rumqttd".into()),
        messages: 2_000,
        typical: rows(&typical),
        verdicts: vec![Verdict {
            segment: Some(Segment::SocketTx),
            process: Some((broker, Comm::from_name("rumqttd"))),
            median: Nanos(21_884_000),
            median_share: 0.9947,
            tail: Nanos(21_950_000),
            tail_share: 0.971,
            evidence: vec![
                Clause::Often {
                    some: 1_994,
                    messages: 2_000,
                    median: Nanos(21_900_000),
                    most: Nanos(44_200_000),
                },
                Clause::Nagle {
                    tx: TxState { in_flight: 84, ..TxState::default() },
                    was_acked: true,
                },
            ],
            remedy: Remedy::Usual(Circumstance {
                at_broker: true,
                ..Circumstance::in_segment(Segment::SocketTx)
            }),
            ..verdict(VerdictKind::NagleDelayedAck, 2)
        }],
        tails: vec![Tail {
            share: 0.01,
            messages: 20,
            least: Nanos(44_000_000),
            excess: Nanos(22_600_000),
            rows: vec![
                tail_row(
                    2,
                    Segment::SocketTx,
                    Cause::Of(VerdictKind::NagleDelayedAck),
                    21_950_000,
                    22_600_000,
                ),
                tail_row(2, Segment::RunQueue, Cause::Ordinary, 650_000, 22_600_000),
            ],
        }],
        worst: vec![held_up()],
        ..seen::Why::default()
    };
    let result = RunResult {
        middleware: "mqtt".into(),
        broker: Some("rumqttd".into()),
        processes: vec![
            process("ping", 70, "wirelap-workload"),
            process("pong", 71, "wirelap-workload"),
            process("broker", 77, "wirelap-workload"),
        ],
        ..slower(22_000_000, 2)
    };
    of(vec![explained(result, &why)])
}

/// mosquitto watched while another program takes its processor.
fn contended() -> RunReport {
    let why = contended_why();
    let result = RunResult {
        middleware: "mqtt".into(),
        broker: Some("mosquitto".into()),
        messages: MessageCounts {
            sent: 4_230,
            delivered: 4_221,
            matched: 4_210,
            uncovered: 11,
            duplicates: 12,
            ..MessageCounts::default()
        },
        processes: vec![
            process("publisher", 70, "sensor-gateway"),
            process("subscriber", 71, "dashboard"),
            process("broker", 77, "mosquitto"),
        ],
        ground_truth: None,
        notes: vec!["Joined in mid-stream: the first 12 packets could not be decoded.".into()],
        ..slower(500_000, 2)
    };
    let mut result = explained(result, &why);
    result.throughput.msg_per_s = 1_020.0;
    result.trust.coverage = 0.9974;
    result.trust.events_lost = [("rx".to_owned(), 0), ("sched".to_owned(), 1)].into();
    result.trust.uncaptured_bytes = 5_000;
    let mut report = of(vec![result]);
    (report.scenario.kind, report.scenario.pacing) = (RunKind::Live, Pacing::Foreign);
    report.environment.clock_source = Some("tsc".into());
    report
}

fn contended_why() -> seen::Why {
    let typical = [
        (1, Segment::SocketTx, 8_000),
        (1, Segment::Wire, 700),
        (1, Segment::RunQueue, 420_000),
        (1, Segment::Read, 2_000),
        (2, Segment::BrokerDwell, 40_000),
        (2, Segment::SocketTx, 7_300),
        (2, Segment::RunQueue, 9_000),
        (2, Segment::Read, 13_000),
    ];
    let stress = TaskId { pid: Pid(991), tid: Tid(993) };
    let broker = TaskId { pid: Pid(77), tid: Tid(77) };
    seen::Why {
        protocol: "mqtt",
        implementation: "",
        broker: Some("mosquitto".into()),
        detail: TraceDetail::Full,
        messages: 4_210,
        typical: rows(&typical),
        verdicts: vec![
            contention(stress),
            Verdict {
                leg: None,
                segment: None,
                process: None,
                evidence: vec![Clause::Repeated { repeats: 12, sent: 4_222 }],
                remedy: Remedy::Usual(Circumstance::in_segment(Segment::Wire)),
                ..verdict(VerdictKind::Duplicates, 1)
            },
            Verdict {
                severity: Severity::Note,
                segment: Some(Segment::Wakeup),
                process: None,
                median: Nanos(2_000),
                median_share: 0.004,
                evidence: vec![Clause::CpuIdle],
                remedy: Remedy::None,
                ..verdict(VerdictKind::IdleWakeup, 2)
            },
        ],
        tails: vec![Tail {
            share: 0.01,
            messages: 42,
            least: Nanos(8_100_000),
            excess: Nanos(7_850_000),
            rows: vec![
                tail_row(
                    1,
                    Segment::RunQueue,
                    Cause::Of(VerdictKind::RunQueueContention),
                    7_300_000,
                    7_850_000,
                ),
                tail_row(
                    2,
                    Segment::BrokerDwell,
                    Cause::Of(VerdictKind::BrokerStalled),
                    470_000,
                    7_850_000,
                ),
                tail_row(2, Segment::Read, Cause::Ordinary, 81_000, 7_850_000),
                tail_row(1, Segment::SocketTx, Cause::Ordinary, -1_000, 7_850_000),
            ],
        }],
        open: Vec::new(),
        worst: vec![outrun(4_711, broker, stress), outrun(4_902, broker, stress)],
        holders: vec![
            HolderShare {
                task: stress,
                comm: Comm::from_name("stress-ng-cpu"),
                held: Nanos(1_504_000_000),
                waits: 3_988,
            },
            HolderShare {
                task: TaskId { pid: Pid(12), tid: Tid(12) },
                comm: Comm::from_name("kworker/0:1"),
                held: Nanos(96_000_000),
                waits: 1,
            },
        ],
    }
}

fn contention(culprit: TaskId) -> Verdict {
    Verdict {
        segment: Some(Segment::RunQueue),
        process: Some((culprit, Comm::from_name("stress-ng-cpu"))),
        median: Nanos(402_000),
        median_share: 0.804,
        tail: Nanos(7_300_000),
        tail_share: 0.93,
        evidence: vec![Clause::CpuHeld {
            by: CpuHolders::Foreign,
            named: vec![((Pid(991), Comm::from_name("stress-ng-cpu")), 0.94)],
            more: None,
        }],
        remedy: Remedy::Usual(Circumstance::in_segment(Segment::RunQueue)),
        ..verdict(VerdictKind::RunQueueContention, 1)
    }
}

/// A publisher whose messages nobody got.
fn never_delivered() -> RunReport {
    let why = seen::Why {
        verdicts: vec![Verdict {
            leg: None,
            evidence: vec![Clause::NobodySubscribes],
            remedy: Remedy::Usual(Circumstance::in_segment(Segment::Wire)),
            ..verdict(VerdictKind::NeverDelivered, 1)
        }],
        ..seen::Why::default()
    };
    let result = RunResult {
        middleware: "dds".into(),
        messages: MessageCounts { sent: 1, ..MessageCounts::default() },
        latency: wirelap_report::Latency::default(),
        segments: vec![],
        overhead: wirelap_report::ReportedOverhead::default(),
        processes: vec![],
        ground_truth: None,
        ..tcp()
    };
    let mut report = of(vec![explained(result, &why)]);
    report.scenario.pacing = Pacing::Rate;
    report.scenario.rate_msg_per_s = Some(10.0);
    report
}

/// Fewer than a thousand.
fn few() -> RunReport {
    let why = seen::Why {
        messages: 50,
        typical: rows(&[(1, Segment::SocketTx, 3_000), (1, Segment::Wire, 6_000)]),
        worst: vec![across_idle()],
        ..seen::Why::default()
    };
    let mut result = explained(tcp(), &why);
    result.messages =
        MessageCounts { sent: 50, delivered: 50, matched: 50, ..MessageCounts::default() };
    result.ground_truth = None;
    of(vec![result])
}

/// A report of programs that no trace can follow.
fn untraced() -> RunReport {
    let mut ping = RunResult {
        middleware: "ping".into(),
        payload_bytes: 64,
        untraced: true,
        messages: MessageCounts { sent: 1_000, delivered: 999, ..MessageCounts::default() },
        ..RunResult::default()
    };
    ping.latency.rtt_half_ns = Some(RttHalf { trimmed_p50: 5_100, ..RttHalf::default() });
    let mut iperf3 =
        RunResult { middleware: "iperf3".into(), untraced: true, ..RunResult::default() };
    iperf3.throughput.payload_bit_per_s = 25.3e9;
    of(vec![ping, iperf3])
}

fn of(results: Vec<RunResult>) -> RunReport {
    RunReport { partial: false, results, notes: vec![], ..report() }
}

fn explained(result: RunResult, why: &seen::Why) -> RunResult {
    RunResult { why: ReportedWhy::of(why, &result.processes), ..result }
}

fn slower(p50: u64, legs: u8) -> RunResult {
    let mut result = tcp();
    let segment =
        |leg| SegmentRow { leg, share: 1.0 / f64::from(legs), ..result.segments[0].clone() };
    result.segments = (1..=legs).map(segment).collect();
    result.latency.one_way_ns = DistributionSummary {
        count: 2_000,
        min: p50 / 2,
        p50,
        p90: p50 + p50 / 10,
        p99: p50 * 2,
        p999: p50 * 2,
        max: p50 * 5 / 2,
    };
    result
}

fn process(role: &str, pid: u32, name: &str) -> ReportedProcess {
    ReportedProcess { role: role.into(), pid, name: name.into(), ..ReportedProcess::default() }
}

fn rows(rows: &[(u8, Segment, u64)]) -> Vec<TypicalRow> {
    rows.iter()
        .map(|&(leg, segment, mean)| TypicalRow { leg, segment, mean: Nanos(mean) })
        .collect()
}

fn tail_row(leg: u8, segment: Segment, cause: Cause, excess_ns: i64, whole: i64) -> TailRow {
    TailRow { leg, segment, cause, excess_ns, share: rounded(excess_ns as f64 / whole as f64) }
}

/// Four digits: what JSON says of a number is read back to the last bit only if it is short.
fn rounded(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

/// A problem that costs nothing yet.
fn verdict(kind: VerdictKind, leg: u8) -> Verdict {
    Verdict { leg: Some(leg), ..Verdict::new(kind, Severity::Problem) }
}
