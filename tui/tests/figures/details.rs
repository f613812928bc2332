//! The details of a row: segments, latency, messages, bytes, processes.

use crate::figure::{Figure, after, assert_shows, before, number};
use crate::{SIZE, cut, json, selected, snapshots};
use crossterm::event::KeyCode;
use serde_json::Value;
use std::collections::BTreeMap;

/// The facts of the selected row by their label, each on one line.
fn facts(lines: &[String]) -> BTreeMap<String, Vec<String>> {
    let mut facts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut label = String::new();
    for line in lines.iter().skip_while(|line| !line.starts_with('─')).skip(1) {
        let (name, value) = (cut(line, 44, 53), cut(line, 54, usize::from(SIZE.0)));
        if !name.is_empty() {
            label = name;
        }
        if !value.is_empty() {
            facts.entry(label.clone()).or_default().push(value);
        }
    }
    facts
}

#[test]
fn each_figure_of_the_details_is_in_the_json() {
    for (name, snapshot) in snapshots() {
        let json = json(&snapshot);
        for (row, result) in json["results"].as_array().unwrap().iter().enumerate() {
            let place = format!("{name}, row {row}");
            let lines = selected(&snapshot, row, KeyCode::Enter);
            assert_segments(&place, &lines, result);
            assert_facts(&place, &facts(&lines), result);
        }
    }
}

fn assert_segments(place: &str, lines: &[String], result: &Value) {
    let rows = result["segments"].as_array().unwrap();
    let shown = lines.iter().skip_while(|line| !line.starts_with(" LEG SEGMENT")).skip(1);
    let shown: Vec<&String> = shown.take_while(|line| !cut(line, 0, 5).is_empty()).collect();
    let shown: Vec<&&String> =
        shown.iter().filter(|line| cut(line, 0, 5).parse::<u8>().is_ok()).collect();
    assert_eq!(shown.len(), rows.len(), "{place}");
    for (line, row) in shown.into_iter().zip(rows) {
        assert_eq!(cut(line, 0, 5), row["leg"].to_string());
        assert_eq!(cut(line, 7, 20), row["segment"].as_str().unwrap());
        for (from, to, path) in [(20, 27, "/p50_ns"), (28, 35, "/p99_ns")] {
            let shown = Figure::parse(&cut(line, from, to)).unwrap_or_else(|| panic!("{line}"));
            assert_shows(place, shown, number(row, path));
        }
        let share = Figure::parse(&cut(line, 36, 42)).unwrap_or_else(|| panic!("{line}"));
        assert!(share.is_floor_of(number(row, "/share") * 100.0), "{place}: {line}");
    }
}

fn assert_facts(place: &str, facts: &BTreeMap<String, Vec<String>>, result: &Value) {
    for (label, of) in [("one-way", "/latency/one_way_ns"), ("sched gap", "/sched_gap_ns")] {
        let (shown, has) = (&facts[label][0], number(result, &format!("{of}/count")) > 0.0);
        if !has {
            assert_eq!(shown, "–", "{place}: {label}");
            continue;
        }
        for (word, name) in [
            ("min ", "min"),
            ("p50 ", "p50"),
            ("p90 ", "p90"),
            ("p99 ", "p99"),
            ("p99.9 ", "p999"),
            ("max ", "max"),
        ] {
            assert_shows(place, after(shown, word), number(result, &format!("{of}/{name}")));
        }
    }
    let messages = facts["messages"].join(" ");
    for (word, name) in [("sent", "sent"), ("delivered", "delivered"), ("matched", "matched")] {
        assert_shows(place, after(&messages, word), number(result, &format!("/messages/{name}")));
    }
    for (word, name) in [
        ("uncovered", "uncovered"),
        ("duplicates", "duplicates"),
        ("retained", "retained"),
        ("warm-up", "warmup"),
    ] {
        let count = number(result, &format!("/messages/{name}"));
        assert_eq!(messages.contains(word), count > 0.0, "{place}: {word}");
        if count > 0.0 {
            assert_shows(place, after(&messages, word), count);
        }
    }
    let rate = facts["rate"].join(" ");
    assert_shows(place, after(&rate, "now,"), number(result, "/throughput/msg_per_s"));
    assert_bytes(place, &facts["bytes"], result);
    let processes = facts.get("processes").cloned().unwrap_or_default();
    let expected = result["processes"].as_array().unwrap();
    assert_eq!(processes.len(), expected.len(), "{place}");
    processes.iter().zip(expected).for_each(|(line, process)| assert_process(place, line, process));
}

