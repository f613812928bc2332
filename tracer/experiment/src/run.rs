//! Runs the trials of a plan one after the other, and reports on them.

use crate::cost;
use crate::measure::{self, Context, Outcome};
use crate::pacing::Pacing;
use crate::plan::{self, Plan};
use crate::processes::WorkloadInstallation;
use crate::progress::Progress;
use crate::request::{Measure, Request};
use crate::results;
use crate::trial::Trial;
use std::path::PathBuf;
use wirelap_capture::Datagrams;
use wirelap_contract::LinkTransport;
use wirelap_events::Pid;
use wirelap_process::{Failure, Outputs, Signals};
use wirelap_report::{Environment, Reliability, RunKind, RunReport, RunResult, Scenario};
use wirelap_session::{AttachLater, SessionSettings, ring_bytes};

/// The report of a run that has ended, and its failures.
#[derive(Debug)]
pub struct FinishedRun {
    /// The measured results.
    pub report: RunReport,
    /// Why the run ended before its last trial, and which results cannot be used.
    pub failures: Vec<Failure>,
}

/// Runs the trials of a plan until the last one or a failure.
///
/// # Errors
/// No trial could be measured.
pub fn run(
    request: &Request,
    plan: &Plan,
    installation: &WorkloadInstallation,
    outputs: &Outputs,
    signals: &Signals,
    environment: Environment,
) -> Result<FinishedRun, Failure> {
    let Measured { outcomes, failure } =
        measure(request, plan, installation, outputs, signals, &environment);
    let failure = match failure {
        Some(failure) if outcomes.is_empty() => return Err(failure),
        failure => failure,
    };
    let mut report = report(request, plan, environment, &outcomes);
    if let Some(failure) = &failure {
        let (ran, planned) = (outcomes.len(), plan.trials.len());
        report.notes.push(format!("ended after {ran} of {planned} trials: {failure}"));
    }
    let problem = trial_failure(&outcomes, plan.trials.len()).or_else(|| unusable_results(&report));
    let failures = failure.into_iter().chain(problem.map(Failure::Measured)).collect();
    Ok(FinishedRun { report, failures })
}

/// The outcomes of the trials that were run, and the failure that ended the run early.
struct Measured {
    outcomes: Vec<Outcome>,
    failure: Option<Failure>,
}

fn measure(
    request: &Request,
    plan: &Plan,
    installation: &WorkloadInstallation,
    outputs: &Outputs,
    signals: &Signals,
    environment: &Environment,
) -> Measured {
    let progress = Progress::new(plan.trials.len());
    let (mut outcomes, mut failure) = (Vec::new(), None);
    for (number, trial) in (1..).zip(&plan.trials) {
        progress.begin(number, &trial.title());
        let is_measured = request.measure_cost && trial.repetition == 1;
        let is_last = number == plan.trials.len();
        let later = if is_last && !is_measured {
            AttachLater::Nothing
        } else {
            AttachLater::AnotherSession
        };
        let context = Context {
            installation,
            outputs,
            signals,
            settings: settings(request, trial, later),
            progress: &progress,
            recording: recording(request, plan.trials.len(), number),
            environment,
            phase: None,
        };
        let mut outcome = match measure::run(&context, trial) {
            Ok(outcome) => outcome,
            Err(failed) => {
                failure = Some(failed);
                break;
            }
        };
        if is_measured {
            let later = if is_last { AttachLater::Nothing } else { AttachLater::AnotherSession };
            match cost::measure(&context, &outcome, later) {
                Ok(slowdown) => outcome.slowdown = slowdown,
                Err(failed) => failure = Some(failed),
            }
        }
        let stop = outcome.interrupted.is_some() || failure.is_some();
        outcomes.push(outcome);
        if stop {
            break;
        }
    }
    Measured { outcomes, failure }
}

/// The file that trial `number` is recorded in: several trials have a numbered file each.
fn recording(request: &Request, trials: usize, number: usize) -> Option<PathBuf> {
    let path = request.recording.as_ref()?;
    Some(if trials > 1 { wirelap_recording::numbered(path, number as u64) } else { path.clone() })
}

/// The settings of a trial's tracing session: it traces the workload processes and their ports, and nothing else.
fn settings(request: &Request, trial: &Trial, later: AttachLater) -> SessionSettings {
    SessionSettings {
        capture: wirelap_capture::Config {
            pids: vec![Pid(std::process::id())],
            snap_bytes: request.snap_bytes.min(65_536),
            ring_bytes: ring_bytes(request.ring_bytes),
            datagrams: match trial.transport() {
                Some(LinkTransport::Udp) => Datagrams::Always,
                Some(LinkTransport::Tcp) | None => Datagrams::Never,
            },
            ..wirelap_capture::Config::default()
        },
        decode: Vec::new(),
        later,
        alternates: false,
        drain: true,
        publish: false,
    }
}

fn report(
    request: &Request,
    plan: &Plan,
    mut environment: Environment,
    outcomes: &[Outcome],
) -> RunReport {
    for outcome in outcomes {
        let name = outcome.trial.name();
        let versions = environment.versions.entry(name.to_owned()).or_default();
        versions.extend(outcome.versions.clone());
        let settings = environment.settings.entry(name.to_owned()).or_default();
        settings.extend(outcome.settings.clone());
    }
    let sizes = plan::unique(&request.payload);
    let order: Vec<_> = plan
        .middlewares
        .iter()
        .flat_map(|name| sizes.iter().map(move |&size| (name.clone(), size)))
        .collect();
    let done = outcomes.iter().filter(|outcome| !results::is_partial(outcome)).count();
    let results = results::pool(outcomes, &order);
    RunReport {
        schema: wirelap_report::run::RUN_SCHEMA.to_owned(),
        partial: done < plan.trials.len() || results.iter().any(|result| result.partial),
        environment,
        scenario: scenario(request, plan),
        results,
        hooks: outcomes.first().map(|outcome| outcome.hooks.clone()).unwrap_or_default(),
        skipped: plan.skipped.clone(),
        notes: notes(outcomes, plan.trials.len()),
        unknown: wirelap_report::Unknown::default(),
    }
}

