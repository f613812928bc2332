//! The first lines of the screen: elapsed time, wirelap's own cost, and how far the figures can be trusted.

use super::replay;
use crate::app::App;
use crate::layout::split_top;
use crate::theme::Theme;
use crate::{silence, text, words};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

/// Draws name, elapsed time, state and the tracer's cost, and in the second line, if there is one, the trust summary.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let (first, second) = split_top(area, 1);
    let snapshot = app.snapshot();
    let mut spans = vec![Span::styled(" wirelap", theme.heading())];
    if let Some(state) = app.replay() {
        let room = text::columns_left(first.width, text::width(" wirelap") + 1);
        spans.extend(replay::spans(&state, room, theme));
    } else {
        spans.push(Span::raw(format!("  {}", text::clock(snapshot.at - snapshot.since))));
    }
    if app.probe_setup().reads_tls && !app.is_replay() {
        spans.push(Span::raw("  "));
        spans.push(Span::styled(words::READS_TLS, theme.state()));
    }
    if app.is_paused() {
        spans.push(Span::raw("  "));
        spans.push(Span::styled(" PAUSED ", theme.state()));
    }
    let line = Line::from(spans);
    let used = line.width();
    frame.render_widget(line, first);
    if app.is_replay() {
        // Nothing is traced, so this costs no traced program anything.
        return trust_line(frame, second, app, theme);
    }
    let cost = words::tracer(&snapshot.trust);
    let room = text::columns_left(area.width, used + 1);
    if text::width(&cost) < room {
        let right = text::right(&cost, room);
        let area = Rect {
            x: first.x + crate::layout::count(used),
            width: crate::layout::count(room),
            ..first
        };
        frame.render_widget(Span::styled(right, theme.dim()), area);
    }
    trust_line(frame, second, app, theme);
}

fn trust_line(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    if !area.is_empty() {
        frame.render_widget(trust(app, area.width, theme), area);
    }
}

/// As many parts of the trust summary as fit uncut.
fn trust(app: &App, width: u16, theme: Theme) -> Line<'static> {
    let mut spans = vec![Span::raw(" ")];
    let mut left = text::columns_left(width, 1);
    let mut parts = words::trust_parts(app.snapshot());
    if let Some(silent) = silence::summary(app) {
        parts.insert(parts.len().min(1), (silent, true));
    }
    let behind = app.snapshot().slow.behind;
    if behind > 0 {
        let what = text::counted_as(behind, "subscriber behind (g)", "subscribers behind (g)");
        parts.insert(parts.len().min(1), (what, true));
    }
    for (part, warning) in parts {
        let separator = if spans.len() > 1 { " · " } else { "" };
        let part = if warning { format!("! {part}") } else { part };
        let Some(after) = left.checked_sub(text::width(separator) + text::width(&part)) else {
            break;
        };
        left = after;
        spans.push(Span::styled(separator, theme.dim()));
        spans.push(if warning { Span::styled(part, theme.warning()) } else { Span::raw(part) });
    }
    Line::from(spans)
}

/// Draws the warnings, each already wrapped into lines. If not all lines fit, the last one says which key shows them all.
pub fn draw_warnings(frame: &mut Frame<'_>, area: Rect, warnings: &[Vec<String>], theme: Theme) {
    let height = usize::from(area.height);
    let total: usize = warnings.iter().map(Vec::len).sum();
    let mut lines: Vec<Line<'_>> = Vec::new();
    for wrapped in warnings {
        for (index, text) in wrapped.iter().enumerate() {
            let lead = if index == 0 { " ! " } else { "   " };
            lines.push(Line::styled(format!("{lead}{text}"), theme.warning()));
        }
    }
    lines.truncate(height);
    if total > height {
        let cut = " … (? shows all)";
        if let Some(last) = lines.last_mut() {
            let room = text::columns_left(area.width, text::width(cut));
            let kept = text::truncate(&last.to_string(), room);
            *last = Line::styled(format!("{kept}{cut}"), theme.warning());
        }
    }
    frame.render_widget(Paragraph::new(lines), area);
}
