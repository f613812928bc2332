//! The command palette: a line in which words are entered, and the commands that have them.

use super::footer;
use super::panel;
use crate::app::{App, TextInput, palette};
use crate::layout::{split_top, window};
use crate::text;
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

/// Width of the keys beside a command, in columns.
const KEYS: usize = 9;

/// Draws the palette in place of the body.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, input: &TextInput, theme: Theme) {
    let (title, rest) = split_top(area, 1);
    let (entry, body) = split_top(rest, 1);
    panel::rule(frame, title, "commands: words of what you want, ↑↓, ⏎; Esc closes", theme);
    frame.render_widget(footer::entered("command", &input.text, entry.width, theme), entry);
    let commands = palette(app, &input.text);
    let shown = window(commands.len(), input.selected, usize::from(body.height));
    let width = text::columns_left(body.width, KEYS + 4);
    let lines: Vec<Line<'_>> = commands
        .iter()
        .enumerate()
        .skip(shown.start)
        .take(shown.len())
        .map(|(at, binding)| {
            let line = Line::from(vec![
                panel::marker(at == input.selected, theme),
                Span::styled(text::left(binding.shown, KEYS), theme.heading()),
                Span::raw(format!(" {}", text::truncate(binding.words, width))),
            ]);
            if at == input.selected { line.style(theme.selected()) } else { line }
        })
        .collect();
    let nothing = vec![Line::raw("  no command has these words")];
    frame.render_widget(Paragraph::new(if lines.is_empty() { nothing } else { lines }), body);
}
