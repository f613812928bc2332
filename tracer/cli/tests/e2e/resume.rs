//! A run that is interrupted loses no more than the running trial, and can be resumed.

use crate::LONG;
use crate::bench::{Bench, alive, poll};
use crate::hidden::{assert_count, hidden_packets};
use rustix::process::Signal;
use serde_json::Value;

const WORDS: &str = "run latency --on tcp,udp --messages 300 --warmup 10 --repeat 4 --seed 5";

/// The repetitions in the file by their position, if there is a file.
fn repetitions(report: &Value) -> Vec<Value> {
    let results = report["results"].as_array().unwrap();
    let mut all: Vec<Value> =
        results.iter().flat_map(|row| row["repetitions"].as_array().unwrap().clone()).collect();
    all.sort_by_key(|one| one["position"].as_u64());
    all
}

/// Waits until the file has so many repetitions. A file that is being written is never seen.
fn until_written(bench: &Bench, count: usize) -> Value {
    poll("a trial in the file", LONG, || {
        let text = std::fs::read(bench.file("out.json")).ok()?;
        let report: Value = serde_json::from_slice(&text).expect("whole JSON at any time");
        (repetitions(&report).len() >= count).then_some(report)
    })
}

fn resume(bench: &Bench, words: &str) -> crate::bench::Call {
    bench.wirelap(&format!("{words} --resume {}", bench.file("out.json").display()))
}

#[test]
fn a_run_that_was_stopped_and_killed_is_resumed_to_its_end() {
    let bench = Bench::new();
    let run = bench.wirelap(WORDS).json().start();
    until_written(&bench, 1);
    run.signal(Signal::INT);
    let ended = run.end(LONG);
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    let stopped = bench.report();
    assert_eq!(stopped["incomplete"]["planned"], 8);
    let whole = |report: &Value| -> Vec<Value> {
        let all = repetitions(report).into_iter();
        all.filter(|one| one["interrupted"].is_null()).collect()
    };
    let first = whole(&stopped);
    let missing = stopped["incomplete"]["missing"].as_array().unwrap().len();
    assert_eq!(first.len() + missing, 8, "{}", stopped["incomplete"]);

    let run = resume(&bench, WORDS).start();
    until_written(&bench, first.len() + 2);
    let descendants = run.descendants();
    run.signal(Signal::KILL);
    assert_eq!(run.end(LONG).status, None);
    poll("the end of what it started", LONG, || alive(&descendants).is_empty().then_some(()));
    let killed = bench.report();
    let second = whole(&killed);
    assert_eq!(second[..first.len()], first, "what was measured before is kept");
    assert!(!killed["incomplete"]["missing"].as_array().unwrap().is_empty());

    let ended = resume(&bench, WORDS).end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let report = bench.report();
    assert!(report["incomplete"].is_null() && report["partial"] == false, "{}", report["notes"]);
    let all = repetitions(&report);
    assert_eq!((all.len(), &all[..second.len()]), (8, &second[..]));
    for result in report["results"].as_array().unwrap() {
        assert_count(result, "/messages/matched", 4 * 600);
        assert_count(result, "/latency/one_way_ns/count", 4 * 600);
        assert_count(result, "/latency/rtt_half_ns/count", 4 * 300);
        assert!(result["trust"]["coverage"] == 1.0 || hidden_packets(result) > 0);
        assert_eq!(result["ground_truth"]["violations"], 0);
    }
    assert_eq!(report["environment"]["resumed_at"].as_array().unwrap().len(), 2);
    let notes = report["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note.as_str().unwrap().contains("resumed at ")), "{notes:?}");
    let order = report["scenario"]["order"].clone();
    let ended = bench.wirelap(WORDS).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert_eq!(bench.report()["scenario"]["order"], order, "as if nothing had happened");

    let ended = resume(&bench, WORDS).end(LONG);
    assert_eq!(ended.status, Some(2));
    assert!(ended.stderr.contains("it is complete"), "{}", ended.stderr);
}

#[test]
fn other_settings_are_refused_and_leave_the_file_as_it_is() {
    let bench = Bench::new();
    let run = bench.wirelap(WORDS).json().start();
    until_written(&bench, 1);
    run.signal(Signal::INT);
    run.end(LONG);
    let before = bench.report();
    let ended = resume(&bench, &WORDS.replace("300", "200")).end(LONG);
    assert_eq!(ended.status, Some(2), "{}", ended.stderr);
    let said = "the setting `messages` was `300` and is `200`";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    assert_eq!(bench.report(), before);
}

/// Each trial adds some 35 KB to the report, so that a small disk is full after a few of them.
#[test]
fn a_full_disk_is_told_once_and_keeps_what_was_written_before() {
    let bench = Bench::new();
    let folder = bench.file("small");
    std::fs::create_dir(&folder).unwrap();
    let json = folder.join("out.json");
    let words = format!(
        "run latency --on tcp --messages 300 --warmup 10 --repeat 8 --json {}",
        json.display()
    );
    // The file that is there and the next one must both fit in.
    let ended = bench.wirelap_in_tmpfs(&words, &folder, "256k").end(LONG);
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    let told = ended.stderr.matches("tried again after the next trial").count();
    assert_eq!(told, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("No space left"), "{}", ended.stderr);
    let start = ended.stdout.find("{\n").expect("the whole report on stdout");
    let report: Value = serde_json::from_str(&ended.stdout[start..]).unwrap();
    assert_eq!(repetitions(&report).len(), 8);
    let kept = std::fs::read(bench.file("kept.json")).unwrap();
    let kept: Value = serde_json::from_slice(&kept).unwrap();
    let before = repetitions(&kept);
    assert_eq!(before[..], repetitions(&report)[..before.len()]);
    assert!(!before.is_empty() && before.len() < 7, "{}", before.len());
}
