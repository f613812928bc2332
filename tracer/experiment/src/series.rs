//! Runs trials one after the other. A trial that fails costs that trial only; a signal of the user, probes that cannot be
//! attached and a recording that cannot be written end the series.

use crate::context::{StartAgents, TrialContext};
use crate::cost;
use crate::hosts::Installations;
use crate::measure;
use crate::plan::Plan;
use crate::progress::ProgressLine;
use crate::queue::Queue;
use crate::request::RunRequest;
use crate::results::{Results, TrialRecord};
use crate::resume::Earlier;
use crate::saturation::{self, Search};
use crate::trial::Trial;
use crate::turns;
use std::ops::ControlFlow;
use std::path::PathBuf;
use wirelap_capture::UdpHooks;
use wirelap_contract::LinkTransport;
use wirelap_events::Pid;
use wirelap_process::{Failure, Outputs, Signals, rights};
use wirelap_report::{Environment, Saturation};
use wirelap_session::{AttachLater, Muting, SessionSettings, SessionView, ring_bytes};

/// Means that a run needs.
#[derive(Clone, Copy)]
pub struct RunResources<'a> {
    /// The workloads' program and folder on each host.
    pub installations: &'a Installations,
    /// Starts the agents that observe, if the processes are on several hosts.
    pub agents: Option<&'a StartAgents<'a>>,
    /// Creates the recordings.
    pub outputs: &'a Outputs,
    /// The signals by which the user stops a run.
    pub signals: &'a Signals,
    /// The run that is resumed, if one is.
    pub earlier: Option<&'a Earlier>,
}

/// The records of the trials that were run.
#[derive(Debug, Default)]
pub struct MeasuredSeries {
    /// The records, those of failed trials included, in the order of the trials.
    pub records: Vec<TrialRecord>,
    /// Number of trials, with those that were not run.
    pub planned: usize,
    /// The titles of the trials that were not run, were stopped by a signal, or ended the series.
    pub missing: Vec<String>,
    /// True if the series came to its end.
    pub is_complete: bool,
    /// The failure that ended the series early, unless it is the last record's.
    pub failure: Option<Failure>,
    /// The highest rates that were reached, if they were searched for.
    pub saturation: Vec<Saturation>,
    /// Reasons why trials were not run, a sentence each.
    pub notes: Vec<String>,
}

/// Takes the records so far.
pub type SaveRecords<'a> = dyn FnMut(&MeasuredSeries, &mut Results) + 'a;

/// Runs the trials of a plan. `save` is called after each of them.
pub fn measure(
    request: &RunRequest,
    plan: &Plan,
    means: RunResources<'_>,
    environment: &Environment,
    results: &mut Results,
    save: &mut SaveRecords<'_>,
) -> MeasuredSeries {
    let progress = ProgressLine::new();
    let mut series = TrialSeries {
        request,
        planned: plan.trials.len(),
        means,
        environment,
        progress: &progress,
        queue: Queue::new(&plan.trials),
        ran: 0,
        measured: MeasuredSeries::default(),
        results,
        save,
    };
    let flow = series.run_all();
    series.update();
    // A trial that was to be the last but one may have been the last.
    rights::give_up();
    series.measured.is_complete = flow.is_continue();
    if request.saturation {
        series.measured.saturation = saturation::found(&series.measured.records);
    }
    series.measured
}

/// A series of trials that is being run.
struct TrialSeries<'a> {
    request: &'a RunRequest,
    /// The number of planned trials; those that a search adds come after them.
    planned: usize,
    means: RunResources<'a>,
    /// The description of the machine, for the recordings.
    environment: &'a Environment,
    progress: &'a ProgressLine,
    queue: Queue,
    /// The trials that were run, without those that were taken over.
    ran: usize,
    measured: MeasuredSeries,
    results: &'a mut Results,
    save: &'a mut SaveRecords<'a>,
}

