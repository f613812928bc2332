//! MQTT brokers with many clients: the published suite beside our results of the same scenarios.

use crate::published::mqtt::{MqttStudy, PublishedFigures, qos_of};
use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use crate::write::{list, time};
use maud::{Markup, html};
use std::collections::BTreeMap;
use wirelap_report::{DistributionSummary, RunResult, human};

const HEADINGS: [&str; 8] =
    ["figures", "mean", "p50", "p90", "p99", "messages/s", "broker CPU, cores", "broker memory"];

/// The CPUs of the study's machine, of which it tells shares.
const THEIR_CPUS: f64 = 16.0;

/// One table for each scenario of the study that was measured here; `None` if there is none.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    let study = MqttStudy::load()?;
    let mut scenarios: Vec<(&str, Vec<&Subject<'_>>)> = Vec::new();
    for subject in &subjects.all {
        let Some(name) = study.scenario_of(subject.result) else { continue };
        match scenarios.iter_mut().find(|(known, _)| *known == name) {
            Some((_, of)) => of.push(subject),
            None => scenarios.push((name, vec![subject])),
        }
    }
    if scenarios.is_empty() {
        return None;
    }
    let versions = study.versions.iter().map(|(name, version)| format!("{name} {version}"));
    Some(html! {
        p { "Published: " cite { (study.title) } "." }
        ul {
            li { strong { "Their machine: " } (study.testbed) ". " strong { "Versions: " }
                (versions.collect::<Vec<_>>().join("; ")) "." }
            @for line in qos(&study, &scenarios) { li { (line) } }
            li { "Their latency is from the publisher to the subscriber, and of the scenarios of connections it is the time that a
                connection takes. Ours is from the first send to the last read, and from a connection's begin until the broker has
                accepted it." }
        }
        @for (name, of) in &scenarios {
            (Table::of_numbers(format!("{name}, published beside measured"), &HEADINGS, rows(&study, name, of)).render())
        }
    })
}

/// The `QoS` of their messages and of ours, and what it means if they differ; nothing for connections, which send no messages.
fn qos(study: &MqttStudy, scenarios: &[(&str, Vec<&Subject<'_>>)]) -> Vec<Markup> {
    let theirs = study.qos();
    let all = scenarios.iter().flat_map(|(_, of)| of);
    let mut ours: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for subject in all.filter(|subject| subject.result.connections.is_none()) {
        let qos = qos_of(subject.result, &subject.report.environment);
        let qos = qos.unwrap_or_else(|| "not known".into());
        ours.entry(qos).or_default().push(subject.name.clone());
    }
    if ours.is_empty() {
        return Vec::new();
    }
    let has_others = ours.keys().any(|qos| *qos != theirs);
    let words = ours.iter().map(|(qos, names)| match ours.len() {
        1 => qos.clone(),
        _ => format!("{qos} ({})", list(names)),
    });
    let words = words.collect::<Vec<_>>().join("; ");
    let mut lines =
        vec![html! { strong { "Their QoS: " } (theirs) ". " strong { "Ours: " } (words) "." }];
    if has_others {
        lines.push(html! {
            "The QoS decides how many packets a message needs: only results with the same QoS are comparable."
        });
    }
    lines
}

fn rows(study: &MqttStudy, scenario: &str, subjects: &[&Subject<'_>]) -> Vec<Vec<String>> {
    let theirs = study.figures(scenario).map(|(broker, figures)| published(broker, &figures));
    theirs.chain(subjects.iter().map(|subject| measured(subject))).collect()
}

fn published(broker: &str, figures: &PublishedFigures) -> Vec<String> {
    let ms = |ms: Option<f64>| ms.map_or_else(none, |ms| time(ms * 1e6));
    vec![
        format!("{broker}, published"),
        ms(figures.latency_ms),
        ms(figures.p50),
        ms(figures.p90),
        ms(figures.p99),
        figures.msg_per_s.map_or_else(none, human::count),
        figures.cpu_avg.map_or_else(none, |share| cores(share * THEIR_CPUS)),
        figures.mem_avg_mb.map_or_else(none, |mb| format!("{} (mean)", human::bytes(mb * 1e6))),
    ]
}

fn measured(subject: &Subject<'_>) -> Vec<String> {
    let result = subject.result;
    let broker = result.processes.iter().find(|process| process.role == "broker");
    let (times, rate) = if let Some(connections) = &result.connections {
        (connections.connect_ns, None)
    } else {
        let throughput = result.throughput;
        (result.latency.one_way_ns, throughput.is_known().then_some(throughput.msg_per_s))
    };
    let DistributionSummary { p50, p90, p99, .. } = times;
    let known = |ns: u64| human::time_ns((times.count > 0).then_some(ns));
    vec![
        format!("{}, measured", subject.name),
        mean_one_way(result).map_or_else(none, time),
        known(p50),
        known(p90),
        known(p99),
        rate.map_or_else(none, human::count),
        broker.and_then(|broker| broker.cpu_share).map_or_else(none, cores),
        broker
            .and_then(|broker| broker.rss_bytes)
            .map_or_else(none, |bytes| format!("{} (largest)", human::bytes(bytes as f64))),
    ]
}

/// The exact mean of the one-way latency in nanoseconds, which all segments add up to.
fn mean_one_way(result: &RunResult) -> Option<f64> {
    let count = result.latency.one_way_ns.count;
    let mut times = result.segments.iter().map(|row| row.total_ns);
    let sum = times.try_fold(0_u64, |sum, time| Some(sum.saturating_add(time?)));
    let sum = sum.filter(|&sum| sum > 0 && result.connections.is_none())?;
    (count > 0).then(|| sum as f64 / count as f64)
}

fn cores(cores: f64) -> String {
    format!("{cores:.2}")
}

fn none() -> String {
    "–".to_owned()
}
