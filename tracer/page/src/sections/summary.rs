//! The summary: what ran, and each result in three sentences: what happened, what was found, how far to trust it.

use crate::subject::{Subject, Subjects};
use crate::write::sentence;
use maud::{Markup, html};
use wirelap_report::{ReportedReliability, RunReport, TrustReason, explain, human, table};

/// The section; `None` without files.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    subjects.each_file(|file| {
        let report = subjects.files.get(file)?.report;
        Some(html! {
            (ran(report))
            div class="cards" {
                @for subject in subjects.of_file(file) { (card(subjects, subject)) }
            }
        })
    })
}

/// The scenario that ran, where and when, and whether it ended early.
fn ran(report: &RunReport) -> Markup {
    let environment = &report.environment;
    let machine = [
        environment.hostname.clone().unwrap_or_default(),
        environment.cpu_model.clone(),
        human::one_or(environment.cores as u64, "1 CPU", &format!("{} CPUs", environment.cores))
            .to_owned(),
        format!("Linux {}", environment.kernel),
    ];
    let machine: Vec<String> = machine.into_iter().filter(|text| !text.is_empty()).collect();
    html! {
        p class="lead" {
            @if let Some(name) = &report.scenario.name { "Scenario " (name) ": " }
            (table::title(&report.scenario))
        }
        p { (environment.started_at) " · " (machine.join(" · ")) " · wirelap " (environment.wirelap_version) }
        @if report.partial {
            p class="warn" { strong { "Partial: " } "something failed, the run ended early, or less than half of the messages were delivered." }
        }
    }
}

fn card(subjects: &Subjects<'_>, subject: &Subject<'_>) -> Markup {
    let result = subject.result;
    let participants = subject.participants();
    let opening = explain::opening(result, &subject.report.scenario, &participants);
    html! {
        article class={ "card " (state(result.trust.verdict)) } {
            (subjects.heading(0, &html! { (result.trust.verdict.mark()) (subject.name) }))
            p { (explain::clean(&opening)) }
            @if let Some(reached) = result.missed_rate() {
                p class="warn" { (sentence(&human::rate_not_reached(reached))) }
            }
            @for reason in &result.trust.reasons { (doubt(reason)) }
            @if let Some(headline) = explain::headline(result, &participants) {
                p { strong { "In short: " } (headline) "." }
            }
            p class="trust" { strong { "Trust: " } (table::trust_line(result)) "." }
        }
    }
}

/// A reason why a result is reduced or unusable.
pub fn doubt(reason: &TrustReason) -> Markup {
    let head = match reason.verdict {
        ReportedReliability::Unusable => "Unusable: ",
        ReportedReliability::Reduced | ReportedReliability::Good => "Use with care: ",
    };
    html! { p class="warn" { strong { (head) } (explain::clean(&reason.text)) "." } }
}

fn state(reliability: ReportedReliability) -> &'static str {
    match reliability {
        ReportedReliability::Good => "good",
        ReportedReliability::Reduced => "reduced",
        ReportedReliability::Unusable => "unusable",
    }
}
