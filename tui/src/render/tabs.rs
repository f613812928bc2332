//! The names of the views, with the digit that shows each, and the window that the figures are of.
//!
//! ```text
//!  1 overview  2 row  3 why  4 compare  5 spread  6 messages  7 bytes …   since start
//! ```

use crate::app::{App, View};
use crate::text;
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Draws the names, as many as fit; those of the present view and its neighbours in any case.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let window = app.window().name();
    let room = usize::from(area.width).saturating_sub(text::width(window) + 2);
    let names = View::ALL.map(|view| format!("{} {}", view.digit(), view.name()));
    let present = View::ALL.iter().position(|view| *view == app.view()).unwrap_or_default();
    let mut first = 0;
    // Names before the present one are left out until it fits.
    while first < present && width_of(&names[first..=present]) > room {
        first += 1;
    }
    let mut spans = Vec::new();
    let mut left = room;
    for (at, name) in names.iter().enumerate().skip(first) {
        let Some(after) = left.checked_sub(text::width(name) + 1) else { break };
        left = after;
        let style = if at == present { theme.selected() } else { Style::new() };
        spans.push(Span::raw(" "));
        spans.push(Span::styled(name.clone(), style));
    }
    spans.push(Span::raw(" ".repeat(left + 1)));
    spans.push(Span::styled(window, theme.heading()));
    frame.render_widget(Line::from(spans), area);
}

fn width_of(names: &[String]) -> usize {
    names.iter().map(|name| text::width(name) + 1).sum()
}
