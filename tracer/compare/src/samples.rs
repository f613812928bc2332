//! Runs for tests: simulated messages, whose figures belong together.

use fastrand::Rng;
use wirelap_correlate::Histogram;
use wirelap_events::Nanos;
use wirelap_report::{
    Environment, Histograms, Pacing, ProcessUse, Repetition, ReportedTimeSpent,
    ReportedTimeSpentRow, ReportedTrust, RunKind, RunReport, RunResult, Scenario, Throughput,
};

const BLOCKS: usize = 8;

/// The parameters of a simulated run.
#[derive(Clone, Copy, Debug)]
pub struct Simulation {
    pub seed: u64,
    pub repetitions: u32,
    pub messages: usize,
    /// By how much repetitions differ, as a share.
    pub spread: f64,
    /// By what the broker's dwell is multiplied.
    pub dwell: f64,
}

impl Default for Simulation {
    fn default() -> Simulation {
        Simulation { seed: 1, repetitions: 10, messages: 800, spread: 0.02, dwell: 1.0 }
    }
}

/// A run with one result whose repetitions are changed by a function of their index.
pub fn report(repetitions: u32, mut change: impl FnMut(u32, &mut Repetition)) -> RunReport {
    let mut report = simulated(Simulation { repetitions, messages: 80, ..Simulation::default() });
    for (index, repetition) in (0..).zip(&mut report.results[0].repetitions) {
        change(index, repetition);
    }
    report
}

pub fn simulated(simulation: Simulation) -> RunReport {
    let mut rng = Rng::with_seed(simulation.seed);
    let repetitions =
        (1..=simulation.repetitions).map(|number| repetition(number, simulation, &mut rng));
    let result = RunResult {
        middleware: "mqtt".into(),
        broker: Some("mosquitto".into()),
        payload_bytes: 64,
        trust: ReportedTrust { coverage: 1.0, window_share: 1.0, ..ReportedTrust::default() },
        repetitions: repetitions.collect(),
        ..RunResult::default()
    };
    RunReport {
        schema: wirelap_report::run::RUN_SCHEMA.into(),
        partial: false,
        incomplete: None,
        machine_key: None,
        environment: Environment {
            kernel: "6.18.0".into(),
            cpu_model: "A processor".into(),
            cores: 2,
            wirelap_version: "0.1.0".into(),
            started_at: "2026-11-20T10:00:00Z".into(),
            ..Environment::default()
        },
        scenario: Scenario {
            name: None,
            settings: std::collections::BTreeMap::default(),
            kind: RunKind::Latency,
            pacing: Pacing::PingPong,
            middlewares: vec!["mqtt".into()],
            payload_bytes: vec![64],
            rate_msg_per_s: None,
            rates_msg_per_s: vec![],
            topology: None,
            ab: None,
            messages: Some(simulation.messages as u64),
            duration_s: None,
            warmup: 100,
            repeat: simulation.repetitions,
            pin: vec![],
            links: None,
            order: vec![],
        },
        results: vec![result],
        hooks: vec![],
        skipped: vec![],
        saturation_msg_per_s: vec![],
        breakdown: None,
        slow_subscribers: None,
        notes: vec![],
        unknown: wirelap_report::ReportedUnknown::default(),
        hosts: vec![],
        ros2: None,
    }
}

/// About normal, from −6 to 6.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0
}

fn repetition(number: u32, simulation: Simulation, rng: &mut Rng) -> Repetition {
    let level = (simulation.spread * normal(rng)).exp();
    // The wire of the first leg and the broker's dwell.
    let mut times: Vec<[f64; 2]> = (0..simulation.messages)
        .map(|_| {
            let wire = 10e3 * level * (0.1 * normal(rng)).exp();
            [wire, 30e3 * level * simulation.dwell * (0.3 * normal(rng)).exp()]
        })
        .collect();
    let one_way: Vec<u64> =
        times.iter().map(|[wire, dwell]| Nanos::from_f64(wire + dwell).0).collect();
    let blocks = one_way.chunks(one_way.len().div_ceil(BLOCKS)).map(encode).collect();
    let mean = one_way.iter().sum::<u64>() as f64 / one_way.len() as f64;
    Repetition {
        number,
        position: number,
        throughput: Throughput { msg_per_s: 1e9 / mean, ..Throughput::default() },
        histograms: Histograms {
            one_way_ns: Some(encode(&one_way)),
            one_way_blocks_ns: blocks,
            rtt_half_ns: Some(encode(&one_way)),
            ..Histograms::default()
        },
        time_spent: time_spent(&mut times),
        byte_deliveries: simulation.messages as u64,
        wire_bytes: simulation.messages as u64 * 140,
        processes: vec![ProcessUse {
            role: "pub".into(),
            cpu_ns_per_message: Some(8e3 * (simulation.spread * normal(rng)).exp()),
            ..ProcessUse::default()
        }],
        ..Repetition::default()
    }
}

/// A histogram as files have it.
pub fn encode(values: &[u64]) -> String {
    let mut histogram = Histogram::new(3);
    for &value in values {
        histogram.add(value);
    }
    histogram.encode().unwrap()
}

fn time_spent(times: &mut [[f64; 2]]) -> ReportedTimeSpent {
    times.sort_by(|a, b| (a[0] + a[1]).total_cmp(&(b[0] + b[1])));
    let count = times.len();
    let tail = count.div_ceil(100);
    let mean = |part: &[[f64; 2]], index: usize| {
        part.iter().map(|time| time[index]).sum::<f64>() / part.len() as f64
    };
    let row = |leg, segment: &str, cause: Option<&str>, index| ReportedTimeSpentRow {
        leg,
        segment: segment.into(),
        cause: cause.map(str::to_owned),
        mean_ns: mean(times, index),
        middle_ns: mean(&times[count * 2 / 5..count * 3 / 5], index),
        tail_ns: mean(&times[count - tail..], index),
    };
    ReportedTimeSpent {
        messages: count as u64,
        tail_messages: tail as u64,
        rows: vec![row(1, "wire", None, 0), row(2, "broker_dwell", Some("broker_cpu_bound"), 1)],
    }
}
