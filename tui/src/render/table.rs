//! The comparison table: one row for each middleware and broker.
//!
//! ```text
//! ─ middlewares ─ sorted by P50 ▲ ─────────────────────────
//!   MIDDLEWARE          MSG/S    P50▲     P99     MAX …
//! ▶ tcp 127.0.0.1:7    18.2 k 13.1 µs 25.0 µs  1.2 ms …
//! ```

use super::panel;
use crate::app::App;
use crate::columns::{self, Column};
use crate::layout::{split_top, window};
use crate::text;
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use wirelap_correlate::Reliability;
use wirelap_correlate::snapshot::Group;

/// Width of the mark before a row, in columns.
const MARKER: u16 = 2;

/// Draws title, headings and the rows around the selected one.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let (title, rest) = split_top(area, 1);
    let (headings, body) = split_top(rest, 1);
    let shown = window(app.rows().len(), app.position(), usize::from(body.height));
    panel::rule(frame, title, &self::title(app, shown.len()), theme);
    let columns = Column::fitting(area.width.saturating_sub(MARKER));
    let name_width = name_width(&columns, area.width);
    frame.render_widget(self::headings(app, &columns, name_width, theme), headings);
    let rows: Vec<Line<'_>> = app
        .rows()
        .enumerate()
        .skip(shown.start)
        .take(shown.len())
        .map(|(index, group)| {
            let reliability = columns::reliability(group, &app.snapshot().trust);
            row(group, reliability, index == app.position(), &columns, name_width, theme)
        })
        .collect();
    frame.render_widget(Paragraph::new(rows), body);
}

fn title(app: &App, shown: usize) -> String {
    let mut title = String::from("middlewares");
    if shown < app.rows().len() {
        title = format!("{title} ({shown} of {})", app.rows().len());
    }
    if let Some(column) = app.sort().by {
        title = format!("{title}, sorted by {} {}", column.title(), arrow(app));
    }
    title
}

fn arrow(app: &App) -> char {
    if app.sort().descends() { '▼' } else { '▲' }
}

/// The width that the other columns leave for the name.
fn name_width(columns: &[Column], width: u16) -> usize {
    let fixed: u16 = columns.iter().skip(1).map(|column| column.width() + 1).sum();
    usize::from(width.saturating_sub(fixed + MARKER))
}

fn headings(app: &App, columns: &[Column], name_width: usize, theme: Theme) -> Line<'static> {
    let mut spans = vec![Span::raw("  ")];
    for &column in columns {
        let mut title = column.title().to_owned();
        let sorted = app.sort().by == Some(column);
        if sorted && text::width(&title) < usize::from(column.width()) {
            title.push(arrow(app));
        }
        let cell = place(column, &title, name_width);
        spans.push(Span::styled(cell, if sorted { theme.heading() } else { theme.dim() }));
    }
    Line::from(spans)
}

fn row(
    group: &Group,
    reliability: Reliability,
    selected: bool,
    shown: &[Column],
    name_width: usize,
    theme: Theme,
) -> Line<'static> {
    let mut spans = vec![panel::marker(selected, theme)];
    for &column in shown {
        let doubtful =
            column == Column::Matched && group.messages.delivered > 0 && group.coverage < 1.0;
        let mut text = match column {
            Column::Name => columns::marked_name(group, reliability, name_width),
            _ => columns::cell(column, group, reliability),
        };
        if doubtful && text::width(&text) < usize::from(column.width()) {
            text.insert(0, '!');
        }
        let text = place(column, &text, name_width);
        let is_marked = column == Column::Name && reliability != Reliability::Good;
        let is_unusable = reliability == Reliability::Unusable;
        spans.push(if doubtful || is_marked || is_unusable {
            Span::styled(text, theme.warning())
        } else {
            Span::raw(text)
        });
    }
    let line = Line::from(spans);
    if selected { line.style(theme.selected()) } else { line }
}

/// A cell padded to its column's width: names are aligned to the left, figures to the right after a space.
fn place(column: Column, text: &str, name_width: usize) -> String {
    match column {
        Column::Name => text::left(text, name_width),
        Column::Why => format!(" {}", text::left(text, usize::from(column.width()))),
        _ => format!(" {}", text::right(text, usize::from(column.width()))),
    }
}
