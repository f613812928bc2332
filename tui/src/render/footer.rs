//! The last line: the answer to the last request, a text that is entered, or the keys.

use crate::app::keys::{self, Binding};
use crate::app::{App, Overlay, ScreenCommand};
use crate::layout::count;
use crate::text;
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Draws the last line.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let line = match (app.overlay(), app.status()) {
        (Some(Overlay::Filter(input, _)), _) => entered("filter", &input.text, area.width, theme),
        (_, Some(sentence)) => Line::styled(
            format!(" {}", text::truncate(sentence, room(area.width))),
            theme.heading(),
        ),
        // The keys stand in the panel's title.
        (Some(Overlay::Experiments), None) => Line::default(),
        _ => keys(app, area.width, theme),
    };
    frame.render_widget(line, area);
}

/// A text while it is entered, with the cursor at its end. Of a long one, the end is shown.
pub fn entered(what: &str, entered: &str, width: u16, theme: Theme) -> Line<'static> {
    let room = room(width).saturating_sub(what.len() + 3);
    let clean = text::clean(entered);
    let mut shown = clean.as_str();
    while text::width(shown) > room {
        let mut chars = shown.chars();
        chars.next();
        shown = chars.as_str();
    }
    Line::from(vec![
        Span::styled(format!(" {what}: "), theme.heading()),
        Span::raw(shown.to_owned()),
        Span::styled(" ", theme.selected()),
    ])
}

fn room(width: u16) -> usize {
    text::columns_left(width, 2)
}

/// The command whose key is at a position across the screen, while the keys are shown.
pub fn command_at(app: &App, area: Rect, x: u16) -> Option<ScreenCommand> {
    if app.status().is_some() || matches!(app.overlay(), Some(Overlay::Filter(..))) {
        return None;
    }
    let mut right = area.x;
    fitting(app, area.width).into_iter().find_map(|binding| {
        right += count(width_of(binding));
        (x < right).then_some(binding.command)
    })
}

/// The keys, as many as fit uncut.
fn keys(app: &App, width: u16, theme: Theme) -> Line<'static> {
    let mut spans = Vec::new();
    for binding in fitting(app, width) {
        spans.push(Span::styled(format!(" {}", key(binding)), theme.heading()));
        spans.push(Span::raw(format!(" {} ", binding.short)));
    }
    Line::from(spans)
}

/// The bindings that have a place in the last line.
fn fitting(app: &App, width: u16) -> Vec<&'static Binding> {
    let mut left = usize::from(width);
    let bindings = keys::bindings(app).into_iter().filter(|binding| !binding.short.is_empty());
    bindings
        .take_while(|binding| {
            let after = left.checked_sub(width_of(binding));
            left = after.unwrap_or(0);
            after.is_some()
        })
        .collect()
}

fn width_of(binding: &Binding) -> usize {
    text::width(key(binding)) + text::width(binding.short) + 3
}

/// The first of the keys.
fn key(binding: &Binding) -> &'static str {
    binding.shown.split(' ').next().unwrap_or_default()
}
