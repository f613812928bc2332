//! What becomes of the criteria of `--fail-if`.

use crate::comparison::{Bounds, Cell, Comparison, CriterionResult, Outcome, PairedResult};
use crate::criterion::Criterion;
use crate::metric::Metric;

/// Each criterion for each result that it is about.
pub fn check(comparison: &Comparison, criteria: &[Criterion]) -> Vec<CriterionResult> {
    criteria.iter().flat_map(|criterion| of_criterion(comparison, criterion)).collect()
}

fn of_criterion(comparison: &Comparison, criterion: &Criterion) -> Vec<CriterionResult> {
    let concerned: Vec<&PairedResult> = comparison
        .results
        .iter()
        .filter(|result| {
            let labels = [result.label(), result.label_b()];
            labels.iter().any(|label| criterion.concerns(&result.middleware, label))
        })
        .collect();
    let say = |result: Option<&PairedResult>, (outcome, text): (Outcome, String)| CriterionResult {
        criterion: criterion.to_string(),
        result: result.map(|result| result.name.clone()),
        outcome,
        text,
    };
    if concerned.is_empty() {
        let text = "no result that both sides have is of this middleware".to_owned();
        return vec![say(None, (Outcome::NotJudged, text))];
    }
    let each = concerned.into_iter().map(|result| {
        let outcome = of_result(result, comparison.judges(result), criterion);
        say(Some(result), outcome)
    });
    each.collect()
}

fn of_result(result: &PairedResult, judged: bool, criterion: &Criterion) -> (Outcome, String) {
    if !judged {
        return (Outcome::NotJudged, "the sides are not comparable".into());
    }
    let Some(cell) = result.cells.iter().find(|cell| cell.metric == criterion.metric) else {
        return (Outcome::NotJudged, "a side does not have this metric".into());
    };
    let enough = cell.messages_needed.is_none();
    let Some(interval) = interval(cell).filter(|_| enough) else {
        let text = cell.reason.clone().unwrap_or_else(|| "there is no interval".into());
        return (Outcome::NotJudged, text);
    };
    let fires = criterion.fires(interval.low, interval.high);
    let outcome = if fires { Outcome::Fired } else { Outcome::Held };
    (outcome, seen(cell, interval))
}

/// Of bytes, the value itself.
fn interval(cell: &Cell) -> Option<Bounds> {
    match cell.metric {
        Metric::WireBytesPerDelivery => Some(Bounds { low: cell.ratio, high: cell.ratio }),
        _ => cell.ratio_95,
    }
}

fn seen(cell: &Cell, Bounds { low, high }: Bounds) -> String {
    let change = percent(cell.ratio);
    match cell.metric {
        Metric::WireBytesPerDelivery => format!("changed by {change} %"),
        _ => {
            format!("changed by {change} %, 95 % interval {} to {} %", percent(low), percent(high))
        }
    }
}

/// A ratio as a change with one decimal: `+5.1`, `−0.3`.
fn percent(ratio: f64) -> String {
    let tenths = ((ratio - 1.0) * 1000.0).round() / 10.0;
    match tenths {
        p if p > 0.0 => format!("+{p:.1}"),
        p if p < 0.0 => format!("−{:.1}", -p),
        _ => "0".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_said_as_changes() {
        assert_eq!([1.0512, 0.997, 1.000_01, 2.0].map(percent), ["+5.1", "−0.3", "0", "+100.0"]);
    }
}
