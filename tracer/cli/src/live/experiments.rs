//! The workloads that run beside the screen. Each is driven by a thread of its own, so that the screen waits for none of them.
//!
//! ```text
//!  --on, at the start ─┐            ┌─ a thread a workload: waits for the one that it replaces, starts processes,
//!                      ├─▶ Workloads┤   waits until they are ready, lets them send, stops them
//!  x on the screen ────┘            └─▶ news: sentences on what became of it
//! ```

use super::driver::{Driver, LOOK, ReportedSettings, Start, WorkloadState, lock};
use super::offer::Offer;
use super::trials::{self, OfferedLoad};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use wirelap_experiment::{Installations, Trial, TrialStopped, WorkloadOptions};
use wirelap_process::{Failure, Signals, remedy};
use wirelap_report::Environment;
use wirelap_session::Commands;
use wirelap_tui::{ExperimentRequest, ExperimentSettings, Experiments};

/// Program and options that workloads are started with.
pub struct Bench {
    /// The workloads' program; `Err` is the sentence why there is none.
    pub installations: Result<Installations, String>,
    /// The signals that stop everything.
    pub signals: Signals,
    /// The tracer, which gets the names of the rows.
    pub commands: Commands,
    /// The options that hold for all workloads.
    pub options: WorkloadOptions,
    /// The settings that workloads have before the user changes them.
    pub usual: OfferedLoad,
}

/// The workloads that run.
pub struct Workloads<'scope, 'bench> {
    scope: &'scope Scope<'scope, 'bench>,
    bench: &'bench Bench,
    running: Vec<RunningWorkload<'scope>>,
    reported: Arc<Mutex<ReportedSettings>>,
    said: Sender<String>,
    news: Receiver<String>,
    offer: Offer,
}

/// A workload that runs, or has ended.
struct RunningWorkload<'scope> {
    trial: Trial,
    state: Arc<Mutex<WorkloadState>>,
    stop: Arc<AtomicBool>,
    /// True if its failure ends wirelap: it was started by `--on` and not changed since.
    is_wanted: bool,
    thread: ScopedJoinHandle<'scope, ()>,
}

impl RunningWorkload<'_> {
    fn name(&self) -> &str {
        self.trial.name()
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Says in words what the workload does.
    fn words(&self) -> String {
        let what = trials::words(&self.trial);
        match &*lock(&self.state) {
            _ if self.is_stopping() => format!("stopping: {what}"),
            WorkloadState::Starting => format!("starting: {what}"),
            WorkloadState::Sending => what,
            WorkloadState::Ended(_) => format!("ended: {what}"),
        }
    }
}

impl<'scope, 'bench> Workloads<'scope, 'bench> {
    /// No workloads yet.
    pub fn new(scope: &'scope Scope<'scope, 'bench>, bench: &'bench Bench) -> Self {
        let (said, news) = channel();
        let offer = Offer::default();
        Workloads { scope, bench, running: Vec::new(), reported: Arc::default(), said, news, offer }
    }

    /// Starts the workloads of `--on`, one after the other, and then lets all of them send.
    ///
    /// # Errors
    /// One of them does not get ready, or the user stops wirelap.
    pub fn start_all(&mut self, trials: Vec<Trial>) -> Result<(), TrialStopped> {
        let mut gates = Vec::new();
        for trial in trials {
            let (ready, when_ready) = channel();
            let (gate, go) = channel();
            self.spawn(
                trial,
                true,
                Start { before: Vec::new(), ready: Some(ready), go: Some(go) },
            )?;
            // The channel is closed without a message if the workload could not be started.
            if when_ready.recv().is_err() {
                while self.running.last().is_some_and(|one| !one.thread.is_finished()) {
                    std::thread::sleep(LOOK);
                }
                return Err(self.failure().unwrap_or(TrialStopped::Interrupted("the user")));
            }
            gates.push(gate);
        }
        for gate in gates {
            // An error means that this workload has ended, which is noticed later.
            let _ = gate.send(());
        }
        Ok(())
    }

    /// Why a workload of `--on` has ended, if one has.
    pub fn failure(&mut self) -> Option<TrialStopped> {
        self.running.iter_mut().filter(|one| one.is_wanted).find_map(|one| {
            match &mut *lock(&one.state) {
                WorkloadState::Ended(stopped) => stopped.take(),
                WorkloadState::Starting | WorkloadState::Sending => None,
            }
        })
    }

