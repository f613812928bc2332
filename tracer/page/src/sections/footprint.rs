//! The section on the use of CPU and memory by processes, idle and busy, and on the size of client programs, beside published sizes.

use crate::published::pico::PicoStudy;
use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use maud::{Markup, html};
use wirelap_events::human::NONE;
use wirelap_report::{ClientSize, footprint, human};

/// The section; `None` unless idle processes or client programs were measured.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    let processes = subjects.each_result(processes);
    let sizes = sizes(subjects);
    if processes.is_none() && sizes.is_none() {
        return None;
    }
    Some(html! {
        @if let Some(processes) = processes { (processes) }
        @if let Some(sizes) = sizes { (sizes) }
    })
}

fn processes(subject: &Subject<'_>) -> Option<Markup> {
    let rows: Vec<Vec<String>> = footprint::idle_and_busy(subject.result)
        .into_iter()
        .map(|one| {
            let bytes = |bytes: u64| human::bytes(bytes as f64);
            vec![
                one.name,
                one.role,
                footprint::share(one.idle_cpu),
                bytes(one.idle_rss),
                one.busy_cpu.map_or_else(|| NONE.to_owned(), footprint::share),
                one.busy_rss.map_or_else(|| NONE.to_owned(), bytes),
            ]
        })
        .collect();
    let headings = ["process", "role", "idle CPU", "idle memory", "busy CPU", "busy memory"];
    let caption = format!("{}: connected and idle, and with messages", subject.name);
    (!rows.is_empty()).then(|| Table::of_text(caption, &headings, rows, 2).render())
}

/// Client programs with one middleware each, and published sizes of programs for microcontrollers.
fn sizes(subjects: &Subjects<'_>) -> Option<Markup> {
    let mut known: Vec<(&str, &ClientSize)> = Vec::new();
    for subject in &subjects.all {
        if let Some(size) = &subject.result.client_size
            && !known.iter().any(|(name, _)| *name == subject.result.middleware)
        {
            known.push((&subject.result.middleware, size));
        }
    }
    let (_, first) = known.first()?;
    let bytes = |bytes: u64| human::bytes(bytes as f64);
    let row = |(name, size): &(&str, &ClientSize)| {
        let more = size.bytes.saturating_sub(size.without_middleware_bytes);
        vec![(*name).to_owned(), bytes(size.bytes), bytes(more)]
    };
    let mut rows =
        vec![vec!["none".to_owned(), bytes(first.without_middleware_bytes), NONE.to_owned()]];
    rows.extend(known.iter().map(row));
    let headings = ["middleware", "client program", "more than without"];
    let published = PicoStudy::load();
    Some(html! {
        (Table::of_text("Client programs with one middleware each", &headings, rows, 1).render())
        p { "Stripped programs with all roles of their middleware: " (first.build) "." }
        @if let Some(study) = published { (microcontrollers(&study)) }
    })
}

fn microcontrollers(study: &PicoStudy) -> Markup {
    let row = |(system, variant, bytes): (&str, &str, u64)| {
        vec![system.to_owned(), variant.to_owned(), human::bytes(bytes as f64)]
    };
    let rows = study.flash().into_iter().map(row).collect();
    html! {
        (Table::of_text("Published sizes of programs with zenoh-pico", &["system", "transports", "flash"], rows, 2).render())
        p {
            "From \"" (study.title) "\". They are programs for microcontrollers, written in C: they show what a small library "
            "needs there, and are not comparable with programs for Linux."
        }
    }
}
