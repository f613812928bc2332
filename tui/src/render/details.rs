//! Everything about the selected row.
//!
//! ```text
//! ─ mqtt mosquitto 127.0.0.1:1883 ─────────────────────────────────────────────
//! LEG SEGMENT          P50     P99   SHARE    p50 12.3 µs  ▁▂▁▃▁▁▂▁▁▁▂▁▁▂▁▁
//!   1 socket_tx    1.20 µs 3.10 µs   9.1 %    msg/s 2.00 k ▇▇▇▆▇▇▇▇▇▇▇▇▇▇▇▇
//!   1 wire         …                          messages  sent 1,000 delivered 1,000 …
//!   2 broker_dwell …                          bytes a message …
//! ```
//! On a panel of fewer than 78 columns the facts come first and the segments follow below them.

use super::{ledger, panel};
use crate::app::App;
use crate::columns;
use crate::layout::split_top;
use crate::silence;
use crate::text;
use crate::theme::{Theme, letter};
use crate::verdicts;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use wirelap_correlate::snapshot::{Group, Process, Scheduling, SegmentStat, Summary, UnixClients};
use wirelap_events::Nanos;
use wirelap_report::{ReportedLocalRequests, ReportedPartial, SeenFrom, words};

/// Width of the segment table with its margin, in columns.
const SEGMENTS_WIDTH: u16 = 44;
/// Least width of the facts beside the segment table, in columns.
const FACTS_WIDTH: u16 = 34;
/// Width of a fact's label, in columns.
const LABEL: usize = 9;

/// Draws the pane of the selected row.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let Some(group) = app.selected() else { return };
    let (title, body) = split_top(area, 1);
    let segments = segments(group, theme);
    let beside = body.width >= SEGMENTS_WIDTH + FACTS_WIDTH;
    let facts_width = if beside { body.width - SEGMENTS_WIDTH } else { body.width };
    let mut facts = facts(app, group, facts_width, theme);
    let longest =
        if beside { facts.len().max(segments.len()) } else { facts.len() + segments.len() };
    let heading = panel::scroll_title(&columns::name(group), longest, body);
    panel::rule(frame, title, &heading, theme);
    if beside {
        let left = Rect { width: SEGMENTS_WIDTH, ..body };
        let right = Rect { x: body.x + SEGMENTS_WIDTH, width: facts_width, ..body };
        panel::lines(frame, left, segments, app.scroll());
        panel::lines(frame, right, facts, app.scroll());
    } else {
        facts.extend(segments);
        panel::lines(frame, body, facts, app.scroll());
    }
}

/// The table of segments, leg by leg.
fn segments(group: &Group, theme: Theme) -> Vec<Line<'static>> {
    let head = format!(" {:<4}{:<15}{:>7} {:>7} {:>6}", "LEG", "SEGMENT", "P50", "P99", "SHARE");
    let mut lines = vec![Line::styled(head, theme.dim())];
    if group.segments.is_empty() {
        lines.push(Line::raw(match group.partial_view() {
            Some(view) => format!("  seen from the {} alone, on this host:", view.name()),
            None => "  no message followed end to end yet".to_owned(),
        }));
        let here = group.partial.iter().flat_map(|seen| &seen.segments);
        lines.extend(here.map(|stat| segment(stat, theme)));
    }
    for stat in &group.segments {
        lines.push(segment(stat, theme));
        if stat.error > Nanos(0) {
            let error = format!("{:>9}± {}, by two hosts' clocks", "", text::time(stat.error));
            lines.push(Line::styled(error, theme.dim()));
        }
    }
    lines
}

fn segment(stat: &SegmentStat, theme: Theme) -> Line<'static> {
    Line::from(vec![
        Span::raw(format!(" {:>3} ", stat.leg)),
        Span::styled(letter(stat.segment).to_string(), theme.segment(stat.segment)),
        Span::raw(format!(
            " {} {} {} {}",
            text::left(stat.segment.name(), 12),
            text::right(&text::time(stat.p50), 7),
            text::right(&text::time(stat.p99), 7),
            text::right(&text::share(stat.share), 6),
        )),
    ])
}

