//! What was found: verdicts with what they cost, their evidence and what helps.

use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use crate::write::sentence;
use maud::{Markup, html};
use wirelap_events::human::percent;
use wirelap_report::explain;
use wirelap_report::why::{Severity, Verdict, Why};

/// The section; `None` if no message was examined.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    subjects.each_result(|subject| {
        let why = subject.result.why.as_ref()?;
        Some(of_result(subjects, subject, why))
    })
}

fn of_result(subjects: &Subjects<'_>, subject: &Subject<'_>, why: &Why) -> Markup {
    html! {
        @if why.problem().is_none() { p class="good" { (explain::nothing(why, &subject.participants())) } }
        @for severity in [Severity::Problem, Severity::Note] {
            @for verdict in why.verdicts.iter().filter(|verdict| verdict.severity == severity) {
                (one(subjects, subject, verdict))
            }
        }
    }
}

fn one(subjects: &Subjects<'_>, subject: &Subject<'_>, verdict: &Verdict) -> Markup {
    let participants = subject.participants();
    let (class, word) = match verdict.severity {
        Severity::Problem => ("problem", "Problem: "),
        Severity::Note => ("note", "Note (no problem): "),
    };
    let evidence: Vec<&String> =
        verdict.evidence.iter().filter(|clause| !clause.trim().is_empty()).collect();
    html! {
        div class={ "verdict " (class) } {
            (subjects.heading(1, &html! {
                span class="badge" { (word) }
                (sentence(&explain::verdict_name(verdict, &participants)).trim_end_matches('.'))
            }))
            @if let Some(cost) = explain::cost(verdict) { p { (sentence(&cost)) } }
            @if let Some(when) = explain::when(verdict) { p { (sentence(&when)) } }
            @if !evidence.is_empty() {
                p { "Evidence:" }
                ul { @for clause in evidence { li { (explain::clean(clause)) } } }
            }
            @if !verdict.culprits.is_empty() { (culprits(subject, verdict)) }
            @if !verdict.remedy.trim().is_empty() {
                p class="remedy" { strong { "What helps: " } (explain::clean(&verdict.remedy)) }
            }
        }
    }
}

/// Who had the CPU or the lock.
fn culprits(subject: &Subject<'_>, verdict: &Verdict) -> Markup {
    let participants = subject.participants();
    let rows = verdict
        .culprits
        .iter()
        .map(|culprit| vec![participants.who(&culprit.task), percent(culprit.share)])
        .collect();
    let caption =
        format!("{}, {}: the threads that messages waited for", subject.name, verdict.title);
    let table = Table::of_numbers(caption, &["thread", "share of the time"], rows);
    html! { details { summary { "The threads that messages waited for" } (table.render()) } }
}
