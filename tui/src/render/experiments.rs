//! The workloads that can be started, below the figures, so that it is seen at once what a setting does.
//!
//! ```text
//! ─ workloads ─ ⏎ start or change, x stop, Esc closes ──────────────────────────
//! ▶ tcp              runs: 1 k msg/s, 64 B
//!   mqtt             MQTT 3.1.1 and 5
//!   zenoh-pico       – zenoh-pico cannot be run here: …
//!
//! ─ mqtt ─ ↑↓ select, ←→ change, ⏎ start, Esc back ─────────────────────────────
//! ▶ rate     1000         messages a second
//!   qos      0 ‹1› 2      MQTT quality of service
//! ```

use super::panel;
use crate::app::{App, ExperimentChoice, ExperimentSetting, Experiments, Form};
use crate::layout::{split_top, window};
use crate::text;
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

/// Width of the names, in columns.
const NAME: usize = 16;
/// The least and the largest width of the values, in columns.
const VALUE: (usize, usize) = (12, 36);

/// Number of lines that the panel has on a screen of this height.
pub fn lines(height: u16) -> u16 {
    (height / 2).min(20)
}

/// Draws the list, or the form if it is open.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let (title, body) = split_top(area, 1);
    if let Some(form) = app.experiments().form() {
        let verb = if form.is_running { "start anew" } else { "start" };
        let name = text::clean(&form.middleware);
        let words = format!("{name}: ↑↓ select, ←→ or text changes, ⏎ {verb}, Esc back");
        panel::rule(frame, title, &words, theme);
        return self::form(frame, body, form, theme);
    }
    panel::rule(frame, title, "workloads: ⏎ start or change, x stop, Esc closes", theme);
    match app.experiments().known() {
        Experiments::Reading => sentence(frame, body, "Looking up what is installed …"),
        Experiments::None(why) => sentence(frame, body, why),
        Experiments::Of(choices) if choices.is_empty() => {
            sentence(frame, body, "wirelap-workload knows no middleware.");
        }
        Experiments::Of(choices) => list(frame, body, app, choices, theme),
    }
}

fn sentence(frame: &mut Frame<'_>, area: Rect, sentence: &str) {
    let lines = text::wrap(sentence, text::columns_left(area.width, 3));
    let lines = lines.into_iter().map(|line| Line::raw(format!("  {line}")));
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), area);
}

fn list(frame: &mut Frame<'_>, area: Rect, app: &App, choices: &[ExperimentChoice], theme: Theme) {
    let selected = app.experiments().selected();
    let shown = window(choices.len(), selected, usize::from(area.height));
    let room = text::columns_left(area.width, NAME + 4);
    let lines = choices.iter().enumerate().skip(shown.start).take(shown.len());
    let lines = lines.map(|(at, choice)| {
        let (words, style) = match (&choice.running, &choice.unavailable) {
            (Some(running), _) => (format!("● {running}"), theme.heading()),
            (None, Some(why)) => (format!("{} {why}", text::NONE), theme.dim()),
            (None, None) => (choice.about.clone(), ratatui::style::Style::new()),
        };
        let line = Line::from(vec![
            panel::marker(at == selected, theme),
            Span::styled(text::left(&choice.middleware, NAME), theme.heading()),
            Span::styled(format!(" {}", text::truncate(&words, room)), style),
        ]);
        if at == selected { line.style(theme.selected()) } else { line }
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), area);
}

fn form(frame: &mut Frame<'_>, area: Rect, form: &Form, theme: Theme) {
    let shown = window(form.fields.len(), form.selected, usize::from(area.height));
    let widest = form.fields.iter().map(|field| text::width(&value(field))).max().unwrap_or(0);
    let columns = (widest + 1).clamp(VALUE.0, VALUE.1);
    let name = form.fields.iter().map(|field| text::width(&field.name)).max().unwrap_or(0);
    let name = name.clamp(8, 28);
    let room = text::columns_left(area.width, name + columns + 6);
    let lines = form.fields.iter().enumerate().skip(shown.start).take(shown.len());
    let lines = lines.map(|(at, field)| {
        let is_selected = at == form.selected;
        let value = value(field) + if is_selected && field.values.is_empty() { "▏" } else { "" };
        Line::from(vec![
            panel::marker(is_selected, theme),
            Span::styled(text::left(&field.name, name), theme.heading()),
            Span::styled(
                format!(" {}", text::left(&value, columns)),
                if is_selected { theme.selected() } else { ratatui::style::Style::new() },
            ),
            Span::styled(format!("  {}", text::truncate(&field.words, room)), theme.dim()),
        ])
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), area);
}

/// The value, among the others that it can have: `0 ‹1› 2`.
fn value(field: &ExperimentSetting) -> String {
    if field.values.is_empty() {
        return field.value.clone();
    }
    let one = |value: &String| {
        if *value == field.value { format!("‹{value}›") } else { value.clone() }
    };
    field.values.iter().map(one).collect::<Vec<_>>().join(" ")
}
