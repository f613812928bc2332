//! A run on the terminal, at most 100 columns wide.
//!
//! ```text
//! latency · ping-pong · 1000 round trips
//!
//! middleware  payload  1-way p50      p99    RTT/2   msg/s  data/msg  wire/msg  gap p50/p99
//! ──────────  ───────  ─────────  ───────  ───────  ──────  ────────  ────────  ───────────
//! tcp            64 B     9.0 µs  27.0 µs  11.9 µs  41.2 k      64 B     134 B   3.0/9.0 µs
//! ping           64 B          –        –   5.1 µs  90.1 k         –         –            –
//!
//! tcp: 2000 sent, 2000 delivered, 2000 followed end to end · no event lost · agrees with …
//!   time: runqueue 41 % · wakeup 22 % · …
//!   bytes: payload 64 · transport 32 · … a message; …
//!   why: nothing wrong
//! ```
//!
//! If messages go one way only, there is no round trip, and the column shows payload bits per second.

mod closing;
mod connections;
mod result_lines;
mod trust_line;

pub use trust_line::trust_line;

use crate::grid::{Align, hang, lay_out};
use crate::{
    DistributionSummary, Pacing, ReportedReliability, RunKind, RunReport, RunResult, Scenario,
    SeenFrom, Topology,
};
use crate::{explain, human};
use closing::closing;
use result_lines::result_lines;

/// The index of the column with round trips, or with bits per second if messages go one way only.
const ROUND_TRIP: usize = 4;
/// The index of the column with the requested rates, if there are several.
const RATE: usize = 2;
const HEADINGS: [(&str, Align); 9] = [
    ("middleware", Align::Left),
    ("payload", Align::Right),
    ("1-way p50", Align::Right),
    ("p99", Align::Right),
    ("RTT/2", Align::Right),
    ("msg/s", Align::Right),
    ("data/msg", Align::Right),
    ("wire/msg", Align::Right),
    ("gap p50/p99", Align::Right),
];

/// The whole report: table, lines on each result, notes.
pub fn render(report: &RunReport) -> String {
    let pacing = report.scenario.pacing;
    let with_rate = report.has_several_rates();
    let lines: String =
        report.results.iter().map(|result| result_lines(result, pacing, with_rate)).collect();
    format!("{}\n{lines}{}", overview(report), closing(report))
}

/// The whole report with an explaining page for each result in place of the lines below the table.
pub fn explained(report: &RunReport) -> String {
    let pages = explain::pages(report, explain::ExplainOptions::default());
    let closing = closing(report);
    let gap = if closing.is_empty() { "" } else { "\n" };
    format!("{}\n{pages}{gap}{closing}", overview(report))
}

/// Title and table.
fn overview(report: &RunReport) -> String {
    let mut out = hang("", &title(&report.scenario));
    out.push('\n');
    let headings =
        if report.scenario.kind == RunKind::Connections { connections::HEADINGS } else { HEADINGS };
    let align: Vec<Align> = headings.iter().map(|(_, align)| *align).collect();
    out.push_str(&lay_out(&align, &cells(report)));
    out.push_str(&legend(report));
    out
}

/// The table's cells: the heading, then one row for each result.
pub fn cells(report: &RunReport) -> Vec<Vec<String>> {
    if report.scenario.kind == RunKind::Connections {
        return connections::cells(report);
    }
    let one_way = report.scenario.pacing != Pacing::PingPong;
    let mut heading: Vec<String> = HEADINGS.iter().map(|(name, _)| (*name).to_owned()).collect();
    if one_way {
        heading[ROUND_TRIP] = "bit/s".into();
    }
    let mut rows = vec![heading];
    rows.extend(report.results.iter().map(|result| row(result, one_way)));
    if report.has_several_rates() {
        // The bits a second follow from the rate and the size, and there is no room for both.
        for row in &mut rows {
            row.remove(ROUND_TRIP);
        }
        rows[0].insert(RATE, "rate/s".into());
        for (row, result) in rows[1..].iter_mut().zip(&report.results) {
            row.insert(RATE, rate(result.rate_msg_per_s.unwrap_or_default()));
        }
    }
    rows
}

