//! The help panel (every warning in full, the keys, the columns), and the panel for a screen without rows.

use super::panel;
use crate::app::{App, keys};
use crate::columns::Column;
use crate::layout::split_top;
use crate::theme::Theme;
use crate::{silence, text, words};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

const MOUSE: &str = "click a row, a view, a heading or a key of the last line; the wheel moves and scrolls; Shift and drag select text in most terminals";

/// Draws the help in place of the body.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let (title, body) = split_top(area, 1);
    let mut lines: Vec<Line<'_>> = Vec::new();
    let width = usize::from(body.width);
    let warnings = silence::warnings(app);
    for warning in &warnings {
        push(&mut lines, "!", warning, (3, width), theme);
    }
    if !warnings.is_empty() {
        lines.push(Line::default());
    }
    for binding in keys::bindings(app).into_iter().filter(|binding| !binding.shown.is_empty()) {
        push(&mut lines, binding.shown, binding.words, (12, width), theme);
    }
    if app.has_mouse() {
        push(&mut lines, "mouse", MOUSE, (12, width), theme);
    }
    lines.push(Line::default());
    for column in Column::ALL {
        push(&mut lines, column.title(), column.words(), (12, width), theme);
    }
    panel::rule(frame, title, &panel::scroll_title("help", lines.len(), body), theme);
    panel::lines(frame, body, lines, app.scroll());
}

/// Adds a term and, wrapped beside it, its meaning. `(at, width)` are the column in which the meaning starts and the
/// panel's width.
fn push(
    lines: &mut Vec<Line<'_>>,
    term: &str,
    meaning: &str,
    (at, width): (usize, usize),
    theme: Theme,
) {
    for (index, part) in
        text::wrap(meaning, text::columns_left(width, at + 1)).into_iter().enumerate()
    {
        let term = if index == 0 { term } else { "" };
        lines.push(Line::from(vec![
            Span::styled(text::left(&format!(" {term}"), at), theme.heading()),
            Span::raw(format!(" {part}")),
        ]));
    }
}

/// Draws why there are no rows, and what to do.
pub fn draw_nothing(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let sentences = match (app.unfiltered_rows(), app.replay()) {
        (0, Some(replay)) => words::nothing_read(&replay),
        (0, None) => words::nothing_yet_on_screen(app.snapshot()),
        (hidden, _) => words::nothing_matches(app.row_filter(), hidden),
    };
    let mut lines = vec![Line::default()];
    for (index, sentence) in sentences.iter().enumerate() {
        for part in text::wrap(sentence, text::columns_left(area.width, 4)) {
            let style = if index == 0 { theme.heading() } else { ratatui::style::Style::new() };
            lines.push(Line::styled(format!("  {part}"), style));
        }
        if area.height > 15 {
            lines.push(Line::default());
        }
    }
    panel::lines(frame, area, lines, 0);
}
