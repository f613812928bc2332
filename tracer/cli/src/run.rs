//! `wirelap run`: one trial after the other, then a table and JSON.

use crate::args::RunArgs;
use crate::json::Json;
use std::process::ExitCode;
use std::sync::Arc;
use wirelap_experiment::{Catalogue, Ended, Installation, Request, plan, run as run_all};
use wirelap_process::steward::{Duty, Steward};
use wirelap_process::{Failure, Outputs, catch_signals, rights};
use wirelap_report::{RunReport, table};
use wirelap_session::{environment, preflight};

/// Runs everything and reports.
///
/// # Errors
/// Nothing could be measured, or the results could not be written.
pub fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    let steward = Steward::start(Duty::Workloads)?;
    let outputs = Outputs::new(args.force, Some(Arc::clone(&steward)));
    let json = Json::open(args.json.as_deref(), &outputs)?;
    preflight()?;
    let request = Request::from(args);
    let installation = Installation::open(steward, &args.workload.programs.variables())?;
    let plan = plan(&request, &Catalogue::ask(&installation)?)?;
    if let Some(path) = &args.pcapng {
        outputs.allow(path, plan.trials.len() > 1)?;
    }
    outputs.seal()?;
    rights::confine_tracer();
    let signals = catch_signals()?;
    let environment = environment::describe(plan.seed);
    let Ended { report, failures } =
        run_all(&request, &plan, &installation, &outputs, &signals, environment)?;
    let written = json.write(&report, &told(&report, args.explain));
    let failures = failures.into_iter().chain(written.err());
    Failure::all(failures).map_or(Ok(ExitCode::SUCCESS), Err)
}

/// The report for people: the table with a few lines on each result, or with a page.
fn told(report: &RunReport, explain: bool) -> String {
    if explain { table::explained(report) } else { table::render(report) }
}
