//! Bytes that protocols add to a message, and the latency of zenoh-pico.

use crate::published::pico::{PAYLOAD, PicoStudy, added_bytes, is_zenoh};
use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use crate::write::{ratio, time};
use maud::{Markup, html};
use wirelap_report::{Pacing, RunKind, human};

/// The tables; `None` if nothing that was published was measured here.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    let study = PicoStudy::load()?;
    let latency: Vec<_> =
        subjects.all.iter().filter_map(|subject| latency(&study, subject)).collect();
    let added: Vec<_> = subjects.all.iter().filter_map(|subject| added(&study, subject)).collect();
    let saved = saved(&study, subjects);
    if latency.is_empty() && added.is_empty() && saved.is_empty() {
        return None;
    }
    Some(html! {
        p { "Published: " cite { (study.title) } "." }
        ul {
            li { strong { "Their machine: " } (study.testbed) "." }
            @if !latency.is_empty() { li { strong { "Their latency: " } (study.latency_method) "." } }
        }
        @if !latency.is_empty() {
            (Table::of_numbers(
                "One-way latency of 16 B, published beside measured",
                &["result", "published", "1-way p50", "measured / published"],
                latency,
            ).render())
        }
        @if !added.is_empty() {
            (Table::of_numbers(
                "Bytes that Zenoh adds to a message, published beside measured",
                &["result", "at least, published", "on each leg, measured"],
                added,
            ).render())
        }
        @if !saved.is_empty() {
            (Table::of_text(
                "By how much fewer bytes Zenoh adds than others, published beside measured",
                &["result", "against", "published", "measured"],
                saved,
                2,
            ).render())
        }
    })
}

fn latency(study: &PicoStudy, subject: &Subject<'_>) -> Option<Vec<String>> {
    let (scenario, result) = (&subject.report.scenario, subject.result);
    let is_alike = scenario.kind == RunKind::Latency
        && scenario.pacing == Pacing::Rate
        && result.payload_bytes == PAYLOAD;
    let theirs = study.latency_ns(&result.middleware).filter(|_| is_alike)?;
    let ours = result.latency.one_way_ns;
    (ours.count > 0).then(|| {
        vec![
            subject.name.clone(),
            time(theirs),
            human::time_ns(Some(ours.p50)),
            ratio(ours.p50 as f64 / theirs),
        ]
    })
}

/// Zenoh's bytes for each message, in runs that also measured what the study compares it with.
fn added(study: &PicoStudy, subject: &Subject<'_>) -> Option<Vec<String>> {
    let bytes = added_bytes(subject.result).filter(|_| is_overhead(subject))?;
    is_zenoh(subject.result)
        .then(|| vec![subject.name.clone(), number(study.header_bytes()), number(bytes)])
}

/// Zenoh against each of the others with the same payload in the same file.
fn saved(study: &PicoStudy, subjects: &Subjects<'_>) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for zenoh in subjects.all.iter().filter(|one| is_zenoh(one.result) && is_overhead(one)) {
        for other in subjects.of_file(zenoh.file) {
            let theirs = study.smaller_than(&other.result.middleware);
            let is_alike = zenoh.result.payload_bytes == other.result.payload_bytes;
            let bytes = added_bytes(zenoh.result).zip(added_bytes(other.result));
            if let (Some(theirs), Some((few, many)), true) = (theirs, bytes, is_alike)
                && many > 0.0
            {
                rows.push(vec![
                    zenoh.name.clone(),
                    other.name.clone(),
                    percent(theirs),
                    percent(1.0 - few / many),
                ]);
            }
        }
    }
    rows
}

/// True if a result is of separate messages. Back to back, libraries put several of them into one frame.
fn is_overhead(subject: &Subject<'_>) -> bool {
    subject.report.scenario.kind == RunKind::Latency && !subject.result.untraced
}

fn number(bytes: f64) -> String {
    format!("{bytes:.1} B")
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
