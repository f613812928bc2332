//! Runs the trials of a plan one after the other, and reports on them.

use crate::hosts::Installations;
use crate::plan::Plan;
use crate::request::Request;
use crate::series::{self, Means};
use crate::summary;
use wirelap_process::{Failure, Outputs, Signals};
use wirelap_report::{Environment, RunReport};

/// The report of a run that has ended, and its failures.
#[derive(Debug)]
pub struct FinishedRun {
    /// The measured results.
    pub report: RunReport,
    /// Why the run ended before its last trial, which trials failed, and which results cannot be used.
    pub failures: Vec<Failure>,
}

/// Runs the trials of a plan until the last one, or until no further one can be measured.
///
/// # Errors
/// No trial could be run.
pub fn run(
    request: &Request,
    plan: &Plan,
    installations: &Installations,
    outputs: &Outputs,
    signals: &Signals,
    environment: Environment,
) -> Result<FinishedRun, Failure> {
    let means = Means { installations, outputs, signals, environment: &environment };
    let measured = series::measure(request, plan, means);
    if measured.outcomes.is_empty()
        && let Some(failure) = measured.failure
    {
        return Err(failure);
    }
    let report = summary::report(request, plan, environment, &measured);
    let failures = summary::failures(&measured, &report);
    Ok(FinishedRun { report, failures })
}
