//! Side B in the Bencher Metric Format (<https://bencher.dev/docs/reference/bencher-metric-format>): benchmark, measure, value
//! and its bounds.

use crate::comparison::{ComparedMetric, Comparison};
use crate::metric::Metric;
use serde_json::{Map, Value, json};
use wirelap_events::human::escape_json;

/// The values of B, with their 95 % intervals, of all results that both sides have.
pub fn bencher(comparison: &Comparison) -> String {
    let benchmarks: Map<String, Value> = comparison
        .results
        .iter()
        .map(|result| {
            let measures: Map<String, Value> =
                result.cells.iter().map(|cell| (measure(cell.metric), value(cell))).collect();
            let name = result.name_b.as_ref().unwrap_or(&result.name);
            (name.clone(), Value::Object(measures))
        })
        .collect();
    // Maps of numbers and strings: serialising them cannot fail.
    let mut text = serde_json::to_string_pretty(&benchmarks).unwrap_or_default();
    text.push('\n');
    escape_json(text)
}

/// Bencher's own measure where it has one of this meaning and unit (operations per second), otherwise a slug of our name.
fn measure(metric: Metric) -> String {
    match metric {
        Metric::ThroughputMsgPerS => "throughput".into(),
        other => other.name().replace('_', "-"),
    }
}

fn value(cell: &ComparedMetric) -> Value {
    match cell.b_95 {
        Some(bounds) => {
            json!({ "value": cell.b, "lower_value": bounds.low, "upper_value": bounds.high })
        }
        None => json!({ "value": cell.b }),
    }
}
