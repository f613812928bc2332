//! The lines on one result below the table.

use super::connections;
use super::trust_line::trust_line;
use crate::grid::hang;
use crate::{
    Pacing, ReportedLocalRequests, ReportedPartial, ReportedReliability, RunResult, SegmentRow,
};
use crate::{bytes_table, explain, footprint, human, place};

/// The lines below a result: its trust, its time and bytes by part, the verdicts, and notes.
pub fn result_lines(result: &RunResult, pacing: Pacing, with_rate: bool) -> String {
    let head = match result.rate_msg_per_s.filter(|_| with_rate) {
        Some(rate) => format!("{} at {} msg/s: ", result.label(), human::count(rate)),
        None => format!("{}: ", result.label()),
    };
    let mut out = hang(&head, &trust_line(result));
    out.push_str(&reasons(result));
    if let Some(reached) = result.missed_rate() {
        out.push_str(&hang("  ! ", &human::rate_not_reached(reached)));
    }
    if let Some(line) = segments_line(&result.segments) {
        out.push_str(&hang("  time: ", &line));
    }
    let here = result.partial_sight.as_ref().and_then(|seen| segments_line(&seen.segments));
    let in_part = result.partial_sight.iter().flat_map(ReportedPartial::lines);
    let requests = result.requests.iter().flat_map(ReportedLocalRequests::lines);
    for (name, line) in in_part.chain(requests) {
        out.push_str(&hang(
            &if name.is_empty() { "    ".into() } else { format!("  {name}: ") },
            &line,
        ));
    }
    if let Some(line) = here {
        out.push_str(&hang("  time here: ", &line));
    }
    if let Some(line) = result.requests.as_ref().and_then(|seen| segments_line(&seen.segments)) {
        out.push_str(&hang("  time of requests: ", &line));
    }
    if let Some(line) = human::without_tracing(&result.latency) {
        out.push_str(&hang("  without tracing: ", &line));
    }
    for (head, line) in bytes_table::lines(&result.overhead) {
        out.push_str(&hang(head, &line));
    }
    if let Some(line) = footprint::line(result) {
        out.push_str(&hang("  processes: ", &line));
    }
    if let Some(line) = place::line(result) {
        out.push_str(&hang("  where: ", &line));
    }
    if let Some(size) = footprint::size(result) {
        out.push_str(&hang("  client program: ", &size));
    }
    if let Some(line) = connections::broker_line(result) {
        out.push_str(&hang("  broker: ", &line));
    }
    if let Some(why) = explain::in_short(result, pacing) {
        out.push_str(&hang("  why: ", &why));
    }
    if let Some(error) = &result.error {
        out.push_str(&hang("  failed: ", error));
    }
    for note in &result.notes {
        out.push_str(&hang("  note: ", note));
    }
    out
}

/// The reasons why a result is reduced or unusable, one line each, the most serious first.
fn reasons(result: &RunResult) -> String {
    let head = |verdict| match verdict {
        ReportedReliability::Unusable => "  ✗ unusable: ",
        ReportedReliability::Reduced | ReportedReliability::Good => "  ! use with care: ",
    };
    let reasons = result.trust.reasons.iter();
    reasons.map(|reason| hang(head(reason.verdict), &explain::clean(&reason.text))).collect()
}

/// The segments that take one percent of the time or more, the longest first.
fn segments_line(segments: &[SegmentRow]) -> Option<String> {
    let legs = segments.iter().map(|row| row.leg).max()?;
    let mut rows: Vec<_> = segments.iter().filter(|row| row.share >= 0.01).collect();
    rows.sort_by(|a, b| b.share.total_cmp(&a.share));
    let shown = rows.iter().take(6).map(|row| {
        let leg = if legs > 1 { format!("{}.", row.leg) } else { String::new() };
        format!("{leg}{} {:.0} %", row.segment, row.share * 100.0)
    });
    let line = shown.collect::<Vec<_>>().join(" · ");
    (!line.is_empty()).then_some(line)
}
