//! The choice of the message whose threads the view of the threads shows.

use super::command::{Motion, last_place, step_to};
use wirelap_correlate::snapshot::Group;
use wirelap_events::Delivery;
use wirelap_history::SessionHistory;

/// The most messages that can be chosen: as many as the history keeps of a row, or more.
const MESSAGES: usize = 512;

/// The choice of the message whose threads are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadsState {
    /// The place among the slowest messages of the row, 0 for the slowest.
    message: usize,
}

impl ThreadsState {
    /// Shows the next faster or the next slower message.
    pub fn go(&mut self, motion: Motion, messages: usize) {
        self.message = match motion {
            Motion::Left => step_to(self.message(messages), -1, messages),
            Motion::Right => step_to(self.message, 1, messages),
            _ => self.message,
        };
    }

    /// The place of the shown message among so many, 0 for the slowest.
    pub fn message(self, messages: usize) -> usize {
        self.message.min(last_place(messages))
    }
}

/// The slowest messages of a row that were kept, the slowest first: those of the history, or, where only snapshots are known, those of
/// the verdicts.
pub fn slowest<'a>(history: &'a SessionHistory, group: &'a Group) -> Vec<&'a Delivery> {
    let kept = history.messages().slowest(group.id).map(|message| message.delivery.as_ref());
    let kept: Vec<&Delivery> = kept.take(MESSAGES).collect();
    if kept.is_empty() {
        return group.why.worst.iter().map(|worst| &worst.delivery).collect();
    }
    kept
}