fn assert_bytes(place: &str, lines: &[String], result: &Value) {
    let overhead = &result["overhead"];
    let deliveries = number(overhead, "/deliveries");
    if deliveries == 0.0 {
        assert_eq!(lines, ["–"], "{place}");
        return;
    }
    let each = |path: &str| number(overhead, path) / deliveries;
    assert_shows(place, before(&lines[0], " a message"), each("/total_bytes"));
    assert_shows(place, after(&lines[0], " in "), each("/packets"));
    for leg in overhead["legs"].as_array().unwrap() {
        let word = format!("leg {} ", leg["leg"]);
        if lines[0].contains(&word) {
            assert_shows(place, after(&lines[0], &word), number(leg, "/total_bytes") / deliveries);
        }
    }
    let parts = overhead["parts_bytes"].as_object().unwrap();
    let mut control = 0.0;
    for (name, bytes) in parts {
        let bytes = bytes.as_f64().unwrap();
        let word = if name == "pure_ack" { "pure ACKs" } else { name.as_str() };
        if ["session", "subscribe", "ack", "keepalive", "discovery", "other"].contains(&word) {
            control += bytes;
        } else if bytes > 0.0 {
            let shown = lines[1].split(" + ").find(|part| part.starts_with(&format!("{word} ")));
            let shown = shown.unwrap_or_else(|| panic!("{place}: no {word} in {}", lines[1]));
            assert_shows(place, after(shown, word), bytes / deliveries);
        }
    }
    assert_eq!(lines[1].contains("control "), control > 0.0, "{place}");
    if control > 0.0 {
        assert_shows(place, after(&lines[1], "control "), control / deliveries);
    }
    assert_shows(place, after(&lines[2], "as Ethernet:"), each("/ethernet/frame_bytes"));
    assert_shows(place, after(&lines[2], " in "), each("/ethernet/frames"));
    let operations = overhead["operations"].as_array().unwrap();
    for operation in operations.iter().filter(|of| number(of, "/count") > 0.0) {
        let name = format!("{} ", operation["operation"].as_str().unwrap());
        assert_shows(place, after(&lines[3], &name), number(operation, "/mean_bytes"));
    }
}

fn assert_process(place: &str, line: &str, process: &Value) {
    let id = format!("{} ({})", process["name"].as_str().unwrap(), process["pid"]);
    assert!(line.contains(&id), "{place}: {line} is not {id}");
    if let Some(cpu) = process["cpu_share"].as_f64() {
        assert_shows(place, before(line, " CPU,"), cpu * 100.0);
    }
    if let Some(rss) = process["rss_bytes"].as_f64() {
        assert_shows(place, after(line, " CPU,"), rss);
    }
    let Some(_) = process["scheduling"].as_object() else { return };
    let of = |path: &str| number(process, &format!("/scheduling{path}"));
    if of("/run_queue_ns/count") > 0.0 {
        assert_shows(place, after(line, "waited for a CPU"), of("/run_queue_ns/p50"));
        assert_shows(place, after(line, "(p99"), of("/run_queue_ns/p99"));
    }
    for (word, path) in
        [("slept", "/sleeps"), ("preempted", "/preemptions"), ("migrated", "/migrations")]
    {
        assert_shows(place, after(line, word), of(path));
    }
}
