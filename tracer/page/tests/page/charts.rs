//! Every section that has data, and charts without numbers that are none.

use crate::fixtures::{all, at_rates, latency, page_of, throughput};
use crate::markup::{Element, read};
use wirelap_page::{ExplainOptions, File, page};
use wirelap_report::UsageAt;

/// Attributes of SVG that are numbers or lists of them.
const NUMBERS: [&str; 11] =
    ["x", "y", "x1", "cx", "cy", "r", "width", "height", "d", "points", "viewBox"];

fn assert_finite(name: &str, html: &Element) {
    let elements = html.find("svg");
    for element in elements.iter().flat_map(|svg| svg.all()) {
        for (attribute, value) in &element.attributes {
            if NUMBERS.contains(&attribute.as_str()) {
                assert!(!value.is_empty(), "{name}: {attribute} is empty");
                let numbers =
                    value.split(|c: char| c.is_ascii_whitespace() || ",MLHVZ".contains(c));
                for number in numbers.filter(|number| !number.is_empty()) {
                    let number: f64 =
                        number.parse().unwrap_or_else(|_| panic!("{name}: {attribute}={value}"));
                    assert!(
                        number.is_finite() && number.abs() <= 1e5,
                        "{name}: {attribute}={value}"
                    );
                }
            }
        }
    }
}

#[test]
fn no_attribute_is_anything_but_a_number() {
    for (name, report) in all() {
        let text = page_of(&report);
        assert_finite(name, &read(&text));
    }
}

#[test]
fn nothing_is_drawn_outside_its_chart() {
    for (name, report) in all() {
        let html = read(&page_of(&report));
        for svg in html.find("svg") {
            let size: Vec<f64> = svg
                .attribute("viewBox")
                .unwrap()
                .split(' ')
                .map(|side| side.parse().unwrap())
                .collect();
            for element in svg.all() {
                let number =
                    |name| element.attribute(name).and_then(|value| value.parse::<f64>().ok());
                let (x, y) = (number("x").or(number("cx")), number("y").or(number("cy")));
                assert!(x.is_none_or(|x| (0.0..=size[2]).contains(&x)), "{name}: {element:?}");
                assert!(y.is_none_or(|y| (0.0..=size[3]).contains(&y)), "{name}: {element:?}");
            }
        }
    }
}

fn sections(html: &Element) -> Vec<String> {
    html.find("section").iter().filter_map(|one| one.attribute("id")).map(str::to_owned).collect()
}

#[test]
fn sections_without_data_are_left_out() {
    let html = read(&page_of(&latency()));
    let expected = [
        "summary",
        "results",
        "latency",
        "published",
        "stages",
        "verdicts",
        "tail",
        "messages",
        "bytes",
        "processes",
        "footprint",
        "repetitions",
        "trust",
        "method",
    ];
    assert_eq!(sections(&html), expected);
    let html = read(&page(&[], ExplainOptions::default()));
    assert!(sections(&html).is_empty());
}

#[test]
fn payloads_and_rates_have_charts_of_their_own() {
    let html = read(&page_of(&throughput()));
    let chart = html.with_id("throughput-messages").expect("a chart");
    // Two measured ones and a published one.
    assert_eq!(chart.find("table")[0].rows().len(), 3);
    assert!(chart.text().contains("zenoh-p2p, published"));
    let [one, two] = at_rates();
    let files = [File { name: "one.json", report: &one }, File { name: "two.json", report: &two }];
    let html = read(&page(&files, ExplainOptions::default()));
    let chart = html.with_id("latency-rates").expect("a chart");
    assert_eq!(chart.find("table")[0].rows().len(), 10);
}

/// A run at several rates has no rate of its own: each result has one.
#[test]
fn the_rates_of_one_run_have_a_chart() {
    let mut report = latency();
    report.scenario.rate_msg_per_s = None;
    let slow = report.results[0].clone();
    report.results.push(slow);
    let last = report.results.len() - 1;
    for (number, rate) in [(0, 100.0), (last, 1000.0)] {
        report.results[number].rate_msg_per_s = Some(rate);
    }
    let html = read(&page_of(&report));
    let chart = html.with_id("latency-rates").expect("a chart");
    let rows = chart.find("table")[0].rows();
    assert_eq!(rows.iter().map(|row| row[1].as_str()).collect::<Vec<_>>(), ["100", "1 k"]);
}

