//! Several rates and several files: their names, looks and curves.

use crate::fixtures::{latency, page_of, rates_of_one_run, throughput};
use crate::markup::{Element, read};
use wirelap_page::{ExplainOptions, File, page};
use wirelap_report::RunReport;

/// The page of files `a.json`, `b.json` …
fn page_of_files(reports: &[RunReport]) -> Element {
    let names = ["a.json", "b.json", "c.json"];
    let files = names.into_iter().zip(reports).map(|(name, report)| File { name, report });
    read(&page(&files.collect::<Vec<_>>(), ExplainOptions::default()))
}

/// The names in the legend of a chart, and the lines beside them.
fn legend(chart: &Element) -> (Vec<String>, Vec<&Element>) {
    let entries = chart.find("ul")[0].find("li");
    let names = entries.iter().map(|entry| entry.text().trim().to_owned()).collect();
    (names, entries.iter().map(|entry| entry.find("path")[0]).collect())
}

#[test]
fn the_rates_of_one_run_are_in_its_names() {
    let html = read(&page_of(&rates_of_one_run()));
    let (names, _) = legend(html.with_id("latency-percentiles").expect("a chart"));
    let expected = ["tcp at 1 k msg/s", "tcp at 2 k msg/s", "tcp at 5 k msg/s"];
    assert_eq!(names, expected);
    let cards = html.with_id("summary").unwrap().find("h3");
    assert!(cards.iter().zip(expected).all(|(card, name)| card.text().ends_with(name)));
}

/// Their messages a second are those that were requested.
#[test]
fn results_at_rates_are_not_drawn_against_the_payload() {
    let mut report = rates_of_one_run();
    assert!(read(&page_of(&report)).with_id("throughput").is_none());
    report.results[1].payload_bytes = 1_024;
    assert!(read(&page_of(&report)).with_id("throughput").is_none());
    let mut one_payload = throughput();
    one_payload.results.iter_mut().for_each(|result| result.payload_bytes = 64);
    assert!(read(&page_of(&one_payload)).with_id("throughput").is_none());
}

#[test]
fn each_rate_has_one_colour_in_all_files() {
    let html = page_of_files(&[rates_of_one_run(), rates_of_one_run()]);
    let (names, lines) = legend(html.with_id("latency-percentiles").unwrap());
    assert_eq!((names.len(), names[4].as_str()), (6, "B: tcp at 2 k msg/s"));
    let classes: Vec<&str> = lines.iter().filter_map(|line| line.attribute("class")).collect();
    let expected = ["line c1", "line c2", "line c3"];
    assert_eq!((&classes[..3], &classes[3..]), (&expected[..], &expected[..]));
}

#[test]
fn files_with_the_same_rates_have_curves_of_their_own() {
    let html = page_of_files(&[rates_of_one_run(), rates_of_one_run()]);
    let chart = html.with_id("latency-rates").unwrap();
    assert_eq!(legend(chart).0, ["A: tcp", "B: tcp"]);
    let rows = chart.find("table")[0].rows();
    let rates = |name: &str| {
        let of = rows.iter().filter(|row| row[0] == name);
        of.map(|row| row[1].as_str()).collect::<Vec<_>>()
    };
    assert_eq!(
        (rates("A: tcp"), rates("B: tcp")),
        (vec!["1 k", "2 k", "5 k"], vec!["1 k", "2 k", "5 k"])
    );
    // Files with different rates have one curve together.
    let mut others = rates_of_one_run();
    others
        .results
        .iter_mut()
        .for_each(|one| one.rate_msg_per_s = one.rate_msg_per_s.map(|rate| rate * 1.5));
    let html = page_of_files(&[rates_of_one_run(), others]);
    assert_eq!(legend(html.with_id("latency-rates").unwrap()).0, ["tcp"]);
}

/// The lines in a chart, without those of its legend.
fn lines(chart: &Element) -> Vec<&Element> {
    let drawing = chart.find("svg")[0];
    let is_line = |path: &&Element| path.attribute("stroke-dasharray").is_some();
    drawing.find("path").into_iter().filter(is_line).collect()
}

#[test]
fn the_lines_of_legends_are_those_of_charts() {
    let [rates, sizes] =
        [page_of_files(&[latency_at(1e3), latency_at(2e3)]), read(&page_of(&throughput()))];
    for (html, id) in [(&rates, "latency-rates"), (&sizes, "throughput-messages")] {
        let chart = html.with_id(id).expect("a chart");
        let (names, shown) = legend(chart);
        assert!(names.len() > 1, "{id}");
        for (name, shown) in names.iter().zip(shown) {
            let [class, dash] = ["class", "stroke-dasharray"].map(|name| shown.attribute(name));
            let has = |line: &&Element| {
                line.attribute("class") == class && line.attribute("stroke-dasharray") == dash
            };
            assert!(lines(chart).iter().any(has), "{id}: {name} has no line {class:?} {dash:?}");
        }
    }
}

/// Several middlewares at one rate.
fn latency_at(rate: f64) -> RunReport {
    let mut report = latency();
    report.results.iter_mut().for_each(|result| result.rate_msg_per_s = Some(rate));
    report
}

#[test]
fn a_published_curve_has_the_colour_of_the_measured_one() {
    let mut report = throughput();
    // The first middleware has no curve, as nothing of it was delivered.
    report.results.rotate_left(4);
    report.results[..4].iter_mut().for_each(|tcp| tcp.throughput.msg_per_s = 0.0);
    let html = read(&page_of(&report));
    let chart = html.with_id("throughput-messages").expect("a chart");
    let class = |dash: &str| {
        let all = lines(chart);
        let line = all.iter().find(|line| line.attribute("stroke-dasharray") == Some(dash));
        line.and_then(|line| line.attribute("class")).map(str::to_owned)
    };
    assert_eq!(legend(chart).0, ["zenoh-p2p"]);
    assert_eq!((class("none"), class("2 4")), (Some("line c1".into()), Some("line c1".into())));
}

#[test]
fn comparisons_have_headings_and_the_letters_of_the_files() {
    let html = page_of_files(&[latency(), latency(), latency()]);
    let section = html.with_id("comparison").expect("the section");
    let headings: Vec<String> = section.find("h3").iter().map(|one| one.text()).collect();
    assert_eq!(headings, ["B: b.json against A: a.json", "C: c.json against A: a.json"]);
    let text = section.text();
    for sentence in ["A is a.json", "B is b.json", "B is c.json"] {
        assert!(text.contains(sentence), "{sentence}");
    }
    assert_eq!(text.matches("it is C on the rest of this page").count(), 1);
    assert!(!text.contains("it is B on the rest"));
}
