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

use crate::grid::{Align, hang, lay_out};
use crate::run::{label, name};
use crate::{
    Distribution, GroundTruth, Pacing, Reliability, RunReport, RunResult, Saturation, Scenario,
    Skipped, Unseen,
};
use crate::{bytes_table, explain, footprint, human};

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
    let pages = explain::pages(report, explain::Options::default());
    let closing = closing(report);
    let gap = if closing.is_empty() { "" } else { "\n" };
    format!("{}\n{pages}{gap}{closing}", overview(report))
}

/// Title and table.
fn overview(report: &RunReport) -> String {
    let mut out = hang("", &title(&report.scenario));
    out.push('\n');
    let align: Vec<Align> = HEADINGS.iter().map(|(_, align)| *align).collect();
    out.push_str(&lay_out(&align, &cells(report)));
    out.push_str(&legend(report));
    out
}

/// The table's cells: the heading, then one row for each result.
pub fn cells(report: &RunReport) -> Vec<Vec<String>> {
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

/// The meaning of the marks before the names; empty if no result has one.
pub fn legend(report: &RunReport) -> String {
    let has = |verdict| report.results.iter().any(|result| result.trust.verdict == verdict);
    let mut marks = Vec::new();
    if has(Reliability::Unusable) {
        marks.push("✗ unusable");
    }
    if has(Reliability::Reduced) {
        marks.push("! use with care");
    }
    if marks.is_empty() {
        return String::new();
    }
    format!("{} (reasons below)\n", marks.join(", "))
}

/// The lines below all results: what was skipped, whether the run is partial, notes.
fn closing(report: &RunReport) -> String {
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

/// What was run, in one line: `latency · ping-pong · 1000 round trips`.
pub fn title(scenario: &Scenario) -> String {
    let mut parts = vec![scenario.kind.name().to_owned()];
    parts.push(match (scenario.pacing, scenario.rate_msg_per_s) {
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
    if let Some(links) = &scenario.links {
        parts.push(links.to_string());
    }
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
    let gap = seen(&result.sched_gap_ns);
    let bytes = &result.overhead.per_message_bytes;
    let each = |value: f64| match result.overhead.deliveries {
        0 => "–".to_owned(),
        _ => human::bytes(value.round()),
    };
    vec![
        format!("{}{}", result.trust.verdict.mark(), result.label()),
        payload(result),
        human::time_ns(one_way.map(|d| d.p50)),
        human::time_ns(one_way.map(|d| d.p99)),
        if one_way_only {
            rate(result.throughput.payload_bit_per_s)
        } else {
            human::time_ns(result.latency.rtt_half_ns.map(|rtt| rtt.trimmed_p50))
        },
        rate(result.throughput.msg_per_s),
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

fn seen(distribution: &Distribution) -> Option<&Distribution> {
    (distribution.count > 0).then_some(distribution)
}

fn result_lines(result: &RunResult, pacing: Pacing, with_rate: bool) -> String {
    let head = match result.rate_msg_per_s.filter(|_| with_rate) {
        Some(rate) => format!("{} at {} msg/s: ", result.label(), human::count(rate)),
        None => format!("{}: ", result.label()),
    };
    let mut out = hang(&head, &trust_line(result));
    out.push_str(&reasons(result));
    if let Some(reached) = result.missed_rate() {
        out.push_str(&hang("  ! ", &human::rate_not_reached(reached)));
    }
    if let Some(line) = segments_line(result) {
        out.push_str(&hang("  time: ", &line));
    }
    for (head, line) in bytes_table::lines(&result.overhead) {
        out.push_str(&hang(head, &line));
    }
    if let Some(line) = footprint::line(result) {
        out.push_str(&hang("  processes: ", &line));
    }
    if let Some(size) = footprint::size(result) {
        out.push_str(&hang("  client program: ", &size));
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
        Reliability::Unusable => "  ✗ unusable: ",
        Reliability::Reduced | Reliability::Good => "  ! use with care: ",
    };
    let reasons = result.trust.reasons.iter();
    reasons.map(|reason| hang(head(reason.verdict), &explain::clean(&reason.text))).collect()
}

/// How far a result can be trusted, in one sentence.
pub fn trust_line(result: &RunResult) -> String {
    let messages = &result.messages;
    let trust = &result.trust;
    if result.untraced {
        return match messages.sent {
            0 => "not traced".into(),
            sent => format!("{sent} sent, {} answered · not traced", messages.delivered),
        };
    }
    let mut parts = vec![if messages.delivered == 0 && trust.to_unseen_readers > 0 {
        format!("{} sent, reads not observable on this host", messages.sent)
    } else {
        format!(
            "{} sent, {} delivered, {} followed end to end",
            messages.sent, messages.delivered, messages.matched
        )
    }];
    let unseen = unseen(result);
    match trust.lost() {
        0 if unseen.is_none() => parts.push("no event lost".into()),
        0 => {}
        lost => parts.push(format!("{lost} events lost ({})", losses(result))),
    }
    parts.extend(unseen);
    if trust.window_share < 0.999 {
        parts.push(format!("sampled {:.0} % of the time", trust.window_share * 100.0));
    }
    let mut add = |count: u64, one: &str, several: &str| {
        if count > 0 {
            parts.push(format!("{count} {}", human::one_or(count, one, several)));
        }
    };
    add(messages.duplicates, "duplicate", "duplicates");
    add(messages.retained, "retained", "retained");
    add(trust.uncaptured_bytes, "payload byte not captured", "payload bytes not captured");
    // With sampling, all bytes between two windows are undecoded: the sampling itself is listed instead.
    let undecoded = if trust.window_share < 0.999 { 0 } else { trust.undecoded_bytes };
    add(undecoded, "byte not decoded", "bytes not decoded");
    let batches = "in batches that could not be decoded";
    add(trust.unread_messages, &format!("message {batches}"), &format!("messages {batches}"));
    add(trust.evicted, "flow or message evicted", "flows or messages evicted");
    add(
        trust.telescoping_violations,
        "message whose segments do not add up",
        "messages whose segments do not add up",
    );
    if let Some(truth) = &result.ground_truth {
        parts.push(truth_part(truth));
    }
    if let Some((within, at_most)) = trust.between_hosts() {
        let (within, at_most) = (human::time_ns(Some(within)), human::time_ns(Some(at_most)));
        let hosts = match trust.hosts.len() {
            0 | 1 => "two".to_owned(),
            others => others.saturating_add(1).to_string(),
        };
        parts.push(format!("clocks of {hosts} hosts within {within}, at most {at_most}"));
    }
    // A file that others captured has no figures about wirelap's own cost.
    if trust.tracer.rss_bytes > 0 || !trust.packets_only {
        parts.push(format!(
            "tracer {:.2} cores, {}",
            trust.tracer.cpu_share,
            human::bytes(trust.tracer.rss_bytes as f64)
        ));
    }
    parts.extend(trust.tracer.slowdown.as_ref().map(human::slowdown));
    parts.join(" · ")
}

/// The packets that were not captured; `None` if there are none.
fn unseen(result: &RunResult) -> Option<String> {
    let (sent, received) = (result.trust.unseen_sent, result.trust.unseen_received);
    if result.trust.packets_only {
        let all = sent.plus(received);
        let (packets, bytes) = (all.packets, human::bytes(all.bytes as f64));
        return (packets > 0).then(|| {
            format!("packets acknowledged and not captured: {packets} or more ({bytes})")
        });
    }
    let way = |unseen: Unseen, when: &str| {
        let packets = human::one_or(unseen.packets, "packet", "packets");
        let bytes = human::bytes(unseen.bytes as f64);
        (unseen.packets > 0).then(|| format!("{} {packets} when {when} ({bytes})", unseen.packets))
    };
    let ways: Vec<String> =
        [way(sent, "sent"), way(received, "received")].into_iter().flatten().collect();
    (!ways.is_empty()).then(|| format!("no probe saw at least {}", ways.join(" and ")))
}

fn losses(result: &RunResult) -> String {
    let lost = result.trust.events_lost.iter().filter(|(_, count)| **count > 0);
    lost.map(|(probe, count)| format!("{probe} {count}")).collect::<Vec<_>>().join(", ")
}

fn truth_part(truth: &GroundTruth) -> String {
    match truth.violations.saturating_add(truth.order_violations).saturating_add(truth.unknown) {
        0 => format!("agrees with the workloads on all {} compared", truth.compared),
        _ => format!(
            "DISAGREES with the workloads: of {} compared, {} longer than publish → deliver (worst by {}), \
             {} out of order, {} unknown",
            truth.compared,
            truth.violations,
            human::time_ns(Some(truth.worst_violation_ns)),
            truth.order_violations,
            truth.unknown
        ),
    }
}

/// The segments that take one percent of the time or more, the longest first.
fn segments_line(result: &RunResult) -> Option<String> {
    let legs = result.segments.iter().map(|row| row.leg).max()?;
    let mut rows: Vec<_> = result.segments.iter().filter(|row| row.share >= 0.01).collect();
    rows.sort_by(|a, b| b.share.total_cmp(&a.share));
    let shown = rows.iter().take(6).map(|row| {
        let leg = if legs > 1 { format!("{}.", row.leg) } else { String::new() };
        format!("{leg}{} {:.0} %", row.segment, row.share * 100.0)
    });
    let line = shown.collect::<Vec<_>>().join(" · ");
    (!line.is_empty()).then_some(line)
}
