//! The list in which columns are shown, hidden and moved.
//!
//! ```text
//! ─ columns: space shows or hides, ← → moves, d restores; [·] has no room ─
//! ▶ [x] MIDDLEWARE  middleware, and the broker or endpoint
//!   [x] MSG/S       messages delivered a second …
//!   [ ] P90         one-way latency, 90th percentile
//!   [·] DELIVERED   messages delivered
//! ```

use super::panel;
use crate::app::App;
use crate::columns::Column;
use crate::layout::{split_top, window};
use crate::text;
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

/// Width of a column's heading in the list.
const TITLE: usize = 11;

/// Draws the list in place of the body, with the line at a position selected; `fitting` are the columns for which the table has
/// room.
pub fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    app: &App,
    (at, fitting): (usize, &[Column]),
    theme: Theme,
) {
    let (title, body) = split_top(area, 1);
    let what = "columns: space shows or hides, ← → moves, d restores; [·] has no room";
    panel::rule(frame, title, what, theme);
    let entries = app.columns().entries();
    let shown = window(entries.len(), at, usize::from(body.height));
    let width = text::columns_left(body.width, TITLE + 8);
    let line = |(index, &(column, is_shown)): (usize, &(Column, bool))| {
        let sign = match (is_shown, fitting.contains(&column)) {
            (true, true) => "[x] ",
            (true, false) => "[·] ",
            (false, _) => "[ ] ",
        };
        let line = Line::from(vec![
            panel::marker(index == at, theme),
            Span::raw(sign),
            Span::styled(text::left(column.title(), TITLE), theme.heading()),
            Span::raw(text::truncate(column.words(), width)),
        ]);
        if index == at { line.style(theme.selected()) } else { line }
    };
    let lines: Vec<Line<'_>> =
        entries.iter().enumerate().skip(shown.start).take(shown.len()).map(line).collect();
    frame.render_widget(Paragraph::new(lines), body);
}
