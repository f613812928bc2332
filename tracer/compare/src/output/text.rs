//! A comparison for a terminal of 80 columns.
//!
//! ```text
//! A: before.json · 2026-11-20T10:00:00Z · wirelap 0.1.0
//! B: after.json · 2026-11-21T10:00:00Z · wirelap 0.1.0
//! Two runs, each with its own repetitions …
//!
//! metric         A         B    B/A  95 % interval  answer
//! ────────  ────────  ───────  ─────  ─────────────  ──────
//! mqtt/mosquitto 64 B · 10 and 10 repetitions
//! p50        41.2 µs  45.1 µs  1.095  1.071–1.120    slower
//!
//! where it went (B − A)
//! mqtt/mosquitto 64 B
//!   mean: 2.broker_dwell, broker_cpu_bound: +3.1 µs of +3.9 µs
//! ```

use super::words;
use crate::comparison::{Comparison, PairedResult};
use wirelap_events::human::clean_lines;
use wirelap_report::grid::{Align, lay_out, wrap};

const WIDTH: usize = 80;

const ALIGN: [Align; 6] =
    [Align::Left, Align::Right, Align::Right, Align::Right, Align::Left, Align::Left];

/// The whole comparison as text.
pub fn text(comparison: &Comparison) -> String {
    let mut out = header(comparison);
    for obstacle in &comparison.not_comparable {
        out.push_str(&hang("not comparable: ", &obstacle.text));
    }
    out.push_str(&table(comparison));
    let legend = if words::has_undecided(comparison) { words::UNDECIDED } else { "" };
    out.push_str(&hang("", legend));
    out.push_str(&where_it_went(&comparison.results));
    out.push_str(&closing(comparison));
    // Names and sentences are from files: nothing of them may steer a terminal.
    clean_lines(&out).into_owned()
}

fn header(comparison: &Comparison) -> String {
    let mut out = hang("A: ", &words::side(&comparison.a));
    out.push_str(&hang("B: ", &words::side(&comparison.b)));
    out.push_str(&hang("", &comparison.design_note));
    out.push_str(&hang("", &words::method(comparison)));
    out
}

/// The table of all cells, with a line for each result above its cells.
fn table(comparison: &Comparison) -> String {
    if comparison.results.is_empty() {
        return String::new();
    }
    let mut rows = vec![words::HEADINGS.map(str::to_owned).to_vec()];
    let cells = comparison.results.iter().flat_map(|result| &result.cells);
    rows.extend(cells.map(|cell| words::cell(cell).to_vec()));
    let laid_out = lay_out(&ALIGN, &rows);
    // The heading and the rule below it.
    let (head, mut lines) = (laid_out.lines().take(2), laid_out.lines().skip(2));
    let mut out = vec![String::new()];
    out.extend(head.map(str::to_owned));
    for result in &comparison.results {
        out.push(words::result(result, comparison.design));
        out.extend(lines.by_ref().take(result.cells.len()).map(str::to_owned));
        let obstacles = result.not_comparable.iter();
        out.extend(
            obstacles.map(|one| hang("  not comparable: ", &one.text).trim_end().to_owned()),
        );
    }
    out.push(String::new());
    out.join("\n")
}

fn where_it_went(results: &[PairedResult]) -> String {
    let mut out = String::new();
    for result in results.iter().filter(|result| words::went_elsewhere(result)) {
        let breakdowns = words::breakdowns(result);
        if breakdowns.is_empty() {
            continue;
        }
        if out.is_empty() {
            out.push_str("\nwhere it went (B − A)\n");
        }
        out.push_str(&[result.name.as_str(), "\n"].concat());
        for (what, breakdown) in breakdowns {
            let sentence = breakdown.sentence.as_deref().unwrap_or_default();
            out.push_str(&hang(&format!("  {what}: "), sentence));
            out.push_str(&rows(&words::breakdown(breakdown)));
        }
    }
    out
}

/// Rows below a sentence, in columns.
fn rows(rows: &[[String; 3]]) -> String {
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let (first, second) = (width(0), width(1));
    let lines = rows.iter().map(|[difference, share, name]| {
        format!("    {difference:>first$}  {share:>second$}  {name}\n")
    });
    lines.collect()
}

fn closing(comparison: &Comparison) -> String {
    let mut lines: Vec<(String, String)> = Vec::new();
    for one in &comparison.unpaired {
        lines.push((format!("{}: ", words::only(one.side)), one.name.clone()));
    }
    for difference in &comparison.differences {
        lines.push(("differs: ".into(), words::difference(difference)));
    }
    for note in &comparison.notes {
        lines.push(("note: ".into(), note.clone()));
    }
    for criterion in &comparison.criteria {
        lines.push(("fail-if: ".into(), words::criterion(criterion)));
    }
    let gap = if lines.is_empty() { "" } else { "\n" };
    let lines: String = lines.iter().map(|(head, line)| hang(head, line)).collect();
    format!("{gap}{lines}")
}

/// Text under a hanging indent; nothing without text.
fn hang(head: &str, text: &str) -> String {
    let indent = head.chars().count();
    let lines = wrap(text, WIDTH.saturating_sub(indent));
    let lead = |number| if number == 0 { head.to_owned() } else { " ".repeat(indent) };
    let lines = lines.iter().enumerate();
    lines.flat_map(|(number, line)| [lead(number), line.clone(), "\n".into()]).collect()
}
