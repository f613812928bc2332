//! Stacked bars of the segments: one bar for each row, aligned so that middlewares can be compared.
//!
//! ```text
//! ─ where the time goes: share of the one-way latency ──────────
//! ▶ tcp 127.0.0.1:7   t   W    k      r          d        13.1 µs
//!   mqtt mosquitto    t  W  k    r      B         t W r d 48.1 µs
//!   t socket_tx  W wire  k wakeup  r runqueue …
//! ```
//! Each segment's cells begin with its letter; without colours all of them show the letter. What lies between two hosts is underlined, and has
//! `⇄` in the legend.

use super::panel;
use crate::app::App;
use crate::bars::{self, BarScale};
use crate::columns;
use crate::layout::{LEGEND_LINES, count, split_bottom, split_top, window};
use crate::text;
use crate::theme::{Theme, letter};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use wirelap_correlate::snapshot::{Group, SegmentStat};
use wirelap_events::{Nanos, Segment};
use wirelap_report::SeenFrom;

/// Width of the median at a bar's end with the space before it, in columns.
const MEDIAN: u16 = 8;

/// The same of medians with their errors between two hosts.
const MEDIAN_WITHIN: u16 = 15;

/// Draws title, the bars of the rows around the selected one, and the legend.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let (title, body, legend) = parts(area);
    let what = match app.scale() {
        BarScale::Share => "where the time goes: share of each one-way latency",
        BarScale::Time => "where the time goes: bars as long as the median latency",
    };
    panel::rule(frame, title, what, theme);
    let name_width = (area.width / 4).clamp(10, 32);
    let has_errors = app.rows().any(|group| group.one_way_error.count > 0);
    let median_width = if has_errors { MEDIAN_WITHIN } else { MEDIAN };
    let bar_width = area.width.saturating_sub(name_width + 3 + median_width);
    let slowest = app.rows().map(|group| group.one_way.p50).max().unwrap_or_default();
    let shown = window(app.rows().len(), app.position(), usize::from(body.height));
    let rows: Vec<Line<'_>> = app
        .rows()
        .enumerate()
        .skip(shown.start)
        .take(shown.len())
        .map(|(index, group)| {
            let length = bars::length(app.scale(), group, slowest, bar_width);
            let mut spans = vec![panel::marker(index == app.position(), theme)];
            spans.push(Span::raw(text::left(
                &columns::short_name(group, name_width.into()),
                name_width.into(),
            )));
            spans.push(Span::raw(" "));
            if let Some(why) = why_no_bar(group) {
                spans.push(Span::styled(text::left(&why, bar_width.into()), theme.dim()));
            } else {
                spans.extend(bar(&group.segments, length, theme));
                spans.push(Span::raw(" ".repeat(usize::from(bar_width - length))));
            }
            spans.push(Span::raw(median(group, usize::from(median_width))));
            Line::from(spans)
        })
        .collect();
    frame.render_widget(Paragraph::new(rows), body);
    frame.render_widget(Paragraph::new(self::legend(app, legend.width, theme)), legend);
}

/// Title, bars and legend.
fn parts(area: Rect) -> (Rect, Rect, Rect) {
    let (title, rest) = split_top(area, 1);
    let (body, legend) = split_bottom(rest, LEGEND_LINES);
    (title, body, legend)
}

/// The position of the row in a line of the screen.
pub fn row_at(app: &App, area: Rect, y: u16) -> Option<usize> {
    let (_, body, _) = parts(area);
    let shown = window(app.rows().len(), app.position(), usize::from(body.height));
    let line = usize::from(y.checked_sub(body.y)?);
    Some(shown.start + line).filter(|at| shown.contains(at))
}

/// Why a row has neither a bar nor latencies; `None` if it has, or has seen no message.
fn why_no_bar(group: &Group) -> Option<String> {
    let view = SeenFrom::of(group).filter(|_| group.segments.is_empty())?;
    Some(format!("{}: {}", view.in_words(), view.why_no_latency()?))
}

fn median(group: &Group, width: usize) -> String {
    let (median, error) = (group.one_way.p50, group.one_way_error.p50);
    let median = if group.one_way.count == 0 || (median == Nanos(0) && error == Nanos(0)) {
        text::NONE.into()
    } else {
        text::time_within(median, error)
    };
    text::right(&median, width)
}

/// A bar of `length` cells, one span for each segment.
pub fn bar(segments: &[SegmentStat], length: u16, theme: Theme) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    for (segment, cells) in bars::apportion(segments, length) {
        let cells = usize::from(cells);
        let text = if theme.has_color() {
            text::left(&letter(segment).to_string(), cells)
        } else {
            letter(segment).to_string().repeat(cells)
        };
        let style = theme.segment(segment);
        let style = if is_between_hosts(segments, segment) { style.underlined() } else { style };
        spans.push(Span::styled(text, style));
    }
    spans
}

/// True if a segment is on the way from one host to another whose clocks may differ.
fn is_between_hosts(segments: &[SegmentStat], segment: Segment) -> bool {
    segments.iter().any(|stat| stat.segment == segment && stat.error > Nanos(0))
}

/// The legend: all segments that a row has, in the order in which a message passes them. It ends with `…` if its lines
/// do not suffice.
fn legend(app: &App, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let present = |segment: &Segment| {
        app.rows()
            .any(|group| group.segments.iter().any(|s| s.segment == *segment && s.share > 0.0))
    };
    let mut lines = vec![vec![Span::raw("  ")]];
    let room = width.saturating_sub(4);
    let mut left = room;
    for segment in Segment::ALL.into_iter().filter(present) {
        let is_between = app.rows().any(|group| is_between_hosts(&group.segments, segment));
        let sign = if is_between { " ⇄" } else { "" };
        let takes = count(segment.name().len() + sign.chars().count() + 4);
        if takes > left + 2 && lines.len() < usize::from(LEGEND_LINES) {
            lines.push(vec![Span::raw("  ")]);
            left = room;
        }
        let Some(line) = lines.last_mut() else { break };
        if takes > left + 2 {
            line.push(Span::raw("…"));
            break;
        }
        left = left.saturating_sub(takes);
        line.push(Span::styled(letter(segment).to_string(), theme.segment(segment)));
        line.push(Span::raw(format!(" {}{sign}  ", segment.name())));
    }
    lines.into_iter().map(Line::from).collect()
}
