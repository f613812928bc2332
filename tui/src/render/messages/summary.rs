//! A message in a sentence, as `wirelap explain` says it.

use crate::app::App;
use crate::words;
use wirelap_correlate::snapshot::WorstMessage;
use wirelap_history::KeptMessage;
use wirelap_report::explain::{self, PathNames};
use wirelap_report::{Pacing, RunResult, from_snapshot, why};

/// The selected row as a result, whose processes name the ends of its messages.
pub fn result(app: &App) -> Option<RunResult> {
    Some(from_snapshot::result(app.selected()?, &app.snapshot().trust))
}

/// The steps that took most of a message's time, and what delayed it, as `wirelap explain` says it. Of a message that was not followed
/// from end to end, where it was seen last.
pub fn in_short(message: &KeptMessage, result: &RunResult) -> String {
    let Some(one_way) = message.one_way else { return unfinished(message) };
    let delivery = (*message.delivery).clone();
    let worst = why::ReportedWorstMessage::from(&WorstMessage { delivery, one_way });
    explain::timeline(&worst, &PathNames::of(result, Pacing::Foreign))
}

fn unfinished(message: &KeptMessage) -> String {
    let legs = &message.delivery.legs;
    let seen = legs.last().and_then(|leg| leg.times.seen().next_back());
    let place =
        seen.map(|(stage, _)| format!(", last seen in leg {} at {}", legs.len(), stage.name()));
    format!("{}{}", words::fate(message), place.unwrap_or_default())
}
