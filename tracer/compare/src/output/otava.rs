//! Both sides as lines of a CSV that Apache Otava imports (its docs/CSV.md): `time_column: time`, `attributes: [run,
//! wirelap_version]`, and a column for each metric of each result. Values are divided by commas and need no quotes.

use crate::comparison::{ComparedMetric, ComparedSide, Comparison, PairedResult};

/// A heading and one line for each side.
pub fn otava(comparison: &Comparison) -> String {
    let columns: Vec<(&PairedResult, &ComparedMetric)> = comparison
        .results
        .iter()
        .flat_map(|result| result.cells.iter().map(move |cell| (result, cell)))
        .collect();
    let names = columns
        .iter()
        .map(|(result, cell)| format!("{}.{}", plain(&result.name), cell.metric.name()));
    let heading = ["time", "run", "wirelap_version"].map(str::to_owned).into_iter().chain(names);
    let line = |side: &ComparedSide, of: fn(&ComparedMetric) -> f64| {
        let values = columns.iter().map(|(_, cell)| of(cell).to_string());
        let run = [&side.started_at, &side.name, &side.wirelap_version].map(|text| plain(text));
        run.into_iter().chain(values).collect::<Vec<String>>().join(",")
    };
    let heading = heading.collect::<Vec<String>>().join(",");
    let (a, b) = (line(&comparison.a, |cell| cell.a), line(&comparison.b, |cell| cell.b));
    format!("{heading}\n{a}\n{b}\n")
}

/// Without anything that divides or quotes values, in whatever way Otava is configured.
fn plain(text: &str) -> String {
    let keep = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | ':' | '+' | '/' | '_');
    text.chars().map(|c| if keep(c) { c } else { '_' }).collect()
}
