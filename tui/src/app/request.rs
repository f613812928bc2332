//! Requests of the screen to the program around it, which can read and write files, start workloads and move a replay.

use super::command::ReplayControl;
use super::probes::ProbeSetup;
use std::sync::Arc;
use wirelap_correlate::{BreakdownQuery, Snapshot};
use wirelap_events::{Delivery, GroupId, Nanos};
use wirelap_history::{Slice, Update};

/// A request of the screen to the program around it.
#[derive(Clone, Debug, PartialEq)]
pub enum ScreenRequest {
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
    /// Make other rows by name, or list others of them. The sentence that answers it is empty if that is done.
    Breakdown(BreakdownQuery),
    /// Mute a row, so that nothing is observed of it, or end that.
    Mute {
        /// The row.
        group: GroupId,
        /// The row's name, for the answer.
        name: String,
        /// True if the row is to be muted, false if it is to count again.
        mute: bool,
    },
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
    /// The middleware's description, in a few words.
    pub about: String,
    /// Messages a second: of what runs, or as they were last.
    pub rate: f64,
    /// Payload bytes: of what runs, or as they were last.
    pub payload: usize,
    /// The CPUs of the sender, the receiver and the broker: of what runs, or as they were last.
    pub pin: Vec<usize>,
    /// The middleware's further settings.
    pub settings: Vec<ExperimentSetting>,
    /// Why it cannot be started; `None` if it can.
    pub unavailable: Option<String>,
    /// A description of the workload that runs; `None` if none does.
    pub running: Option<String>,
}

/// A setting of a workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExperimentSetting {
    /// The setting's name.
    pub name: String,
    /// The setting's value: of what runs, or as it was last.
    pub value: String,
    /// The values that it can have; empty if any value can be given.
    pub values: Vec<String>,
    /// The setting's meaning, in a few words.
    pub words: String,
}

/// The workloads that can be started, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Experiments {
    /// The middlewares that are installed are being looked up.
    #[default]
    Reading,
    /// None can be started; the sentence says why, and what helps.
    None(String),
    /// These, in the order in which tables show them.
    Of(Vec<ExperimentChoice>),
}

/// The state of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReplayState {
    /// True while the replay plays, false while it is paused.
    pub playing: bool,
    /// Times as fast as it was recorded.
    pub speed: f64,
    /// The time from the beginning of the files to the position.
    pub at: Nanos,
    /// The time from the beginning to the end of what was read.
    pub length: Nanos,
    /// While the files are read, how much of them was read.
    pub reading: Option<ReadShare>,
}

/// Share of the files that was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReadShare {
    /// A share of their bytes, 0..=1.
    Of(f64),
    /// The length of the files is not known.
    Unknown,
}

/// The program around the screen: where updates come from, and who carries out requests.
pub trait UpdateSource {
    /// Hands out the updates since the last call, the oldest first. It is called every few hundred milliseconds, but not while the
    /// user has paused the screen.
    fn updates(&mut self, out: &mut dyn FnMut(Update));

    /// Carries out a request. Returns a sentence for the user: what was done, or why it could not be done and what helps.
    fn request(&mut self, request: ScreenRequest) -> String;

    /// The difference from the clock of the figures to the wall clock in nanoseconds, 0 if they are on the wall clock; `None` if it is
    /// not known.
    fn wall(&self) -> Option<i64> {
        None
    }

    /// The text that the screen was told to remember when it was left last; `None` if nothing is remembered. It is asked once.
    fn remembered(&mut self) -> Option<String> {
        None
    }

    /// Remembers a text until the next start. It is called once, at the end.
    fn remember(&mut self, _text: &str) {}

    /// The state of the replay; `None` if the figures are of now.
    fn replay(&self) -> Option<ReplayState> {
        None
    }

    /// True if everything that was handed out before is void, because a replay was moved back.
    fn has_restarted(&mut self) -> bool {
        false
    }

    /// The chosen hooks and settings with which the probes are attached. It is asked once, at the beginning.
    fn probe_setup(&self) -> ProbeSetup {
        ProbeSetup::default()
    }

    /// Sentences about the figures beside what the snapshots say: what could not be read of a file, for instance.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// A sentence on what has happened since the last call: what became of a request that took some time. `None` if nothing has.
    fn news(&mut self) -> Option<String> {
        None
    }

    /// The workloads that can be started. It is asked as often as updates are, while the user looks at them.
    fn experiments(&mut self) -> Experiments {
        Experiments::None("workloads cannot be started here".into())
    }
}

/// Snapshots alone, of which nothing else is known and nothing can be asked.
impl<F: FnMut() -> Arc<Snapshot>> UpdateSource for F {
    fn updates(&mut self, out: &mut dyn FnMut(Update)) {
        out(Update { snapshot: self(), slice: Slice::default() });
    }

    fn request(&mut self, _: ScreenRequest) -> String {
        "this cannot be done here".into()
    }
}
