//! The distribution of the selected row's latencies, and its change over time.
//!
//! ```text
//! ─ spread: over time, mqtt mosquitto 127.0.0.1:1883 (←→ percentiles, histogram) ─
//!  last 10 s, 00:01:12–00:01:22, 19,873 messages
//!  min 30.1 µs, p50 48.1 µs, p90 60.2 µs, p99 121 µs, p99.9 310 µs, max 1.20 ms
//!  1.00 ms┤                    •                                          heat.rs
//!         │              •           •
//!   100 µs▸ ░░ ░░▒░░░░░ ░░░░░░░░ ░░░░░░░
//!         │ ▓▓▓▓▓▓▓█▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
//!    msg/s│ ▇▇▇▇▇▇▇▇▅▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇
//!         └──────────┴──────────┴──────┴
//!                  −20 s      −10 s   now
//! ```
//! A large screen has all plots: the heat map above, percentiles.rs and histogram.rs below it.

mod heat;
mod histogram;
mod percentiles;
mod shown;

use super::{panel, plot};
use crate::app::{App, PlotKind};
use crate::layout::{count, split_top};
use crate::theme::Theme;
use crate::{columns, text};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use shown::{PlotData, quantile};
use wirelap_correlate::snapshot::Group;
use wirelap_events::{GroupId, Nanos};
use wirelap_history::{Bins, FigureWindow};

/// From this size on, all plots are shown at once.
const ALL_FROM: (u16, u16) = (100, 30);

/// Draws the view.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let Some(group) = app.selected() else { return };
    let bins = bins(app, group.id);
    let shown = PlotData::new(app, group.id, &bins, theme);
    let (title, rest) = split_top(area, 1);
    let all = has_room_for_all(area);
    panel::rule(frame, title, &self::title(app, group, all), theme);
    let facts = facts(&shown, text::columns_left(area.width, 2));
    let (top, rest) = split_top(rest, count(facts.len()));
    panel::lines(frame, top, facts.into_iter().map(Line::raw).collect(), 0);
    if app.history().row(group.id, FigureWindow::SinceStart).is_none() {
        return;
    }
    if all {
        return draw_all(frame, rest, &shown);
    }
    match app.distribution().plot() {
        PlotKind::OverTime => heat::draw(frame, rest, &shown),
        PlotKind::Percentiles => percentiles::draw(frame, rest, &shown),
        PlotKind::Histogram => histogram::draw(frame, rest, &shown),
    }
}

/// From when to when the column of the heat map at a position of the view is; `None` beside the map.
pub fn column_at(app: &App, area: Rect, at: Position) -> Option<(Nanos, Nanos)> {
    let group = app.selected()?.id;
    let bins = bins(app, group);
    let shown = PlotData::new(app, group, &bins, app.theme());
    let lines = facts(&shown, text::columns_left(area.width, 2)).len();
    let (_, rest) = split_top(area, count(lines + 1));
    let map = match app.distribution().plot() {
        _ if has_room_for_all(area) => split_top(rest, rest.height.div_ceil(2)).0,
        PlotKind::OverTime => rest,
        PlotKind::Percentiles | PlotKind::Histogram => return None,
    };
    map.contains(at).then(|| heat::column_at(app, map, at.x)).flatten()
}

fn has_room_for_all(area: Rect) -> bool {
    area.width >= ALL_FROM.0 && area.height >= ALL_FROM.1
}

/// The latencies of the time that is shown.
fn bins(app: &App, group: GroupId) -> Bins {
    let Some(span) = app.distribution().span() else {
        return app.history().one_way(group, app.window());
    };
    let columns = app.history().over_time(group, span, 1);
    columns.into_iter().next().map(|column| column.one_way).unwrap_or_default()
}

/// Draws the heat map above, and the other plots beside each other below it.
fn draw_all(frame: &mut Frame<'_>, area: Rect, shown: &PlotData<'_>) {
    let (over_time, below) = split_top(area, area.height.div_ceil(2));
    let half = below.width / 2;
    let left = Rect { width: half.saturating_sub(1), ..below };
    let right = Rect { x: below.x + half, width: below.width - half, ..below };
    heat::draw(frame, over_time, shown);
    for (area, plot) in [(left, PlotKind::Percentiles), (right, PlotKind::Histogram)] {
        let (title, rest) = split_top(area, 1);
        panel::rule(frame, title, plot.name(), shown.theme);
        match plot {
            PlotKind::Percentiles => percentiles::draw(frame, rest, shown),
            PlotKind::OverTime | PlotKind::Histogram => histogram::draw(frame, rest, shown),
        }
    }
}

fn title(app: &App, group: &Group, all: bool) -> String {
    let name = columns::name(group);
    if all {
        return format!("spread: {name}");
    }
    let plot = app.distribution().plot();
    let others = PlotKind::ALL.into_iter().filter(|other| *other != plot).map(PlotKind::name);
    let keys = format!(" (←→ {})", others.collect::<Vec<_>>().join(", "));
    let before = format!("spread: {}, ", plot.name());
    let room = 76_usize.saturating_sub(text::width(&keys) + text::width(&before));
    format!("{before}{}{keys}", text::truncate(&name, room))
}

/// The window, and its percentiles.
fn facts(shown: &PlotData<'_>, width: usize) -> Vec<String> {
    let (app, bins) = (shown.app, shown.bins);
    let window = app.window();
    let unmarked = window == FigureWindow::SinceMark && app.history().marked().is_none();
    let name = match app.distribution().span() {
        Some(_) => "selected (Esc: the window again)",
        None if unmarked => "since start (no mark is set: m)",
        None => window.name(),
    };
    let period = plot::period(app, shown.period);
    let messages = text::counted(bins.count(), "message");
    let mut facts = text::wrap(&format!("{name}, {period}, {messages}"), width);
    let figures = nothing(shown).unwrap_or_else(|| percentiles_line(bins));
    facts.extend(text::wrap(&figures, width));
    facts.into_iter().map(|line| format!(" {line}")).collect()
}

fn percentiles_line(bins: &Bins) -> String {
    let summary = bins.summary();
    let named = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9")];
    let known = named.map(|(share, name)| (name, quantile(bins, share)));
    let ends = [("min", Some(summary.min)), ("max", Some(summary.max))];
    let show = |(name, time): &(&str, Option<Nanos>)| {
        let time = time.map_or(text::NONE.into(), text::time);
        text::unbroken(&format!("{name} {time}"))
    };
    let all = ends[..1].iter().chain(&known).chain(&ends[1..]);
    all.map(show).collect::<Vec<_>>().join(", ")
}

/// Why there is nothing to draw of the window, and what helps.
fn nothing(shown: &PlotData<'_>) -> Option<String> {
    if shown.bins.count() > 0 {
        return None;
    }
    let selected = shown.app.selected();
    let known = selected.is_some_and(|group| group.one_way.count > 0);
    let is_muted = selected.is_some_and(Group::is_muted);
    Some(if shown.app.distribution().span().is_some() {
        "No message of this row was delivered in the selected time. Esc shows the window again."
            .into()
    } else if is_muted {
        "The row is muted, and nothing of this time is observed. t shows a longer time, M observes the row again.".into()
    } else if known {
        "Only sums are known of these messages, no distribution.".into()
    } else if shown.app.window() == FigureWindow::SinceStart {
        "No message was followed from its send to its read yet.".into()
    } else {
        "No message was followed from its send to its read in this time; t shows a longer one."
            .into()
    })
}
