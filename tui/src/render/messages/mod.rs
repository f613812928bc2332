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
//! | `summary` | its sentence, as `wirelap explain` says it |

mod axis;
mod bars;
mod facts;
mod leg;
mod list;
mod one;
mod summary;

use crate::app::App;
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;

/// Draws the open message, or the list if none is open.
pub fn draw(frame: &mut Frame<'_>, area: Rect, app: &App, theme: Theme) {
    match app.message() {
        Some(message) => one::draw(frame, area, app, message, theme),
        None => list::draw(frame, area, app, theme),
    }
}
