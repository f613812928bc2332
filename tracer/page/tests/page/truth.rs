//! Text, JSON and page say the same.

use crate::fixtures::{all, at_rates, latency, page_of};
use crate::markup::{Element, read};
use serde_json::Value;
use wirelap_events::human::{bytes, count, time_ns, time_pair_ns};
use wirelap_page::{ExplainOptions, File, page};
use wirelap_report::{RunReport, explain, table};

/// The rows of the table in text: columns are at least two spaces apart.
fn rows_of_text(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().skip_while(|line| !line.starts_with('─')).skip(1);
    let cells = |line: &str| {
        let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        cells.map(str::to_owned).collect::<Vec<_>>()
    };
    lines.take_while(|line| !line.is_empty()).map(cells).filter(|row| row.len() == 9).collect()
}

fn rows_of_page(html: &Element) -> Vec<Vec<String>> {
    html.with_id("results").map(|section| section.find("table")[0].rows()).unwrap_or_default()
}

/// The same row from the numbers of the JSON.
fn row_of_json(result: &Value) -> Vec<String> {
    let time =
        |path: &str| time_ns(result.pointer(path).and_then(Value::as_u64).filter(|&ns| ns > 0));
    let number = |path: &str| result.pointer(path).and_then(Value::as_f64).unwrap_or_default();
    let rate = |value: f64| if value == 0.0 { "–".to_owned() } else { count(value) };
    let each = |value: f64| {
        if number("/overhead/deliveries") > 0.0 { bytes(value.round()) } else { "–".into() }
    };
    let parts = result["overhead"]["per_message_bytes"].as_object().unwrap();
    let all: f64 = parts.values().filter_map(Value::as_f64).sum();
    let gap = result.pointer("/sched_gap_ns/p50").zip(result.pointer("/sched_gap_ns/p99"));
    let gap = gap.and_then(|(p50, p99)| p50.as_u64().zip(p99.as_u64())).filter(|gap| gap.1 > 0);
    let broker = result["broker"].as_str().map(|broker| format!("/{broker}")).unwrap_or_default();
    vec![
        format!("{}{broker}", result["middleware"].as_str().unwrap()),
        bytes(number("/payload_bytes")),
        time("/latency/one_way_ns/p50"),
        time("/latency/one_way_ns/p99"),
        time("/latency/rtt_half_ns/trimmed_p50"),
        rate(number("/throughput/msg_per_s")),
        each(number("/overhead/per_message_bytes/payload")),
        each(all),
        time_pair_ns(gap),
    ]
}

#[test]
fn the_results_are_the_same_in_text_json_and_page() {
    let report = latency();
    let json = serde_json::to_value(&report).unwrap();
    let of_json: Vec<Vec<String>> =
        json["results"].as_array().unwrap().iter().map(row_of_json).collect();
    let of_text = rows_of_text(&table::render(&report));
    let of_page = rows_of_page(&read(&page_of(&report)));
    assert_eq!(of_page.len(), 6);
    assert_eq!(of_page, of_json);
    assert_eq!(of_page, of_text);
}

#[test]
fn every_kind_of_report_has_the_table_of_its_text() {
    for (name, report) in all() {
        let cells = table::cells(&report);
        let html = read(&page_of(&report));
        assert_eq!(rows_of_page(&html), cells[1..].to_vec(), "{name}");
        if cells.len() > 1 {
            let heading = html.with_id("results").unwrap().find("thead")[0];
            let heading: Vec<String> = heading.find("th").iter().map(|cell| cell.text()).collect();
            assert_eq!(heading, cells[0], "{name}");
        }
    }
}

/// Text without differences of white space.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_page_says_the_sentences_of_the_text() {
    let report = latency();
    let html = read(&page_of(&report));
    let said = plain(&html.text());
    for result in &report.results {
        assert!(said.contains(&plain(&table::trust_line(result))), "{}", table::trust_line(result));
        for verdict in result.why.iter().flat_map(|why| &why.verdicts) {
            assert!(said.contains(&plain(&verdict.remedy)), "{}", verdict.remedy);
            assert!(verdict.evidence.iter().all(|clause| said.contains(&plain(clause))));
        }
    }
    // The page of text is cut at 100 columns, so its lines are compared without their breaks.
    let text = plain(&explain::pages(&report, explain::ExplainOptions::default()));
    for result in &report.results {
        let participants = explain::PathNames::of(result, report.scenario.pacing);
        let opening = plain(&explain::opening(result, &report.scenario, &participants));
        assert!(text.contains(&opening) && said.contains(&opening), "{opening}");
        if let Some(headline) = explain::headline(result, &participants) {
            assert!(text.contains(&plain(&headline)) && said.contains(&plain(&headline)));
        }
    }
}

#[test]
fn a_partial_run_has_the_reasons_of_the_text() {
    let report = RunReport { partial: true, ..latency() };
    let reasons =
        "something failed, the run ended early, or less than half of the messages were delivered";
    assert!(plain(&table::render(&report)).contains(reasons));
    let summary = plain(&read(&page_of(&report)).with_id("summary").unwrap().text());
    assert!(summary.contains(&format!("Partial: {reasons}.")), "{summary}");
}

#[test]
fn each_file_has_its_own_table() {
    let [one, two] = at_rates();
    let files = [File { name: "one.json", report: &one }, File { name: "two.json", report: &two }];
    let html = read(&page(&files, ExplainOptions::default()));
    let tables = html.with_id("results").unwrap().find("table");
    assert_eq!(tables.len(), 2);
    assert_eq!(tables[1].rows(), table::cells(&two)[1..].to_vec());
}

#[test]
fn idle_processes_and_client_programs_stand_beside_published_sizes() {
    let html = read(&page_of(&latency()));
    let tables = html.with_id("footprint").unwrap().find("table");
    let has =
        |row: &[&str]| tables.iter().any(|table| table.rows().iter().any(|cells| cells == row));
    assert!(
        has(&["wirelap-workloa", "ping", "0.042 %", "8 MiB", "31.0 %", "12 MiB"]),
        "{:?}",
        tables[0].rows()
    );
    assert!(has(&["none", "1 MiB", "–"]) && has(&["mqtt", "3 MiB", "2 MiB"]));
    assert!(has(&["arduino", "tcp", "102 KiB"]));
    let (_, live) = all().into_iter().find(|(name, _)| *name == "live").unwrap();
    assert!(read(&page_of(&live)).with_id("footprint").is_none());
}
