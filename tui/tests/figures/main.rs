//! The screen shows the figures of the JSON. The test reads the drawn screen as a person does, and compares each figure with the
//! number in the JSON of the same snapshot.
//!
//! Not in the JSON, and so not compared: what was in the last seconds (`MSG/S`, `p50 now`, `msg/s now`, the sparklines).

#![allow(missing_docs, reason = "a test")]

mod bytes;
mod causes;
mod details;
mod figure;
mod messages;
mod probes;
mod threads;

use crossterm::event::KeyCode;
use figure::{Figure, after, assert_shows, before, number};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use wirelap_correlate::snapshot::Snapshot;
use wirelap_report::from_snapshot::run_report;
use wirelap_test_pipeline::snapshots;
use wirelap_tui::{App, Theme, render};

/// Wide and high enough that nothing is left out, cut or wrapped.
const SIZE: (u16, u16) = (420, 120);

/// The lines of the screen after these keys.
fn screen(snapshot: &Snapshot, keys: &[KeyCode]) -> Vec<String> {
    let mut app = App::new();
    app.update(Arc::new(snapshot.clone()));
    for key in keys {
        app.on_key((*key).into());
    }
    let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).unwrap();
    terminal.draw(|frame| render::screen(frame, &app, Theme::DARK)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..SIZE.0).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..SIZE.1).map(line).collect()
}

fn json(snapshot: &Snapshot) -> Value {
    serde_json::to_value(run_report(snapshot)).unwrap()
}

