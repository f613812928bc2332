//! A running session: probes that are attached, and the thread that takes their events.

use crate::annotate::Annotator;
use crate::commands::{Command, Commands};
use crate::listening;
use crate::machine::{Meter, wall_offset};
use crate::preflight::needs_root;
use crate::settings::{Later, Settings};
use crate::unix::UnixServers;
use crate::work::{Findings, Work};
use rustix::thread::CapabilitySet;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use wirelap_capture::{AttachError, Capture};
use wirelap_correlate::{Correlator, DeliverySink, Snapshot};
use wirelap_process::{Failure, remedy, rights};
use wirelap_recording::Recorder;
use wirelap_report::Hook;

/// A running tracer. Dropping it detaches everything.
pub struct Tracer<S> {
    commands: Commands,
    thread: Option<JoinHandle<Findings<S>>>,
    latest: Arc<Mutex<Arc<Snapshot>>>,
    hooks: Vec<Hook>,
}

impl<S: DeliverySink + Send + 'static> Tracer<S> {
    /// Attaches the probes and starts the thread. All events are told to the recorder, too, if there is one.
    ///
    /// # Errors
    /// This machine does not let us; the failure says what to do.
    pub fn start(
        settings: &Settings,
        sink: S,
        recorder: Option<Recorder>,
    ) -> Result<Tracer<S>, Failure> {
        let mut recorder = recorder;
        rights::resume();
        let attached = Capture::attach(&settings.capture);
        let capture = attached.map_err(|error| {
            // An empty one would be in the way of the next.
            recorder.take().into_iter().for_each(Recorder::discard);
            refused(&error)
        })?;
        let hooks = hooks(&capture);
        let needed = capture.rights_still_needed(settings.alternates);
        let config = wirelap_correlate::Config {
            decode: settings.decode.clone(),
            listening: listening::ports(),
            topics: recorder.is_some(),
            wall: Some(wall_offset()),
            ..wirelap_correlate::Config::default()
        };
        let latest = Arc::new(Mutex::new(Arc::new(Snapshot::default())));
        let (commands, taken) = Commands::channel();
        let work = Work {
            capture,
            correlator: Correlator::new(config),
            sink,
            recorder,
            annotator: Annotator::default(),
            commands: taken,
            latest: Arc::clone(&latest),
            meter: Meter::start(std::process::id()),
            unix: UnixServers::default(),
            meters: HashMap::new(),
            windows: None,
            turns: None,
            drain: settings.drain,
            publish: settings.publish,
        };
        let thread = thread::Builder::new()
            .name("capture".into())
            .spawn(move || {
                rights::keep(needed);
                work.run()
            })
            .map_err(|error| {
                Failure::Machine(format!("cannot start a thread: {}", remedy::with(&error)))
            })?;
        match settings.later {
            Later::Nothing => rights::keep(CapabilitySet::empty()),
            Later::Another => rights::rest(),
        }
        Ok(Tracer { commands, thread: Some(thread), latest, hooks })
    }

    /// The hook that each observation is made with.
    pub fn hooks(&self) -> &[Hook] {
        &self.hooks
    }

    /// For whoever gives commands.
    pub fn commands(&self) -> Commands {
        self.commands.clone()
    }

    /// The newest published snapshot.
    pub fn latest(&self) -> Arc<Snapshot> {
        Arc::clone(&self.latest.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the thread has ended by itself: tracing failed.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Takes in what is still on its way, detaches and hands everything out.
    ///
    /// # Errors
    /// The thread panicked.
    pub fn end(mut self) -> Result<Findings<S>, Failure> {
        self.commands.give(Command::End);
        let lost = || Failure::Measured("the tracer failed; this is a defect of wirelap".into());
        self.thread.take().ok_or_else(lost)?.join().map_err(|_| lost())
    }
}

impl<S> Drop for Tracer<S> {
    fn drop(&mut self) {
        self.commands.give(Command::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Why attaching failed, with the command that would work.
fn refused(error: &AttachError) -> Failure {
    match error {
        AttachError::NoPrivileges { missing } => needs_root(missing),
        other => Failure::Machine(other.to_string()),
    }
}

fn hooks(capture: &Capture) -> Vec<Hook> {
    let chosen = capture.hooks().iter();
    chosen
        .map(|chosen| Hook {
            observation: chosen.observation.to_string(),
            hook: chosen.hook.as_ref().map(ToString::to_string),
        })
        .collect()
}