#[test]
fn processes_are_drawn_over_time() {
    let mut report = latency();
    let absent = read(&page_of(&report));
    assert!(absent.with_id("over-time-cpu-0").is_none());
    let point = |at: u32| UsageAt {
        at_s: f64::from(at),
        cpu_share: 0.01 * f64::from(at),
        rss_bytes: u64::from(at) << 20,
    };
    let result = &mut report.results[0];
    for process in &mut result.repetitions[1].processes {
        process.over_time = (1..=40).map(point).collect();
    }
    let processes = result.repetitions[1].processes.len();
    let html = read(&page_of(&report));
    for id in ["over-time-cpu-0", "over-time-memory-0"] {
        let chart = html.with_id(id).expect("a chart");
        let rows = chart.find("table")[0].rows();
        assert_eq!((rows.len(), rows[0].len()), (40, processes + 1));
        assert_eq!(rows[39][0], "40.0");
        assert!(["40 %", "40 MiB"].contains(&rows[39][1].as_str()), "{:?}", rows[39]);
        assert_finite("over time", chart);
    }
}

#[test]
fn small_shares_of_a_cpu_have_ticks_of_their_own() {
    let mut report = latency();
    let point = |at: u32| UsageAt { at_s: f64::from(at), cpu_share: 0.02, rss_bytes: 1 << 20 };
    for process in report.results[0].repetitions.iter_mut().flat_map(|one| &mut one.processes) {
        process.cpu_share = Some(0.02);
        process.over_time = (1..=4).map(point).collect();
    }
    let html = read(&page_of(&report));
    for id in ["processes-cpu-0", "over-time-cpu-0"] {
        let texts = html.with_id(id).expect("a chart").find("text").into_iter();
        let ticks = texts.filter(|text| text.attribute("text-anchor") == Some("end"));
        let ticks: Vec<String> = ticks.map(Element::text).collect();
        assert_eq!(ticks, ["0 %", "0.5 %", "1 %", "1.5 %", "2 %"], "{id}");
    }
}

#[test]
fn results_of_several_files_are_told_apart() {
    let [one, two] = at_rates();
    let files = [File { name: "one.json", report: &one }, File { name: "two.json", report: &two }];
    let html = read(&page(&files, ExplainOptions::default()));
    let summary = html.with_id("summary").unwrap();
    let headings: Vec<String> = summary.find("h3").iter().map(|heading| heading.text()).collect();
    assert_eq!(headings, ["A: one.json", "B: two.json"]);
    let chart = html.with_id("latency-percentiles").unwrap();
    let legend: Vec<&Element> =
        chart.find("li").into_iter().map(|one| one.find("path")[0]).collect();
    assert_eq!(legend.len(), 12);
    // One colour is one middleware, one dash pattern one file.
    for (first, second) in legend[..6].iter().zip(&legend[6..]) {
        assert_eq!(first.attribute("class"), second.attribute("class"));
        assert_ne!(first.attribute("stroke-dasharray"), second.attribute("stroke-dasharray"));
    }
}

#[test]
fn curves_are_of_all_repetitions() {
    let html = read(&page_of(&latency()));
    let rows = html.with_id("latency-percentiles").unwrap().find("table")[0].rows();
    let tcp = rows.iter().find(|row| row[0] == "tcp").unwrap();
    assert_eq!(tcp[1], "12,000");
    let ping = rows.iter().find(|row| row[0] == "ping (RTT/2)").unwrap();
    assert_eq!((ping[5].as_str(), ping[4].as_str()), ("5.0 µs", "–"));
}

#[test]
fn the_names_at_the_ends_of_lines_are_whole() {
    let [one, two] = at_rates();
    for (name, html) in
        all().into_iter().map(|(name, report)| (name, page_of(&report))).chain([("rates", {
            let files =
                [File { name: "one.json", report: &one }, File { name: "two.json", report: &two }];
            page(&files, ExplainOptions::default())
        })])
    {
        if name == "extreme" {
            continue;
        }
        let html = read(&html);
        let texts = html.find("text").into_iter();
        let names = texts
            .filter(|text| text.attribute("class").is_some_and(|class| class.starts_with("name ")));
        for text in names {
            assert!(
                !text.text().contains('…') && !text.text().is_empty(),
                "{name}: {}",
                text.text()
            );
            assert!(
                text.find("tspan").iter().all(|line| line.text().trim().chars().count() <= 20),
                "{}",
                text.text()
            );
        }
    }
}
