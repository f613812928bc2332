//! The tables of single messages (`--parquet`, `--parquet-dir`), as other programs read them from SQL: `DuckDB`, Polars and `DataFusion`.

use crate::bench::Bench;
use crate::hidden::assert_count;
use crate::{LONG, free_port};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use wirelap_test_support::committed::repository;

/// The Python of the folder that `make setup` has made.
fn python() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").expect("HOME")).join(".cache");
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
    let python = cache.join("wirelap/duckdb/bin/python");
    assert!(python.is_file(), "{} is missing: run `make setup`", python.display());
    python
}

/// Queries a file with `DuckDB`.
fn queried(file: &Path) -> Value {
    answered("query.py", file)
}

/// The answers of a script about a file or a folder.
fn answered(script: &str, about: &Path) -> Value {
    let script = repository("tracer/cli/tests/e2e/messages").join(script);
    let output = Command::new(python()).arg(script).arg(about).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The rows of an answer that are about a result of the JSON.
fn of_result<'a>(answer: &'a Value, result: &Value) -> Vec<&'a Value> {
    let is_of = |row: &&Value| {
        row["middleware"] == result["middleware"]
            && row["broker"] == result["broker"]
            && row["trial_payload_bytes"] == result["payload_bytes"]
    };
    answer.as_array().unwrap().iter().filter(is_of).collect()
}

/// The only one of these rows.
fn only<'a>(rows: &[&'a Value]) -> &'a Value {
    let [row] = rows else { panic!("not one row, but {rows:?}") };
    row
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a count"))
}

/// True if a segment of the JSON is between the first send and the last read. The time in the client libraries is known from the
/// workloads' records, which are read when the trial has ended.
fn is_on_wire(row: &Value) -> bool {
    row["segment"] != "client_tx" && row["segment"] != "client_rx"
}

/// The latency: counts, the sum and the extremes are exact; a percentile is that of the same rank, up to the histogram's width.
fn assert_same_latency(said: &Value, result: &Value) {
    let latency = only(&of_result(&said["latency"], result));
    let ours = &result["latency"]["one_way_ns"];
    for (theirs, name) in [("n", "count"), ("min", "min"), ("max", "max")] {
        assert_eq!(latency[theirs], ours[name], "{}: {name}", result["middleware"]);
    }
    assert_eq!(latency["n"], result["messages"]["matched"]);
    for name in ["p50", "p90", "p99", "p999"] {
        let (exact, rounded) = (count(&latency[name]), count(&ours[name]));
        assert!(rounded.abs_diff(exact) <= exact / 1000 + 1, "{name}: {exact} and {rounded}");
    }
    let segments = result["segments"].as_array().unwrap().iter();
    let sum: u64 = segments.filter(|row| is_on_wire(row)).map(|row| count(&row["total_ns"])).sum();
    assert_eq!(count(&latency["sum"]), sum, "{}", result["middleware"]);
}

/// The times in each segment of each leg: as many messages, the same sum.
fn assert_same_segments(said: &Value, result: &Value) {
    let rows = of_result(&said["segments"], result);
    let mut compared = 0;
    for ours in result["segments"].as_array().unwrap().iter().filter(|row| is_on_wire(row)) {
        let name = format!("leg{}_in_{}_ns", ours["leg"], ours["segment"].as_str().unwrap());
        let theirs = rows.iter().filter(|row| row["name"] == name.as_str());
        let (n, sum) = theirs.fold((0, 0), |(n, sum), row| {
            compared += 1;
            (n + count(&row["n"]), sum + count(&row["sum"]))
        });
        assert_eq!((n, sum), (count(&ours["count"]), count(&ours["total_ns"])), "{name}");
    }
    assert_eq!(compared, rows.len(), "DuckDB has segments that the JSON has not");
}

/// Compares of each repetition the counted messages, and the mean time by leg, segment and cause.
fn assert_same_repetitions(said: &Value, result: &Value) {
    let (status, spent) = (of_result(&said["status"], result), of_result(&said["spent"], result));
    for repetition in result["repetitions"].as_array().unwrap() {
        let is_of = |row: &&&Value| row["repetition"] == repetition["number"];
        let counted = status.iter().filter(is_of).find(|row| row["status"] == "counted").unwrap();
        assert_eq!(counted["n"], repetition["messages"]["matched"]);
        let ours = &repetition["time_spent"];
        assert_eq!(counted["n"], ours["messages"], "{}", result["messages"]);
        let theirs: Vec<_> = spent.iter().filter(is_of).collect();
        // The report also has rows of causes that no time was put down to.
        let rows = ours["rows"].as_array().unwrap().iter();
        let rows: Vec<_> = rows.filter(|row| row["mean_ns"].as_f64() > Some(0.0)).collect();
        for row in &rows {
            let is_same = |other: &&&&Value| {
                ["leg", "segment", "cause"].iter().all(|key| other[*key] == row[*key])
            };
            let theirs = theirs.iter().find(is_same).unwrap_or_else(|| panic!("no {row}"));
            let mean = count(&theirs["sum"]) as f64 / count(&counted["n"]) as f64;
            let ours = row["mean_ns"].as_f64().unwrap();
            assert!((mean - ours).abs() <= ours / 1e9 + 1e-6, "{row}: {mean}");
        }
        assert_eq!(theirs.len(), rows.len(), "{}", result["middleware"]);
    }
}

