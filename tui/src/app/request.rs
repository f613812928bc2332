//! What the screen asks of the program around it, which can read and write files, start workloads and move a replay.

use super::command::ReplayControl;
use super::probes::ProbeSetup;
use std::sync::Arc;
use wirelap_correlate::Snapshot;
use wirelap_events::Delivery;
use wirelap_history::{Slice, Update};

/// What the screen asks of the program around it.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Write the screen to files: as text and as SVG.
    Screenshot {
        /// The screen as text.
        text: String,
        /// The screen as an SVG picture.
        svg: String,
    },
    /// Write a message and its packets to a pcapng file.
    Export(Arc<Delivery>),
    /// Move a replay.
    Replay(ReplayControl),
    /// Start, stop or change workloads.
    Experiment(ExperimentRequest),
}

/// A change of the workloads.
#[derive(Clone, Debug, PartialEq)]
pub enum ExperimentRequest {
    /// Start the workload of a middleware, or start it anew with other settings.
    Start(ExperimentSettings),
    /// Stop the workload of a middleware.
    Stop(String),
}

/// The settings of a workload that the screen starts.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentSettings {
    /// The middleware, by its name in `wirelap list`.
    pub middleware: String,
    /// Messages a second.
    pub rate: f64,
    /// Payload bytes.
    pub payload: usize,
    /// Further settings, by their names: `qos`, `nodelay` …
    pub settings: Vec<(String, String)>,
    /// The CPUs that the processes are pinned to; none if they are not.
    pub pin: Vec<usize>,
}

/// A workload that the screen can start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExperimentChoice {
    /// The middleware, by its name in `wirelap list`.
    pub middleware: String,
    /// The names of the settings that it has, with the values that each can have; empty if any value can be given.
    pub settings: Vec<(String, Vec<String>)>,
    /// Why it cannot be started; `None` if it can.
    pub unavailable: Option<String>,
    /// What runs of it; `None` if nothing does.
    pub running: Option<String>,
}

/// The state of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReplayState {
    /// Whether it plays.
    pub playing: bool,
    /// Times as fast as it was recorded.
    pub speed: f64,
    /// The position, 0..=1.
    pub position: f64,
}

/// The program around the screen: where updates come from, and who carries out requests.
pub trait Source {
    /// Hands out the updates since the last call, the oldest first. It is called every few hundred milliseconds, but not while the
    /// user has paused the screen.
    fn updates(&mut self, out: &mut dyn FnMut(Update));

    /// Carries out a request. Returns a sentence for the user: what was done, or why it could not be done and what helps.
    fn request(&mut self, request: Request) -> String;

    /// The state of the replay; `None` if the figures are of now.
    fn replay(&self) -> Option<ReplayState> {
        None
    }

    /// Whether everything that was handed out before is void, because a replay was moved back.
    fn has_restarted(&mut self) -> bool {
        false
    }

    /// How the probes are attached. It is asked once, at the beginning.
    fn probe_setup(&self) -> ProbeSetup {
        ProbeSetup::default()
    }

    /// From the events' clock to the time since 1970, in nanoseconds; `None` if that is not known. It is asked once, at the beginning.
    fn wall_offset(&self) -> Option<i64> {
        None
    }

    /// The workloads that can be started; empty if none can.
    fn experiments(&mut self) -> Vec<ExperimentChoice> {
        Vec::new()
    }
}

/// Snapshots alone, of which nothing else is known and nothing can be asked.
impl<F: FnMut() -> Arc<Snapshot>> Source for F {
    fn updates(&mut self, out: &mut dyn FnMut(Update)) {
        out(Update { snapshot: self(), slice: Slice::default() });
    }

    fn request(&mut self, _: Request) -> String {
        "this cannot be done here".into()
    }
}
