//! The section on changes: the answers of `wirelap compare`, for the variants of one run, or for each file against the first.

use crate::subject::{Subjects, letter};
use crate::tables::Table;
use maud::{Markup, html};
use wirelap_compare::comparison::{Obstacle, PairedResult};
use wirelap_compare::output::words;
use wirelap_compare::{CompareOptions, Comparison, compare, compare_ab};

/// A comparison, and what the page calls its sides.
struct Titled {
    comparison: Comparison,
    /// `C: c.json against A: a.json`; `None` for the variants of one run.
    heading: Option<String>,
    /// The letter of the second side on the rest of the page, if it is another than B.
    elsewhere: Option<String>,
}

/// The section; `None` where there is nothing to compare.
pub fn content(subjects: &Subjects<'_>) -> Option<Markup> {
    let comparisons = comparisons(subjects);
    (!comparisons.is_empty())
        .then(|| html! { @for comparison in &comparisons { (one(comparison)) } })
}

fn comparisons(subjects: &Subjects<'_>) -> Vec<Titled> {
    if let [file] = subjects.files {
        let of_variants = compare_ab(file.report, &CompareOptions::default());
        let titled = |comparison| Titled { comparison, heading: None, elsewhere: None };
        return of_variants.into_iter().map(titled).collect();
    }
    let Some((first, others)) = subjects.files.split_first() else { return Vec::new() };
    let against_first = (1..).zip(others).map(|(number, other)| {
        let names = [first.name.to_owned(), other.name.to_owned()];
        let (name, of_first) = (subjects.file_name(number), subjects.file_name(0));
        Titled {
            comparison: compare(
                first.report,
                other.report,
                &CompareOptions { names, ..CompareOptions::default() },
            ),
            heading: Some(format!("{name} against {of_first}")),
            elsewhere: Some(letter(number)).filter(|letter| letter != "B"),
        }
    });
    against_first.collect()
}

fn one(titled: &Titled) -> Markup {
    let Titled { comparison, heading, elsewhere } = titled;
    html! {
        @if let Some(heading) = heading { h3 { (heading) } }
        ul {
            li { "A is " (words::side(&comparison.a)) }
            li {
                "B is " (words::side(&comparison.b))
                @if let Some(letter) = elsewhere { "; it is " (letter) " on the rest of this page" }
            }
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
    let table = Table {
        caption: words::result(result, comparison.design),
        headings: answer_first(words::HEADINGS).map(str::to_owned).into(),
        rows: rows.collect(),
        text_columns: 2,
    };
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
    html! {
        @for obstacle in obstacles {
            p { strong { "Not comparable: " } (&obstacle.text) }
        }
    }
}
