//! The table's title: which rows, of what time, in which order.

use super::parts::TableParts;
use crate::app::App;
use crate::columns::Column;
use crate::text;
use wirelap_events::Nanos;
use wirelap_history::FigureWindow;

/// A window that is shorter than its name says by more than this is said to be.
const SLACK: Nanos = Nanos::from_millis(600);

/// `middlewares, last 10 s, by P50 ▲; since start: OVERHD WHY`, or with a filter `3 of 12 rows match “mqtt” (Esc: all), …`.
pub fn title(app: &App, parts: &TableParts) -> String {
    let mut title = format!("{}, {}", rows(app, parts.rows.len()), time(app));
    if let Some(column) = app.sort().by {
        title = format!("{title}, by {} {}", column.title(), arrow(app));
    }
    for other in ["last second", "since start"] {
        let of = |column: &&Column| column.other_time(app.window()) == Some(other);
        let columns: Vec<&str> = parts.columns.iter().filter(of).map(|c| c.title()).collect();
        if !columns.is_empty() {
            title = format!("{title}; {other}: {}", columns.join(" "));
        }
    }
    let all = app.columns();
    let missing = all.shown().len().saturating_sub(parts.columns.len());
    if missing > 0 && !all.is_usual() {
        title = format!("{title}; {} (c) have no room", text::counted(missing as u64, "column"));
    }
    title
}

fn rows(app: &App, shown: usize) -> String {
    let (rows, all) = (app.rows().len(), app.unfiltered_rows());
    if !app.filter().is_empty() {
        return format!("{rows} of {all} rows match “{}” (Esc: all)", app.filter());
    }
    if shown < rows { format!("middlewares ({shown} of {rows})") } else { "middlewares".into() }
}

/// The window, and how long it is yet if it is shorter than its name says.
fn time(app: &App) -> String {
    let window = app.window();
    let (from, to) = app.history().extent(window);
    let so_far = match window {
        FigureWindow::SinceMark if app.history().marked().is_none() => {
            Some("no mark yet: m".to_owned())
        }
        FigureWindow::SinceMark => Some(text::time(to - from)),
        _ => window
            .length()
            .filter(|length| to - from + SLACK < *length)
            .map(|_| format!("{} so far", text::time(to - from))),
    };
    match so_far {
        Some(so_far) => format!("{} ({so_far})", window.name()),
        None => window.name().into(),
    }
}

/// The sign of the order.
pub(super) fn arrow(app: &App) -> char {
    if app.sort().descends() { '▼' } else { '▲' }
}
