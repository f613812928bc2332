//! Phrases that text and Markdown share.

use crate::comparison::{
    Bounds, ComparedMetric, ComparedSide, Comparison, CriterionOutcome, CriterionResult, Design,
    Difference, DifferenceBreakdown, PairedResult, WhichSide,
};
use crate::metric::{Answer, Metric};
use wirelap_events::human::NONE;

/// The headings of the table of cells.
pub const HEADINGS: [&str; 6] = ["metric", "A", "B", "B/A", "95 % interval", "answer"];

/// Rows of a breakdown with a smaller share are not shown.
const LEAST_SHARE: f64 = 0.01;

/// More rows of a breakdown are not shown.
const MOST_ROWS: usize = 8;

/// `before.json · 2026-11-20T10:00:00Z · wirelap 0.1.0`.
pub fn side(side: &ComparedSide) -> String {
    let version = match side.wirelap_version.as_str() {
        "" => String::new(),
        version => format!("wirelap {version}"),
    };
    let scenario = side.scenario.as_ref().map(|name| format!("scenario {name}"));
    let parts = [side.name.clone(), scenario.unwrap_or_default(), side.started_at.clone(), version];
    let known: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    known.join(" · ")
}

/// The method by which the answers were found.
pub fn method(comparison: &Comparison) -> String {
    format!(
        "Values are geometric means over repetitions, those of bytes means over all deliveries. Intervals are from {} draws. Differences within ±{} % are the same. \
         {} tests, corrected by Holm.",
        comparison.draws,
        decimal(comparison.margin * 100.0),
        comparison.tests
    )
}

/// A number with at most one decimal.
fn decimal(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// The name of a result with its repetitions.
pub fn result(result: &PairedResult, design: Design) -> String {
    let (a, b) = (result.repetitions_a, result.repetitions_b);
    match design {
        Design::SideBySide => format!("{} · {a} pairs of repetitions", result.name),
        Design::TwoRuns => format!("{} · {a} and {b} repetitions", result.name),
    }
}

/// A cell's row.
pub fn cell(cell: &ComparedMetric) -> [String; 6] {
    let show = |value| cell.metric.show(value);
    [
        cell.metric.heading().to_owned(),
        show(cell.a),
        show(cell.b),
        ratio(cell.ratio),
        interval(cell),
        answer(cell),
    ]
}

fn interval(cell: &ComparedMetric) -> String {
    match cell.ratio_95 {
        Some(Bounds { low, high }) => format!("{}–{}", ratio(low), ratio(high)),
        None if cell.metric == Metric::WireBytesPerDelivery => "exact".into(),
        None => NONE.into(),
    }
}

fn ratio(ratio: f64) -> String {
    match ratio {
        r if !r.is_finite() => NONE.into(),
        r if r < 9.9995 => format!("{r:.3}"),
        r if r < 999.95 => format!("{r:.1}"),
        _ => ">1000".into(),
    }
}

/// `slower`; `cannot tell (12 more)`; `cannot tell (messages)`; `cannot tell (machine)`.
fn answer(cell: &ComparedMetric) -> String {
    match cell.repetitions_needed {
        _ if cell.machine_changed => format!("{} (machine)", cell.answer_in_words),
        _ if cell.messages_needed.is_some() => {
            format!("{} ({})", cell.answer_in_words, cell.metric.counted())
        }
        Some(more) => format!("{} ({more} more)", cell.answer_in_words),
        None => cell.answer_in_words.clone(),
    }
}

/// True if some cell says how many more repetitions would decide.
pub fn has_undecided(comparison: &Comparison) -> bool {
    let mut cells = comparison.results.iter().flat_map(|result| &result.cells);
    cells.any(|cell| cell.repetitions_needed.is_some())
}

/// The meaning of the number behind `cannot tell`.
pub const UNDECIDED: &str =
    "cannot tell (N more): about N more repetitions of each side would decide it.";

/// True if the breakdown of a result's time is of interest: some latency is not the same.
pub fn went_elsewhere(result: &PairedResult) -> bool {
    let mut latencies = result.cells.iter().filter(|cell| cell.metric.is_latency());
    latencies.any(|cell| cell.answer != Answer::Same)
}

/// The breakdowns of a result that say something, with what they are about.
pub fn breakdowns(result: &PairedResult) -> Vec<(&'static str, &DifferenceBreakdown)> {
    let all = [("mean", &result.mean), ("slowest 1 %, over the middle", &result.tail)];
    let known = all.into_iter().filter_map(|(what, of)| Some((what, of.as_ref()?)));
    known.filter(|(_, of)| of.sentence.is_some()).collect()
}

/// The rows of a breakdown that are shown: difference, share, name.
pub fn breakdown(of: &DifferenceBreakdown) -> Vec<[String; 3]> {
    let legs = of.rows.iter().map(|row| row.leg).max().unwrap_or_default();
    let shown = of.rows.iter().take(MOST_ROWS).filter_map(|row| {
        let share = row.share.filter(|share| share.abs() >= LEAST_SHARE)?;
        let percent = format!("{:.0} %", share * 100.0).replace('-', "−");
        Some([
            crate::breakdown::signed(row.difference_ns),
            percent,
            crate::breakdown::name(row, legs),
        ])
    });
    shown.collect()
}

/// `version of mqtt: rumqttc: 0.24 → 0.25`.
pub fn difference(difference: &Difference) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".into());
    format!("{}: {} → {}", difference.what, value(&difference.a), value(&difference.b))
}

/// `FAILED p99>5%: mqtt/mosquitto 64 B: changed by …`.
pub fn criterion(result: &CriterionResult) -> String {
    let outcome = match result.outcome {
        CriterionOutcome::Fired => "FAILED",
        CriterionOutcome::Held => "held",
        CriterionOutcome::NotJudged => "not judged",
    };
    let of = result.result.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    format!("{outcome} {}: {of}{}", result.criterion, result.text)
}

/// `only in A`.
pub fn only(side: WhichSide) -> &'static str {
    match side {
        WhichSide::A => "only in A",
        WhichSide::B => "only in B",
    }
}
