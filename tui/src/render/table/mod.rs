//! The comparison table: one row for each middleware and broker.
//!
//! ```text
//! ─ middlewares, last 10 s, by P50 ▲; since start: OVERHD WHY ─
//!   MIDDLEWARE          MSG/S    P50▲     P99     MAX …
//! ▶ tcp 127.0.0.1:7    18.2 k 13.1 µs 25.0 µs  1.2 ms …
//!   mqtt mosquitto     silent 48.1 µs  121 µs …
//! ```

mod parts;
mod title;

pub use parts::TableParts;

use super::panel;
use crate::app::App;
use crate::columns::{self, Column};
use crate::text;
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use wirelap_correlate::Reliability;
use wirelap_correlate::snapshot::Group;

/// Draws title, headings and the rows around the selected one.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let parts = TableParts::of(app, area);
    panel::rule(frame, parts.title, &title::title(app, &parts), theme);
    frame.render_widget(headings(app, &parts, theme), parts.headings);
    let rows: Vec<Line<'_>> = app
        .rows()
        .enumerate()
        .skip(parts.rows.start)
        .take(parts.rows.len())
        .map(|(index, group)| row(app, group, index == app.position(), &parts, theme))
        .collect();
    frame.render_widget(Paragraph::new(rows), parts.body);
}

fn headings(app: &App, parts: &TableParts, theme: Theme) -> Line<'static> {
    let mut spans = vec![Span::raw("  ")];
    for &column in &parts.columns {
        let mut title = column.title().to_owned();
        let sorted = app.sort().by == Some(column);
        if sorted && text::width(&title) < usize::from(parts.width(column)) {
            title.push(title::arrow(app));
        }
        let cell = place(column, &title, parts);
        spans.push(Span::styled(cell, if sorted { theme.heading() } else { theme.dim() }));
    }
    Line::from(spans)
}

fn row(
    app: &App,
    group: &Group,
    selected: bool,
    parts: &TableParts,
    theme: Theme,
) -> Line<'static> {
    let reliability = app.reliability(group);
    let mut spans = vec![panel::marker(selected, theme)];
    for &column in &parts.columns {
        let (text, is_doubtful) = match column {
            Column::Rate if app.silence(group).is_some() => ("silent".into(), true),
            Column::Rate if group.is_muted() => (column.cell(group, reliability), true),
            _ => cell(column, group, reliability, parts.name_width),
        };
        let text = place(column, &text, parts);
        spans.push(match column {
            _ if is_doubtful || reliability == Reliability::Unusable => {
                Span::styled(text, theme.warning())
            }
            Column::MedianTrend | Column::RateTrend => Span::styled(text, theme.spark()),
            _ => Span::raw(text),
        });
    }
    let line = Line::from(spans);
    if selected { line.style(theme.selected()) } else { line }
}

/// A cell's text, and whether it is to be read with care, which a sign in it says as well.
fn cell(
    column: Column,
    group: &Group,
    reliability: Reliability,
    name_width: usize,
) -> (String, bool) {
    let is_reduced = reliability != Reliability::Good;
    match column {
        Column::Name => (columns::marked_name(group, reliability, name_width), is_reduced),
        Column::Trust => (column.cell(group, reliability), is_reduced),
        Column::Matched => {
            let is_partial =
                group.messages.delivered > 0 && group.coverage < 1.0 && !group.is_muted();
            let mut text = column.cell(group, reliability);
            if is_partial && text::width(&text) < usize::from(column.width()) {
                text.insert(0, '!');
            }
            (text, is_partial)
        }
        _ => (column.cell(group, reliability), false),
    }
}

/// A cell padded to its column's width: texts are aligned to the left, figures to the right, after a space.
fn place(column: Column, text: &str, parts: &TableParts) -> String {
    let width = usize::from(parts.width(column));
    match column {
        Column::Name => text::left(text, parts.name_width),
        _ if column.is_text() => format!(" {}", text::left(text, width)),
        _ => format!(" {}", text::right(text, width)),
    }
}
