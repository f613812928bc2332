//! The names of the views, with the key that shows each, and the window that the figures are of.
//!
//! ```text
//!  1 overview  2 row  3 why  4 compare  5 spread  6 messages  7 bytes …   since start
//! ```

use crate::app::{App, View};
use crate::layout::count;
use crate::text;
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Draws the names, as many as fit; that of the present view in any case.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let window = app.window().name();
    let mut spans = Vec::new();
    let mut used = 0;
    for (view, name) in shown(app, area) {
        used += text::width(&name) + 1;
        let style = if view == app.view() { theme.selected() } else { Style::new() };
        spans.push(Span::raw(" "));
        spans.push(Span::styled(name, style));
    }
    let left = text::columns_left(area.width, used + text::width(window) + 1);
    spans.push(Span::raw(" ".repeat(left)));
    spans.push(Span::styled(window, theme.heading()));
    frame.render_widget(Line::from(spans), area);
}

/// The view whose name is at a position across the screen.
pub fn view_at(app: &App, area: Rect, x: u16) -> Option<View> {
    let mut right = area.x;
    shown(app, area).into_iter().find_map(|(view, name)| {
        right += count(text::width(&name) + 1);
        (x < right).then_some(view)
    })
}

/// The views whose names fit, with a space before each. Names before the present one are left out until it fits.
fn shown(app: &App, area: Rect) -> Vec<(View, String)> {
    let window = text::width(app.window().name());
    let mut left = text::columns_left(area.width, window + 2);
    let names = View::ALL.map(|view| format!("{} {}", view.key(), view.name()));
    let present = View::ALL.iter().position(|view| *view == app.view()).unwrap_or_default();
    let mut first = 0;
    while first < present && width_of(&names[first..=present]) > left {
        first += 1;
    }
    let fits = |(_, name): &(View, String)| {
        let after = left.checked_sub(text::width(name) + 1);
        left = after.unwrap_or(0);
        after.is_some()
    };
    View::ALL.into_iter().zip(names).skip(first).take_while(fits).collect()
}

fn width_of(names: &[String]) -> usize {
    names.iter().map(|name| text::width(name) + 1).sum()
}
