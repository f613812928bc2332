//! The view "by name": rows by topic, client and so on, and the subscribers that are behind.
//!
//! ```text
//! ─ by topic, client: 256 of 12,345 rows, since start, sorted by messages ─────
//!   TOPIC           CLIENT             SENT DELIVERED     P50     P99     MAX
//! ▶ sensors/a       logger-1              –    12,345  48.1 µs  121 µs  3.4 ms
//!   sensors/a       plc-7            12,345         –        –       –       –  muted
//!   the rest: 12,089 rows            45,210    99,120   …
//!  topic sensors/a, client logger-1                              of the selected
//! ─ slow subscribers: 1 behind now, 1 in all ──────────────────────────────────
//!  SUBSCRIBER      TOPIC          WHEN  BEHIND  OLDEST HELD UP BY
//!  logger-1        sensors/a       now   1,234   5.0 s subscriber
//! ```

mod behind;
mod columns;
mod table;
mod title;

use super::panel;
use crate::app::App;
use crate::layout::{count, split_bottom, split_top};
use crate::text;
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use wirelap_correlate::snapshot::{Breakdown, BreakdownRow, MutedExtent};

/// Lines of the selected row's names at most.
const NAMES: u16 = 3;

/// Draws the view.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let behind = behind::lines(app, area.height);
    let (area, below) = split_bottom(area, behind);
    behind::draw(frame, below, app, theme);
    let (title, body) = split_top(area, 1);
    let Some(shown) = app.breakdown() else {
        panel::rule(frame, title, "rows by name", theme);
        return sentences(frame, body, &title::nothing(app));
    };
    let rows = app.breakdown_rows();
    panel::rule(frame, title, &title::title(app, shown, rows.len()), theme);
    if rows.is_empty() {
        return sentences(frame, body, &[title::no_rows(app, shown)]);
    }
    let selected = app.breakdown_position(rows.len());
    let names = names(shown, rows.get(selected).copied(), body);
    let (table, below) = split_bottom(body, count(names.len()));
    table::draw(frame, table, (shown, &rows, selected), app.breakdown_query().order, theme);
    let names = names.into_iter().map(|line| Line::styled(line, theme.dim())).collect();
    panel::lines(frame, below, names, 0);
}

/// The selected row's names in full, if the table may have cut them, and what its mark means.
fn names(shown: &Breakdown, row: Option<&BreakdownRow>, area: Rect) -> Vec<String> {
    let Some(row) = row.filter(|_| area.height > 8) else { return Vec::new() };
    let named = shown.by.iter().zip(&row.names);
    let named = named.map(|(by, name)| format!("{} {}", by.name(), table::name(name.as_deref())));
    let all = named.collect::<Vec<_>>().join(", ");
    let width = text::columns_left(area.width, 2);
    let mut lines = cut(&all, width);
    if lines.len() > usize::from(NAMES) {
        lines.truncate(usize::from(NAMES));
        if let Some(last) = lines.last_mut() {
            *last = text::truncate(&format!("{last}……"), width);
        }
    }
    lines.extend(muted(row.muted).map(str::to_owned));
    lines.into_iter().map(|line| format!(" {line}")).collect()
}

/// The meaning of a row's mark; `None` without a mark.
fn muted(extent: MutedExtent) -> Option<&'static str> {
    match extent {
        MutedExtent::None => None,
        MutedExtent::Part => Some("muted in part: it counts only what is of other rows"),
        MutedExtent::Whole => Some("muted: these are its figures of before"),
    }
}

/// A text in lines, cut wherever they are full: a name has no spaces.
fn cut(all: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for c in text::clean(all).chars() {
        let wide = text::width(c.encode_utf8(&mut [0; 4]));
        if used + wide > width {
            lines.push(String::new());
            used = 0;
        }
        used += wide;
        if let Some(line) = lines.last_mut() {
            line.push(c);
        }
    }
    lines
}

fn sentences(frame: &mut Frame<'_>, area: Rect, sentences: &[String]) {
    let mut lines = vec![Line::default()];
    for sentence in sentences {
        let parts = text::wrap(sentence, text::columns_left(area.width, 4));
        lines.extend(parts.into_iter().map(|part| Line::raw(format!("  {part}"))));
    }
    panel::lines(frame, area, lines, 0);
}