impl TrialSeries<'_> {
    /// Runs all trials, and tells whether the series came to its end.
    fn run_all(&mut self) -> ControlFlow<()> {
        let mut search = self.request.saturation.then(Search::default);
        while let Some(trial) = self.next(search.as_mut()) {
            match self.taken_over(&trial) {
                Some(record) => self.go_on_with(&trial, record)?,
                None => self.run(&trial)?,
            }
        }
        self.costs_of_variants()
    }

    /// The next trial: of the plan, and then of the search.
    fn next(&mut self, search: Option<&mut Search>) -> Option<Trial> {
        self.queue.next().or_else(|| {
            self.queue.extend(search?.further(&self.measured.records));
            self.queue.next()
        })
    }

    /// The record of a trial that was run before the run was resumed.
    fn taken_over(&mut self, trial: &Trial) -> Option<TrialRecord> {
        let mut record = self.means.earlier?.record(trial, self.results)?;
        record.repetition.position = self.position();
        Some(record)
    }

    /// The position of the next record in the order of the run, from 1.
    fn position(&self) -> u32 {
        let before = u32::try_from(self.measured.records.len()).unwrap_or(u32::MAX);
        before.saturating_add(1)
    }

    fn push(&mut self, record: TrialRecord) {
        self.queue.record(&record.trial, record.error.is_some());
        self.measured.records.push(record);
    }

    /// Runs one trial, and tells whether the series ends with it.
    fn run(&mut self, trial: &Trial) -> ControlFlow<()> {
        self.begin(&trial.title());
        let costs = self.wants_cost(trial);
        let costs_follow = self.measures_cost() && self.request.ab.is_some();
        let after = if self.queue.is_empty() && !self.request.saturation && !costs_follow {
            AttachLater::Nothing
        } else {
            AttachLater::AnotherSession
        };
        let context = TrialContext { costs, ..self.context(trial, after) };
        let mut outcome = match measure::run(&context, trial) {
            Ok(outcome) => outcome,
            Err(failure) => return self.end_before(trial, failure),
        };
        let failed = outcome.cost.take_if(|cost| cost.is_err()).and_then(Result::err);
        let record = TrialRecord::of(self.position(), outcome);
        if let Some(Err(failure)) = self.means.earlier.map(|run| run.check_versions(&record)) {
            return self.end_before(trial, failure);
        }
        let mut flow = ControlFlow::Continue(());
        if let Some(failure) = failed {
            flow = self.end(failure);
        }
        if record.repetition.interrupted.is_some() || record.ends_run {
            flow = ControlFlow::Break(());
        }
        self.push(record);
        self.ran = self.ran.saturating_add(1);
        // The report of a run that ends is written anyway.
        if flow.is_continue() && after != AttachLater::Nothing {
            self.save();
        }
        flow
    }

    /// Measures what tracing costs each side of a comparison. Between the trials of a block A B B A, that would disturb their
    /// balance, so it comes after all of them.
    fn costs_of_variants(&mut self) -> ControlFlow<()> {
        if !self.measures_cost() || self.request.ab.is_none() {
            return ControlFlow::Continue(());
        }
        let records = self.measured.records.iter().take(self.planned).enumerate();
        let mut costs: Vec<(usize, Trial)> = records
            .filter(|(_, record)| record.repetition.trust.tracer.slowdown.is_none())
            .filter(|(_, record)| record.trial.repetition == 1)
            .filter(|(_, record)| turns::are_possible(&record.trial))
            .filter_map(|(at, one)| Some((at, cost::repeated(&one.trial, &one.repetition)?)))
            .collect();
        costs.reverse();
        while let Some((at, trial)) = costs.pop() {
            self.begin(&format!("{}: cost of tracing", trial.title()));
            let later =
                if costs.is_empty() { AttachLater::Nothing } else { AttachLater::AnotherSession };
            let cost = match cost::measure(&self.context(&trial, later), &trial, later) {
                Ok(cost) => cost,
                Err(failure) => return self.end(failure),
            };
            if let Some(record) = self.measured.records.get_mut(at) {
                cost::tell(cost, &mut record.repetition.trust.tracer);
            }
            self.save();
        }
        ControlFlow::Continue(())
    }

    /// Shows what is run now.
    fn begin(&self, title: &str) {
        let numbers = (self.queue.number(), self.queue.total());
        self.progress.begin(numbers, self.ran, title);
    }

    /// True if the cost of tracing is measured: agents on other hosts do not detach their probes.
    fn measures_cost(&self) -> bool {
        self.request.measure_cost && self.means.agents.is_none()
    }

    /// True if the cost of tracing is measured with this trial.
    fn wants_cost(&self, trial: &Trial) -> bool {
        let is_planned = self.queue.number() <= self.planned;
        let wanted = self.measures_cost() && trial.repetition == 1 && is_planned;
        wanted && self.request.ab.is_none()
    }

    /// Takes over a record. A signal may have come after its trial and before the cost of tracing was known.
    fn go_on_with(&mut self, trial: &Trial, mut record: TrialRecord) -> ControlFlow<()> {
        let mut flow = ControlFlow::Continue(());
        let tracer = &record.repetition.trust.tracer;
        let is_unknown = tracer.slowdown.is_none() && tracer.slowdown_unknown.is_none();
        if self.wants_cost(trial) && is_unknown && turns::are_possible(trial) {
            self.begin(&format!("{}: cost of tracing", trial.title()));
            flow = self.measure_cost(trial, &mut record);
        }
        self.push(record);
        flow
    }

    /// Measures what tracing costs the trial of a record.
    fn measure_cost(&mut self, trial: &Trial, record: &mut TrialRecord) -> ControlFlow<()> {
        let Some(again) = cost::repeated(trial, &record.repetition) else {
            return ControlFlow::Continue(());
        };
        let later = AttachLater::AnotherSession;
        match cost::measure(&self.context(trial, later), &again, later) {
            Ok(cost) => cost::tell(cost, &mut record.repetition.trust.tracer),
            Err(failure) => return self.end(failure),
        }
        ControlFlow::Continue(())
    }

    /// Ends the series with a trial that has no record.
    fn end_before(&mut self, trial: &Trial, failure: Failure) -> ControlFlow<()> {
        self.queue.put_back(trial);
        self.end(failure)
    }

    fn end(&mut self, failure: Failure) -> ControlFlow<()> {
        self.measured.failure = Some(failure);
        ControlFlow::Break(())
    }

    /// Hands on what has been measured so far.
    fn save(&mut self) {
        self.update();
        (self.save)(&self.measured, self.results);
    }

    /// Counts the trials, and lists those that are missing.
    fn update(&mut self) {
        let stopped = self
            .measured
            .records
            .iter()
            .filter(|record| record.repetition.interrupted.is_some() || record.ends_run);
        let stopped = stopped.map(|record| record.trial.title());
        self.measured.missing = stopped.chain(self.queue.waiting().map(Trial::title)).collect();
        self.measured.planned = self.queue.total();
        self.measured.notes = self.queue.notes().collect();
    }

    fn context(&self, trial: &Trial, later: AttachLater) -> TrialContext<'_> {
        TrialContext {
            installations: self.means.installations,
            agents: self.means.agents,
            outputs: self.means.outputs,
            signals: self.means.signals,
            settings: SessionSettings {
                // Snapshots tell when all hosts are there.
                publish: self.means.agents.is_some(),
                ..settings(self.request, trial, later)
            },
            progress: self.progress,
            recording: self.recording(),
            environment: self.environment,
            samples: self.request.samples.clone(),
            costs: false,
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
fn settings(request: &RunRequest, trial: &Trial, later: AttachLater) -> SessionSettings {
    SessionSettings {
        capture: wirelap_capture::CaptureConfig {
            pids: vec![Pid(std::process::id())],
            snap_bytes: request.snap_bytes.min(65_536),
            ring_bytes: ring_bytes(request.ring_bytes),
            btf: request.btf.clone(),
            datagrams: match trial.transport() {
                Some(LinkTransport::Udp) => UdpHooks::Always,
                Some(LinkTransport::Tcp) | None => UdpHooks::Never,
            },
            ..wirelap_capture::CaptureConfig::default()
        },
        view: SessionView::Probes,
        keep: None,
        muting: Muting::Nothing,
        decode: Vec::new(),
        breakdown: request.breakdown.clone(),
        later,
        alternates: false,
        run_time: None,
        drain: true,
        publish: false,
    }
}
