//! `wirelap compare` and `wirelap report` as programs: what they print and write, and how they end.

#![allow(missing_docs, reason = "a test")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use wirelap_events::Nanos;
use wirelap_report::{
    Histograms, Repetition, ReportedTrust, RunReport, RunResult, Samples, Throughput,
};

/// A folder with the reports of runs.
struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Bench {
        Bench(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a run of ten repetitions whose messages take about `us` microseconds.
    fn run(&self, name: &str, us: u64, change: impl FnOnce(&mut RunReport)) {
        let repetitions = (1..=10).map(|number| repetition(number, us));
        let result = RunResult {
            middleware: "mqtt".into(),
            broker: Some("mosquitto".into()),
            payload_bytes: 64,
            trust: ReportedTrust { coverage: 1.0, window_share: 1.0, ..ReportedTrust::default() },
            repetitions: repetitions.collect(),
            ..RunResult::default()
        };
        let mut report = RunReport {
            results: vec![result],
            ..wirelap_report::from_snapshot::run_report(&wirelap_correlate::Snapshot::default())
        };
        change(&mut report);
        std::fs::write(self.path(name), serde_json::to_string(&report).unwrap()).unwrap();
    }

    fn wirelap(&self, words: &str) -> Output {
        let mut wirelap = Command::new(env!("CARGO_BIN_EXE_wirelap"));
        wirelap.current_dir(self.0.path()).args(words.split(' ')).output().unwrap()
    }
}

fn repetition(number: u32, us: u64) -> Repetition {
    let mut samples = Samples::new();
    // Repetitions differ by 1 % at most.
    let base = us * (1_000 + u64::from(number));
    (0..500).for_each(|n| samples.add(Nanos(base + n * us / 10)));
    let block = samples.histogram();
    Repetition {
        number,
        position: number,
        throughput: Throughput { msg_per_s: 1e6 / us as f64, ..Throughput::default() },
        one_way_ns: samples.distribution(),
        histograms: Histograms {
            one_way_ns: block.clone(),
            one_way_blocks_ns: block.into_iter().collect(),
            ..Histograms::default()
        },
        byte_deliveries: 500,
        wire_bytes: 500 * 270,
        ..Repetition::default()
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_slower_run_is_found_and_fails_a_criterion() {
    let bench = Bench::new();
    bench.run("a.json", 100, |_| {});
    bench.run("b.json", 120, |_| {});
    let plain = bench.wirelap("compare a.json b.json");
    assert_eq!(plain.status.code(), Some(0), "{}", stderr(&plain));
    let text = stdout(&plain);
    assert!(text.lines().any(|line| line.starts_with("p50") && line.contains("slower")), "{text}");
    assert!(text.lines().any(|line| line.starts_with("wire/msg") && line.contains("same")));
    let failed = bench.wirelap("compare a.json b.json --fail-if p50>10%");
    assert_eq!(failed.status.code(), Some(1), "{}", stdout(&failed));
    let held = bench.wirelap("compare a.json b.json --fail-if p50>25% --json c.json");
    assert_eq!(held.status.code(), Some(0), "{}", stdout(&held));
    let json: serde_json::Value =
        serde_json::from_slice(&std::fs::read(bench.path("c.json")).unwrap()).unwrap();
    assert_eq!(json["schema"], "wirelap/compare/1");
    assert_eq!(json["results"][0]["cells"][0]["answer"], "slower");
}

#[test]
fn a_criterion_on_a_percentile_of_too_few_messages_is_not_judged() {
    let bench = Bench::new();
    bench.run("a.json", 100, |_| {});
    bench.run("b.json", 200, |_| {});
    let output = bench.wirelap("compare a.json b.json --fail-if p99.9>5% --json c.json");
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    let text = stdout(&output);
    let is_untold =
        |line: &str| line.starts_with("p99.9") && line.contains("cannot tell (messages)");
    assert!(text.lines().any(is_untold), "{text}");
    let json: serde_json::Value =
        serde_json::from_slice(&std::fs::read(bench.path("c.json")).unwrap()).unwrap();
    let criterion = &json["criteria"][0];
    assert_eq!(criterion["outcome"], "not_judged");
    let why = "p99.9 needs 10,000 messages in each repetition, and these have 500";
    assert_eq!(criterion["text"], why);
}

#[test]
fn a_run_is_neither_slower_nor_faster_than_itself() {
    let bench = Bench::new();
    bench.run("a.json", 100, |_| {});
    let same = bench.wirelap("compare a.json a.json --fail-if p50>0% --fail-if p50<0%");
    assert_eq!(same.status.code(), Some(0));
    let text = stdout(&same);
    assert!(!text.contains("slower") && !text.contains("faster"), "{text}");
}

#[test]
fn what_is_not_comparable_says_why_and_ends_with_status_3() {
    let bench = Bench::new();
    bench.run("a.json", 100, |report| report.environment.cpu_model = "one".into());
    bench.run("b.json", 120, |report| report.environment.cpu_model = "another".into());
    let output = bench.wirelap("compare a.json b.json --fail-if p50>10%");
    assert_eq!(output.status.code(), Some(3));
    let text = stdout(&output);
    assert!(text.contains("another") && !text.contains("slower"), "{text}");
    let anyway = bench.wirelap("compare a.json b.json --anyway");
    assert_eq!(anyway.status.code(), Some(0));
    assert!(stdout(&anyway).contains("slower"));
}

#[test]
fn two_variants_of_one_run_are_compared() {
    let bench = Bench::new();
    bench.run("ab.json", 100, |report| {
        report.scenario.ab = Some(["broker=mosquitto".into(), "broker=rumqttd".into()]);
        report.results[0].variant = Some("A".into());
        let slower = (1..=10).map(|number| repetition(number, 120)).collect();
        let b = RunResult {
            variant: Some("B".into()),
            broker: Some("rumqttd".into()),
            repetitions: slower,
            ..report.results[0].clone()
        };
        report.results.push(b);
    });
    let output = bench.wirelap("compare ab.json");
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(text.contains("slower") && text.contains("signed-rank"), "{text}");
    assert!(text.starts_with("A: broker=mosquitto"), "{text}");
    assert!(text.contains("differs: setting broker: mosquitto → rumqttd"), "{text}");
}

#[test]
fn mistakes_get_one_sentence_and_status_2() {
    let bench = Bench::new();
    bench.run("a.json", 100, |_| {});
    let cases = [
        ("compare a.json", "is one run without --ab"),
        ("compare a.json nothing.json", "cannot read nothing.json"),
        ("compare a.json a.json --on kafka", "there is no result of kafka"),
        ("compare a.json a.json --fail-if latency", "is not a criterion"),
        ("compare a.json a.json --margin 0", "is no percentage"),
        ("report nothing.json -o x.html", "cannot read nothing.json"),
    ];
    for (words, message) in cases {
        let output = bench.wirelap(words);
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(stderr(&output).contains(message), "{words}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{words}");
    }
    assert!(!bench.path("x.html").exists());
}

#[test]
fn false_alarms_of_a_run_are_counted() {
    let bench = Bench::new();
    bench.run("a.json", 100, |_| {});
    let output = bench.wirelap("compare a.json --self-test");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains(" of 200 pairs of halves"), "{}", stdout(&output));
}

#[test]
fn a_page_is_written_for_its_owner_and_replaces_nothing() {
    let bench = Bench::new();
    bench.run("a.json", 100, |_| {});
    let output = bench.wirelap("report a.json -o a.html");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = std::fs::read_to_string(bench.path("a.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("mqtt/mosquitto"));
    assert_eq!(mode(&bench.path("a.html")), 0o600);
    let again = bench.wirelap("report a.json -o a.html");
    assert_eq!(again.status.code(), Some(2));
    assert_eq!(bench.wirelap("report a.json -o a.html --force").status.code(), Some(0));
    let piped = bench.wirelap("report a.json -o -");
    assert_eq!(stdout(&piped), page);
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
