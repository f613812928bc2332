//! Why a row's messages took so long: causes, tails, the slowest messages, who had the CPU.

use crate::figure::{Figure, after, assert_shows, before, number};
use crate::{cut, json, selected, snapshots};
use crossterm::event::KeyCode;
use serde_json::Value;

#[test]
fn each_figure_of_the_causes_is_in_the_json() {
    let mut compared = 0;
    for (name, snapshot) in snapshots() {
        let json = json(&snapshot);
        for (row, result) in json["results"].as_array().unwrap().iter().enumerate() {
            let Some(why) = result["why"].as_object() else { continue };
            let lines = selected(&snapshot, row, KeyCode::Char('w'));
            let lines = lines.iter().skip_while(|line| !line.starts_with("─ why")).skip(1);
            let lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
            let place = format!("{name}, row {row}");
            compared += assert_costs(&place, &lines, &why["verdicts"]);
            compared += assert_tails(&place, &lines, &why["tails"]);
            compared += assert_slowest(&place, &lines, &why["worst"]);
            compared += assert_holders(&place, &lines, &why["cpu_holders"]);
        }
    }
    // Nothing that is compared has disappeared.
    assert!(compared >= 12, "{compared}");
}

/// Asserts what each cause costs messages near the median and in the tail, in the order of the verdicts.
fn assert_costs(place: &str, lines: &[String], verdicts: &Value) -> usize {
    let costs: Vec<&String> = lines
        .iter()
        .filter(|line| line.contains("of the median (") || line.contains("of the tail ("))
        .collect();
    let has_cost =
        |verdict: &&Value| number(verdict, "/median_ns") + number(verdict, "/tail_ns") > 0.0;
    let expected: Vec<&Value> = verdicts.as_array().unwrap().iter().filter(has_cost).collect();
    assert_eq!(costs.len(), expected.len(), "{place}");
    for (line, verdict) in costs.iter().zip(&expected) {
        for of in ["median", "tail"] {
            let time = number(verdict, &format!("/{of}_ns"));
            if time > 0.0 {
                assert_shows(place, after(line, &format!("of the {of} (")), time);
                let share = number(verdict, &format!("/{of}_share")) * 100.0;
                assert_shows(place, before(line, &format!(" of the {of} (")), share);
            }
        }
    }
    costs.len()
}

/// The slowest messages as a whole, and where they took longer.
fn assert_tails(place: &str, lines: &[String], tails: &Value) -> usize {
    let mut compared = 0;
    let mut rest = lines.iter();
    for tail in tails.as_array().unwrap() {
        let heading =
            rest.find(|line| line.contains(" longer:")).unwrap_or_else(|| panic!("{place}"));
        assert_shows(place, after(heading, "the slowest"), number(tail, "/share") * 100.0);
        assert_shows(place, after(heading, "("), number(tail, "/messages"));
        assert_shows(place, before(heading, " or more"), number(tail, "/least_ns"));
        assert_shows(place, after(heading, "took"), number(tail, "/excess_ns"));
        for row in tail["rows"].as_array().unwrap().iter().take(6) {
            let line = rest.next().unwrap();
            assert_shows(
                place,
                Figure::parse(&cut(line, 0, 8)).unwrap(),
                number(row, "/share") * 100.0,
            );
            assert_shows(
                place,
                Figure::parse(&cut(line, 9, 17)).unwrap(),
                number(row, "/excess_ns"),
            );
            assert_eq!(cut(line, 18, 21), row["leg"].to_string(), "{place}: {line}");
            assert!(line.contains(row["segment"].as_str().unwrap()), "{place}: {line}");
            compared += 1;
        }
    }
    compared
}

/// The slowest messages one by one, and the segments in which they spent most time.
fn assert_slowest(place: &str, lines: &[String], worst: &Value) -> usize {
    let shown = lines.iter().skip_while(|line| line.trim() != "the slowest messages:").skip(1);
    let shown: Vec<&String> = shown.take_while(|line| line.starts_with("   ")).collect();
    let expected: Vec<&Value> = worst.as_array().unwrap().iter().take(5).collect();
    assert_eq!(shown.len(), expected.len(), "{place}");
    for (line, message) in shown.iter().zip(&expected) {
        assert_shows(place, before(line, ":"), number(message, "/one_way_ns"));
        let steps = line.split_once(": ").unwrap().1;
        let steps = steps.split_once(';').map_or(steps, |(steps, _)| steps);
        for step in steps.split(", ") {
            let (leg, rest) = step.split_once(' ').unwrap();
            let (segment, time) = rest.split_once(' ').unwrap();
            let leg = &message["legs"][leg.parse::<usize>().unwrap() - 1];
            let mut all = leg["segments"].as_array().unwrap().iter();
            let found = all.find(|of| of["segment"] == segment).unwrap_or_else(|| panic!("{line}"));
            assert_shows(place, Figure::parse(time).unwrap(), number(found, "/time_ns"));
        }
    }
    shown.len()
}

/// The threads that had the CPU.
fn assert_holders(place: &str, lines: &[String], holders: &Value) -> usize {
    let shown = lines.iter().skip_while(|line| !line.contains("had the CPU while others")).skip(1);
    let shown: Vec<&String> = shown.take_while(|line| !line.is_empty()).collect();
    let expected = holders.as_array().unwrap();
    assert_eq!(shown.len(), expected.len(), "{place}");
    for (line, holder) in shown.iter().zip(expected) {
        assert_shows(place, Figure::parse(line).unwrap(), number(holder, "/held_ns"));
        assert_shows(place, before(line, " wait"), number(holder, "/waits"));
    }
    shown.len()
}