fn scenario(request: &Request, plan: &Plan) -> Scenario {
    let first = &plan.trials[0];
    let roles = ["sender", "receiver", "broker"];
    let pin = match request.workloads.pin.as_slice() {
        [only] => roles.iter().map(|role| ((*role).to_owned(), *only)).collect(),
        cpus => roles.iter().zip(cpus).map(|(role, cpu)| ((*role).to_owned(), *cpu)).collect(),
    };
    Scenario {
        kind: match request.measure {
            Measure::Latency => RunKind::Latency,
            Measure::Throughput => RunKind::Throughput,
        },
        pacing: match first.pacing {
            Pacing::PingPong => wirelap_report::Pacing::PingPong,
            Pacing::Rate(_) => wirelap_report::Pacing::Rate,
            Pacing::BackToBack => wirelap_report::Pacing::BackToBack,
        },
        middlewares: plan.middlewares.clone(),
        payload_bytes: plan::unique(&request.payload).iter().map(|&size| size as u64).collect(),
        rate_msg_per_s: request.rate,
        messages: first.messages,
        duration_s: first.duration.map(|time| time.as_secs_f64()),
        warmup: request.warmup,
        repeat: request.repeat,
        pin,
        order: plan.trials.iter().map(Trial::title).collect(),
    }
}

fn notes(outcomes: &[Outcome], planned: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(signal) = outcomes.iter().find_map(|outcome| outcome.interrupted) {
        let reached = outcomes.len();
        notes.push(format!("stopped by {signal} in trial {reached} of {planned}"));
    }
    notes
}

/// Which trials failed or were stopped, in one sentence; `None` if all were complete.
fn trial_failure(outcomes: &[Outcome], planned: usize) -> Option<String> {
    let failed: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.error.is_some()).collect();
    if let Some(first) = failed.first() {
        let error = first.error.as_deref().unwrap_or_default();
        let also = match failed.len() {
            1 => String::new(),
            n => format!(" ({n} of {planned} trials failed)"),
        };
        return Some(format!("{}: {error}{also}", first.trial.title()));
    }
    let signal = outcomes.iter().find_map(|outcome| outcome.interrupted)?;
    Some(format!("stopped by {signal}; the results are partial"))
}

/// Which results cannot be used, or are of less than half of the messages that were sent, in one sentence.
fn unusable_results(report: &RunReport) -> Option<String> {
    let problem = |result: &RunResult| {
        let unusable = result.trust.verdict == Reliability::Unusable;
        let mostly_undelivered = result.is_mostly_undelivered();
        let reason = result.trust.reasons.iter().find(|reason| {
            if unusable {
                reason.verdict == Reliability::Unusable
            } else {
                reason.kind == "undelivered"
            }
        })?;
        let name = format!("{}, {} B", result.label(), result.payload_bytes);
        match (unusable, mostly_undelivered) {
            (true, _) => Some(format!("the result of {name} cannot be used: {}", reason.text)),
            (false, true) => Some(format!("{name}: {}", reason.text)),
            (false, false) => None,
        }
    };
    let problems: Vec<String> = report.results.iter().filter_map(problem).collect();
    let first = problems.first()?;
    Some(match problems.len() {
        1 => first.clone(),
        n => format!("{first} ({n} of {} results)", report.results.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_report::from_snapshot::run_report;
    use wirelap_report::{Messages, Overhead, Repetition, Trust};

    fn report_of(change: impl FnOnce(&mut RunResult)) -> RunReport {
        let mut result = RunResult {
            middleware: "tcp".into(),
            payload_bytes: 64,
            messages: Messages {
                sent: 1000,
                delivered: 1000,
                matched: 1000,
                ..Messages::default()
            },
            overhead: Overhead { packets: 2000, ..Overhead::default() },
            trust: Trust { events: 10_000, window_share: 1.0, ..Trust::default() },
            repetitions: vec![Repetition::default()],
            ..RunResult::default()
        };
        change(&mut result);
        result.judge();
        RunReport { results: vec![result], ..run_report(&wirelap_correlate::Snapshot::default()) }
    }

    #[test]
    fn what_cannot_be_used_and_what_was_not_delivered_fail_a_run() {
        assert_eq!(unusable_results(&report_of(|_| {})), None);
        let lossy = report_of(|result| {
            result.trust.events_lost.insert("rx".into(), 13_000);
        });
        let problem = unusable_results(&lossy).unwrap_or_default();
        assert!(problem.starts_with("the result of tcp, 64 B cannot be used: 13,000 of 23,000"));
        let half = |delivered| {
            unusable_results(&report_of(|result| {
                (result.messages.delivered, result.messages.matched) = (delivered, delivered);
            }))
        };
        assert_eq!(half(500), None, "half of it was");
        let problem = half(499).unwrap_or_default();
        assert!(problem.starts_with("tcp, 64 B: 501 of 1,000 messages were never delivered"));
    }
}
