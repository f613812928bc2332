//! The view "bytes": parts, legs and operations.

use crate::figure::{Figure, assert_shows, number};
use crate::{cut, json, selected, snapshots};
use crossterm::event::KeyCode;
use serde_json::Value;

/// The first column of the operations, which are to the right of the parts.
const RIGHT: usize = 108;

fn figure(place: &str, line: &str, from: usize, to: usize) -> Figure {
    let cell = cut(line, from, to);
    Figure::parse(&cell).unwrap_or_else(|| panic!("{place}: {cell:?} in {line:?}"))
}

/// The line of a table that begins with a name in this column.
fn named<'a>(place: &str, lines: &'a [String], name: &str, at: usize) -> &'a String {
    let found = lines.iter().find(|line| cut(line, at, at + 15) == name);
    found.unwrap_or_else(|| panic!("{place}: no {name} in {}", lines.join("\n")))
}

#[test]
fn each_figure_of_the_bytes_is_in_the_json() {
    let mut compared = 0;
    for (name, snapshot) in snapshots() {
        let json = json(&snapshot);
        for (row, result) in json["results"].as_array().unwrap().iter().enumerate() {
            let place = format!("{name}, row {row}");
            let lines = selected(&snapshot, row, KeyCode::Char('7'));
            compared += assert_parts(&place, &lines, &result["overhead"]);
            compared += assert_operations(&place, &lines, &result["overhead"]);
        }
    }
    assert!(compared > 200, "{compared}");
}

/// A line of bytes: all, their share, those a message, and those of each leg a message.
fn assert_line(place: &str, line: &str, overhead: &Value, bytes: f64, legs: &[f64]) {
    let deliveries = number(overhead, "/deliveries");
    assert_shows(place, figure(place, line, 17, 27), bytes);
    let share = figure(place, line, 27, 35);
    assert!(share.is_floor_of(bytes / number(overhead, "/total_bytes") * 100.0), "{place}: {line}");
    assert_shows(place, figure(place, line, 35, 44), bytes / deliveries);
    for (at, bytes) in legs.iter().enumerate() {
        let cell = figure(place, line, 44 + at * 9, 53 + at * 9);
        assert_shows(place, cell, bytes / deliveries);
    }
}

fn assert_parts(place: &str, lines: &[String], overhead: &Value) -> usize {
    let legs = overhead["legs"].as_array().unwrap();
    let parts = overhead["parts_bytes"].as_object().unwrap();
    let mut compared = 0;
    for (name, bytes) in parts {
        let (bytes, shown) = (bytes.as_f64().unwrap(), name.replace("pure_ack", "pure ACKs"));
        if bytes > 0.0 {
            let place = format!("{place}: {name}");
            let line = named(&place, lines, &shown, 1);
            let path = format!("/parts_bytes/{name}");
            let legs: Vec<f64> = legs.iter().map(|leg| number(leg, &path)).collect();
            assert_line(&place, line, overhead, bytes, &legs);
            compared += 1;
        }
    }
    let total: Vec<f64> = legs.iter().map(|leg| number(leg, "/total_bytes")).collect();
    let line = named(place, lines, "all", 1);
    assert_line(place, line, overhead, number(overhead, "/total_bytes"), &total);
    compared
}

fn assert_operations(place: &str, lines: &[String], overhead: &Value) -> usize {
    let operations = overhead["operations"].as_array().unwrap();
    for one in operations {
        let name = one["operation"].as_str().unwrap();
        let place = format!("{place}: {name}");
        let line = lines.iter().find(|line| cut(line, RIGHT + 1, RIGHT + 13) == name).unwrap();
        let deliveries = number(overhead, "/deliveries");
        let of = |from: usize, to: usize| figure(&place, line, RIGHT + from, RIGHT + to);
        assert_shows(&place, of(13, 25), number(one, "/count"));
        assert_shows(&place, of(25, 35), number(one, "/mean_bytes"));
        assert_shows(&place, of(35, 44), number(one, "/total_bytes") / deliveries);
        assert_shows(&place, of(44, 55), number(one, "/total_bytes"));
    }
    operations.len()
}
