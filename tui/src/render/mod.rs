//! Draws an [`App`]; drawing does not change its state.
//!
//! ```text
//! ┌──────────────────────────────────────────────────────────────────────────────┐
//! │ wirelap  00:01:23  PAUSED                        tracer 3.2 % CPU, 48.0 MiB  │ header.rs
//! │ matched 100 % · lost 0 events · traced 100 % of the time · 1.2 M events      │
//! │ ! Lost 12 events because the ring buffer was full (xmit 12); the figures …   │ warnings
//! │ ─ middlewares ─ sorted by P50 ▲ ──────────────────────────────────────────── │ table.rs
//! │   MIDDLEWARE          MSG/S    P50▲     P99     MAX   GAP50   GAP99 OVERHD …  │
//! │ ▶ tcp 127.0.0.1:7    18.2 k 13.1 µs 25.0 µs  1.2 ms 5.10 µs 9.10 µs  +83% …   │
//! │   mqtt mosquitto     2.00 k 48.1 µs  121 µs …                                │
//! │ ─ where the time goes ─ share of the one-way latency ─────────────────────── │ stages.rs
//! │ ▶ tcp 127.0.0.1:7    t   W    k      r             d                  13.1 µs │
//! │   mqtt mosquitto     t  W   k    r      B                 t W  k r d  48.1 µs │
//! │   t socket_tx  W wire  k wakeup  r runqueue  d read  B broker_dwell          │
//! │ ─ tcp 127.0.0.1:7 ────────────────────────────────────────────────────────── │ details.rs
//! │ LEG SEGMENT      P50     P99   SHARE        one-way p50 ▁▂▁▃▁▁▂              │
//! │   1 socket_tx …                             rate        ▇▇▇▆▇▇▇              │
//! │ q quit  ? help  p pause  s sort  ↑↓ select  ⏎ details  w why  r reverse …     │ footer
//! └──────────────────────────────────────────────────────────────────────────────┘
//! ```
//! From 161 columns on, the details are to the right of the table and the bars. The key `w` shows the panel of why.rs in
//! place of the body; on a screen of 40 lines or more it is also below the details.

mod by_name;
mod bytes;
mod columns_list;
mod compare;
mod details;
pub(crate) mod distribution;
mod experiments;
pub(crate) mod footer;
mod grouping;
mod header;
mod help;
mod hosts;
mod ledger;
mod log;
mod messages;
mod page;
pub(crate) mod palette;
mod panel;
mod plot;
mod probes;
mod replay;
pub(crate) mod stages;
pub(crate) mod table;
pub(crate) mod tabs;
mod threads;
mod why;

use crate::app::{App, Overlay, View};
use crate::layout::{self, PanelAreas, ScreenContent};
use crate::theme::Theme;
use crate::{silence, text};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

/// Draws the whole screen.
pub fn screen(frame: &mut Frame<'_>, app: &App, theme: Theme) {
    let area = frame.area();
    if !layout::fits(area) {
        return too_small(frame, area);
    }
    let warnings = warnings(app, area.width);
    let ScreenAreas { panels: areas, body, workloads } = areas_below(app, area, &warnings);
    header::draw(frame, areas.header, app, theme);
    header::draw_warnings(frame, areas.warnings, &warnings, theme);
    tabs::draw(frame, areas.tabs, app, theme);
    footer::draw(frame, areas.footer, app, theme);
    match app.overlay() {
        Some(Overlay::Help) => return help::draw(frame, body, app, theme),
        Some(Overlay::Palette(input)) => return palette::draw(frame, body, app, input, theme),
        Some(Overlay::Columns(at)) => {
            let table = areas.table.unwrap_or(body);
            let fitting = table::TableParts::columns_in(app, table.width);
            return columns_list::draw(frame, body, app, (*at, &fitting), theme);
        }
        Some(Overlay::Grouping(at, chosen)) => {
            return grouping::draw(frame, body, (*at, chosen), theme);
        }
        Some(Overlay::Experiments) => experiments::draw(frame, workloads, app, theme),
        Some(Overlay::Filter(..)) | None => {}
    }
    if app.rows().len() == 0 && app.view().is_of_a_row() {
        return help::draw_nothing(frame, body, app, theme);
    }
    if let Some(area) = areas.table {
        table::draw(frame, area, app, theme);
    }
    if let Some(area) = areas.stages {
        stages::draw(frame, area, app, theme);
    }
    if let Some(area) = areas.details {
        details::draw(frame, area, app, theme);
    }
    if let Some(area) = areas.why {
        why::draw(frame, area, app, theme);
    }
    if let Some(area) = areas.whole {
        whole(frame, area, app, theme);
    }
}

/// The areas of a screen that is large enough.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScreenAreas {
    /// The panels.
    pub panels: PanelAreas,
    /// The area between the tabs and the last line, without the workloads.
    pub body: Rect,
    /// The workloads; empty if they are not shown.
    pub workloads: Rect,
}

/// The areas of the screen, with the warnings that it has now.
pub(crate) fn areas(app: &App, area: Rect) -> ScreenAreas {
    areas_below(app, area, &warnings(app, area.width))
}

fn areas_below(app: &App, area: Rect, warnings: &[Vec<String>]) -> ScreenAreas {
    let content = ScreenContent {
        rows: app.rows().len(),
        warnings: warnings.iter().map(Vec::len).sum(),
        view: app.view(),
    };
    let workloads = if app.shows_experiments() { experiments::lines(area.height) } else { 0 };
    let (inner, below) = layout::split_top(area, area.height - workloads);
    let mut panels = layout::panel_areas(inner, content);
    // The last line of the screen stays the last one.
    let workloads = Rect { y: panels.footer.y, ..below };
    panels.footer.y = area.bottom() - 1;
    let top = panels.tabs.bottom();
    let body = Rect { y: top, height: inner.bottom() - 1 - top, ..area };
    ScreenAreas { panels, body, workloads }
}

/// The warnings, each wrapped into lines.
fn warnings(app: &App, width: u16) -> Vec<Vec<String>> {
    let wrap = |warning: &String| text::wrap(warning, text::columns_left(width, 3));
    silence::warnings(app).iter().map(wrap).collect()
}

/// Draws the view that fills the body alone.
fn whole(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    match app.view() {
        View::Overview | View::Details | View::Why => {}
        View::Compare => compare::draw(frame, area, app, theme),
        View::Distribution => distribution::draw(frame, area, app, theme),
        View::Messages => messages::draw(frame, area, app, theme),
        View::Ledger => bytes::draw(frame, area, app, theme),
        View::Threads => threads::draw(frame, area, app, theme),
        View::Probes => probes::draw(frame, area, app, theme),
        View::Log => log::draw(frame, area, app, theme),
        View::ByName => by_name::draw(frame, area, app, theme),
    }
}

fn too_small(frame: &mut Frame<'_>, area: Rect) {
    let sentence = format!(
        "wirelap needs {}×{} characters; this terminal has {}×{}. Make it larger; q quits.",
        layout::MIN_WIDTH,
        layout::MIN_HEIGHT,
        area.width,
        area.height
    );
    let lines = text::wrap(&sentence, usize::from(area.width));
    frame.render_widget(Paragraph::new(lines.into_iter().map(Line::raw).collect::<Vec<_>>()), area);
}
