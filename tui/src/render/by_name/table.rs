//! The table of rows by name, with the rest in its last line.

use super::columns::{Columns, heading, width};
use crate::layout::{split_bottom, split_top, window};
use crate::render::panel;
use crate::text;
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use wirelap_correlate::RowFigure;
use wirelap_correlate::snapshot::{Breakdown, BreakdownRow, MutedExtent};
use wirelap_events::Nanos;

/// The width of the mark of rows that are muted, with the space before it.
const MUTED: usize = 8;

/// The width of the errors of times between hosts, with the space before them.
const ERROR: usize = 10;

/// The most columns of times, and how much wider they are where times have limits.
const TIMES: usize = 3;
const LIMIT: usize = 2;

/// Draws headings, the rows around the selected one, and the rest.
pub fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    (shown, rows, selected): (&Breakdown, &[&BreakdownRow], usize),
    order: RowFigure,
    theme: Theme,
) {
    let has_muted = rows.iter().any(|row| row.muted != MutedExtent::None);
    let has_errors = rows.iter().any(|row| row.clock_error > Nanos(0));
    let more = usize::from(has_muted) * MUTED + usize::from(has_errors) * (ERROR + TIMES * LIMIT);
    let room = text::columns_left(area.width, 2 + more);
    let columns = Columns::of(room, shown.by.len(), order);
    let (head, body) = split_top(area, 1);
    let (body, last) = split_bottom(body, has_rest(shown).into());
    let mut spans = vec![Span::raw("  ")];
    for by in &shown.by {
        let title = by.name().to_uppercase();
        spans.push(Span::styled(format!("{} ", text::left(&title, columns.name)), theme.dim()));
    }
    for &figure in &columns.figures {
        let style = if figure == order { theme.heading() } else { theme.dim() };
        let sign = if figure == order { "▼" } else { "" };
        let title = format!("{}{sign}", heading(figure));
        spans.push(Span::styled(
            format!(" {}", text::right(&title, width_of(figure, has_errors))),
            style,
        ));
    }
    if has_errors {
        spans.push(Span::styled(text::right("CLOCKS", ERROR), theme.dim()));
    }
    if has_muted {
        spans.push(Span::styled(" MUTED", theme.dim()));
    }
    frame.render_widget(Line::from(spans), head);
    let visible = window(rows.len(), selected, usize::from(body.height));
    let lines = rows.iter().enumerate().skip(visible.start).take(visible.len());
    let lines = lines.map(|(at, row)| line(row, at == selected, (&columns, has_errors), theme));
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), body);
    if has_rest(shown) {
        let names = (columns.name + 1) * shown.by.len();
        let what = text::left(&rest(shown), names.saturating_sub(1));
        let line = format!("  {what} {}", figures(&shown.rest, &columns, has_errors));
        frame.render_widget(Line::styled(line, theme.dim()), last);
    }
}

/// True if there are rows that are not listed.
fn has_rest(shown: &Breakdown) -> bool {
    shown.rest_rows > 0
}

fn rest(shown: &Breakdown) -> String {
    let rows = text::counted(shown.rest_rows, "row");
    if shown.text.is_empty() { format!("the rest: {rows}") } else { format!("all others: {rows}") }
}

fn line(
    row: &BreakdownRow,
    selected: bool,
    (columns, has_errors): (&Columns, bool),
    theme: Theme,
) -> Line<'static> {
    let mut spans = vec![panel::marker(selected, theme)];
    for name in &row.names {
        let is_known = name.is_some();
        let cell = format!("{} ", text::left(&self::name(name.as_deref()), columns.name));
        spans.push(if is_known { Span::raw(cell) } else { Span::styled(cell, theme.dim()) });
    }
    spans.push(Span::raw(figures(row, columns, has_errors)));
    if has_errors {
        let error = match row.clock_error {
            Nanos(0) => String::new(),
            error => format!("± {}", text::time(error)),
        };
        spans.push(Span::raw(text::right(&error, ERROR)));
    }
    match row.muted {
        MutedExtent::None => {}
        MutedExtent::Part => spans.push(Span::styled(" in part", theme.warning())),
        MutedExtent::Whole => spans.push(Span::styled(" muted", theme.warning())),
    }
    let line = Line::from(spans);
    if selected { line.style(theme.selected()) } else { line }
}

/// A name, or that it is not known.
pub fn name(name: Option<&str>) -> String {
    name.map_or_else(|| "unknown".to_owned(), text::clean)
}

/// The width of a column; times have more if some of them are limits.
fn width_of(figure: RowFigure, has_errors: bool) -> usize {
    match figure {
        RowFigure::P50 | RowFigure::P99 | RowFigure::Max if has_errors => width(figure) + LIMIT,
        _ => width(figure),
    }
}

fn figures(row: &BreakdownRow, columns: &Columns, has_errors: bool) -> String {
    let cell = |&figure: &RowFigure| {
        format!(" {}", text::right(&cell(figure, row), width_of(figure, has_errors)))
    };
    columns.figures.iter().map(cell).collect()
}

fn cell(figure: RowFigure, row: &BreakdownRow) -> String {
    let value = row.figure(figure);
    match figure {
        _ if value == 0 && (row.one_way.count == 0 || row.clock_error == Nanos(0)) => {
            text::NONE.into()
        }
        RowFigure::Messages | RowFigure::Sent | RowFigure::Delivered => {
            text::exact_in(value, width(figure))
        }
        RowFigure::Bytes => text::bytes(value),
        // A time that is not above its error has a limit alone, as elsewhere; the column of errors has the others'.
        RowFigure::P50 | RowFigure::P99 | RowFigure::Max if row.clock_error >= Nanos(value) => {
            text::time_within(Nanos(value), row.clock_error)
        }
        RowFigure::P50 | RowFigure::P99 | RowFigure::Max => text::time(Nanos(value)),
    }
}
