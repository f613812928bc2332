//! Checks the criteria of `--fail-if`.

use crate::comparison::{
    Bounds, ComparedMetric, Comparison, CriterionOutcome, CriterionResult, PairedResult,
};
use crate::criterion::Criterion;
use crate::machine::{self, MachineEffect};
use crate::metric::Metric;
use crate::statistics::interval::Interval;

/// Each criterion for each result that it is about. `machine` is what the machine's own change explains of the figures.
pub fn check(
    comparison: &Comparison,
    criteria: &[Criterion],
    machine: MachineEffect,
) -> Vec<CriterionResult> {
    criteria.iter().flat_map(|criterion| of_criterion(comparison, criterion, machine)).collect()
}

fn of_criterion(
    comparison: &Comparison,
    criterion: &Criterion,
    machine: MachineEffect,
) -> Vec<CriterionResult> {
    let concerned: Vec<&PairedResult> = comparison
        .results
        .iter()
        .filter(|result| {
            let labels = [result.label(), result.label_b()];
            labels.iter().any(|label| criterion.concerns(&result.middleware, label))
        })
        .collect();
    let say = |result: Option<&PairedResult>, (outcome, text): (CriterionOutcome, String)| {
        CriterionResult {
            criterion: criterion.to_string(),
            result: result.map(|result| result.name.clone()),
            outcome,
            text,
        }
    };
    if concerned.is_empty() {
        let text = "no result that both sides have is of this middleware".to_owned();
        return vec![say(None, (CriterionOutcome::NotJudged, text))];
    }
    let each = concerned.into_iter().map(|result| {
        let outcome = of_result(comparison, result, criterion, machine);
        say(Some(result), outcome)
    });
    each.collect()
}

fn of_result(
    comparison: &Comparison,
    result: &PairedResult,
    criterion: &Criterion,
    machine: MachineEffect,
) -> (CriterionOutcome, String) {
    if !comparison.judges(result) {
        return (CriterionOutcome::NotJudged, "the sides are not comparable".into());
    }
    let Some(cell) = result.cells.iter().find(|cell| cell.metric == criterion.metric) else {
        return (CriterionOutcome::NotJudged, "a side does not have this metric".into());
    };
    let enough = cell.messages_needed.is_none();
    let Some(interval) = interval(cell).filter(|_| enough) else {
        let text = cell.reason.clone().unwrap_or_else(|| "there is no interval".into());
        return (CriterionOutcome::NotJudged, text);
    };
    let fires = |of: Bounds| criterion.fires(of.low, of.high);
    if !fires(interval) {
        return (CriterionOutcome::Held, seen(cell, interval));
    }
    if !fires(widened(cell.metric, interval, machine)) {
        let seen = seen(cell, interval);
        let text = format!("{seen}, and the machine itself changed by as much");
        return (CriterionOutcome::NotJudged, text);
    }
    (CriterionOutcome::Fired, seen(cell, interval))
}

/// An interval of a ratio, wider by what the machine's own change explains of it.
fn widened(metric: Metric, Bounds { low, high }: Bounds, machine: MachineEffect) -> Bounds {
    let logs = Interval { low: low.ln(), high: high.ln() };
    let Interval { low, high } = machine::widened(metric, logs, machine);
    Bounds { low: low.exp(), high: high.exp() }
}

/// The interval of a cell's ratio. For bytes it is the value itself; `None` without an interval.
fn interval(cell: &ComparedMetric) -> Option<Bounds> {
    match cell.metric {
        Metric::WireBytesPerDelivery => Some(Bounds { low: cell.ratio, high: cell.ratio }),
        _ => cell.ratio_95,
    }
}

fn seen(cell: &ComparedMetric, Bounds { low, high }: Bounds) -> String {
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
