//! The list of what rows by name can be told apart by.
//!
//! ```text
//! ─ rows by: space chooses, ⏎ shows, d none; the first is the outermost ───────
//! ▶ [1] topic       the topic, subject or key expression
//!   [2] client      the name that a client gives itself
//!   [ ] connection  …
//! ```

use super::panel;
use crate::layout::{split_top, window};
use crate::text;
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use wirelap_correlate::Dimension;

/// Width of a name in the list.
const NAME: usize = 12;

/// Draws the list in place of the body, with the line at a position selected, and the places of what is chosen.
pub fn draw(frame: &mut Frame<'_>, area: Rect, (at, chosen): (usize, &[Dimension]), theme: Theme) {
    let (title, body) = split_top(area, 1);
    let what = "rows by: space chooses, ⏎ shows, d none; the first is the outermost";
    panel::rule(frame, title, what, theme);
    let shown = window(Dimension::ALL.len(), at, usize::from(body.height));
    let width = text::columns_left(body.width, NAME + 8);
    let line = |(index, &dimension): (usize, &Dimension)| {
        let place = chosen.iter().position(|one| *one == dimension);
        let sign = place.map_or_else(|| "[ ] ".to_owned(), |place| format!("[{}] ", place + 1));
        let line = Line::from(vec![
            panel::marker(index == at, theme),
            Span::raw(sign),
            Span::styled(text::left(dimension.name(), NAME), theme.heading()),
            Span::raw(text::truncate(words(dimension), width)),
        ]);
        if index == at { line.style(theme.selected()) } else { line }
    };
    let lines = Dimension::ALL.iter().enumerate().skip(shown.start).take(shown.len()).map(line);
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), body);
}

/// The meaning of a dimension, in a few words.
fn words(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Topic => "the topic, subject or key expression",
        Dimension::Client => "the name that a client gives itself",
        Dimension::Group => "the consumer group, queue group or shared subscription",
        Dimension::Connection => "the connection, by its addresses",
        Dimension::Process => "the process, by its name and number",
        Dimension::Container => "the container, pod or unit of the process",
        Dimension::Host => "the IP address",
        Dimension::Link => "the host that sends and the one that receives, of each leg",
        Dimension::Protocol => "the protocol, or the middleware's name",
        Dimension::Broker => "the broker, or the address that serves",
    }
}
