//! Record of a trial that was run: its repetition as in the report, and what the report has of several trials together.

use super::outcome::{is_partial, messages};
use super::repetition;
use crate::measure::Outcome;
use crate::trial::Trial;
use std::collections::BTreeMap;
use wirelap_contract::WorkloadKind;
use wirelap_correlate::{Evidence, WorkloadCounts};
use wirelap_process::Failure;
use wirelap_report::{Hook, MessageCounts, ObservedHost, Repetition};

/// A trial that was run, now or before the run was resumed.
#[derive(Debug)]
pub struct TrialRecord {
    /// The trial.
    pub trial: Trial,
    /// The trial's figures.
    pub repetition: Repetition,
    /// Why it failed; `None` if it did not.
    pub error: Option<Failure>,
    /// True if the failure also concerns all further trials.
    pub ends_run: bool,
    /// The evidence for the causes of the messages' latency; `None` for a trial before the run was resumed.
    pub evidence: Option<Evidence>,
    /// The hooks that were used.
    pub hooks: Vec<Hook>,
    /// The hosts that were observed, if they were several.
    pub hosts: Vec<ObservedHost>,
    /// Versions of libraries and brokers by name, as the processes reported them.
    pub versions: BTreeMap<String, String>,
    /// Settings by `ROLE.NAME`, as the processes reported them.
    pub settings: BTreeMap<String, String>,
}

impl TrialRecord {
    /// The record of an outcome at its `position` in the order of the run, from 1.
    pub fn of(position: u32, outcome: Outcome) -> TrialRecord {
        let repetition = repetition::of(position, &outcome);
        let evidence = evidence(&outcome);
        let hosts = outcome.snapshot.hosts.iter().map(ObservedHost::from).collect();
        let Outcome { trial, error, ends_run, hooks, versions, settings, .. } = outcome;
        let evidence = Some(evidence);
        TrialRecord {
            trial,
            repetition,
            error,
            ends_run,
            evidence,
            hooks,
            hosts,
            versions,
            settings,
        }
    }

    /// True if the trial did not reach its end.
    pub fn is_partial(&self) -> bool {
        self.error.is_some() || self.repetition.interrupted.is_some()
    }

    /// True if the middleware has no messages that a trace could follow.
    pub fn is_untraced(&self) -> bool {
        self.trial.about.kind == WorkloadKind::Untraced
    }
}

/// The evidence of a trial, with the counts that the workloads reported.
fn evidence(outcome: &Outcome) -> Evidence {
    let mut evidence = outcome.evidence.clone();
    if outcome.trial.about.kind == WorkloadKind::Stamped && !is_partial(outcome) {
        let messages = messages(outcome);
        let MessageCounts { sent, delivered, .. } = messages;
        evidence.tell(WorkloadCounts { sent, due: messages.expected(), delivered });
    }
    evidence
}
