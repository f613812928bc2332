//! A running session: attached probes, and the thread that processes their events.

use crate::annotate::Annotator;
use crate::commands::{Commands, SessionCommand};
use crate::listening;
use crate::machine::wall_offset;
use crate::meter::Meter;
use crate::notes;
use crate::places::PlaceReader;
use crate::preflight::needs_root;
use crate::settings::{AttachLater, SessionSettings};
use crate::thread::{Findings, SessionThread};
use crate::unix::UnixServers;
use rustix::thread::CapabilitySet;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use wirelap_capture::{AttachError, Capture, ChosenHook, Urgency};
use wirelap_correlate::{Correlator, DeliverySink, Snapshot};
use wirelap_process::{Failure, remedy, rights};
use wirelap_recording::Recorder;
use wirelap_report::Hook;

/// A running session. Dropping it ends the thread and detaches the probes.
pub struct Tracer<S> {
    commands: Commands,
    thread: Option<JoinHandle<Findings<S>>>,
    latest: Arc<Mutex<Arc<Snapshot>>>,
    hooks: Vec<ChosenHook>,
}

impl<S: DeliverySink + Send + 'static> Tracer<S> {
    /// Attaches the probes and starts the thread. Deliveries go to the sink, and all events to the recorder if there is one.
    ///
    /// # Errors
    /// The probes cannot be attached, or the thread cannot be started; the failure names the remedy.
    pub fn start(
        settings: &SessionSettings,
        sink: S,
        recorder: Option<Recorder>,
    ) -> Result<Tracer<S>, Failure> {
        let mut recorder = recorder;
        rights::resume();
        let attached = Capture::attach(&settings.capture);
        let capture = attached.map_err(|error| {
            // An empty recording is removed: otherwise the next attempt could not use its name.
            recorder.take().into_iter().for_each(Recorder::discard);
            refused(&error)
        })?;
        let hooks = capture.hooks().to_vec();
        let needed = capture.rights_still_needed(settings.alternates);
        let config = wirelap_correlate::Config {
            decode: settings.decode.clone(),
            breakdown: settings.breakdown.clone(),
            listening: listening::ports(),
            topics: recorder.is_some() || sink.takes_topics(),
            wall: Some(wall_offset()),
            detail: settings.capture.detail,
            ..wirelap_correlate::Config::default()
        };
        let latest = Arc::new(Mutex::new(Arc::new(Snapshot::default())));
        let (commands, receiver) = Commands::channel();
        let mut session = SessionThread {
            capture,
            urgency: None,
            correlator: Correlator::new(config),
            sink,
            recorder,
            kept: settings.keep.map(|keep| notes::kept(keep, &settings.decode)),
            annotator: Annotator::default(),
            commands: receiver,
            latest: Arc::clone(&latest),
            meter: Meter::start(std::process::id()),
            unix: UnixServers::default(),
            places: PlaceReader::default(),
            meters: HashMap::new(),
            windows: None,
            alternation: None,
            muting: settings.muting,
            drain: settings.drain,
            publish: settings.publish,
        };
        let thread = thread::Builder::new()
            .name("capture".into())
            .spawn(move || {
                // Without it, the thread keeps up less well. It starts before the rights are given up.
                session.urgency = Urgency::watch(|| rights::keep(rights::to_hurry())).ok();
                rights::keep(needed);
                session.run()
            })
            .map_err(|error| {
                Failure::Machine(format!("cannot start a thread: {}", remedy::with(&error)))
            })?;
        match settings.later {
            AttachLater::Nothing => rights::keep(CapabilitySet::empty()),
            AttachLater::AnotherSession => rights::suspend(),
        }
        Ok(Tracer { commands, thread: Some(thread), latest, hooks })
    }

    /// The hook that was chosen for each observation.
    pub fn hooks(&self) -> Vec<Hook> {
        let chosen = self.hooks.iter();
        chosen
            .map(|chosen| Hook {
                observation: chosen.observation.to_string(),
                hook: chosen.hook.as_ref().map(ToString::to_string),
            })
            .collect()
    }

    /// The hook that was chosen for each observation, and what is missing in the results without one.
    pub fn chosen(&self) -> &[ChosenHook] {
        &self.hooks
    }

    /// A sender of commands to this session.
    pub fn commands(&self) -> Commands {
        self.commands.clone()
    }

    /// The newest published snapshot.
    pub fn latest(&self) -> Arc<Snapshot> {
        Arc::clone(&self.latest.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the thread has ended by itself, which means that tracing failed.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the session: takes the events that are still in the ring buffer, detaches the probes and returns the findings.
    ///
    /// # Errors
    /// The thread panicked.
    pub fn end(mut self) -> Result<Findings<S>, Failure> {
        self.commands.send(SessionCommand::End);
        let lost =
            || Failure::Measured("the tracing thread panicked: this is a defect of wirelap".into());
        self.thread.take().ok_or_else(lost)?.join().map_err(|_| lost())
    }
}

impl<S> Drop for Tracer<S> {
    fn drop(&mut self) {
        self.commands.send(SessionCommand::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The failure that an error of attaching is, with the remedy.
fn refused(error: &AttachError) -> Failure {
    match error {
        AttachError::NoPrivileges { missing } => needs_root(missing),
        other => Failure::Machine(other.to_string()),
    }
}
