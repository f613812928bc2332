//! The section on verdicts: what they cost, their evidence and what helps.

use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use crate::write::sentence;
use maud::{Markup, html};
use wirelap_events::human::{counted, percent};
use wirelap_report::explain;
use wirelap_report::why::{ReportedSeverity, ReportedVerdict, ReportedWhy};

/// The section; `None` if no message was examined.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    subjects.each_result(|subject| {
        let why = subject.result.why.as_ref()?;
        Some(of_result(subjects, subject, why))
    })
}

fn of_result(subjects: &Subjects<'_>, subject: &Subject<'_>, why: &ReportedWhy) -> Markup {
    let of = |severity| why.verdicts.iter().filter(move |verdict| verdict.severity == severity);
    let notes = of(ReportedSeverity::Note).count() as u64;
    html! {
        @if why.problem().is_none() { p class="fine" { (explain::nothing(why, &subject.participants())) } }
        @for verdict in of(ReportedSeverity::Problem) { (alike(subjects, subject, &[verdict])) }
        @if notes > 0 {
            details {
                summary { (counted(notes, "note")) ": no problem" }
                @for notes in grouped(of(ReportedSeverity::Note)) { (alike(subjects, subject, &notes)) }
            }
        }
    }
}

/// Notes that differ only in their process and segment, together.
fn grouped<'a>(notes: impl Iterator<Item = &'a ReportedVerdict>) -> Vec<Vec<&'a ReportedVerdict>> {
    let mut groups: Vec<Vec<&ReportedVerdict>> = Vec::new();
    for note in notes {
        let is_alike = |other: &&ReportedVerdict| {
            (&note.kind, &note.title, &note.evidence, &note.remedy)
                == (&other.kind, &other.title, &other.evidence, &other.remedy)
        };
        match groups.iter_mut().find(|group| group.first().is_some_and(is_alike)) {
            Some(group) => group.push(note),
            None => groups.push(vec![note]),
        }
    }
    groups
}

/// Verdicts with the same evidence and remedy: mostly one.
fn alike(subjects: &Subjects<'_>, subject: &Subject<'_>, verdicts: &[&ReportedVerdict]) -> Markup {
    let Some(first) = verdicts.first() else { return Markup::default() };
    let (class, word) = match first.severity {
        ReportedSeverity::Problem => ("problem", "Problem: "),
        ReportedSeverity::Note => ("note", "Note: "),
    };
    let heading = if verdicts.len() == 1 { name(subject, first) } else { title(first) };
    let evidence = first.evidence.iter().filter(|clause| !clause.trim().is_empty());
    let evidence: Vec<String> = evidence.map(|clause| explain::clean(clause)).collect();
    html! {
        div class={ "verdict " (class) } {
            (subjects.heading(1, &html! {
                span class="badge" { (word) }
                (sentence(&heading).trim_end_matches('.'))
            }))
            @match verdicts {
                [one] => @for line in costs(one) { p { (sentence(&line)) } },
                several => ul { @for one in several { li { (place(subject, one)) } } },
            }
            @match evidence.as_slice() {
                [] => {},
                [one] => p { strong { "Evidence: " } (one) "." },
                several => {
                    p { strong { "Evidence:" } }
                    ul { @for clause in several { li { (clause) } } }
                },
            }
            @for verdict in verdicts { @if !verdict.culprits.is_empty() { (culprits(subject, verdict)) } }
            @if !first.remedy.trim().is_empty() {
                p class="remedy" { strong { "What helps: " } (explain::clean(&first.remedy)) "." }
            }
        }
    }
}

/// The verdict's title with its process and segment.
fn name(subject: &Subject<'_>, verdict: &ReportedVerdict) -> String {
    explain::verdict_name(verdict, &subject.participants())
}

fn title(verdict: &ReportedVerdict) -> String {
    if verdict.title.is_empty() {
        explain::cause_title(&verdict.kind)
    } else {
        explain::clean(&verdict.title)
    }
}

/// The cost of a verdict's cause, and the time in which it was active.
fn costs(verdict: &ReportedVerdict) -> Vec<String> {
    [explain::cost(verdict), explain::when(verdict)].into_iter().flatten().collect()
}

/// Process and segment, and what it costs there.
fn place(subject: &Subject<'_>, verdict: &ReportedVerdict) -> String {
    let name = name(subject, verdict);
    let place = name.strip_prefix(&title(verdict)).map(|rest| rest.trim_start_matches(", "));
    let mut parts = vec![place.unwrap_or(&name).to_owned()];
    parts.extend(costs(verdict));
    parts.retain(|part| !part.is_empty());
    parts.join(": ")
}

/// The threads that had the CPU or the lock.
fn culprits(subject: &Subject<'_>, verdict: &ReportedVerdict) -> Markup {
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
