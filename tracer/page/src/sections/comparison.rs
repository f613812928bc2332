//! What became slower or faster: the answers of `wirelap compare`, for the variants of one run, or for each file against the
//! first.

use crate::subject::Subjects;
use crate::tables::Table;
use maud::{Markup, html};
use wirelap_compare::comparison::{Obstacle, PairedResult};
use wirelap_compare::output::words;
use wirelap_compare::{Comparison, Options, compare, compare_ab};

/// The section; `None` where there is nothing to compare.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    let comparisons = comparisons(subjects);
    let shown = comparisons.iter().map(one).collect::<Vec<_>>();
    (!shown.is_empty()).then(|| html! { @for comparison in shown { (comparison) } })
}

fn comparisons(subjects: &Subjects<'_>) -> Vec<Comparison> {
    if let [file] = subjects.files {
        return compare_ab(file.report, &Options::default()).into_iter().collect();
    }
    let Some((first, others)) = subjects.files.split_first() else { return Vec::new() };
    let against_first = others.iter().map(|other| {
        let names = [first.name.to_owned(), other.name.to_owned()];
        compare(first.report, other.report, &Options { names, ..Options::default() })
    });
    against_first.collect()
}

fn one(comparison: &Comparison) -> Markup {
    html! {
        ul {
            li { "A is " (words::side(&comparison.a)) }
            li { "B is " (words::side(&comparison.b)) }
        }
        (obstacles(&comparison.not_comparable))
        @for result in &comparison.results { (paired(result, comparison)) }
        @if words::has_undecided(comparison) { p class="how" { (words::UNDECIDED) } }
        @for unpaired in &comparison.unpaired {
            p { (unpaired.name) ": " (words::only(unpaired.side)) }
        }
        @if !comparison.differences.is_empty() {
            p { "Also different:" }
            ul { @for difference in &comparison.differences { li { (words::difference(difference)) } } }
        }
        p class="how" { (comparison.design_note) " " (words::method(comparison)) }
        @for note in &comparison.notes { p class="how" { (note) } }
    }
}

fn paired(result: &PairedResult, comparison: &Comparison) -> Markup {
    let rows = result.cells.iter().map(|cell| answer_first(words::cell(cell)).to_vec());
    let caption = words::result(result, comparison.design);
    let table = Table::of_text(caption, &answer_first(words::HEADINGS), rows.collect(), 2);
    html! {
        (table.render())
        (obstacles(&result.not_comparable))
        @if words::went_elsewhere(result) {
            @for (what, breakdown) in words::breakdowns(result) {
                p { "Where the difference is (" (what) "): " (breakdown.sentence.as_deref().unwrap_or_default()) }
            }
        }
    }
}

/// The answer behind the metric: both are text, and numbers stand right of text.
fn answer_first<T>([metric, a, b, ratio, interval, answer]: [T; 6]) -> [T; 6] {
    [metric, answer, a, b, ratio, interval]
}

fn obstacles(obstacles: &[Obstacle]) -> Markup {
    html! { @for obstacle in obstacles { p { strong { "Not comparable: " } (obstacle.text) } } }
}