/// The meaning of the marks before the names, and the reasons for dashes in place of latencies; empty if there are none.
pub fn legend(report: &RunReport) -> String {
    let has = |verdict| report.results.iter().any(|result| result.trust.verdict == verdict);
    let mut marks = Vec::new();
    if has(ReportedReliability::Unusable) {
        marks.push("✗ unusable");
    }
    if has(ReportedReliability::Reduced) {
        marks.push("! use with care");
    }
    let mut lines = String::new();
    if !marks.is_empty() {
        lines = format!("{} (reasons below)\n", marks.join(", "));
    }
    for (view, why) in views(report) {
        lines.push_str(&hang("– ", &format!("{}: {why}", view.in_words())));
    }
    lines
}

/// The views of results without one-way latencies, and why there are none.
fn views(report: &RunReport) -> Vec<(SeenFrom, &'static str)> {
    let mut views = Vec::new();
    for view in report.results.iter().filter_map(|result| result.view) {
        if let Some(why) = view.why_no_latency()
            && !views.contains(&(view, why))
        {
            views.push((view, why));
        }
    }
    views
}

/// The scenario that was run, in one line: `latency · ping-pong · 1000 round trips`.
pub fn title(scenario: &Scenario) -> String {
    let mut parts = vec![scenario.kind.name().to_owned()];
    parts.push(match (scenario.pacing, scenario.rate_msg_per_s) {
        (Pacing::Rate, Some(rate)) if scenario.kind == RunKind::Connections => {
            format!("{} connections/s", human::count(rate))
        }
        (Pacing::Rate, Some(rate)) => format!("{} msg/s", human::count(rate)),
        (Pacing::Rate, None) if scenario.rates_msg_per_s.is_empty() => "at a rate".into(),
        (Pacing::Rate, None) => {
            let rates = scenario.rates_msg_per_s.iter().map(|&rate| human::count(rate));
            format!("{} msg/s", rates.collect::<Vec<_>>().join(", "))
        }
        (Pacing::PingPong, _) => "ping-pong".into(),
        (Pacing::BackToBack, _) => "back to back".into(),
        (Pacing::Foreign, _) => "as observed".into(),
    });
    if let Some(messages) = scenario.messages {
        parts.push(match scenario.pacing {
            Pacing::PingPong => format!("{messages} round trips"),
            _ => format!("{messages} messages"),
        });
    }
    if let Some(seconds) = scenario.duration_s {
        parts.push(format!("{} s", (seconds * 100.0).round() / 100.0));
    }
    parts.extend(scenario.topology.as_ref().map(Topology::in_words));
    parts.extend(scenario.links.as_ref().map(ToString::to_string));
    if let Some([a, b]) = &scenario.ab {
        parts.push(format!("{} repetitions each in blocks ABBA", scenario.repeat));
        parts.push(format!("A: {a}, B: {b}"));
    } else if scenario.repeat > 1 {
        parts.push(format!("{} repetitions in random order", scenario.repeat));
    }
    parts.join(" · ")
}

fn row(result: &RunResult, one_way_only: bool) -> Vec<String> {
    let one_way = seen(&result.latency.one_way_ns);
    let error = result.latency.clock_error_ns.unwrap_or_default();
    let gap = seen(&result.sched_gap_ns);
    let bytes = &result.overhead.per_message_bytes;
    let passed = |rate| result.throughput.in_words(rate).unwrap_or_else(|| "–".into());
    let each = |value: f64| match result.overhead.deliveries {
        0 => "–".to_owned(),
        _ => human::bytes(value.round()),
    };
    vec![
        format!("{}{}", result.trust.verdict.mark(), result.label()),
        payload(result),
        human::time_within_ns(one_way.map(|d| d.p50), error.p50),
        human::time_within_ns(one_way.map(|d| d.p99), error.p99),
        if one_way_only {
            passed(result.throughput.payload_bit_per_s)
        } else {
            human::time_ns(result.latency.rtt_half_ns.map(|rtt| rtt.trimmed_p50))
        },
        passed(result.throughput.msg_per_s),
        each(bytes.payload),
        each(bytes.total()),
        human::time_pair_ns(gap.map(|d| (d.p50, d.p99))),
    ]
}

/// A message's size; `–` if it is not known.
fn payload(result: &RunResult) -> String {
    if result.payload_bytes == 0 && result.latency.one_way_ns.count == 0 {
        return "–".into();
    }
    human::bytes(result.payload_bytes as f64)
}

/// A rate; `–` if it is not known: at most one message was delivered, or the program does not report it.
fn rate(value: f64) -> String {
    if value == 0.0 { "–".into() } else { human::count(value) }
}

fn seen(distribution: &DistributionSummary) -> Option<&DistributionSummary> {
    (distribution.count > 0).then_some(distribution)
}
