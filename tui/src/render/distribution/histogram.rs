//! Messages by latency, on logarithmic axes.
//!
//! ```text
//!  1.00 k┤     ▂█▇▅▂
//!     100┤    ▅█████▇▄▂▁
//!      10┤   ▃█████████████▅▃▂   ▂
//!       1┤ ▂▇████████████████████▅▂ ▂
//!        └────┴─────────┴─────────┴──
//!           10.0 µs    100 µs   1.00 ms
//!             ▲p50 ▲p90  ▲p99      ▲p99.9
//! ```

use super::super::plot::{self, GUTTER};
use super::shown::{PlotData, quantile};
use crate::chart::LogAxis;
use crate::layout::split_top;
use crate::text;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// The marked percentiles.
const MARKED: [(f64, &str); 4] = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9")];
/// Lines below the plot: the axis, its labels, the percentiles, the legend.
const BELOW: u16 = 4;
/// Columns between two labels of the horizontal axis.
const APART: usize = 9;

/// Draws the bars, the axes and the marked percentiles.
pub fn draw(frame: &mut Frame<'_>, area: Rect, shown: &PlotData<'_>) {
    let width = text::columns_left(area.width, usize::from(GUTTER) + 1);
    if width < 8 || area.height < BELOW + 3 {
        return;
    }
    let Some(axis) = LogAxis::for_all([shown.bins], width) else { return };
    let (plot, rest) = split_top(area, area.height - BELOW);
    let counts = axis.counts(shown.bins);
    let top = counts.iter().copied().fold(1.0, f64::max);
    plot::vertical(frame, plot, &labels(top, plot.height), shown.theme);
    let tail = shown.tail.map(|tail| axis.cell(tail));
    for (x, count) in counts.iter().enumerate() {
        let is_tail = tail.is_some_and(|tail| x > tail);
        let style = if is_tail { shown.theme.warning() } else { shown.theme.spark() };
        let bar = plot::bar(height(*count, top), plot.height.into());
        for (y, sign) in bar.into_iter().enumerate() {
            plot::put(frame, plot::inside(plot), (x, y), sign, style);
        }
    }
    let times = axis.ticks(APART).into_iter().map(|(x, time)| (x, text::time(time)));
    plot::horizontal(frame, rest, &times.collect::<Vec<_>>(), shown.theme);
    marks(frame, rest, &axis, shown);
    let legend = "messages by latency; the tail begins at p99";
    plot::put(frame, rest, (1, 3), legend, shown.theme.dim());
}

/// Height of a bar, as a share of the plot: one message has a bar already.
fn height(count: f64, top: f64) -> f64 {
    let above = |count: f64| (count * 2.0).max(1.0).ln();
    above(count) / above(top).max(f64::MIN_POSITIVE)
}

/// Powers of ten, each in the row that its bar ends in.
fn labels(top: f64, rows: u16) -> Vec<(usize, String, char)> {
    let mut labels: Vec<(usize, String, char)> = Vec::new();
    let powers = (0..19).map(|power| 10_f64.powi(power)).take_while(|count| *count <= top);
    for count in powers {
        let row = plot::rows_of(height(count, top), rows).saturating_sub(1);
        if labels.last().is_none_or(|(last, ..)| row > *last) {
            labels.push((row, text::number(count), '┤'));
        }
    }
    labels
}

/// Draws arrows below the percentiles, with their names; those that would cover another one are left out.
fn marks(frame: &mut Frame<'_>, area: Rect, axis: &LogAxis, shown: &PlotData<'_>) {
    let gutter = usize::from(GUTTER);
    let mut free = 0;
    for (share, name) in MARKED {
        let Some(time) = quantile(shown.bins, share) else { return };
        let at = gutter + axis.cell(time);
        let fits = at + 1 + name.len() <= usize::from(area.width);
        // At the right edge, the name is to the left of its arrow.
        let start = if fits { at } else { at.saturating_sub(name.len()) };
        let label = if fits { format!("▲{name}") } else { format!("{name}▲") };
        if start >= free {
            plot::put(frame, area, (start, 2), &label, Style::new());
            free = start + text::width(&label) + 1;
        }
    }
}