/// History, silence, doubts, verdict, latencies, counts, bytes, processes and notes, in this order.
fn facts(app: &App, group: &Group, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let width = text::columns_left(width, 1);
    let mut lines = history(group, width, theme);
    let mut add = |label: &str, value: &str| lines.extend(fact(label, value, width, theme));
    if group.is_muted() {
        add("muted", "by the user: these are its figures of before; M observes it again");
    }
    if let Some(silent) = silence::sentence(app, group) {
        add("silent", &silent);
    }
    let (whole, trust) = app.since_start(group);
    for doubt in whole.doubts(trust) {
        add(doubt.reliability.name(), &words::doubt(&doubt.reason));
    }
    for open in &group.why.open {
        add("open", &verdicts::overdue(open));
    }
    if verdicts::is_known(&group.why) {
        add("why", &verdicts::line(&group.why));
    }
    match SeenFrom::of(group).and_then(SeenFrom::why_no_latency) {
        Some(why) => add("one-way", &format!("– ({why})")),
        None => add("one-way", &one_way(group)),
    }
    for (name, line) in group.partial.iter().flat_map(|seen| ReportedPartial::from(&**seen).lines())
    {
        add(name, &line);
    }
    let requests = group.requests.as_deref().and_then(ReportedLocalRequests::of);
    for (name, line) in requests.iter().flat_map(ReportedLocalRequests::lines) {
        add(name, &line);
    }
    add("sched gap", &summary(&group.sched_gap));
    add("messages", &counts(group));
    add(
        "rate",
        &format!(
            "{} msg/s {}, {} msg/s overall; {}",
            text::rate(&group.rate_now),
            if group.is_muted() { "before" } else { "now" },
            text::rate(&group.rate),
            if group.rate_now.is_known() {
                text::payload_rate(&group.rate_now)
            } else {
                "too little was observed to know it".into()
            },
        ),
    );
    for (index, line) in ledger::lines(&group.overhead).iter().enumerate() {
        add(if index == 0 { "bytes" } else { "" }, line);
    }
    for (index, process) in group.processes.iter().enumerate() {
        add(if index == 0 { "processes" } else { "" }, &self::process(process));
    }
    for note in words::group_notes(group) {
        add("note", &note);
    }
    lines
}

/// A label and its value, wrapped beside it.
pub fn fact(label: &str, value: &str, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let wrapped = text::wrap(value, text::columns_left(width, LABEL + 1));
    let line = |(index, text): (usize, String)| {
        let label = text::left(if index == 0 { label } else { "" }, LABEL);
        Line::from(vec![Span::styled(label, theme.dim()), Span::raw(format!(" {text}"))])
    };
    wrapped.into_iter().enumerate().map(line).collect()
}

/// Median latency and rate of the last seconds, as sparklines.
fn history(group: &Group, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let columns = text::columns_left(width, LABEL + 10);
    let line = |label: &str, now: String, spark: String| {
        Line::from(vec![
            Span::styled(text::left(label, LABEL), theme.dim()),
            Span::raw(format!(" {} ", text::right(&now, 7))),
            Span::styled(spark, theme.spark()),
        ])
    };
    let now = now_or_before(group);
    let latest = group.history.last();
    let median =
        latest.filter(|point| point.delivered > 0).map(|point| text::time(point.one_way_p50));
    let medians = group.history.iter().map(|point| point.one_way_p50.0);
    let rates = group.history.iter().map(|point| point.delivered);
    vec![
        line(
            &format!("p50 {now}"),
            median.unwrap_or(text::NONE.into()),
            text::sparkline(medians, columns),
        ),
        line(&format!("msg/s {now}"), text::rate(&group.rate_now), text::sparkline(rates, columns)),
    ]
}

/// The word for the time of a row's latest figures: `was` for a muted row, whose figures are of before.
fn now_or_before(group: &Group) -> &'static str {
    if group.is_muted() { "was" } else { "now" }
}

