//! The table of all results: the columns and numbers of the table for the terminal, and how it would be read.

use crate::subject::Subjects;
use crate::tables::Table;
use maud::{Markup, html};
use wirelap_report::table;

/// The section; `None` without results.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    subjects.each_file(|file| {
        let report = subjects.files.get(file)?.report;
        let mut rows = table::cells(report);
        if rows.len() < 2 {
            return None;
        }
        let headings = rows.remove(0);
        let caption = format!("Results: {}", table::title(&report.scenario));
        let table = Table { caption, headings, rows, text_columns: 1 };
        Some(html! {
            div class="main-table" { (table.render()) }
            p class="how" { (table::legend(report).trim_end()) }
            @for skipped in &report.skipped {
                p {
                    strong { "Skipped: " }
                    (skipped.middleware) @if let Some(broker) = &skipped.broker { "/" (broker) } ": " (skipped.why)
                    @if let Some(remedy) = &skipped.remedy { ": " (remedy) }
                }
            }
        })
    })
}
