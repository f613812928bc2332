//! The section on trust: coverage, losses, clocks, wirelap's own cost; notes, and traffic that was not decoded.

use super::summary::doubt;
use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use crate::write::sentence;
use maud::{Markup, html};
use wirelap_events::human::{exact, share};
use wirelap_report::{RunReport, explain, human, table, unknown};

/// The section; `None` without files.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    let results = subjects.each_result(|subject| Some(of_result(subject)));
    let files = subjects.each_file(|file| of_file(subjects.files.get(file)?.report));
    if results.is_none() && files.is_none() {
        return None;
    }
    Some(html! {
        (results.unwrap_or_default())
        @if let Some(files) = files {
            @if !subjects.has_several_files() { h3 { "Of the whole run" } }
            (files)
        }
    })
}

fn of_result(subject: &Subject<'_>) -> Markup {
    let result = subject.result;
    let trust = &result.trust;
    html! {
        p { (sentence(&table::trust_line(result))) }
        @for reason in &trust.reasons { (doubt(reason)) }
        @if let Some(error) = &result.error { p class="warn" { strong { "Failed: " } (sentence(error)) } }
        @if !result.untraced {
            p {
                "Matched: " (share(trust.coverage)) ". Events: " (exact(trust.events)) ". Traced "
                (share(trust.window_share)) " of the time. " (explain::clock(result, &subject.report.environment))
            }
            @if let Some(slowdown) = &trust.tracer.slowdown {
                p { "Measured in " (slowdown.turns) " turns, alternately with and without probes: " (human::slowdown(slowdown)) "." }
            }
            @if let Some(medians) = human::without_tracing(&result.latency) {
                p { "Without tracing: " (medians) "." }
            }
            @if let Some(why) = trust.tracer.slowdown_unknown { p { (human::cost_unknown(why)) "." } }
            @if trust.lost() > 0 { (lost(subject).render()) }
        }
        @for note in &result.notes { p { strong { "Note: " } (explain::clean(note)) } }
    }
}

fn lost(subject: &Subject<'_>) -> Table {
    let lost = subject.result.trust.events_lost.iter().filter(|(_, count)| **count > 0);
    let rows = lost.map(|(probe, count)| vec![probe.clone(), exact(*count)]).collect();
    Table::of_numbers(
        format!("Events of {} that were lost, by probe", subject.name),
        &["probe", "events"],
        rows,
    )
}

/// Notes of the run, traffic that was not decoded, hooks.
fn of_file(report: &RunReport) -> Option<Markup> {
    let missing: Vec<&str> = report
        .hooks
        .iter()
        .filter(|hook| hook.hook.is_none())
        .map(|hook| hook.observation.as_str())
        .collect();
    let unknown = &report.unknown;
    if report.notes.is_empty()
        && missing.is_empty()
        && unknown.traffic.is_empty()
        && unknown.other_connections == 0
    {
        return None;
    }
    Some(html! {
        @for note in &report.notes { p { strong { "Note: " } (sentence(&explain::clean(note))) } }
        @if !missing.is_empty() { p { "This kernel offers no hook for: " (missing.join(", ")) "." } }
        @for row in &unknown.traffic { p { strong { "Not decoded: " } (explain::clean(&unknown::sentence(row))) } }
        @if unknown.other_connections > 0 {
            p { "And " (unknown.other_bytes) " bytes in " (unknown.other_connections) " more connections." }
        }
        @if let Some(muted) = unknown::muted(unknown) { p { (muted) } }
    })
}
