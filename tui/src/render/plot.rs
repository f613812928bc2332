//! Common parts of the plots: cells, the labels of their axes, the words for a time.
//!
//! ```text
//!  10.0 µs┤ ░▒▓█      the gutter with the labels of the vertical axis, then the plot
//!         └──────     the horizontal axis
//!          50   90    its labels
//! ```

use crate::app::App;
use crate::chart::LogAxis;
use crate::text;
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use wirelap_events::Nanos;

/// Columns of the labels to the left of a plot, with the axis.
pub const GUTTER: u16 = 8;

/// Writes a text into the cells of an area, cut at its edge.
pub fn put(frame: &mut Frame<'_>, area: Rect, (x, y): (usize, usize), text: &str, style: Style) {
    let (Ok(x), Ok(y)) = (u16::try_from(x), u16::try_from(y)) else { return };
    if x >= area.width || y >= area.height {
        return;
    }
    let room = usize::from(area.width - x);
    frame.buffer_mut().set_stringn(area.x + x, area.y + y, text, room, style);
}

/// The part of an area to the right of the gutter.
pub fn inside(area: Rect) -> Rect {
    let gutter = GUTTER.min(area.width);
    Rect { x: area.x + gutter, width: area.width - gutter, ..area }
}

/// Draws a vertical axis with its labels beside the plot `area`, into the gutter: each has its row, 0 at the bottom. The sign stands in
/// place of the axis there.
pub fn vertical(frame: &mut Frame<'_>, area: Rect, labels: &[(usize, String, char)], theme: Theme) {
    for y in 0..usize::from(area.height) {
        put(frame, area, (usize::from(GUTTER) - 1, y), "│", theme.dim());
    }
    for (row, label, sign) in labels {
        let Some(y) = usize::from(area.height).checked_sub(row + 1) else { continue };
        let label = format!("{}{sign}", text::right(label, usize::from(GUTTER) - 1));
        put(frame, area, (0, y), &label, theme.dim());
    }
}

/// The labels of a logarithmic axis of times, at most one in two rows.
pub fn time_labels(axis: &LogAxis) -> Vec<(usize, String, char)> {
    axis.ticks(2).into_iter().map(|(row, time)| (row, text::time(time), '┤')).collect()
}

/// Draws the line of a horizontal axis below a plot into the first line of `area`, and labels below it. Each has its column, counted
/// from the gutter; its text is in the middle of it.
pub fn horizontal(frame: &mut Frame<'_>, area: Rect, labels: &[(usize, String)], theme: Theme) {
    let gutter = usize::from(GUTTER);
    let width = usize::from(area.width);
    let line = format!("└{}", "─".repeat(text::columns_left(width, gutter)));
    put(frame, area, (gutter - 1, 0), &line, theme.dim());
    let mut free = 0;
    for (column, label) in labels {
        let taken = text::width(label);
        let last = text::columns_left(width, taken);
        let start = (gutter + column).saturating_sub(taken / 2).min(last);
        if gutter + column >= width || start < free {
            continue;
        }
        put(frame, area, (gutter + column, 0), "┴", theme.dim());
        put(frame, area, (start, 1), label, theme.dim());
        free = start + taken + 1;
    }
}

/// From when to when, counted from the beginning of the observation: `00:01:12–00:01:22`.
pub fn period(app: &App, (from, to): (Nanos, Nanos)) -> String {
    let since = app.snapshot().since;
    format!("{}–{}", text::clock(from - since), text::clock(to - since))
}

/// A vertical bar that fills a share of so many lines, in eighths: the sign of each line, from the top. A share above 0 has an eighth.
pub fn bar(share: f64, lines: u32) -> Vec<&'static str> {
    const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    let filled = eighths(share, lines);
    let of_line = |line: u32| filled.saturating_sub(line * 8).min(8) as usize;
    (0..lines).rev().map(|line| EIGHTHS[of_line(line)]).collect()
}

/// Number of lines that a bar takes, also in part.
pub fn rows_of(share: f64, lines: u16) -> usize {
    eighths(share, lines.into()).div_ceil(8) as usize
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
fn eighths(share: f64, lines: u32) -> u32 {
    let all = f64::from(lines) * 8.0;
    let filled = (share.clamp(0.0, 1.0) * all).round();
    if share > 0.0 { filled.max(1.0) as u32 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_eighths_and_never_vanish() {
        assert_eq!(bar(0.5, 3), [" ", "▄", "█"]);
        assert_eq!(bar(1e-9, 2), [" ", "▁"]);
        assert_eq!(bar(0.0, 2), [" ", " "]);
        assert_eq!(bar(7.0, 1), ["█"]);
        assert_eq!(bar(f64::NAN, 1), [" "]);
        assert_eq!((rows_of(0.5, 3), rows_of(1.0, 3), rows_of(0.01, 3)), (2, 3, 1));
    }
}