    /// The workloads that can be started.
    pub fn experiments(&mut self) -> Experiments {
        self.running.retain(|one| one.is_wanted || !one.thread.is_finished());
        let Ok(installations) = &self.bench.installations else {
            return Experiments::None(self.unavailable());
        };
        let bench = self.bench;
        let read = || installations.own().clone();
        match self.offer.catalogue(read, &bench.options, &bench.usual) {
            None => Experiments::Reading,
            Some(Err(why)) => Experiments::None(why),
            Some(Ok(mut choices)) => {
                for choice in &mut choices {
                    let words = self.of(&choice.middleware).map(RunningWorkload::words);
                    choice.running = Some(words.collect::<Vec<_>>().join("; "))
                        .filter(|words| !words.is_empty());
                }
                Experiments::Of(choices)
            }
        }
    }

    fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a RunningWorkload<'scope>> {
        let alive =
            |one: &&RunningWorkload<'_>| !matches!(*lock(&one.state), WorkloadState::Ended(_));
        self.running.iter().filter(move |one| one.name() == name).filter(alive)
    }

    fn unavailable(&self) -> String {
        self.bench.installations.as_ref().err().cloned().unwrap_or_default()
    }

    /// Starts, changes or stops a workload. Returns a sentence for the user at once; what comes of it is news later.
    pub fn request(&mut self, request: ExperimentRequest) -> String {
        match request {
            ExperimentRequest::Start(settings) => match self.start(&settings) {
                Ok(sentence) => sentence,
                Err(failure) => format!("{}: {failure}", settings.middleware),
            },
            ExperimentRequest::Stop(name) => {
                let stopped = self.of(&name).map(RunningWorkload::stop).count();
                self.no_longer_wanted(&name);
                if stopped == 0 {
                    format!("{name} does not run")
                } else {
                    format!("stopping {name}")
                }
            }
        }
    }

    fn start(&mut self, settings: &ExperimentSettings) -> Result<String, Failure> {
        if self.bench.installations.is_err() {
            return Err(Failure::Machine(self.unavailable()));
        }
        let trial = self.offer.trial(settings, &self.bench.options)?;
        let (name, what) = (settings.middleware.clone(), trials::words(&trial));
        let before: Vec<_> = self.of(&name).map(|one| Arc::clone(&one.state)).collect();
        self.of(&name).for_each(RunningWorkload::stop);
        self.no_longer_wanted(&name);
        let verb = if before.is_empty() { "starting" } else { "changing" };
        self.spawn(trial, false, Start { before, ready: None, go: None })?;
        Ok(format!("{verb} {name}: {what}"))
    }

    /// The end of these workloads, which the user stops or changes, ends nothing else.
    fn no_longer_wanted(&mut self, name: &str) {
        let of_name = self.running.iter_mut().filter(|one| one.trial.name() == name);
        of_name.for_each(|one| one.is_wanted = false);
    }

    fn spawn(&mut self, trial: Trial, is_wanted: bool, start: Start) -> Result<(), Failure> {
        let Ok(installations) = &self.bench.installations else {
            return Err(Failure::Machine(self.unavailable()));
        };
        let (state, stop) = (Arc::<Mutex<WorkloadState>>::default(), Arc::<AtomicBool>::default());
        let driver = Driver {
            trial: trial.clone(),
            signals: self.bench.signals.or(Arc::clone(&stop)),
            commands: self.bench.commands.clone(),
            state: Arc::clone(&state),
            reported: Arc::clone(&self.reported),
            said: (!is_wanted).then(|| self.said.clone()),
        };
        let thread = Builder::new()
            .name("workload".into())
            .spawn_scoped(self.scope, move || driver.run(installations, start))
            .map_err(|error| {
                Failure::Machine(format!("cannot start a thread: {}", remedy::with(&error)))
            })?;
        self.running.push(RunningWorkload { trial, state, stop, is_wanted, thread });
        Ok(())
    }

    /// Returns the next sentence on what became of the requests; `None` if there is none yet.
    pub fn news(&mut self) -> Option<String> {
        self.news.try_recv().ok()
    }

    /// Stops all workloads and waits for their ends. Adds to the environment what they reported.
    pub fn end(self, environment: &mut Environment) {
        self.running.iter().for_each(RunningWorkload::stop);
        for running in self.running {
            // A panic of the thread was printed; there is nothing to stop any more.
            let _ = running.thread.join();
        }
        for (name, (versions, settings)) in std::mem::take(&mut *lock(&self.reported)) {
            environment.versions.insert(name.clone(), versions);
            environment.settings.insert(name, settings);
        }
    }
}
