//! Tail blame: where the slowest messages took longer than a typical one, and which threads had the CPU.

use crate::subject::{Subject, Subjects};
use crate::tables::Table;
use maud::{Markup, html};
use wirelap_events::human::{counted, percents, signed_percent};
use wirelap_report::why::{ReportedTail, ReportedTailRow};
use wirelap_report::{explain, human};

/// Number of rows of a tail that are shown, and the share from which on they are; the others are added up in one row.
const ROWS: usize = 8;
const LEAST: f64 = 0.01;

/// The section; `None` if no result has a tail.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    subjects.each_result(|subject| {
        let why = subject.result.why.as_ref()?;
        let tails: Vec<&ReportedTail> =
            why.tails.iter().filter(|tail| !tail.rows.is_empty()).collect();
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

fn table(subject: &Subject<'_>, tail: &ReportedTail) -> Table {
    let participants = subject.participants();
    let is_large = |row: &&ReportedTailRow| row.share.abs() >= LEAST;
    let shown: Vec<&ReportedTailRow> = tail.rows.iter().filter(is_large).take(ROWS).collect();
    let sum = |rows: &mut dyn Iterator<Item = &ReportedTailRow>| {
        rows.fold((0.0, 0_i64), |(share, ns), row| {
            (share + row.share, ns.saturating_add(row.excess_ns))
        })
    };
    let (all, named) = (sum(&mut tail.rows.iter()), sum(&mut shown.iter().copied()));
    let mut shares: Vec<f64> = shown.iter().map(|row| row.share).collect();
    shares.push(all.0 - named.0);
    let percents = percents(&shares);
    let words = shown.iter().map(|row| (explain::tail_words(row, &participants), row.excess_ns));
    let more = tail.rows.len().saturating_sub(shown.len());
    let rest =
        (more > 0).then(|| (counted(more as u64, "more step"), all.1.saturating_sub(named.1)));
    let rows = words.chain(rest).zip(percents).map(|((words, excess_ns), percents)| {
        let minus = if excess_ns < 0 { "−" } else { "" };
        let time = human::time_ns(Some(excess_ns.unsigned_abs()));
        vec![words, signed_percent(percents), format!("{minus}{time}")]
    });
    let percent = format!("{} %", (tail.share * 100_000.0).round() / 1_000.0);
    Table::of_numbers(
        format!("The slowest {percent} of {}: the extra time by step and cause", subject.name),
        &["step and cause", "share", "extra time"],
        rows.collect(),
    )
}
