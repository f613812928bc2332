//! The subscribers that are behind, below the rows by name.

use crate::app::App;
use crate::layout::{count, split_top};
use crate::render::panel;
use crate::text;
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use wirelap_correlate::snapshot::{LagHolder, SlowSubscriber};
use wirelap_report::HeldUpBy;

/// From this width on, where the messages are is shown.
const PLACES_FROM: usize = 110;
/// Widths of the figures: when, how many messages, the age of the oldest.
const FIGURES: [usize; 3] = [8, 7, 7];
/// Width of a number of messages in one place.
const PLACE: usize = 7;
/// Width of who holds them up.
const HOLDER: usize = 10;

/// The lines that they take of so many; 0 if nobody is or was behind.
pub fn lines(app: &App, height: u16) -> u16 {
    match app.snapshot().slow.listed.len() {
        0 => 0,
        listed => count(listed + 2).min((height / 3).max(3)).min(height),
    }
}

/// Draws title, headings and as many as fit.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    let slow = &app.snapshot().slow;
    let all = (slow.listed.len() as u64).saturating_add(slow.more);
    if all == 0 || area.height == 0 {
        return;
    }
    let (title, body) = split_top(area, 1);
    let (head, body) = split_top(body, 1);
    let behind = text::exact(slow.behind);
    let what = format!("slow subscribers: {behind} behind now, {} in all", text::exact(all));
    panel::rule(frame, title, &what, theme);
    let width = usize::from(body.width);
    let headings =
        ["SUBSCRIBER", "TOPIC", "WHEN", "BEHIND", "OLDEST", "UNREAD", "NETWORK", "UNSENT"];
    let head_line = laid_out(width, &headings.map(String::from), "HELD UP BY");
    frame.render_widget(Line::styled(head_line, theme.dim()), head);
    let shown = slow.listed.iter().take(usize::from(body.height));
    let shown = shown.map(|one| {
        let style = if one.now.is_some() { theme.warning() } else { theme.dim() };
        Line::styled(line(app, one, width), style)
    });
    panel::lines(frame, body, shown.collect(), 0);
}

fn line(app: &App, one: &SlowSubscriber, width: usize) -> String {
    let (when, lag) = match one.now {
        Some(lag) => ("now".to_owned(), lag),
        None => (text::clock(one.most_at - app.snapshot().since), one.most),
    };
    let name = one.client.clone().or_else(|| one.process.clone());
    let count = |count: u64| match count {
        0 => text::NONE.to_owned(),
        count => text::exact_in(count, PLACE),
    };
    let cells = [
        name.unwrap_or_else(|| one.address.to_string()),
        one.topic.clone().unwrap_or_else(|| "unknown".into()),
        when,
        count(lag.messages()),
        text::time(lag.oldest),
        count(lag.unread),
        count(lag.in_network),
        count(lag.unsent),
    ];
    laid_out(width, &cells, holder(lag.holder))
}

fn holder(holder: LagHolder) -> &'static str {
    HeldUpBy::from(holder).name()
}

/// Two names, the figures, and who holds the messages up, in so many columns.
fn laid_out(width: usize, cells: &[String; 8], holder: &str) -> String {
    let [subscriber, topic, when, behind, oldest, places @ ..] = cells;
    let places: &[String] = if width >= PLACES_FROM { places } else { &[] };
    let figures: usize = FIGURES.iter().map(|width| width + 1).sum();
    let used = 2 + figures + places.len() * (PLACE + 1) + 1 + HOLDER;
    let name = (text::columns_left(width, used) / 2).max(2) - 1;
    let mut line = format!(" {} {}", text::left(subscriber, name), text::left(topic, name));
    for (cell, width) in [when, behind, oldest].into_iter().zip(FIGURES) {
        line += " ";
        line += &text::right(cell, width);
    }
    for cell in places {
        line += " ";
        line += &text::right(cell, PLACE);
    }
    format!("{line} {}", text::left(holder, HOLDER))
}
