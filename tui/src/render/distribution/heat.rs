//! Latency over time as a heat map, and the throughput on the same axis.
//!
//! ```text
//!  1.00 ms┤                    •
//!         │              •           •
//!   100 µs▸ ░░ ░░▒░░░░░ ░░░░░░░░ ░░░░░░░
//!         │ ▓▓▓▓▓▓▓█▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
//!    msg/s│ ▇▇▇▇▇▇▇▇▅▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇
//!         └──────────┴━━━━━━━━━━┴━━━━━━┴   the thick part is the window
//!                  −20 s      −10 s   now
//!  a column is 1 s: ░ <5 % ▒ <15 % ▓ <40 % █ more of its messages, • above p99 ▸, msg/s up to 2.00 k
//! ```

use super::super::plot::{self, GUTTER};
use super::shown::PlotData;
use crate::app::App;
use crate::chart::{LogAxis, TimeAxis, column_length};
use crate::layout::{count, split_top};
use crate::text;
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use wirelap_events::Nanos;
use wirelap_history::TimeColumn;

/// Columns between two labels of the time axis.
const APART: usize = 12;
/// From this height on, the throughput has three lines.
const HIGH: u16 = 20;

/// Shades, with the share of a column's messages below which they are used.
const SHADES: [(f64, &str); 4] = [(0.05, "░"), (0.15, "▒"), (0.4, "▓"), (f64::INFINITY, "█")];

/// Draws the heat map, the throughput, the axis and the legend.
pub fn draw(frame: &mut Frame<'_>, area: Rect, shown: &PlotData<'_>) {
    let bars = if area.height >= HIGH { 3 } else { 1 };
    let history = shown.app.history();
    // A selected time ends where the next column begins.
    let (begin, end) = match shown.app.distribution().span() {
        Some((from, to)) => (from, to - Nanos(1)),
        None => shown.period,
    };
    let (width, times) = axis(shown.app, area);
    let columns = history.over_time(shown.group, (times.from, times.to), times.columns);
    let lines = legend(shown, &columns, times, text::columns_left(area.width, 2));
    let below = count(lines.len()) + 2;
    if width < 8 || area.height < bars + below + 2 {
        return;
    }
    let (map, rest) = split_top(area, area.height - bars - below);
    let (throughput, rest) = split_top(rest, bars);
    let first = width - times.columns;
    self::map(frame, map, shown, (first, &columns));
    self::throughput(frame, throughput, shown, (first, &columns));
    let ticks =
        times.ticks(history.latest().at, APART).into_iter().map(|(x, label)| (first + x, label));
    plot::horizontal(frame, rest, &ticks.collect::<Vec<_>>(), shown.theme);
    thicken(frame, rest, first + times.column(begin)..=first + times.column(end), shown.theme);
    for (at, line) in lines.iter().enumerate() {
        plot::put(frame, rest, (1, 2 + at), line, shown.theme.dim());
    }
}

/// The width of the map in an area, and its axis, which ends at the right edge.
fn axis(app: &App, area: Rect) -> (usize, TimeAxis) {
    let width = text::columns_left(area.width, GUTTER.into());
    let history = app.history();
    let (begin, _) = history.extent(app.window());
    (width, TimeAxis::back_to(begin, history.latest().at, width))
}

/// From when to when the column at the horizontal position `x` is, if there is one.
pub fn column_at(app: &App, area: Rect, x: u16) -> Option<(Nanos, Nanos)> {
    let (width, times) = axis(app, area);
    let inside = usize::from(x.checked_sub(plot::inside(area).x)?);
    let column = inside.checked_sub(text::columns_left(width, times.columns))?;
    (column < times.columns).then(|| times.period(column))
}

/// Makes the part of the axis thick that the shown time is.
fn thicken(
    frame: &mut Frame<'_>,
    axis: Rect,
    columns: std::ops::RangeInclusive<usize>,
    theme: Theme,
) {
    let line = plot::inside(axis);
    for x in columns.filter_map(|column| u16::try_from(column).ok()) {
        let Some(cell) = frame.buffer_mut().cell_mut((line.x + x, line.y)) else {
            return;
        };
        if cell.symbol() == "─" {
            cell.set_char('━').set_style(theme.heading());
        }
    }
}

