//! The waterfall of one message: a line for each interval, with its bar on a common time axis, and what is known of it below.
//!
//! ```text
//!   LEG SEGMENT          TIME  0 ns       10.0 µs    20.0 µs      THREAD
//! ▶ 1 t socket_tx     2.70 µs  tt         ┊          ┊
//! ▶ 1 W wire          2.20 µs  ┊ WW       ┊          ┊
//! ▶ 1 r runqueue      3.40 ms  ┊   rrrrrrrrrrrrrrrrrrr            mosquitto 4021
//!        woken by an interrupt, stress-ng-cpu (991) had the CPU for 3.39 ms
//!   2 B broker_dwell  33.0 µs  ┊          ┊          ┊BBB         mosquitto 4025
//! ```
//! Without colours all cells of a bar show its letter. An arrow marks the selected leg.

use super::axis::MessageAxis;
use crate::app::App;
use crate::people;
use crate::render::panel;
use crate::text;
use crate::theme::{Theme, letter};
use crate::waterfall::{self, WaterfallBar};
use ratatui::text::{Line, Span};
use wirelap_history::KeptMessage;

/// Columns before the axis.
const LEAD: u16 = 29;
/// Columns before a note.
const INDENT: usize = 7;
/// From this width on, the threads have more room.
const WIDE: u16 = 100;

/// The heading and the intervals of a message, in `width` columns. Notes are wrapped.
pub fn lines(app: &App, message: &KeptMessage, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let all = waterfall::lines(&message.delivery, app.snapshot());
    let Some(extent) = waterfall::extent(&all) else {
        let sentence = "fewer than two stages of this message were seen: it has no intervals";
        return vec![Line::raw(format!("  {sentence}"))];
    };
    let threads = if width >= WIDE { 27 } else { 20 };
    let is_open = app.message().is_some() && message.delivery.legs.len() > 1;
    let axis = MessageAxis::new(extent, axis_width(width, threads));
    let page = BarsPage { app, axis, threads, is_open, theme };
    let mut lines = vec![page.heading(width)];
    for line in &all {
        match line {
            waterfall::WaterfallLine::Bar(bar) => {
                lines.push(page.bar(bar, axis_width(width, threads)));
            }
            waterfall::WaterfallLine::Note(note) => {
                let room = text::columns_left(width, INDENT + 1);
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

struct BarsPage<'a> {
    app: &'a App,
    axis: MessageAxis,
    threads: u16,
    /// True if one of several legs can be selected.
    is_open: bool,
    theme: Theme,
}

impl BarsPage<'_> {
    fn heading(&self, width: u16) -> Line<'static> {
        let room = usize::from(axis_width(width, self.threads));
        let mut axis = String::new();
        for (cell, at) in self.axis.moments() {
            let (cell, time) = (usize::from(cell), text::time(at));
            if cell + text::width(&time) <= room {
                axis = format!("{}{time}", text::left(&axis, cell));
            }
        }
        let head = format!("  {:<17}{:>8}  ", "LEG SEGMENT", "TIME");
        let threads = if width > LEAD + self.threads { "  THREAD" } else { "" };
        Line::styled(format!("{head}{}{threads}", text::left(&axis, room)), self.theme.dim())
    }

    fn bar(&self, bar: &WaterfallBar, width: u16) -> Line<'static> {
        let look = bar.what.look();
        let is_selected = self.is_open && bar.leg == self.app.message_leg();
        let mut spans = vec![
            panel::marker(is_selected, self.theme),
            Span::raw(format!("{} ", bar.leg + 1)),
            Span::styled(letter(look).to_string(), self.theme.segment(look)),
            Span::raw(format!(
                " {} {}  ",
                text::left(bar.what.name(), 12),
                text::right(&text::time(bar.to - bar.from), 8)
            )),
        ];
        spans.extend(self.cells(bar, width));
        if let Some(thread) = bar.thread {
            let room = usize::from(self.threads).saturating_sub(3);
            let name = people::short_thread(thread, self.app.snapshot());
            spans.push(Span::raw(format!("  {}", text::truncate(&name, room))));
        }
        Line::from(spans)
    }

    /// The bar, and marks of the named moments where it is not.
    fn cells(&self, bar: &WaterfallBar, width: u16) -> Vec<Span<'static>> {
        let (first, end) = self.axis.cells(bar.from, bar.to);
        let moments = self.axis.moments();
        let marks = |cells: std::ops::Range<u16>| {
            let mark = |cell| if moments.iter().any(|(at, _)| *at == cell) { '┊' } else { ' ' };
            Span::styled(cells.map(mark).collect::<String>(), self.theme.dim())
        };
        let look = bar.what.look();
        let length = usize::from(end.saturating_sub(first));
        let text = if self.theme.has_color() {
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
