//! Runs trials one after the other. A trial that fails costs that trial only; a signal of the user, probes that cannot be
//! attached and a recording that cannot be written end the series.

use crate::cost;
use crate::measure::{self, Context, Outcome};
use crate::plan::Plan;
use crate::processes::WorkloadInstallation;
use crate::progress::Progress;
use crate::queue::Queue;
use crate::request::Request;
use crate::saturation::{self, Search};
use crate::trial::Trial;
use std::ops::ControlFlow;
use std::path::PathBuf;
use wirelap_capture::Datagrams;
use wirelap_contract::LinkTransport;
use wirelap_events::Pid;
use wirelap_process::{Failure, Outputs, Signals, rights};
use wirelap_report::{Environment, Saturation};
use wirelap_session::{AttachLater, SessionSettings, ring_bytes};

/// What a series of trials needs.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    /// The workloads' program and folder.
    pub installation: &'a WorkloadInstallation,
    /// Creates the recordings.
    pub outputs: &'a Outputs,
    /// The signals by which the user stops a run.
    pub signals: &'a Signals,
    /// The description of the machine, for the recordings.
    pub environment: &'a Environment,
}

/// The outcomes of the trials that were run.
#[derive(Debug, Default)]
pub struct Measured {
    /// The outcomes, failed ones included, in the order of the trials.
    pub outcomes: Vec<Outcome>,
    /// How many trials there are, with those that were not run.
    pub planned: usize,
    /// The failure that ended the series early, unless it is the last outcome's.
    pub failure: Option<Failure>,
    /// The highest rates that were reached, if they were searched for.
    pub saturation: Vec<Saturation>,
    /// Which trials were not run and why, a sentence each.
    pub notes: Vec<String>,
}

/// Runs the trials of a plan.
pub fn measure(request: &Request, plan: &Plan, means: Means<'_>) -> Measured {
    let progress = Progress::new();
    let mut series = Series {
        request,
        planned: plan.trials.len(),
        means,
        progress: &progress,
        queue: Queue::new(&plan.trials),
        measured: Measured::default(),
    };
    let mut search = request.saturation.then(Search::default);
    while let Some(trial) = series.next(search.as_mut()) {
        if series.run(&trial).is_break() {
            break;
        }
    }
    // A trial that was to be the last but one may have been the last.
    rights::give_up();
    let Series { queue, mut measured, .. } = series;
    measured.planned = queue.total();
    measured.notes.extend(queue.notes());
    if request.saturation {
        measured.saturation = saturation::found(&measured.outcomes);
    }
    measured
}

/// A series of trials that is being run.
struct Series<'a> {
    request: &'a Request,
    /// The number of planned trials; those that a search adds come after them.
    planned: usize,
    means: Means<'a>,
    progress: &'a Progress,
    queue: Queue,
    measured: Measured,
}

impl Series<'_> {
    /// The next trial: of the plan, and then of the search.
    fn next(&mut self, search: Option<&mut Search>) -> Option<Trial> {
        self.queue.next().or_else(|| {
            self.queue.extend(search?.further(&self.measured.outcomes));
            self.queue.next()
        })
    }

    /// Runs one trial, and tells whether the series ends with it.
    fn run(&mut self, trial: &Trial) -> ControlFlow<()> {
        self.progress.begin(self.queue.number(), self.queue.total(), &trial.title());
        let is_planned = self.queue.number() <= self.planned;
        let costs = self.request.measure_cost && trial.repetition == 1 && is_planned;
        let after = if self.queue.is_empty() && !self.request.saturation {
            AttachLater::Nothing
        } else {
            AttachLater::AnotherSession
        };
        let context = self.context(trial, if costs { AttachLater::AnotherSession } else { after });
        let mut outcome = match measure::run(&context, trial) {
            Ok(outcome) => outcome,
            Err(failure) => {
                self.measured.failure = Some(failure);
                return ControlFlow::Break(());
            }
        };
        if costs && !outcome.ends_run {
            match cost::measure(&context, &outcome, after) {
                Ok(slowdown) => outcome.slowdown = slowdown,
                Err(failure) => self.measured.failure = Some(failure),
            }
        }
        self.queue.record(trial, outcome.error.is_some());
        let stop =
            outcome.interrupted.is_some() || outcome.ends_run || self.measured.failure.is_some();
        self.measured.outcomes.push(outcome);
        if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn context(&self, trial: &Trial, later: AttachLater) -> Context<'_> {
        Context {
            installation: self.means.installation,
            outputs: self.means.outputs,
            signals: self.means.signals,
            settings: settings(self.request, trial, later),
            progress: self.progress,
            recording: self.recording(),
            environment: self.means.environment,
            samples: self.request.samples.clone(),
            phase: None,
        }
    }

    /// The file that the trial is recorded in: several trials have a numbered file each.
    fn recording(&self) -> Option<PathBuf> {
        let path = self.request.recording.as_ref()?;
        let number = self.queue.number() as u64;
        let several = self.planned > 1 || self.request.saturation;
        Some(if several { wirelap_recording::numbered(path, number) } else { path.clone() })
    }
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