fn snapshots() -> [(&'static str, Snapshot); 3] {
    [
        ("five", snapshots::five(83)),
        ("degraded", snapshots::degraded()),
        ("many", snapshots::many(12)),
    ]
}

/// Columns from `from` to before `to` of a line.
fn cut(line: &str, from: usize, to: usize) -> String {
    line.chars().skip(from).take(to - from).collect::<String>().trim().to_owned()
}

/// The rows of the comparison: the text below each heading.
fn comparison(lines: &[String]) -> Vec<BTreeMap<&'static str, String>> {
    const TITLES: [&str; 20] = [
        "MIDDLEWARE",
        "MSG/S",
        "P50",
        "P90",
        "P99",
        "P99.9",
        "MAX",
        "GAP50",
        "GAP99",
        "DWELL",
        "OVERHD",
        "B/MSG",
        "RETRANS",
        "PAYLOAD",
        "DELIVERED",
        "MATCH",
        "TRUST",
        "WHY",
        "P50 BY S",
        "MSG BY S",
    ];
    let (at, heading) =
        lines.iter().enumerate().find(|(_, line)| line.starts_with("  MIDDLEWARE")).unwrap();
    let mut ends = Vec::new();
    let mut from = 0;
    for title in TITLES {
        let begin = from + heading[from..].find(title).unwrap_or_else(|| panic!("no {title}"));
        from = begin + title.len();
        ends.push((title, begin, from));
    }
    let cells = |line: &String| {
        let cell = |(index, &(title, begin, end)): (usize, &(&'static str, usize, usize))| {
            // Figures end where their heading ends; texts begin where it begins.
            let (from, to) = match title {
                "MIDDLEWARE" => (begin, ends[1].2 - 7),
                "TRUST" => (begin, begin + 8),
                "WHY" => (begin, begin + 19),
                "P50 BY S" | "MSG BY S" => (begin, begin + 10),
                _ => (ends[index - 1].2, end),
            };
            (title, cut(line, from, to))
        };
        ends.iter().enumerate().map(cell).collect()
    };
    let rows = lines.iter().skip(at + 1).take_while(|line| !line.starts_with('─'));
    let rows = rows.filter(|line| !cut(line, 0, ends[0].2).is_empty());
    rows.map(cells).collect()
}

/// Fails unless a cell shows the number; without one it shows a dash.
fn assert_cell(place: &str, cell: &str, number: Option<f64>) {
    match (Figure::parse(cell), number) {
        (Some(shown), Some(number)) => assert_shows(place, shown, number),
        (None, None) => assert_eq!(cell, "–", "{place}"),
        (shown, number) => {
            panic!("{place}: the screen shows {cell:?} ({shown:?}), the JSON has {number:?}")
        }
    }
}

/// All bytes on the device for a delivery; `None` without deliveries.
fn bytes_per_message(result: &Value) -> Option<f64> {
    let parts = result["overhead"]["per_message_bytes"].as_object().unwrap();
    let sum = parts.values().filter_map(Value::as_f64).sum();
    (number(result, "/overhead/deliveries") > 0.0).then_some(sum)
}

/// The broker's median time; `None` without a broker.
fn dwell(result: &Value) -> Option<f64> {
    let segments = result["segments"].as_array().unwrap().iter();
    let dwells = segments.filter(|segment| segment["segment"] == "broker_dwell");
    dwells.map(|segment| number(segment, "/p50_ns")).reduce(f64::max)
}

fn assert_row(place: &str, cells: &BTreeMap<&'static str, String>, result: &Value) {
    // A wide character takes two cells, of which the second is empty.
    let name = result["middleware"].as_str().unwrap().replace(' ', "");
    let shown = cells["MIDDLEWARE"].replace(' ', "");
    let shown = shown.trim_start_matches(|c: char| !c.is_alphanumeric());
    assert!(shown.starts_with(&name), "{place}: {cells:?}");
    for (title, of, figure) in [
        ("P50", "/latency/one_way_ns", "p50"),
        ("P90", "/latency/one_way_ns", "p90"),
        ("P99", "/latency/one_way_ns", "p99"),
        ("P99.9", "/latency/one_way_ns", "p999"),
        ("MAX", "/latency/one_way_ns", "max"),
        ("GAP50", "/sched_gap_ns", "p50"),
        ("GAP99", "/sched_gap_ns", "p99"),
    ] {
        let has = number(result, &format!("{of}/count")) > 0.0;
        let time = has.then(|| number(result, &format!("{of}/{figure}")));
        assert_cell(&format!("{place}: {title}"), &cells[title], time);
    }
    let ratio = Some(number(result, "/overhead/ratio")).filter(|&ratio| ratio > 0.0);
    let beyond = ratio
        .map(|ratio| if cells["OVERHD"].starts_with('×') { ratio } else { (ratio - 1.0) * 100.0 });
    assert_cell(&format!("{place}: OVERHD"), &cells["OVERHD"], beyond);
    assert_cell(&format!("{place}: B/MSG"), &cells["B/MSG"], bytes_per_message(result));
    assert_cell(&format!("{place}: DWELL"), &cells["DWELL"], dwell(result));
    let retransmissions = number(result, "/overhead/retransmissions");
    assert_cell(&format!("{place}: RETRANS"), &cells["RETRANS"], Some(retransmissions));
    let reliability = result["trust"]["verdict"].as_str().unwrap();
    assert_eq!(cells["TRUST"], reliability, "{place}");
    let delivered = number(result, "/messages/delivered");
    let payload = (delivered > 0.0).then(|| number(result, "/payload_bytes"));
    assert_cell(&format!("{place}: PAYLOAD"), &cells["PAYLOAD"], payload);
    assert_cell(&format!("{place}: DELIVERED"), &cells["DELIVERED"], Some(delivered));
    // A mark stands before a share that is not the whole.
    match Figure::parse(cells["MATCH"].trim_start_matches('!')) {
        Some(shown) => {
            let coverage = number(result, "/trust/coverage") * 100.0;
            assert!(
                shown.is_floor_of(coverage),
                "{place}: MATCH {shown:?}, the JSON has {coverage}"
            );
        }
        None => assert_eq!((cells["MATCH"].as_str(), delivered > 0.0), ("–", false), "{place}"),
    }
    assert_why(place, &cells["WHY"], result);
}

/// The share in the column of the most serious problem.
fn assert_why(place: &str, cell: &str, result: &Value) {
    let verdicts = result["why"]["verdicts"].as_array();
    let worst =
        verdicts.and_then(|all| all.iter().find(|verdict| verdict["severity"] == "problem"));
    let Some(worst) = worst else {
        assert!(!cell.contains('%'), "{place}: {cell:?}, and the JSON has no problem");
        return;
    };
    let shares = ["/median_share", "/slow_share", "/tail_share"].map(|path| number(worst, path));
    let largest = shares.into_iter().fold(0.0, f64::max);
    if cell.contains('%') {
        assert_shows(place, before(&format!("{cell}|"), "|"), largest * 100.0);
    } else {
        assert!(largest < 0.005 || !worst["open"].is_null(), "{place}: {cell:?} and {largest}");
    }
}

#[test]
fn each_figure_of_the_comparison_is_in_the_json() {
    for (name, snapshot) in snapshots() {
        let (lines, json) = (screen(&snapshot, &[]), json(&snapshot));
        let rows = comparison(&lines);
        let results = json["results"].as_array().unwrap();
        assert_eq!(rows.len(), results.len(), "{name}: {}", lines.join("\n"));
        for (row, result) in rows.iter().zip(results) {
            assert_row(&format!("{name}, {}", result["middleware"]), row, result);
        }
        assert_header(name, &lines, &json);
    }
}

/// The first lines: wirelap's own cost, and how far the figures can be trusted.
fn assert_header(name: &str, lines: &[String], json: &Value) {
    let trust = &json["results"][0]["trust"];
    let cost = |path| number(trust, path);
    assert_shows(name, after(&lines[0], "tracer"), cost("/tracer/cpu_share") * 100.0);
    assert_shows(name, after(&lines[0], "CPU,"), cost("/tracer/rss_bytes"));
    let lost: f64 =
        trust["events_lost"].as_object().unwrap().values().filter_map(Value::as_f64).sum();
    assert_shows(name, after(&lines[1], "lost "), lost);
    assert_shows(name, before(&lines[1], " events  "), cost("/events"));
    let traced = after(&lines[1], "traced ");
    assert!(traced.is_floor_of(cost("/window_share") * 100.0), "{name}: {traced:?}");
    if !trust["budget"].is_null() {
        assert_shows(name, after(&lines[1], "budget "), cost("/budget/share") * 100.0);
        assert_shows(name, after(&lines[1], "%: "), cost("/budget/own_share") * 100.0);
        assert_shows(name, after(&lines[1], "own, "), cost("/budget/probes_share") * 100.0);
    }
    let clock = cut(&lines[0], 10, 18);
    let seconds = clock.split(':').fold(0.0, |sum, part| sum * 60.0 + part.parse::<f64>().unwrap());
    let duration = number(json, "/scenario/duration_s");
    assert!((0.0..1.0).contains(&(duration - seconds)), "{name}: {clock} and {duration}");
}

/// The row with this number as the selected one, in a view of its own.
fn selected(snapshot: &Snapshot, row: usize, key: KeyCode) -> Vec<String> {
    let keys: Vec<KeyCode> = std::iter::repeat_n(KeyCode::Down, row).chain([key]).collect();
    screen(snapshot, &keys)
}
