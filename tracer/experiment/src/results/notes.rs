//! Notes on the outcome of a trial, one sentence each.

use super::outcome::{groups, is_untraced};
use crate::broker::Broker;
use crate::measure::Outcome;
use wirelap_contract::WorkloadKind;
use wirelap_report::words::{group_notes, snapshot_notes};
use wirelap_session::Sampling;

/// Returns notes on the figures of a trial, a sentence each.
pub fn of(outcome: &Outcome) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let foreign = outcome.trial.about.kind == WorkloadKind::Foreign;
    if foreign {
        notes.push(
            "the messages come from its own programs: they are matched by the protocol's numbers, or by topic and content in order"
                .into(),
        );
    }
    if outcome.trial.sampling != Sampling::Off && !is_untraced(outcome) {
        notes.push(if foreign {
            "msg/s are reported by its own program; counts, times and bytes come from the sampled windows"
                .into()
        } else {
            "counts and msg/s are reported by the workloads; times and bytes come from the sampled windows"
                .into()
        });
    }
    if is_untraced(outcome) {
        notes.push("its figures are reported by its own program: it has no messages that a trace could follow".into());
    }
    if matches!(outcome.trial.broker, Some(Broker::Running(_))) {
        notes.push("the broker was running before: its version and settings are not known".into());
    }
    notes.extend(groups(outcome).flat_map(group_notes));
    notes.extend(snapshot_notes(&outcome.snapshot));
    crate::cases::unique(&notes)
}
