//! The view "threads": how the threads of the selected row were scheduled, who had the CPU while they waited, and on which CPU each
//! thread of a message ran.
//!
//! ```text
//! ─ threads since start: mqtt mosquitto 127.0.0.1:1883 ────────────────────────
//!  message 1 of 12, the slowest first (← →): 3.44 ms
//!  path  tW…                                                    the stages
//!  CPU 0 AA                                                     lanes.rs
//!  CPU 1 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxBB
//!        0 ns                                           3.44 ms
//!  A  publisher (4020): sends
//!  B  mosquitto (4021): waited 3.42 ms for a CPU, then ran
//!  x  stress-ng-cpu (991): had the CPU for 3.41 ms while B waited
//!
//!  processes                                                    processes.rs
//!  ROLE       PROCESS              CPU   MEMORY  WAIT50  WAIT99     MAX  PREEMPT
//!  publisher  wirelap-wo (4020) 21.0 %  9.00 MiB 6.20 µs 16.1 µs 440 µs       12
//!
//!  who had the CPU while others waited for it                   waits.rs
//!     1.50 s  ██████████  stress-ng-cpu (991), 3,988 waits
//! ```
//! From 160 columns on, processes and waits are to the right of the lanes.

mod lanes;
mod message;
mod processes;
mod waits;

use super::page::{self, Page};
use crate::app::{App, threads};
use crate::columns;
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use wirelap_correlate::snapshot::Group;

/// Least width of processes and waits beside the lanes, in columns.
const PROCESSES_WIDTH: u16 = 80;
/// Least width of lanes with processes beside them, in columns.
const LANES_WIDTH: u16 = 78;
/// The most messages that are drawn below each other.
const MESSAGES: usize = 4;

/// Draws the view of the selected row.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let Some(group) = app.selected() else { return };
    let title = format!("threads since start: {}", columns::name(group));
    let beside =
        page::widths(area, LANES_WIDTH.max(area.width.saturating_sub(110)), PROCESSES_WIDTH);
    let [left, right] = beside.unwrap_or([area.width; 2]);
    let (mut lanes, mut rest) = (Page::new(left, theme), Page::new(right, theme));
    messages(&mut lanes, app, group, usize::from(area.height));
    processes::write(&mut rest, group);
    waits::write(&mut rest, group, app);
    if beside.is_some() {
        return page::beside(frame, area, &title, [lanes, rest], app.scroll());
    }
    lanes.lines.push(ratatui::text::Line::default());
    lanes.lines.append(&mut rest.lines);
    page::one(frame, area, &title, lanes, app.scroll());
}

/// The chosen message, and the next ones as far as there is room.
fn messages(page: &mut Page, app: &App, group: &Group, height: usize) {
    let slowest = threads::slowest(app.history(), group);
    if slowest.is_empty() {
        return page.sentence(
            "No message was followed from end to end yet: as soon as one is, this is where and when its threads ran.",
        );
    }
    let first = app.threads().message(slowest.len());
    for (at, delivery) in slowest.iter().enumerate().skip(first).take(MESSAGES) {
        if at > first && page.lines.len() + 8 > height {
            break;
        }
        message::write(page, app, delivery, (at, slowest.len()));
    }
}
