//! The view "threads": processes, who had the CPU, and the slowest message.

use crate::figure::{Figure, after, assert_shows, before, number};
use crate::{cut, json, selected, snapshots};
use crossterm::event::KeyCode;
use serde_json::Value;

/// The first column of the processes, which are to the right of the lanes.
const RIGHT: usize = 312;

#[test]
fn each_figure_of_the_threads_is_in_the_json() {
    let mut compared = 0;
    for (name, snapshot) in snapshots() {
        let json = json(&snapshot);
        for (row, result) in json["results"].as_array().unwrap().iter().enumerate() {
            let place = format!("{name}, row {row}");
            let lines = selected(&snapshot, row, KeyCode::Char('8'));
            let right: Vec<String> = lines.iter().map(|line| cut(line, RIGHT, 420)).collect();
            for process in result["processes"].as_array().unwrap() {
                assert_process(&place, &lines, process);
                compared += 1;
            }
            compared += assert_holders(&place, &right, &result["why"]["cpu_holders"]);
            compared += assert_slowest(&place, &lines, &result["why"]["worst"]);
        }
    }
    assert!(compared > 30, "{compared}");
}

fn assert_process(place: &str, lines: &[String], process: &Value) {
    let id = format!("({})", process["pid"]);
    let of = |from: usize, to: usize| move |line: &String| cut(line, RIGHT + from, RIGHT + to);
    let line = lines.iter().find(|line| of(12, 28)(line).ends_with(&id));
    let line = line.unwrap_or_else(|| panic!("{place}: no {id} in {}", lines.join("\n")));
    let place = format!("{place}: {id}");
    let show = |from: usize, to: usize, expected: Option<f64>| {
        let cell = of(from, to)(line);
        match (Figure::parse(&cell), expected) {
            (Some(shown), Some(number)) => assert_shows(&place, shown, number),
            (None, None) => assert!(["–", "ended"].contains(&cell.as_str()), "{place}: {cell}"),
            (shown, number) => panic!("{place}: {cell:?} ({shown:?}) and {number:?}"),
        }
    };
    show(28, 36, process["cpu_share"].as_f64().map(|share| share * 100.0));
    show(36, 46, process["rss_bytes"].as_f64());
    let scheduling =
        |path: &str| process.pointer(&format!("/scheduling{path}")).and_then(Value::as_f64);
    show(46, 54, scheduling("/run_queue_ns/p50"));
    show(54, 62, scheduling("/run_queue_ns/p99"));
    show(62, 70, scheduling("/run_queue_ns/max"));
    show(70, 79, scheduling("/preemptions"));
    show(79, 88, scheduling("/run_queue_ns/count"));
    show(88, 97, scheduling("/sleeps"));
    show(97, 106, scheduling("/migrations"));
}

fn assert_holders(place: &str, right: &[String], holders: &Value) -> usize {
    let Some(holders) = holders.as_array() else { return 0 };
    for holder in holders {
        let wanted = format!("{} ({}), ", holder["name"].as_str().unwrap(), holder["pid"]);
        let line = right.iter().find(|line| line.contains(&wanted) && line.contains("wait"));
        let line = line.unwrap_or_else(|| panic!("{place}: no {wanted} in {}", right.join("\n")));
        assert_shows(place, Figure::parse(line).unwrap(), number(holder, "/held_ns"));
        assert_shows(place, before(line, " wait"), number(holder, "/waits"));
    }
    holders.len()
}

/// The slowest message: its latency, and how long another thread had the CPU.
fn assert_slowest(place: &str, lines: &[String], worst: &Value) -> usize {
    let Some(first) = worst.as_array().and_then(|all| all.first()) else { return 0 };
    let heading = lines.iter().find(|line| line.contains("slowest message 1 of")).unwrap();
    assert_shows(place, after(heading, "(← →):"), number(first, "/one_way_ns"));
    let held = number(first, "/legs/0/chain/0/holder/held_ns");
    let legend = lines.iter().find(|line| line.contains("had the CPU for")).unwrap();
    assert_shows(place, after(legend, "had the CPU for"), held);
    2
}
