//! The lines below all results.

use crate::grid::hang;
use crate::human;
use crate::run::{label, name};
use crate::{RunReport, Saturation, Skipped};

/// The lines below all results: what was skipped, whether the run is partial, notes.
pub fn closing(report: &RunReport) -> String {
    let mut out = String::new();
    for Skipped { middleware, why, remedy, .. } in &report.skipped {
        let remedy = remedy.as_ref().map(|remedy| format!(": {remedy}")).unwrap_or_default();
        out.push_str(&hang("skipped: ", &format!("{middleware}: {why}{remedy}")));
    }
    for saturation in &report.saturation_msg_per_s {
        out.push_str(&hang("saturation: ", &saturated(saturation)));
    }
    if report.partial {
        let text = "something failed, the run ended early, or less than half of the messages were delivered";
        out.push_str(&hang("partial: ", text));
    }
    for note in &report.notes {
        out.push_str(&hang("note: ", note));
    }
    if let Some(slow) = &report.slow_subscribers {
        out.push('\n');
        out.push_str(&slow.table());
    }
    out
}

/// Between which rates a middleware was saturated, in one sentence.
fn saturated(saturation: &Saturation) -> String {
    let Saturation { middleware, broker, variant, payload_bytes, .. } = saturation;
    let name = label(name(middleware, broker.as_deref()), variant.as_deref());
    let size = human::bytes(*payload_bytes as f64);
    let rate = |rate: f64| format!("{} msg/s", human::count(rate));
    match (saturation.highest_reached, saturation.lowest_missed) {
        (Some(reached), Some(missed)) => {
            format!("{name}, {size}: {} were reached, {} were not", rate(reached), rate(missed))
        }
        (Some(reached), None) => format!("{name}, {size}: above {}", rate(reached)),
        (None, Some(missed)) => format!("{name}, {size}: below {}", rate(missed)),
        (None, None) => format!("{name}, {size}: not known"),
    }
}