/// Draws the columns, the first of them at `first`.
fn map(
    frame: &mut Frame<'_>,
    area: Rect,
    shown: &PlotData<'_>,
    (first, columns): (usize, &[TimeColumn]),
) {
    let rows = usize::from(area.height);
    let Some(axis) = LogAxis::for_all(columns.iter().map(|column| &column.one_way), rows) else {
        return plot::vertical(frame, area, &[], shown.theme);
    };
    let tail = shown.tail.map(|tail| axis.cell(tail));
    let mut labels = plot::time_labels(&axis);
    if let Some(row) = tail {
        match labels.iter_mut().find(|(at, ..)| *at == row) {
            Some((.., sign)) => *sign = '▸',
            None => labels.push((row, String::new(), '▸')),
        }
    }
    plot::vertical(frame, area, &labels, shown.theme);
    for (x, column) in columns.iter().enumerate() {
        for (row, count) in axis.counts(&column.one_way).into_iter().enumerate() {
            if count > 0.0 {
                let is_tail = tail.is_some_and(|tail| row > tail);
                let share = count / column.one_way.count().max(1) as f64;
                let (sign, style) = sign(share, is_tail, shown.theme);
                plot::put(frame, plot::inside(area), (first + x, rows - 1 - row), sign, style);
            }
        }
    }
}

/// The sign of a cell and its style. Cells above the 99th percentile have dots in place of shades.
fn sign(share: f64, is_tail: bool, theme: Theme) -> (&'static str, Style) {
    if is_tail {
        return (if share < SHADES[0].0 { "•" } else { "●" }, theme.warning());
    }
    let shade = SHADES.iter().find(|(below, _)| share < *below);
    (shade.map_or("█", |(_, shade)| shade), theme.spark())
}

/// Deliveries in each second of a column. Of the columns at the ends, only a part has passed.
fn rate(shown: &PlotData<'_>, column: &TimeColumn) -> f64 {
    let latest = shown.app.history().latest();
    let passed = column.to.min(latest.at) - column.from.max(latest.since);
    let count = column.one_way.count() as f64;
    if passed < Nanos::from_millis(200) { 0.0 } else { count / passed.as_secs_f64() }
}

fn highest_rate(shown: &PlotData<'_>, columns: &[TimeColumn]) -> f64 {
    columns.iter().map(|column| rate(shown, column)).fold(0.0, f64::max)
}

fn throughput(
    frame: &mut Frame<'_>,
    area: Rect,
    shown: &PlotData<'_>,
    (first, columns): (usize, &[TimeColumn]),
) {
    let top = highest_rate(shown, columns);
    plot::vertical(frame, area, &[], shown.theme);
    let label = text::right("msg/s", usize::from(GUTTER) - 1);
    plot::put(frame, area, (0, 0), &label, shown.theme.dim());
    for (x, column) in columns.iter().enumerate() {
        let share = rate(shown, column) / top.max(f64::MIN_POSITIVE);
        for (y, sign) in plot::bar(share, area.height.into()).into_iter().enumerate() {
            plot::put(frame, plot::inside(area), (first + x, y), sign, shown.theme.spark());
        }
    }
}

/// The meaning of a column, the signs and the bars.
fn legend(
    shown: &PlotData<'_>,
    columns: &[TimeColumn],
    times: TimeAxis,
    width: usize,
) -> Vec<String> {
    let tail = match shown.tail {
        Some(tail) => text::unbroken(&format!("• above p99 ▸ {}", text::time(tail))),
        None => text::unbroken("no p99 of so few"),
    };
    let shades = ["░ <5 %", "▒ <15 %", "▓ <40 %", "█ more"].map(text::unbroken).join(" ");
    let top = text::unbroken(&text::number(highest_rate(shown, columns)));
    let step = text::unbroken(&column_length(times.step));
    let selected = shown.app.distribution().span().is_some();
    let shown = if selected { "selected time" } else { "window" };
    let legend = format!(
        "a column is {step}: {shades} of its messages, {tail}, msg/s up to {top}, ━ the {shown}"
    );
    text::wrap(&legend, width)
}
