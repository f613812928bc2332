//! Tail blame: where the slowest messages took longer than a typical one, and which threads had the CPU.

use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use maud::{Markup, html};
use wirelap_events::human::{percents, signed_percent};
use wirelap_report::why::Tail;
use wirelap_report::{explain, human};

/// The section; `None` if no result has a tail.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    subjects.each_result(|subject| {
        let why = subject.result.why.as_ref()?;
        let tails: Vec<&Tail> = why.tails.iter().filter(|tail| !tail.rows.is_empty()).collect();
        let holders = explain::holders(why, &subject.participants());
        (!tails.is_empty() || holders.is_some()).then(|| {
            html! {
                @for tail in tails {
                    p { (explain::tail_heading(tail)) }
                    (table(subject, tail).render())
                }
                @if let Some(holders) = holders { p { (holders) } }
            }
        })
    })
}

fn table(subject: &Subject<'_>, tail: &Tail) -> Table {
    let participants = subject.participants();
    let shares: Vec<f64> = tail.rows.iter().map(|row| row.share).collect();
    let rows = tail.rows.iter().zip(percents(&shares)).map(|(row, percents)| {
        let minus = if row.excess_ns < 0 { "−" } else { "" };
        vec![
            explain::tail_words(row, &participants),
            signed_percent(percents),
            format!("{minus}{}", human::time_ns(Some(row.excess_ns.unsigned_abs()))),
        ]
    });
    let percent = format!("{} %", (tail.share * 100_000.0).round() / 1_000.0);
    Table::of_numbers(
        format!("The slowest {percent} of {}: the extra time by step and cause", subject.name),
        &["step and cause", "share of the extra time", "extra time"],
        rows.collect(),
    )
}
