//! The view "log": what has happened, the newest first.
//!
//! ```text
//! ─ log: 42 entries, from the newest ──────────────────────────────────────────
//!  SINCE START  UTC       WHAT
//!     00:01:23  12:04:05  ! mqtt mosquitto: a verdict began: CPU contention
//!     00:01:20  12:04:02  ! lost 1,234 events: the ring buffer was full
//!     00:00:02  12:02:44  + mqtt mosquitto: appeared
//! ```
//! `!` is something that needs attention, `·` a note, `+` something that is well again or begins. The column UTC is left out if the time of
//! day is not known.

use super::panel;
use crate::app::log::{LogLine, lines, sentence};
use crate::app::{App, last_place};
use crate::layout::split_top;
use crate::text;
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use wirelap_correlate::{Reliability, Severity};
use wirelap_history::LogEvent;

/// Draws the log.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let (title, body) = split_top(area, 1);
    let all = lines(app.history().log(), app.filter());
    let (head, body) = split_top(body, u16::from(!all.is_empty()));
    let first = usize::from(app.scroll()).min(last_place(all.len()));
    panel::rule(frame, title, &heading(app, all.len(), first), theme);
    let day = app.wall().map_or("", |_| "UTC       ");
    let head_line = Line::styled(format!(" SINCE START  {day}WHAT"), theme.dim());
    frame.render_widget(head_line, head);
    let mut out: Vec<Line<'_>> = Vec::new();
    if all.is_empty() {
        for part in text::wrap(&why_empty(app), text::columns_left(body.width, 2)) {
            out.push(Line::raw(format!(" {part}")));
        }
    }
    for line in all.iter().skip(first) {
        if out.len() >= usize::from(body.height) {
            break;
        }
        write(&mut out, app, line, (usize::from(body.width), theme));
    }
    panel::lines(frame, body, out, 0);
}

fn heading(app: &App, lines: usize, first: usize) -> String {
    let forgotten = app.history().log().forgotten();
    let mut out = format!("log: {}", text::counted(lines as u64, "line"));
    if first > 0 {
        out = format!("{out}, from line {}", text::exact(first as u64 + 1));
    }
    if !app.filter().is_empty() {
        out = format!("{out} with \"{}\"", text::truncate(app.filter(), 30));
    }
    if forgotten > 0 {
        out = format!("{out}; {} older ones were removed", text::exact(forgotten));
    }
    out
}

fn why_empty(app: &App) -> String {
    if app.history().log().iter().len() > 0 {
        return "No line of the log has this text: / changes it.".into();
    }
    "Nothing has happened yet. Rows that appear or fall silent, processes that end, verdicts that begin and end, and lost events are \
     listed here."
        .into()
}

/// Adds a line with its times, wrapped.
fn write(out: &mut Vec<Line<'_>>, app: &App, line: &LogLine<'_>, (width, theme): (usize, Theme)) {
    let since = text::clock(line.entry.at - app.snapshot().since);
    let day = app.wall().map(|offset| format!("  {}", text::time_of_day(line.entry.at, offset)));
    let (sign, style) = gravity(&line.entry.event, theme);
    let lead = format!(" {}{}  {sign} ", text::right(&since, 11), day.unwrap_or_default());
    let at = text::width(&lead);
    let parts = text::wrap(&sentence(line), text::columns_left(width, at + 1));
    for (index, part) in parts.into_iter().enumerate() {
        let lead = if index == 0 { lead.clone() } else { " ".repeat(at) };
        out.push(Line::styled(format!("{lead}{part}"), style));
    }
}

/// The sign and the style of an entry.
fn gravity(event: &LogEvent, theme: Theme) -> (char, Style) {
    match event {
        LogEvent::RowSilent
        | LogEvent::Host { is_well: false, .. }
        | LogEvent::ProcessGone { .. }
        | LogEvent::VerdictBegan(_, Severity::Problem)
        | LogEvent::EventsLost(_)
        | LogEvent::Trust(Reliability::Reduced | Reliability::Unusable)
        | LogEvent::Overdue(_) => ('!', theme.warning()),
        LogEvent::VerdictBegan(_, Severity::Note)
        | LogEvent::Note(_)
        | LogEvent::RowMuted
        | LogEvent::RowUnmuted => ('·', Style::new()),
        LogEvent::RowAppeared
        | LogEvent::RowSpeaks(_)
        | LogEvent::VerdictEnded(_)
        | LogEvent::Trust(Reliability::Good)
        | LogEvent::Host { is_well: true, .. }
        | LogEvent::NothingOverdue => ('+', theme.heading()),
    }
}
