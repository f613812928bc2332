//! Measures what tracing costs the workload of a trial whose result has no such figure: in a run of its own, whose messages are in no
//! other figure.

use crate::context::TrialContext;
use crate::measure;
use crate::trial::Trial;
use std::time::Duration;
use wirelap_process::Failure;
use wirelap_report::{CostUnknown, Repetition, ReportedTracerCost, Slowdown};
use wirelap_session::{AttachLater, Sampling};

/// Time for which messages are sent before the turns.
const BEFORE: Duration = Duration::from_secs(1);

/// The cost of tracing for the workload of a trial, or why it is not known; `None` if it cannot be measured. `later` tells whether probes are attached again
/// after this.
///
/// # Errors
/// The probes cannot be attached, a program cannot be started, or the user has stopped the run.
pub fn measure(
    context: &TrialContext<'_>,
    trial: &Trial,
    later: AttachLater,
) -> Result<Option<Result<Slowdown, CostUnknown>>, Failure> {
    let settings = wirelap_session::SessionSettings { later, ..context.settings.clone() };
    let context =
        TrialContext { costs: true, recording: None, samples: None, settings, ..context.clone() };
    let outcome = measure::run(&context, trial)?;
    if let Some(signal) = outcome.interrupted {
        let text = format!("stopped by {signal} while the cost of tracing was measured");
        return Err(Failure::Measured(text));
    }
    if let Some(failure @ Failure::Machine(_)) = outcome.error {
        return Err(failure);
    }
    outcome.cost.transpose()
}

/// Puts the cost into the figures of a repetition.
pub fn tell(cost: Option<Result<Slowdown, CostUnknown>>, tracer: &mut ReportedTracerCost) {
    tracer.slowdown = cost.and_then(Result::ok);
    tracer.slowdown_unknown = cost.and_then(Result::err);
}

/// The trial with the same workload that lasts a moment before the turns. `None` for a trial that did not reach its end.
pub fn repeated(trial: &Trial, ran: &Repetition) -> Option<Trial> {
    let is_whole = ran.error.is_none() && ran.interrupted.is_none();
    is_whole.then(|| Trial {
        messages: None,
        duration: Some(BEFORE),
        idle: Duration::ZERO,
        sampling: Sampling::Off,
        ..trial.clone()
    })
}
