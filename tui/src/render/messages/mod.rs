//! The view of single messages: a list of them, or one of them step by step.
//!
//! | file | what |
//! |---|---|
//! | `list` | the list, and a sentence about the selected message |
//! | `one` | one message: where its parts are drawn |
//! | `bars` | its waterfall: intervals on a time axis |
//! | `axis` | the moments that the time axis names |
//! | `facts` | what is known of it beside its times |
//! | `leg` | what is known of one of its legs |

mod axis;
mod bars;
mod facts;
mod leg;
mod list;
mod one;

use crate::app::App;
use crate::theme::Theme;
use crate::words;
use ratatui::Frame;
use ratatui::layout::Rect;
use wirelap_correlate::snapshot::WorstMessage;
use wirelap_history::Message;
use wirelap_report::explain::{self, Participants};
use wirelap_report::{Pacing, RunResult, from_snapshot, why};

/// Draws the open message, or the list if none is open.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    match app.message() {
        Some(message) => one::draw(frame, area, app, message, theme),
        None => list::draw(frame, area, app, theme),
    }
}

/// The selected row as a result, whose processes name the ends of its messages.
fn result(app: &App) -> Option<RunResult> {
    Some(from_snapshot::result(app.selected()?, &app.snapshot().trust))
}

/// The steps that took most of a message's time, and what delayed it, as `wirelap explain` says it. Of a message that was not followed
/// from end to end, where it was seen last.
fn in_short(message: &Message, result: &RunResult) -> String {
    let Some(one_way) = message.one_way else { return unfinished(message) };
    let delivery = (*message.delivery).clone();
    let worst = why::WorstMessage::from(&WorstMessage { delivery, one_way });
    explain::timeline(&worst, &Participants::of(result, Pacing::Foreign))
}

fn unfinished(message: &Message) -> String {
    let legs = &message.delivery.legs;
    let seen = legs.last().and_then(|leg| leg.times.seen().next_back());
    let place =
        seen.map(|(stage, _)| format!(", last seen in leg {} at {}", legs.len(), stage.name()));
    format!("{}{}", words::fate(message), place.unwrap_or_default())
}
