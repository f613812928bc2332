//! Common parts of the panels: a title in a rule, lines that scroll, the mark of the selected row.

use crate::theme::Theme;
use crate::{layout, text};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

/// Draws a panel's first line: its title in a horizontal rule.
pub fn rule(frame: &mut Frame<'_>, area: Rect, title: &str, theme: Theme) {
    let room = text::columns_left(area.width, 3);
    let title = text::truncate(title, room);
    let tail = "─".repeat(room.saturating_sub(text::width(&title)));
    let line = Line::from(vec![
        Span::styled("─ ", theme.dim()),
        Span::styled(title, theme.heading()),
        Span::styled(format!(" {tail}"), theme.dim()),
    ]);
    frame.render_widget(line, area);
}

/// A panel's title, with the keys that scroll it if its `lines` do not all fit into `area`.
pub fn scroll_title(title: &str, lines: usize, area: Rect) -> String {
    if lines <= usize::from(area.height) {
        return title.to_owned();
    }
    format!("{title} (PgUp PgDn: more)")
}

/// Draws lines without the first `scroll` ones, but never scrolls past the last line. Lines are cut at the panel's edge.
pub fn lines(frame: &mut Frame<'_>, area: Rect, lines: Vec<Line<'_>>, scroll: u16) {
    let hidden = layout::count(lines.len()).saturating_sub(area.height);
    frame.render_widget(Paragraph::new(lines).scroll((scroll.min(hidden), 0)), area);
}

/// The mark before a row: an arrow before the selected one.
pub fn marker(selected: bool, theme: Theme) -> Span<'static> {
    if selected { Span::styled("▶ ", theme.heading()) } else { Span::styled("  ", Style::new()) }
}
