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

mod compare;
mod details;
mod distribution;
mod experiments;
mod footer;
mod header;
mod help;
mod ledger;
mod palette;
mod panel;
mod plot;
mod replay;
mod stages;
mod table;
mod tabs;
mod why;

use crate::app::{App, Overlay, View};
use crate::layout::{self, ScreenContent};
use crate::theme::Theme;
use crate::{text, words};
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
    let warnings: Vec<Vec<String>> = words::all_warnings(app)
        .iter()
        .map(|warning| text::wrap(warning, usize::from(area.width).saturating_sub(3)))
        .collect();
    let content = ScreenContent {
        rows: app.rows().len(),
        warnings: warnings.iter().map(Vec::len).sum(),
        view: app.view(),
    };
    let workloads = if app.shows_experiments() { experiments::lines(area.height) } else { 0 };
    let (inner, below) = layout::split_top(area, area.height - workloads);
    let mut areas = layout::panel_areas(inner, content);
    // The last line of the screen stays the last one.
    let workloads = Rect { y: areas.footer.y, ..below };
    areas.footer.y = area.bottom() - 1;
    header::draw(frame, areas.header, app, theme);
    header::draw_warnings(frame, areas.warnings, &warnings, theme);
    tabs::draw(frame, areas.tabs, app, theme);
    footer::draw(frame, areas.footer, app, theme);
    let top = areas.tabs.bottom();
    let body = Rect { y: top, height: inner.bottom() - 1 - top, ..area };
    match app.overlay() {
        Some(Overlay::Help) => return help::draw(frame, body, app, theme),
        Some(Overlay::Palette(input)) => return palette::draw(frame, body, app, input, theme),
        Some(Overlay::Experiments) => experiments::draw(frame, workloads, app, theme),
        Some(Overlay::Filter(..)) | None => {}
    }
    if app.rows().len() == 0 && app.view().is_of_a_row() {
        return help::draw_nothing_yet(frame, body, app, theme);
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

/// Draws the view that fills the body alone.
fn whole(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    match app.view() {
        View::Overview | View::Details | View::Why => {}
        View::Distribution => distribution::draw(frame, area, app, theme),
        View::Compare => compare::draw(frame, area, app, theme),
        View::Messages | View::Ledger | View::Threads | View::Probes | View::Log => {
            details::draw(frame, area, app, theme);
        }
    }
}

fn too_small(frame: &mut Frame<'_>, area: Rect) {
    let sentence = format!(
        "wirelap needs {}×{} characters; this terminal has {}×{}. q quits.",
        layout::MIN_WIDTH,
        layout::MIN_HEIGHT,
        area.width,
        area.height
    );
    let lines = text::wrap(&sentence, usize::from(area.width));
    frame.render_widget(Paragraph::new(lines.into_iter().map(Line::raw).collect::<Vec<_>>()), area);
}
