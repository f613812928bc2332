//! Marked rows, or the selected row and its baseline: figure by figure, stage by stage.
//!
//! ```text
//! ─ compare: baseline with since mark ─────────────────────────────────────────
//!  A baseline, mqtt mosquitto 127.0.0.1:1883: 00:00:10–00:01:10, 119,873 messages
//!  B since mark, 00:01:10–00:02:00, 99,870 messages
//!  B is slower at p50 (+35 %) and p99 (+80 %). Most of it is in leg 2 runqueue:
//!  +12.2 µs a message.
//!                      A       B   DIFFERENCE   HOW SURE
//!  one-way p50   48.1 µs 65.0 µs ▲ +35 %        slower, +22…+48 %
//!  msg/s          2.00 k  2.00 k = 0 %          the same within 5 %
//!  mean          50.1 µs 64.2 µs ▲ +14.1 µs     slower, +10.2…+18.0 µs
//!  1 t socket_tx 1.20 µs 1.22 µs = +20 ns       the same within 2.51 µs
//!  2 r runqueue  5.10 µs 17.3 µs ▲ +12.2 µs     slower, +9.12…+15.3 µs
//!  Intervals hold at all times and for all figures together …
//! ```
//! A wide screen has several of the marked rows beside each other.

mod words;

use super::{panel, plot};
use crate::app::{App, Compared, ComparedFigure, FigureRow, SidePeriod};
use crate::layout::split_top;
use crate::text;
use crate::theme::{Theme, letter};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use wirelap_compare::Answer;

/// Width of the figures' names with the margin, in columns.
const NAME: usize = 17;
/// Width of a value, in columns.
const VALUE: usize = 8;
/// Width of a difference with its sign, in columns.
const DIFFERENCE: usize = 12;
/// Least width of how sure a difference is, in columns.
const SURE: usize = 33;

/// Draws the view.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let (title, body) = split_top(area, 1);
    let width = usize::from(area.width);
    let Some(compared) = app.comparing().compared() else {
        panel::rule(frame, title, "compare", theme);
        let lines = paragraph(&words::nothing(app), width, Style::new());
        return panel::lines(frame, body, lines, 0);
    };
    let page = ComparePage { app, compared, width, theme };
    let lines = page.lines();
    let heading = panel::scroll_title(&page.title(), lines.len(), body);
    panel::rule(frame, title, &heading, theme);
    panel::lines(frame, body, lines, app.scroll());
}

fn paragraph(sentence: &str, width: usize, style: Style) -> Vec<Line<'static>> {
    let lines = text::wrap(sentence, text::columns_left(width, 2)).into_iter();
    lines.map(|line| Line::styled(format!(" {line}"), style)).collect()
}

/// B, or B, C and D if several rows are compared with A.
fn letter_of(number: usize) -> String {
    char::from(b'B'.saturating_add(u8::try_from(number).unwrap_or(0)).min(b'Z')).to_string()
}

/// A value in its column, with a space before it.
fn value(what: ComparedFigure, value: Option<f64>) -> String {
    format!(" {}", text::right(&words::value(what, value), VALUE - 1))
}

struct ComparePage<'a> {
    app: &'a App,
    compared: &'a Compared,
    width: usize,
    theme: Theme,
}

