//! The waterfall of one message: a line for each interval, with its bar on a common time axis, and what is known of it below.
//!
//! ```text
//!   LEG SEGMENT          TIME  0 ns       10.0 µs    20.0 µs      THREAD
//! ▶ 1 t socket_tx     2.70 µs  tt         ┊          ┊
//! ▶ 1 W wire          2.20 µs  ┊ WW       ┊          ┊
//! ▶ 1 r runqueue      3.40 ms  ┊   rrrrrrrrrrrrrrrrrrr            mosquitto (4021)
//!        woken by an interrupt, stress-ng-cpu (991) had the CPU for 3.39 ms
//!   2 B broker_dwell  33.0 µs  ┊          ┊          ┊BBB         mosquitto (4021/4025)
//! ```
//! Without colours all cells of a bar show its letter. An arrow marks the selected leg.

use super::axis::Axis;
use crate::app::App;
use crate::people;
use crate::render::panel;
use crate::text;
use crate::theme::{Theme, letter};
use crate::waterfall::{self, Bar};
use ratatui::text::{Line, Span};
use wirelap_history::Message;

/// Columns before the axis.
const LEAD: u16 = 29;
/// Columns before a note.
const INDENT: usize = 7;
/// From this width on, the threads have more room.
const WIDE: u16 = 100;

/// The heading and the intervals of a message, in `width` columns. Notes are wrapped.
pub fn lines(app: &App, message: &Message, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let all = waterfall::lines(&message.delivery, app.snapshot());
    let Some(extent) = waterfall::extent(&all) else {
        let sentence = "fewer than two stages of this message were seen: it has no intervals";
        return vec![Line::raw(format!("  {sentence}"))];
    };
    let threads = if width >= WIDE { 27 } else { 19 };
    let page = Page { app, axis: Axis::new(extent, axis_width(width, threads)), threads, theme };
    let mut lines = vec![page.heading(width)];
    for line in &all {
        match line {
            waterfall::Line::Bar(bar) => lines.push(page.bar(bar, axis_width(width, threads))),
            waterfall::Line::Note(note) => {
                let room = usize::from(width).saturating_sub(INDENT + 1);
                let indented = |part| Line::styled(format!("{:INDENT$}{part}", ""), theme.dim());
                lines.extend(text::wrap(note, room).into_iter().map(indented));
            }
        }
    }
    lines
}

fn axis_width(width: u16, threads: u16) -> u16 {
    width.saturating_sub(LEAD + threads).max(1)
}

struct Page<'a> {
    app: &'a App,
    axis: Axis,
    threads: u16,
    theme: Theme,
}

impl Page<'_> {
    fn heading(&self, width: u16) -> Line<'static> {
        let mut axis = String::new();
        for (cell, at) in self.axis.moments() {
            axis = text::left(&axis, usize::from(cell));
            axis.push_str(&text::time(at));
        }
        let room = usize::from(axis_width(width, self.threads));
        let head = format!("  {:<17}{:>8}  ", "LEG SEGMENT", "TIME");
        let threads = if width > LEAD + self.threads { "  THREAD" } else { "" };
        Line::styled(format!("{head}{}{threads}", text::left(&axis, room)), self.theme.dim())
    }

    fn bar(&self, bar: &Bar, width: u16) -> Line<'static> {
        let look = bar.what.look();
        let is_selected = bar.leg == self.app.message_leg();
        let mut spans = vec![
            panel::marker(is_selected, self.theme),
            Span::raw(format!("{} ", bar.leg.saturating_add(1))),
            Span::styled(letter(look).to_string(), self.theme.segment(look)),
            Span::raw(format!(
                " {} {}  ",
                text::left(bar.what.name(), 12),
                text::right(&text::time(bar.to - bar.from), 8)
            )),
        ];
        spans.extend(self.cells(bar, width));
        if let Some(thread) = bar.thread {
            let name = people::thread(thread, self.app.snapshot());
            let room = usize::from(self.threads).saturating_sub(3);
            spans.push(Span::raw(format!("  {}", text::truncate(&name, room))));
        }
        Line::from(spans)
    }

    /// The bar, and marks of the named moments where it is not.
    fn cells(&self, bar: &Bar, width: u16) -> Vec<Span<'static>> {
        let (first, end) = self.axis.cells(bar.from, bar.to);
        let moments = self.axis.moments();
        let marks = |cells: std::ops::Range<u16>| {
            let mark = |cell| if moments.iter().any(|(at, _)| *at == cell) { '┊' } else { ' ' };
            Span::styled(cells.map(mark).collect::<String>(), self.theme.dim())
        };
        let look = bar.what.look();
        let length = usize::from(end.saturating_sub(first));
        let text = if self.theme.color {
            text::left(&letter(look).to_string(), length)
        } else {
            letter(look).to_string().repeat(length)
        };
        vec![
            marks(0..first),
            Span::styled(text, self.theme.segment(look)),
            marks(end..width.max(end)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::count;

    #[test]
    fn the_lead_is_as_wide_as_it_says() {
        let lead = format!("  1 t {} {}  ", text::left("", 12), text::right("", 8));
        assert_eq!(count(text::width(&lead)), LEAD);
    }
}
