//! Latency by percentile, on logarithmic axes: the selected row as a line, marked rows as signs.
//!
//! ```text
//!  1.00 ms┤                            ⢀⡠⠊
//!         │                     ⢀⣀⠤⠒⠉⠁ o
//!   100 µs┤          ⢀⣀⡠⠤⠤⠒⠒⠊⠉⠁   o
//!         │ ⠤⠤⠒⠒⠊⠉⠉⠉⠁   o   o   o
//!         └──────┴──────┴──────┴──────┴
//!               50     90     99    99.9 %
//!  ⠤ mqtt mosquitto (19,873)   o tcp 127.0.0.1:7 (20,000)
//! ```

use super::super::plot::{self, GUTTER};
use super::shown::PlotData;
use crate::chart::{Dots, LogAxis, Percentiles, highest};
use crate::layout::{count, split_top};
use crate::{columns, text};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use wirelap_correlate::snapshot::Group;
use wirelap_events::Nanos;
use wirelap_history::Bins;

/// The signs of marked rows.
const SIGNS: [&str; 5] = ["o", "x", "+", "*", "#"];
/// Columns from one sign of a marked row to its next one.
const APART: usize = 3;

/// A row that is drawn.
struct PercentileSeries<'a> {
    group: &'a Group,
    bins: Bins,
    /// The highest percentile that is drawn, as a share.
    highest: f64,
    /// The sign of the row; `None` if it is the selected row, which is a line.
    sign: Option<&'static str>,
}

impl<'a> PercentileSeries<'a> {
    /// `None` if there are too few messages for the median.
    fn of(
        group: &'a Group,
        sign: Option<&'static str>,
        shown: &PlotData<'_>,
    ) -> Option<PercentileSeries<'a>> {
        let bins = shown.app.history().one_way(group.id, shown.app.window());
        Some(PercentileSeries { group, highest: highest(bins.count())?, bins, sign })
    }

    fn at(&self, share: f64) -> Option<Nanos> {
        (share <= self.highest).then(|| self.bins.quantile(share))
    }
}

/// The selected row and the marked ones.
fn series<'a>(shown: &PlotData<'a>) -> Vec<PercentileSeries<'a>> {
    let selected = shown.app.selected().and_then(|group| PercentileSeries::of(group, None, shown));
    let marked = shown.app.marked().filter(|group| group.id != shown.group);
    let marked = marked.zip(SIGNS);
    let marked = marked.filter_map(|(group, sign)| PercentileSeries::of(group, Some(sign), shown));
    selected.into_iter().chain(marked).collect()
}

/// Draws the plot, its axes and the names of the rows.
pub fn draw(frame: &mut Frame<'_>, area: Rect, shown: &PlotData<'_>) {
    let series = series(shown);
    let names = names(&series, text::columns_left(area.width, 2));
    let below = count(names.len()) + 2;
    let width = text::columns_left(area.width, usize::from(GUTTER) + 1);
    if width < 8 || area.height < below + 3 {
        return;
    }
    let (plot, rest) = split_top(area, area.height - below);
    if series.iter().all(|one| one.sign.is_some()) {
        let has = text::counted(shown.bins.count(), "message");
        let sentence = format!("Percentiles begin with 20 messages; the selected row has {has}.");
        plot::put(frame, plot, (1, 0), &sentence, Style::new());
    }
    if series.is_empty() {
        return;
    }
    let end = series.iter().map(|one| one.highest).fold(0.5, f64::max);
    lines(frame, plot, &series, (end, width), shown);
    let ticks = Percentiles::up_to(end, width).ticks().into_iter();
    let mut ticks: Vec<(usize, String)> = ticks.map(|(x, label)| (x, label.into())).collect();
    if let Some((_, last)) = ticks.last_mut() {
        last.push_str(" %");
    }
    plot::horizontal(frame, rest, &ticks, shown.theme);
    for (at, line) in names.iter().enumerate() {
        plot::put(frame, rest, (1, 2 + at), line, Style::new());
    }
}

/// Draws the vertical axis, the line of the selected row and the signs of the others.
fn lines(
    frame: &mut Frame<'_>,
    area: Rect,
    series: &[PercentileSeries<'_>],
    (end, width): (f64, usize),
    shown: &PlotData<'_>,
) {
    let rows = usize::from(area.height);
    let wide = Percentiles::up_to(end, width);
    let lowest = series.iter().map(|one| one.bins.quantile(wide.share(0).min(one.highest))).min();
    let highest = series.iter().map(|one| one.bins.quantile(one.highest)).max();
    let (low, high) = (lowest.unwrap_or_default(), highest.unwrap_or_default());
    let axis = LogAxis::of(low, high, rows);
    plot::vertical(frame, area, &plot::time_labels(&axis), shown.theme);
    let area = plot::inside(area);
    for one in series.iter().filter(|one| one.sign.is_none()) {
        let fine = LogAxis::of(low, high, rows * Dots::DOWN);
        let shares = Percentiles::up_to(end, width * Dots::ACROSS);
        for (y, row) in curve(one, &shares, &fine, (width, rows)).rows().enumerate() {
            for (x, dot) in row.enumerate().filter(|(_, dot)| *dot != ' ') {
                plot::put(frame, area, (x, y), &dot.to_string(), shown.theme.spark());
            }
        }
    }
    for (number, one) in series.iter().enumerate() {
        let Some(sign) = one.sign else { continue };
        // The signs of several rows are in different columns, so that they cover each other less.
        for x in (number % APART..width).step_by(APART) {
            let Some(time) = one.at(wide.share(x)) else { break };
            let y = rows - 1 - axis.cell(time);
            plot::put(frame, area, (x, y), sign, shown.theme.heading());
        }
    }
}

/// The line of a row.
fn curve(
    one: &PercentileSeries<'_>,
    shares: &Percentiles,
    axis: &LogAxis,
    (width, rows): (usize, usize),
) -> Dots {
    let mut dots = Dots::new(width, rows);
    let mut before = None;
    for x in 0..width * Dots::ACROSS {
        let Some(time) = one.at(shares.share(x)) else { break };
        let y = axis.cell(time);
        dots.step(x, before.unwrap_or(y), y);
        before = Some(y);
    }
    dots
}

/// The sign of each row, its name, and how many messages it has.
fn names(series: &[PercentileSeries<'_>], width: usize) -> Vec<String> {
    let each = series.iter().map(|one| {
        let name = text::truncate(&columns::name(one.group), 34);
        let sign = one.sign.unwrap_or("⠤");
        text::unbroken(&format!("{sign} {name} ({})", text::exact(one.bins.count())))
    });
    let mut all: Vec<String> = each.collect();
    if all.len() == 1 {
        all.push(text::unbroken("(space marks further rows)"));
    }
    text::wrap(&all.join("  "), width)
}
