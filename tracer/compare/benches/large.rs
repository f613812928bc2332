//! Duration of the comparison of two large runs: 17 middlewares, 20 repetitions each, 20,000 messages in each repetition.

use criterion::{Criterion, criterion_group, criterion_main};
use fastrand::Rng;
use std::hint::black_box;
use wirelap_compare::{CompareOptions, Comparison, compare, text};
use wirelap_correlate::{Histogram, Snapshot};
use wirelap_report::from_snapshot::run_report;
use wirelap_report::{
    Histograms, ProcessUse, Repetition, ReportedTimeSpent, ReportedTimeSpentRow, ReportedTrust,
    RunReport, RunResult, Throughput,
};

const MIDDLEWARES: usize = 17;
const REPETITIONS: u32 = 20;
const MESSAGES: usize = 20_000;

/// As many as a run writes at most.
const BLOCKS: usize = 15;

/// Legs with their segments, and causes: about what a broker's results have.
const ROWS: usize = 40;

fn large(criterion: &mut Criterion) {
    let (a, b) = (run(1), run(2));
    let options = CompareOptions::default();
    let mut group = criterion.benchmark_group("compare");
    group.sample_size(10);
    group.bench_function("17 middlewares, 20 repetitions, 2 files", |bench| {
        bench.iter(|| black_box(compare(black_box(&a), black_box(&b), &options)));
    });
    let found: Comparison = compare(&a, &b, &options);
    group.bench_function("its text", |bench| bench.iter(|| black_box(text(black_box(&found)))));
    let json = serde_json::to_string_pretty(&a).unwrap_or_default();
    group.bench_function(format!("reading one file of {} MB", json.len() / 1_000_000), |bench| {
        bench.iter(|| serde_json::from_str::<RunReport>(black_box(&json)));
    });
    group.finish();
}

fn run(seed: u64) -> RunReport {
    let mut rng = Rng::with_seed(seed);
    let results = (0..MIDDLEWARES).map(|number| RunResult {
        middleware: format!("middleware-{number}"),
        payload_bytes: 64,
        trust: ReportedTrust { coverage: 1.0, window_share: 1.0, ..ReportedTrust::default() },
        repetitions: (1..=REPETITIONS).map(|number| repetition(number, &mut rng)).collect(),
        ..RunResult::default()
    });
    RunReport { results: results.collect(), ..run_report(&Snapshot::default()) }
}

fn repetition(number: u32, rng: &mut Rng) -> Repetition {
    let level = 1.0 + 0.05 * normal(rng);
    let times: Vec<u64> = (0..MESSAGES).map(|_| time(level, rng)).collect();
    let rows = (0..ROWS).map(|row| ReportedTimeSpentRow {
        leg: if row < ROWS / 2 { 1 } else { 2 },
        segment: format!("segment_{}", row / 2),
        cause: (row % 2 == 1).then(|| "run_queue_contention".into()),
        mean_ns: 1_000.0 * level,
        middle_ns: 900.0 * level,
        tail_ns: 9_000.0 * level,
    });
    Repetition {
        number,
        position: number,
        throughput: Throughput { msg_per_s: 20_000.0 / level, ..Throughput::default() },
        histograms: Histograms {
            one_way_ns: encode(&times),
            one_way_blocks_ns: times.chunks(MESSAGES / BLOCKS).filter_map(encode).collect(),
            rtt_half_ns: encode(&times),
            ..Histograms::default()
        },
        time_spent: ReportedTimeSpent {
            messages: MESSAGES as u64,
            tail_messages: MESSAGES as u64 / 100,
            rows: rows.collect(),
        },
        byte_deliveries: MESSAGES as u64,
        wire_bytes: MESSAGES as u64 * 140,
        processes: vec![ProcessUse {
            role: "pub".into(),
            cpu_ns_per_message: Some(8_000.0 * level),
            ..ProcessUse::default()
        }],
        ..Repetition::default()
    }
}

/// About normal, from −6 to 6.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.f64()).fold(-6.0, |sum, one| sum + one)
}

/// A time in nanoseconds with a tail.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // `as` saturates.
fn time(level: f64, rng: &mut Rng) -> u64 {
    (40_000.0 * level * (0.3 * normal(rng)).exp()) as u64
}

fn encode(times: &[u64]) -> Option<String> {
    let mut histogram = Histogram::new(3);
    for &time in times {
        histogram.add(time);
    }
    histogram.encode()
}

criterion_group!(benches, large);
criterion_main!(benches);