impl ComparePage<'_> {
    /// The sides that are drawn, as many as have room.
    fn shown(&self) -> &[(SidePeriod, Vec<FigureRow>)] {
        let room = text::columns_left(self.width, NAME + VALUE);
        let fit = (room / (VALUE + DIFFERENCE + SURE)).max(1);
        let others = &self.compared.others;
        let first = self.app.comparing().first().min(others.len().saturating_sub(fit));
        others.get(first..).unwrap_or_default().get(..fit).unwrap_or(&others[first..])
    }

    fn title(&self) -> String {
        let others = self.compared.others.len();
        let (shown, first) = (self.shown().len(), self.app.comparing().first());
        match self.compared.at_once {
            false => "compare: the selected row with its baseline".into(),
            true if shown < others => {
                let last = (first + shown).min(others);
                format!("compare: marked rows, {} to {last} of {others} (←→)", last - shown + 1)
            }
            true => "compare: marked rows".into(),
        }
    }

    fn lines(&self) -> Vec<Line<'static>> {
        let mut lines = self.side("A", &self.compared.a);
        for (number, (side, _)) in self.shown().iter().enumerate() {
            lines.extend(self.side(&letter_of(number), side));
        }
        for (number, (_, rows)) in self.shown().iter().enumerate() {
            let sentence = words::headline(&letter_of(number), rows);
            lines.extend(paragraph(&sentence, self.width, self.theme.heading()));
        }
        lines.push(self.headings());
        lines.extend(self.figures().iter().map(|row| self.row(row)));
        let method = words::method(self.compared, self.shown());
        lines.extend(paragraph(&method, self.width, self.theme.dim()));
        lines
    }

    /// The description of a side: its kind, name, period and number of messages.
    fn side(&self, letter: &str, side: &SidePeriod) -> Vec<Line<'static>> {
        let period = plot::period(self.app, side.period);
        let messages = text::unbroken(&text::counted(side.messages(), "message"));
        let known = format!(": {period}, {messages}");
        let room =
            text::columns_left(self.width, text::width(&known) + text::width(&side.what) + 7);
        let name = text::truncate(&side.name, room.max(12));
        let parts = [side.what.as_str(), &name].into_iter().filter(|part| !part.is_empty());
        let parts = parts.collect::<Vec<_>>().join(", ");
        paragraph(&format!("{letter} {parts}{known}"), self.width, Style::new())
    }

    /// Columns of how sure a difference is: those of a side alone reach to the edge.
    fn room_of_sure(&self) -> usize {
        let rest = text::columns_left(self.width, NAME + 2 * VALUE + DIFFERENCE + 3);
        if self.shown().len() == 1 { rest.max(SURE - 2) } else { SURE - 2 }
    }

    fn headings(&self) -> Line<'static> {
        let mut head = format!("{}{}", text::left("", NAME), text::right("A", VALUE));
        for number in 0..self.shown().len() {
            head.push_str(&text::right(&letter_of(number), VALUE));
            head.push_str(&text::left("   DIFFERENCE", DIFFERENCE + 2));
            head.push_str(&text::left("HOW SURE", SURE - 2));
        }
        Line::styled(head, self.theme.dim())
    }

    /// The figures that any of the shown sides has.
    fn figures(&self) -> Vec<&FigureRow> {
        let mut figures: Vec<&FigureRow> = self.shown().iter().flat_map(|(_, rows)| rows).collect();
        figures.sort_by_key(|row| row.what.order());
        figures.dedup_by_key(|row| row.what);
        figures
    }

    /// A figure of A and of the other sides.
    fn row(&self, row: &FigureRow) -> Line<'static> {
        let mut spans =
            vec![Span::raw(format!(" {}", text::left(&words::name(row.what), NAME - 1)))];
        if let ComparedFigure::Stage(leg, segment) = row.what {
            spans = vec![
                Span::raw(format!(" {} ", leg + 1)),
                Span::styled(letter(segment).to_string(), self.theme.segment(segment)),
                Span::raw(format!(" {}", text::left(segment.name(), NAME - 5))),
            ];
        }
        spans.push(Span::raw(value(row.what, row.a)));
        for (_, rows) in self.shown() {
            match rows.iter().find(|other| other.what == row.what) {
                Some(row) => spans.extend(self.cells(row)),
                None => spans.push(Span::raw(" ".repeat(VALUE + DIFFERENCE + SURE))),
            }
        }
        Line::from(spans)
    }

    /// B, the difference, and how sure it is.
    fn cells(&self, row: &FigureRow) -> [Span<'static>; 3] {
        let style = match row.finding.map(|finding| finding.answer) {
            Some(Answer::Slower) => self.theme.worse(),
            Some(Answer::Faster) => self.theme.better(),
            Some(Answer::Same) => Style::new(),
            Some(Answer::CannotTell) | None => self.theme.dim(),
        };
        let room = self.room_of_sure();
        let sure = text::left(&words::sure(row, self.compared, room), room);
        [
            Span::raw(value(row.what, row.b)),
            Span::styled(
                format!(" {}", text::left(&words::difference(row), DIFFERENCE + 1)),
                style,
            ),
            Span::styled(sure, style),
        ]
    }
}
