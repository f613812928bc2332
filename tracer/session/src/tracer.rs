//! A running session: attached probes, and the thread that processes their events.

use crate::annotate::Annotator;
use crate::commands::{Commands, SessionCommand};
use crate::listening;
use crate::machine::wall_offset;
use crate::meter::Meter;
use crate::notes;
use crate::observer::Observer;
use crate::own_cpus::OwnCpus;
use crate::places::PlaceReader;
use crate::settings::{AttachLater, SessionSettings};
use crate::thread::{BudgetState, Findings, RowMuting, SessionThread, UsageMeters};
use crate::unix::UnixServers;
use rustix::thread::CapabilitySet;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use wirelap_capture::{ChosenHook, Urgency, packets};
use wirelap_correlate::{Correlator, DeliverySink, Snapshot, UnobservedHost};
use wirelap_events::Nanos;
use wirelap_hosts::MergedHosts;
use wirelap_process::{Failure, remedy, rights};
use wirelap_recording::FileRecorder;
use wirelap_report::Hook;

/// After a message was read, slower layers of several hosts get this long: their events are in one order, as far as their clocks are known.
const HOSTS_HOLD: Nanos = Nanos::from_millis(250);

/// A running session. Dropping it ends the thread and detaches the probes.
pub struct Tracer<S> {
    commands: Commands,
    thread: Option<JoinHandle<Findings<S>>>,
    latest: Arc<Mutex<Arc<Snapshot>>>,
    hooks: Vec<ChosenHook>,
    instead: Option<String>,
}

impl<S: DeliverySink + Send + 'static> Tracer<S> {
    /// Attaches the probes and starts the thread. Deliveries go to the sink, and all events to the recorder if there is one.
    ///
    /// # Errors
    /// The probes cannot be attached, or the thread cannot be started; the failure names the remedy.
    pub fn start(
        settings: &SessionSettings,
        sink: S,
        recorder: Option<FileRecorder>,
    ) -> Result<Tracer<S>, Failure> {
        let mut recorder = recorder;
        rights::resume();
        let started = Observer::start(&settings.capture, &settings.view);
        let (capture, instead) = started.inspect_err(|_| {
            // An empty recording is removed: otherwise the next attempt could not use its name.
            recorder.take().into_iter().for_each(FileRecorder::discard);
        })?;
        Tracer::begin(settings, capture, instead, sink, recorder)
    }

    /// Starts the thread on the events of several hosts' agents. Deliveries go to the sink, and all events to the recorder if there is one.
    ///
    /// # Errors
    /// The thread cannot be started; the failure names the remedy.
    pub fn start_on_hosts(
        settings: &SessionSettings,
        hosts: MergedHosts,
        sink: S,
        recorder: Option<FileRecorder>,
    ) -> Result<Tracer<S>, Failure> {
        Tracer::begin(settings, Observer::Hosts(Box::new(hosts)), None, sink, recorder)
    }

    fn begin(
        settings: &SessionSettings,
        capture: Observer,
        instead: Option<String>,
        sink: S,
        mut recorder: Option<FileRecorder>,
    ) -> Result<Tracer<S>, Failure> {
        let packets_only = capture.is_packets();
        let kept = settings.keep.map(|keep| notes::kept(keep, &settings.decode, packets_only));
        if packets_only && let Some(recorder) = &mut recorder {
            notes::note_packets_only(|note| recorder.standing_note(note));
        }
        let hooks = capture.hooks();
        let needed = capture.rights_still_needed(settings.alternates);
        let (several, usual) = (capture.hosts().is_some(), wirelap_correlate::Config::default());
        let config = wirelap_correlate::Config {
            decode: settings.decode.clone(),
            breakdown: settings.breakdown.clone(),
            // Agents tell what programs of their hosts listen on.
            listening: if several { Vec::new() } else { listening::ports() },
            packets_only,
            hosts: own_host(packets_only),
            topics: recorder.is_some() || sink.takes_topics(),
            trace_contexts: sink.takes_trace_contexts(),
            wall: Some(wall_offset()),
            detail: settings.capture.detail,
            hold: if several { HOSTS_HOLD } else { usual.hold },
            ..usual
        };
        let latest = Arc::new(Mutex::new(Arc::new(Snapshot::default())));
        let (commands, receiver) = Commands::channel();
        let mut session = SessionThread {
            capture,
            urgency: None,
            correlator: Correlator::new(config),
            sink,
            recorder,
            kept,
            annotator: Annotator::of(packets_only),
            commands: receiver,
            latest: Arc::clone(&latest),
            usage: UsageMeters {
                own: Meter::start(std::process::id()),
                ring_bytes: settings.capture.ring_bytes,
                ..UsageMeters::default()
            },
            unix: UnixServers::among(&settings.capture.pids),
            places: PlaceReader::default(),
            cpus: OwnCpus::default(),
            windows: None,
            budget: BudgetState { run_time: settings.run_time.clone(), ..BudgetState::default() },
            behind: Nanos(0),
            alternation: None,
            muting: RowMuting::from(&settings.muting),
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
        Ok(Tracer { commands, thread: Some(thread), latest, hooks, instead })
    }

    /// Why packets alone are shown, if the probes were wanted and could not be attached.
    pub fn instead(&self) -> Option<&str> {
        self.instead.as_deref()
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

    /// True if the thread has ended by itself, which means that tracing failed.
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

/// This host's addresses, where its sockets are not known: a server is the same at each of them.
fn own_host(packets_only: bool) -> Vec<UnobservedHost> {
    let addresses = if packets_only { packets::own_addresses() } else { Vec::new() };
    let host = UnobservedHost { netns: packets::own_namespace(), addresses };
    (!host.addresses.is_empty()).then_some(host).into_iter().collect()
}
