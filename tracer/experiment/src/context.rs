//! Context that the trials of a run share.

use crate::hosts::Installations;
use crate::progress::ProgressLine;
use crate::samples::SharedSamples;
use std::path::PathBuf;
use wirelap_correlate::Snapshot;
use wirelap_hosts::MergedHosts;
use wirelap_process::{Failure, Outputs, Signals};
use wirelap_recording::{FileRecorder, Rotation};
use wirelap_report::from_snapshot::run_report;
use wirelap_report::{Environment, Hook, RunReport};
use wirelap_session::{SessionSettings, notes};

/// Starts the agents of several hosts.
pub type StartAgents<'a> = dyn Fn() -> Result<MergedHosts, Failure> + 'a;

/// Context that the trials of a run share.
#[derive(Clone)]
pub struct TrialContext<'a> {
    /// Starts the agents that observe, if the processes are on several hosts.
    pub agents: Option<&'a StartAgents<'a>>,
    /// Places in which the workloads are started.
    pub installations: &'a Installations,
    /// Creates the recordings.
    pub outputs: &'a Outputs,
    /// The signals by which the user stops a run.
    pub signals: &'a Signals,
    /// The settings of the tracing session.
    pub settings: SessionSettings,
    /// The progress that the user sees.
    pub progress: &'a ProgressLine,
    /// The file that the events are recorded in, if any.
    pub recording: Option<PathBuf>,
    /// The description of the machine, for the recording.
    pub environment: &'a Environment,
    /// Takes the deliveries one by one, if the user has asked for it.
    pub samples: Option<SharedSamples>,
    /// True if it is measured what tracing costs the workload, after the messages that count.
    pub costs: bool,
}

impl TrialContext<'_> {
    /// Creates the trial's recording. It keeps the payload, which is made by wirelap's own workloads.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn recorder(&self) -> Result<Option<FileRecorder>, Failure> {
        let Some(path) = &self.recording else { return Ok(None) };
        let settings = wirelap_recording::EncoderSettings { payload: true, ..Default::default() };
        let rotation = Rotation::default();
        notes::create(self.outputs, path, settings, rotation, self.environment, &[]).map(Some)
    }

    /// The report of the trace without the workloads' figures, for the recording.
    pub fn recorded(&self, snapshot: &Snapshot, hooks: &[Hook]) -> RunReport {
        RunReport {
            environment: self.environment.clone(),
            hooks: hooks.to_vec(),
            ..run_report(snapshot)
        }
    }
}