fn summary(summary: &Summary) -> String {
    summary_within(summary, &Summary::default())
}

/// The one-way latency, with its errors between two hosts.
fn one_way(group: &Group) -> String {
    summary_within(&group.one_way, &group.one_way_error)
}

/// A figure of a distribution.
type SummaryFigure = fn(&Summary) -> Nanos;

fn summary_within(summary: &Summary, errors: &Summary) -> String {
    if summary.count == 0 {
        return text::NONE.into();
    }
    let named: [(&str, SummaryFigure); 6] = [
        ("min", |of| of.min),
        ("p50", |of| of.p50),
        ("p90", |of| of.p90),
        ("p99", |of| of.p99),
        ("p99.9", |of| of.p999),
        ("max", |of| of.max),
    ];
    let one = |(name, of): (&str, SummaryFigure)| {
        text::unbroken(&format!("{name} {}", text::time_within(of(summary), of(errors))))
    };
    named.map(one).join(", ")
}

fn counts(group: &Group) -> String {
    let messages = &group.messages;
    let mut value = format!(
        "sent {}, delivered {}, matched {}",
        text::exact(messages.sent),
        text::exact(messages.delivered),
        text::exact(messages.matched),
    );
    let more = [
        ("uncovered", messages.uncovered),
        ("never read", messages.never_read),
        ("cut at a window's edge", messages.cut.saturating_add(messages.unfinished)),
        ("duplicates", messages.duplicates),
        ("retained", messages.retained),
        ("warm-up", messages.warmup),
    ];
    for (what, count) in more.into_iter().filter(|(_, count)| *count > 0) {
        value.push_str(", ");
        value.push_str(&text::unbroken(&format!("{what} {}", text::exact(count))));
    }
    value
}

fn process(process: &Process) -> String {
    let usage = match (process.cpu_share, process.rss_bytes) {
        (Some(cpu), Some(rss)) => format!("{} CPU, {}", text::cpu(cpu), text::bytes(rss)),
        (Some(cpu), None) => format!("{} CPU", text::cpu(cpu)),
        (None, Some(rss)) => text::bytes(rss),
        (None, None) => if process.ended { "ended" } else { "not measured" }.into(),
    };
    let usage = if process.ended && usage != "ended" { format!("ended, {usage}") } else { usage };
    let scheduling = scheduling(&process.scheduling);
    let usage = text::unbroken(&usage);
    let unix = process.unix.as_ref().map(unix_clients).unwrap_or_default();
    let place = wirelap_report::ReportedProcess::from(process).runs_in();
    let place = place.map(|place| format!(", in {}", text::clean(&place))).unwrap_or_default();
    let (role, comm, pid) = (&process.role, &process.comm, process.pid.0);
    format!("{role} {comm} ({pid}): {usage}{place}{scheduling}{unix}")
}

/// Says that a process has clients whose messages are in no figure.
fn unix_clients(clients: &UnixClients) -> String {
    let UnixClients { path, connections } = clients;
    let plural = if *connections == 1 { "" } else { "s" };
    let count = text::unbroken(&format!("{connections} connection{plural}"));
    format!(", also serves {count} on the Unix socket {}, not followed", text::clean(path))
}

/// `, waited for a CPU 3.10 µs (p99 9.40 µs), preempted 12×`; empty if no context switch was traced.
fn scheduling(scheduling: &Scheduling) -> String {
    if *scheduling == Scheduling::default() {
        return String::new();
    }
    let wait = &scheduling.run_queue;
    let waited = if wait.count == 0 {
        String::new()
    } else {
        let (p50, p99) =
            (text::unbroken(&text::time(wait.p50)), text::unbroken(&text::time(wait.p99)));
        format!(", waited for a CPU {p50} (p99\u{a0}{p99})")
    };
    let times = |count, what| text::unbroken(&format!("{what} {}×", text::number(count as f64)));
    format!(
        "{waited}, {}, {}, {}",
        times(scheduling.sleeps, "slept"),
        times(scheduling.preemptions, "preempted"),
        times(scheduling.migrations, "migrated"),
    )
}
