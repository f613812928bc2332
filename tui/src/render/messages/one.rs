//! One message: its waterfall, and what is known of it: beside the waterfall on a wide screen, otherwise below.
//!
//! ```text
//! ─ #41 of mqtt mosquitto 127.0.0.1:1883: 3.47 ms ─────────────────────────────
//!   LEG SEGMENT          TIME  0 ns       1.00 ms    2.00 ms      THREAD
//! ▶ 1 t socket_tx     2.70 µs  tt         ┊          ┊
//!   …
//! in short  the broker waits for a CPU 3.40 ms (leg 1 runqueue); …
//! message   number 41 in stream 0, 64 B on topic sensors/a
//! ```

use super::{bars, facts};
use crate::app::App;
use crate::layout::split_top;
use crate::render::panel;
use crate::theme::Theme;
use crate::{columns, text, words};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use wirelap_history::KeptMessage;

/// From this width on, the facts are to the right of the waterfall.
const BESIDE_FROM: u16 = 150;

/// Draws the message.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, message: &KeptMessage, theme: Theme) {
    let (title, body) = split_top(area, 1);
    let facts_width = if body.width >= BESIDE_FROM { body.width * 2 / 5 } else { body.width };
    let mut facts = facts::lines(app, message, facts_width, theme);
    let heading = heading(app, message);
    if facts_width == body.width {
        let mut lines = bars::lines(app, message, body.width, theme);
        lines.push(Line::default());
        lines.append(&mut facts);
        panel::rule(frame, title, &panel::scroll_title(&heading, lines.len(), body), theme);
        return panel::lines(frame, body, lines, app.scroll());
    }
    let left = Rect { width: body.width - facts_width - 1, ..body };
    let right = Rect { x: body.right() - facts_width, width: facts_width, ..body };
    let bars = bars::lines(app, message, left.width, theme);
    let longest = bars.len().max(facts.len());
    panel::rule(frame, title, &panel::scroll_title(&heading, longest, body), theme);
    panel::lines(frame, left, bars, app.scroll());
    panel::lines(frame, right, facts, app.scroll());
}

fn heading(app: &App, message: &KeptMessage) -> String {
    let number = text::message_number(&message.delivery);
    let row = app.selected().map(columns::name).unwrap_or_default();
    let time = match message.one_way {
        Some(time) => text::time_within(time, message.delivery.clock_error),
        None => words::fate(message).to_owned(),
    };
    format!("{number} of {row}: {time}")
}