#[test]
fn duckdb_finds_the_figures_of_the_json_in_single_messages() {
    let bench = Bench::new();
    let table = bench.file("messages.parquet");
    let words = format!(
        "run latency --on tcp,mqtt --broker mosquitto --payload 64,1024 --rate 4000 --messages 3000 --repeat 2 --parquet {}",
        table.display()
    );
    let ended = bench.wirelap(&words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let (report, said) = (bench.report(), queried(&table));
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 4);
    for result in results {
        assert_count(result, "/messages/matched", 6000);
        assert_same_latency(&said, result);
        assert_same_segments(&said, result);
        assert_same_repetitions(&said, result);
        let warmup: u64 = of_result(&said["status"], result)
            .iter()
            .filter(|row| row["status"] == "warmup")
            .map(|row| count(&row["n"]))
            .sum();
        assert_eq!(warmup, count(&result["messages"]["warmup"]));
        let identity = only(&of_result(&said["identity"], result));
        let is_mqtt = result["middleware"] == "mqtt";
        assert_eq!(identity["legs"], if is_mqtt { 2 } else { 1 });
        assert_eq!(identity["topics"], u64::from(is_mqtt), "{identity}");
        assert_eq!((&identity["sources"], &identity["senders"]), (&2.into(), &2.into()));
        assert_eq!(
            (&identity["payload_bytes"], &identity["messages"]),
            (&result["payload_bytes"], &result["messages"]["matched"])
        );
    }
    assert_eq!(said["latency"].as_array().unwrap().len(), results.len());
    assert_eq!(said["wrong"], 0, "messages whose own figures contradict each other");
    bench.assert_clean();
}

#[test]
fn replies_and_both_variants_are_told_apart() {
    let bench = Bench::new();
    let table = bench.file("messages.parquet");
    let words = format!("run latency --on tcp --messages 500 --parquet {}", table.display());
    let mut call = bench.wirelap(&words).json();
    call.add(&["--ab", "payload=64", "payload=128", "--repeat", "2"]);
    let ended = call.end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let said = queried(&table);
    let variants: Vec<_> = said["latency"].as_array().unwrap().iter().collect();
    let mut named: Vec<_> = variants
        .iter()
        .map(|row| {
            (row["variant"].as_str().unwrap(), count(&row["trial_payload_bytes"]), count(&row["n"]))
        })
        .collect();
    named.sort_unstable();
    // A round trip is two messages.
    assert_eq!(named, [("A", 64, 2000), ("B", 128, 2000)]);
    assert_eq!(said["wrong"], 0);
}

#[test]
fn a_full_disk_is_one_sentence_and_the_report_is_there() {
    let bench = Bench::new();
    let folder = bench.file("small");
    std::fs::create_dir(&folder).unwrap();
    let words = format!(
        "run latency --on tcp --messages 2000 --parquet {}",
        folder.join("messages.parquet").display()
    );
    let ended = bench.wirelap_in_tmpfs(&words, &folder, "16k").json().end(LONG);
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    let sentence = ended.stderr.lines().find(|line| line.starts_with("wirelap: ")).unwrap();
    assert!(sentence.contains("messages.parquet: No space left on device"), "{sentence}");
    assert!(sentence.contains("make room, or name another file"), "{sentence}");
    assert_count(&bench.report()["results"][0], "/messages/matched", 4000);
    assert!(!bench.file("kept.parquet").exists(), "an empty table is left behind");
}

/// The latencies that an engine finds by topic, and the sum of all messages.
fn topics(answer: &Value) -> (u64, BTreeSet<&str>) {
    let topics = answer["topics"].as_array().unwrap();
    let names = topics.iter().map(|row| row["topic"].as_str().unwrap()).collect();
    (topics.iter().map(|row| count(&row["n"])).sum(), names)
}

#[test]
fn all_engines_read_a_folder_of_what_was_live_and_of_its_recording_the_same() {
    let bench = Bench::new();
    let [folder, again] = ["live", "again"].map(|name| bench.file(name));
    for folder in [&folder, &again] {
        std::fs::create_dir(folder).unwrap();
    }
    let recording = bench.file("live.pcapng");
    // Other tests have messages, too.
    let port = free_port();
    let words = format!(
        "live --plain --on mqtt --broker mosquitto --port {port} --ports {port} --rate 500 --sample off --duration 4s --parquet-dir {} --parquet-every 1s \
         --pcapng-payload --snap 256 --pcapng {}",
        folder.display(),
        recording.display()
    );
    let ended = bench.wirelap(&words).json().end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let files = std::fs::read_dir(&folder).unwrap().count();
    assert!((3..=6).contains(&files), "{files} files: {}", ended.stderr);
    let said = answered("engines.py", &folder);
    assert_eq!((&said["polars"], &said["datafusion"]), (&said["duckdb"], &said["duckdb"]));
    let matched = count(&bench.report()["results"][0]["messages"]["matched"]);
    let live = topics(&said["duckdb"]);
    assert_eq!((live.0, live.0 > 1000), (matched, true));
    assert_eq!(said["duckdb"]["topics"][0]["broker"], "mosquitto");
    let words = format!(
        "analyze {} --parquet {}",
        recording.display(),
        again.join("all.parquet").display()
    );
    let ended = bench.wirelap(&words).end(LONG);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let said_again = answered("engines.py", &again);
    assert_eq!(topics(&said_again["polars"]), live);
    assert_eq!(said_again["duckdb"]["slowest"], said["duckdb"]["slowest"]);
    bench.assert_clean();
}

#[test]
fn a_folder_that_is_not_there_is_one_sentence() {
    let bench = Bench::new();
    let folder = bench.file("nowhere");
    let ended =
        bench.wirelap(&format!("live --plain --parquet-dir {}", folder.display())).end(LONG);
    assert_eq!(ended.status, Some(2), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("is not a folder: make it first (`mkdir -p "),
        "{}",
        ended.stderr
    );
}
