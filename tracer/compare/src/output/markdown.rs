//! A comparison for a pull request.

use super::words;
use crate::comparison::{Comparison, Obstacle, PairedResult};
use crate::metric::Answer;
use wirelap_events::human::is_unsafe;

/// The whole comparison in GitHub's Markdown.
pub fn markdown(comparison: &Comparison) -> String {
    let mut out = format!("### wirelap: {}\n\n", summary(comparison));
    let sides = [("A", &comparison.a), ("B", &comparison.b)];
    out.push_str(&list(
        "**Sides**",
        sides.into_iter().map(|(name, side)| format!("{name}: {}", escape(&words::side(side)))),
    ));
    out.push_str(&obstacles("**Not comparable**", &comparison.not_comparable));
    let criteria = comparison.criteria.iter().map(|one| escape(&words::criterion(one)));
    out.push_str(&list("**--fail-if**", criteria));
    out.push_str(&table(comparison));
    out.push_str(&where_it_went(&comparison.results));
    let differences = comparison.differences.iter().map(|one| escape(&words::difference(one)));
    out.push_str(&list("**What differs**", differences));
    let unpaired = comparison.unpaired.iter();
    let only = unpaired.map(|one| format!("{}: {}", words::only(one.side), escape(&one.name)));
    let method = [comparison.design_note.clone(), words::method(comparison)];
    let notes = method.into_iter().chain(only).chain(comparison.notes.iter().cloned());
    out.push_str(&list("**Notes**", notes));
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// `2 slower, 1 faster, 5 same, 1 cannot tell`; for bytes and CPU time, more is slower.
fn summary(comparison: &Comparison) -> String {
    let count = |answer: Answer| {
        let cells = comparison.results.iter().flat_map(|result| &result.cells);
        cells.filter(|cell| cell.answer == answer).count()
    };
    let answers = [
        (Answer::Slower, "worse"),
        (Answer::Faster, "better"),
        (Answer::Same, "same"),
        (Answer::CannotTell, "cannot tell"),
    ];
    let counts = answers.map(|(answer, word)| (count(answer), word));
    let some = counts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = some.map(|(count, word)| format!("{count} {word}")).collect();
    if parts.is_empty() { "nothing to compare".into() } else { parts.join(", ") }
}

fn table(comparison: &Comparison) -> String {
    if comparison.results.is_empty() {
        return String::new();
    }
    let heading = words::HEADINGS.join(" | ");
    let mut out = format!("| result | {heading} |\n|---|---|--:|--:|--:|---|---|\n");
    for result in &comparison.results {
        for cell in &result.cells {
            let mut row = words::cell(cell);
            if matches!(cell.answer, Answer::Slower | Answer::Faster) {
                row[5] = format!("**{}**", row[5]);
            }
            out.push_str(&["| ", &escape(&result.name), " | ", &row.join(" | "), " |\n"].concat());
        }
    }
    if words::has_undecided(comparison) {
        out.push_str(&["\n", words::UNDECIDED, "\n"].concat());
    }
    out.push('\n');
    for result in &comparison.results {
        let head = format!("**{} is not comparable**", escape(&result.name));
        out.push_str(&obstacles(&head, &result.not_comparable));
    }
    out
}

fn where_it_went(results: &[PairedResult]) -> String {
    let of_interest = results.iter().filter(|result| words::went_elsewhere(result));
    let each = of_interest.flat_map(|result| {
        words::breakdowns(result).into_iter().map(|(what, breakdown)| {
            let sentence = breakdown.sentence.as_deref().unwrap_or_default();
            format!("{}, {what}: {}", escape(&result.name), escape(sentence))
        })
    });
    list("**Where it went** (B − A)", each)
}

fn obstacles(head: &str, obstacles: &[Obstacle]) -> String {
    list(head, obstacles.iter().map(|one| escape(&one.text)))
}

/// A list of Markdown; nothing without items.
fn list(head: &str, items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.map(|item| format!("- {item}")).collect();
    if items.is_empty() { String::new() } else { format!("{head}\n\n{}\n\n", items.join("\n")) }
}

/// Text from a file, so that it makes no markup, no line of its own, and calls nobody.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '`' | '[' | ']' | '\\' | '#' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '@' => out.push_str("&#64;"),
            c if is_unsafe(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_make_no_markup() {
        assert_eq!(escape("a|b\n<img> @all"), "a\\|b &lt;img> &#64;all");
    }
}
