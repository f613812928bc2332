//! The thread of one workload: it starts processes, waits until they are ready, lets them send and stops them.

use super::trials;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use wirelap_experiment::{Installations, Trial, TrialStopped, WorkloadProcesses};
use wirelap_process::Signals;
use wirelap_session::Commands;

/// Versions and settings that a workload reported, by its middleware.
pub type ReportedSettings = BTreeMap<String, (BTreeMap<String, String>, BTreeMap<String, String>)>;

/// State of a workload.
#[derive(Debug, Default)]
pub enum WorkloadState {
    /// The workload's processes are being started.
    #[default]
    Starting,
    /// The workload's messages are sent.
    Sending,
    /// The workload has ended; because of this, if nobody stopped it.
    Ended(Option<TrialStopped>),
}

/// Conditions for the start of a workload.
pub struct Start {
    /// The workloads that it replaces.
    pub before: Vec<Arc<Mutex<WorkloadState>>>,
    /// Gets a message when its processes are ready.
    pub ready: Option<Sender<()>>,
    /// Lets it send; `None` if it sends at once.
    pub go: Option<Receiver<()>>,
}

/// The thread of a workload.
pub struct Driver {
    /// The messages that the workload sends, and their rate.
    pub trial: Trial,
    /// The signals that stop the workload.
    pub signals: Signals,
    /// The tracer, which gets the names of its rows.
    pub commands: Commands,
    /// The state of the workload, for the screen.
    pub state: Arc<Mutex<WorkloadState>>,
    /// The versions and settings that its processes report.
    pub reported: Arc<Mutex<ReportedSettings>>,
    /// The channel on which the user is told what becomes of the workload.
    pub said: Option<Sender<String>>,
}

/// Time between two looks of a workload at the one that it replaces, until that has ended.
pub const LOOK: Duration = Duration::from_millis(10);

impl Driver {
    /// Starts the workload, lets it send, and stops it when it is asked to.
    pub fn run(self, installations: &Installations, start: Start) {
        let name = self.trial.name().to_owned();
        let stopped = self.drive(installations, start);
        match &stopped {
            Err(TrialStopped::Failed(failure)) => self.say(format!("{name} has ended: {failure}")),
            Err(TrialStopped::Interrupted(_)) | Ok(()) => self.say(format!("{name} is stopped")),
        }
        *lock(&self.state) = WorkloadState::Ended(stopped.err());
    }

    fn drive(&self, installations: &Installations, start: Start) -> Result<(), TrialStopped> {
        let Start { before, ready, go } = start;
        while before.iter().any(|one| !matches!(*lock(one), WorkloadState::Ended(_))) {
            if let Some(name) = self.signals.caught() {
                return Err(TrialStopped::Interrupted(name));
            }
            thread::sleep(LOOK);
        }
        let (trial, signals) = (&self.trial, &self.signals);
        let commands = self.commands.clone();
        let mut workload = WorkloadProcesses::new(trial, installations, signals, commands);
        workload.assemble()?;
        lock(&self.reported).insert(trial.name().to_owned(), workload.reported());
        let _ = ready.map(|ready| ready.send(()));
        if let Some(go) = go
            && go.recv().is_err()
        {
            // Another workload of the same start has failed.
            return Ok(());
        }
        workload.go();
        *lock(&self.state) = WorkloadState::Sending;
        self.say(format!("{} runs: {}", trial.name(), trials::words(trial)));
        let stopped = loop {
            if let Err(stopped) = workload.group.listen() {
                break stopped;
            }
        };
        workload.group.stop();
        Err(stopped)
    }

    fn say(&self, sentence: String) {
        if let Some(said) = &self.said {
            let _ = said.send(sentence);
        }
    }
}

/// The shared value, also after a thread has panicked.
pub fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
