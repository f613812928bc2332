//! Runs the trials of a plan one after the other, and reports on them.

use crate::plan::Plan;
use crate::request::RunRequest;
use crate::results::Results;
use crate::resume;
use crate::series::{self, MeasuredSeries, RunResources};
use crate::summary;
use wirelap_process::Failure;
use wirelap_report::{Environment, MachineKey, RunReport};

/// The report of a run that has ended, and its failures.
#[derive(Debug)]
pub struct FinishedRun {
    /// The measured results.
    pub report: RunReport,
    /// Why the run ended before its last trial, which trials failed, and which results cannot be used.
    pub failures: Vec<Failure>,
}

/// Takes the report of what has been measured so far.
pub type Save<'a> = dyn FnMut(&RunReport) + 'a;

/// Runs the trials of a plan until the last one, or until no further one can be measured. `save` gets the report after each
/// trial, before the next one begins.
///
/// # Errors
/// No trial could be run, or the run that was to be resumed is another.
pub fn run(
    request: &RunRequest,
    plan: &Plan,
    means: RunResources<'_>,
    environment: Environment,
    mut save: Option<&mut Save<'_>>,
) -> Result<FinishedRun, Failure> {
    let earlier = means.earlier;
    let scenario = summary::scenario(request, plan, &[]);
    let key = MachineKey::of(&environment, &scenario.pin);
    if let Some(earlier) = earlier {
        earlier.check(plan, (&scenario, &key), &environment)?;
    }
    let environment = resume::environment(earlier, environment);
    let mut results = Results::default();
    let mut save_records = |measured: &MeasuredSeries, results: &mut Results| {
        if let Some(save) = &mut save {
            save(&summary::report(request, plan, (&environment, &key), measured, results));
        }
    };
    let measured =
        series::measure(request, plan, means, &environment, &mut results, &mut save_records);
    if measured.records.is_empty()
        && let Some(failure) = measured.failure
    {
        return Err(failure);
    }
    let report = summary::report(request, plan, (&environment, &key), &measured, &mut results);
    let failures = summary::failures(&measured, &report);
    Ok(FinishedRun { report, failures })
}
