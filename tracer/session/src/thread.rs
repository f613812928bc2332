//! The thread of a session: it takes events out of the ring buffer and makes deliveries and snapshots of them.

mod muting;
mod pauses;
mod snapshots;

pub use muting::RowMuting;

use crate::annotate::Annotator;
use crate::commands::SessionCommand;
use crate::keeper::BudgetKeeper;
use crate::machine;
use crate::meter::Meter;
use crate::notes::{self, NotedFact};
use crate::observer::Observer;
use crate::own_cpus::OwnCpus;
use crate::place_notes::PlaceNotes;
use crate::places::PlaceReader;
use crate::schedule::{Alternation, TracingPhase};
use crate::unix::UnixServers;
use crate::windows::{SamplingWindows, WindowCut};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use wirelap_capture::{CaptureError, MAX_BATCH, RunTimeCount, Urgency};
use wirelap_correlate::{Correlator, DeliverySink, Evidence, LocalRequestTimes, Snapshot};
use wirelap_events::{Body, Cpu, Event, Nanos};
use wirelap_hosts::MergedHosts;
use wirelap_recording::{FileRecorder, KeptEvents, Note};

/// The longest wait for events before commands are handled.
const WAIT: Duration = Duration::from_millis(10);

/// The same while the probes are detached: each time that this thread wakes up, a program that wants its CPU is held up.
const WAIT_DETACHED: Duration = Duration::from_millis(50);

/// Interval at which the correlator completes deliveries.
const TICK: Duration = Duration::from_millis(2);

/// Interval at which a snapshot is published.
const PUBLISH: Duration = Duration::from_millis(250);

/// After this time without an event, all events of the workloads have been taken.
const QUIET: Duration = Duration::from_millis(100);

/// The longest time that the end waits for further events.
const DRAIN: Duration = Duration::from_secs(3);

/// The same where events come from hosts, of which one that is behind by less than five seconds is waited for.
const DRAIN_HOSTS: Duration = Duration::from_secs(6);

/// Findings of a session.
#[derive(Debug)]
pub struct Findings<S> {
    /// The sink that got the deliveries.
    pub sink: S,
    /// The last snapshot.
    pub snapshot: Snapshot,
    /// The evidence for the causes of each row's latency, with the name of the row.
    pub evidence: Vec<(String, Evidence)>,
    /// The times of each row's requests whose both ends are on this host, with the name of the row.
    pub requests: Vec<(String, LocalRequestTimes)>,
    /// Why tracing ended early; `None` if it did not.
    pub error: Option<String>,
    /// The phases in which the probes were attached and detached, if they alternated.
    pub phases: Vec<TracingPhase>,
    /// The recorder that got all events, if there is one.
    pub recorder: Option<FileRecorder>,
    /// The agents of several hosts, if events came from these.
    pub hosts: Option<Box<MergedHosts>>,
}

/// The meters of what is used.
#[derive(Default)]
pub struct UsageMeters {
    /// The meter of wirelap's own process.
    pub own: Option<Meter>,
    pub ring_bytes: u32,
    /// The meters of traced programs, by process id.
    pub programs: HashMap<u32, Meter>,
}

/// The budget of tracing, where there is one.
#[derive(Default)]
pub struct BudgetState {
    pub keeper: Option<BudgetKeeper>,
    /// The count of the probes' run time, until there is a keeper.
    pub run_time: Option<Arc<RunTimeCount>>,
}

/// The state of the thread.
pub struct SessionThread<S> {
    pub capture: Observer,
    pub urgency: Option<Urgency>,
    pub correlator: Correlator,
    pub sink: S,
    pub recorder: Option<FileRecorder>,
    pub kept: Option<KeptEvents>,
    pub annotator: Annotator,
    pub commands: Receiver<SessionCommand>,
    pub latest: Arc<Mutex<Arc<Snapshot>>>,
    pub usage: UsageMeters,
    pub unix: UnixServers,
    pub places: PlaceReader,
    /// The CPUs that this thread runs on.
    pub cpus: OwnCpus,
    pub windows: Option<SamplingWindows>,
    pub budget: BudgetState,
    /// Age of the events that were taken last, by the clock; zero if the ring buffer is empty.
    pub behind: Nanos,
    pub alternation: Option<Alternation>,
    pub muting: RowMuting,
    pub drain: bool,
    pub publish: bool,
}

impl<S: DeliverySink> SessionThread<S> {
    /// Traces until the command `End`, an error, or a recording that cannot be written.
    pub fn run(mut self) -> Findings<S> {
        let error = self.trace().err().map(|error| error.to_string());
        let failed = self.recorder.as_ref().and_then(FileRecorder::failed);
        let unwritten = failed.map(notes::unwritten_text);
        self.complete(None);
        let snapshot = self.snapshot();
        self.sink.published(&Arc::new(snapshot.clone()));
        if let Some(recorder) = &mut self.recorder {
            notes::note_end(recorder, snapshot.at);
        }
        let (evidence, requests) = (self.correlator.evidence(), self.correlator.requests());
        let (sink, error, recorder) = (self.sink, error.or(unwritten), self.recorder);
        let phases = self.alternation.map(|alternation| alternation.past).unwrap_or_default();
        let hosts = self.capture.into_hosts();
        Findings { sink, snapshot, evidence, requests, error, phases, recorder, hosts }
    }

    fn trace(&mut self) -> Result<(), CaptureError> {
        let (mut ticked, mut published) = (Instant::now(), Instant::now());
        while !self.handle_commands()? && !self.is_unwritable() {
            let (_, until) = self.poll()?;
            if ticked.elapsed() >= TICK {
                ticked = Instant::now();
                self.tick(until);
            }
            if published.elapsed() < PUBLISH {
                continue;
            }
            published = Instant::now();
            self.read_thread_states();
            if let Some(hosts) = self.capture.hosts() {
                self.correlator.set_host_bounds(hosts.bounds());
                let names = hosts.states().map(|state| (state.number, state.name.clone()));
                // A kernel has the number of this host also where another agent of it observes.
                let here = std::iter::once((1, "here".to_owned()));
                self.correlator.name_hosts(names.chain(here));
            }
            self.mute()?;
            if self.publish {
                let snapshot = Arc::new(self.snapshot());
                self.mute_named(&snapshot)?;
                self.sink.published(&snapshot);
                self.keep_budget()?;
                *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
            }
        }
        // What hosts have sent comes in order, up to a time that is known.
        let drains = self.drain && self.capture.hosts().is_none();
        if drains { self.drain() } else { self.catch_up() }
    }

    /// Reads what the threads of those processes do that hold overdue messages, because a thread that does not run causes no
    /// event.
    fn read_thread_states(&mut self) {
        let at = machine::now();
        for pid in self.correlator.holding(at) {
            if let Some(hosts) = self.capture.hosts() {
                hosts.ask_states(pid);
                continue;
            }
            for state in machine::thread_states(pid) {
                let event = Event { at, cpu: Cpu(0), body: Body::State(state) };
                if let Some(kept) = &mut self.kept {
                    kept.event(&event);
                }
                let Some(recorder) = &mut self.recorder else {
                    self.correlator.take(&event, &mut self.sink);
                    continue;
                };
                recorder.event(&event);
                self.annotator.event(&event, &mut self.correlator, &mut self.sink, recorder);
            }
        }
    }

    /// Handles all commands that have arrived. Returns true when the session must end.
    fn handle_commands(&mut self) -> Result<bool, CaptureError> {
        loop {
            match self.commands.try_recv() {
                Ok(SessionCommand::Port(port)) => self.capture.add_port(port)?,
                Ok(SessionCommand::Label(label, done)) => {
                    if let Some(recorder) = &mut self.recorder {
                        notes::note_label(recorder, &label);
                    }
                    self.correlator.add_label(label);
                    let _ = done.send(());
                }
                Ok(SessionCommand::Breakdown(query)) => self.correlator.ask_breakdown(query),
                Ok(SessionCommand::MuteRow(group, mute)) => self.mute_row(group, mute)?,
                Ok(SessionCommand::Kept(to)) => {
                    let _ = to.send(self.kept.as_mut().map(KeptEvents::parts).unwrap_or_default());
                }
                Ok(SessionCommand::Begin(traced)) => self.begin(traced),
                Ok(SessionCommand::Alternate(phase, phases)) => {
                    self.alternation = Some(Alternation::new(phase, phases, machine::now()));
                }
                Ok(SessionCommand::End) | Err(TryRecvError::Disconnected) => return Ok(true),
                Err(TryRecvError::Empty) => break,
            }
        }
        self.pace()?;
        Ok(self.alternation.as_ref().is_some_and(Alternation::is_over))
    }

    /// True if the probes are detached until the next window.
    fn is_at_rest(&self) -> bool {
        self.budget.keeper.is_some()
            && self.windows.as_ref().is_some_and(SamplingWindows::is_at_rest)
    }

    /// Takes events out of the ring buffer. Returns their number, and the time up to which all events were taken.
    fn poll(&mut self) -> Result<(usize, Nanos), CaptureError> {
        let wait = if self.is_at_rest() { WAIT_DETACHED } else { WAIT };
        let (correlator, sink) = (&mut self.correlator, &mut self.sink);
        let (recorder, annotator) = (&mut self.recorder, &mut self.annotator);
        let kept = &mut self.kept;
        let before = machine::now();
        let mut last = Nanos(0);
        let windows = &mut self.windows;
        let count = self.capture.poll(wait, &mut |event| {
            last = last.max(event.at);
            let cut = windows.as_mut().map(|w| w.cut(event, || correlator.make_room()));
            let closed;
            let event = match cut.unwrap_or_default() {
                WindowCut::None => event,
                WindowCut::Here => {
                    closed = Event { body: Body::Window(false), ..*event };
                    &closed
                }
                WindowCut::Before => return,
            };
            if let Some(kept) = kept {
                kept.event(event);
            }
            let Some(recorder) = recorder else { return correlator.take(event, sink) };
            recorder.event(event);
            annotator.event(event, correlator, sink, recorder);
        })?;
        let is_empty = count < MAX_BATCH;
        let behind = if is_empty { Nanos(0) } else { machine::now() - last };
        self.behind = behind;
        if let Some(windows) = &mut self.windows {
            windows.taken(behind);
        }
        if let Some(keeper) = &mut self.budget.keeper {
            keeper.took(count);
        }
        let until = self.capture.taken_until(before, count, last);
        if let Some(urgency) = &self.urgency {
            // Nothing is missed by waking up late between windows.
            urgency.read(if is_empty && self.is_at_rest() { Nanos(u64::MAX) } else { until });
        }
        Ok((count, until))
    }

    /// Takes the events from before this call that are still in the ring buffer; on a busy machine these are many.
    fn catch_up(&mut self) -> Result<(), CaptureError> {
        let (began, now) = (Instant::now(), machine::now());
        let limit = if self.capture.hosts().is_some() { DRAIN_HOSTS } else { DRAIN };
        let mut taken = Nanos(0);
        while taken < now && began.elapsed() < limit && !self.is_unwritable() {
            (_, taken) = self.poll()?;
            self.tick(taken);
        }
        Ok(())
    }

    /// Takes events until none has arrived for [`QUIET`].
    fn drain(&mut self) -> Result<(), CaptureError> {
        let (began, mut last_event) = (Instant::now(), Instant::now());
        while last_event.elapsed() < QUIET && began.elapsed() < DRAIN {
            let (count, until) = self.poll()?;
            if count > 0 {
                last_event = Instant::now();
            }
            self.tick(until);
        }
        Ok(())
    }

    fn tick(&mut self, until: Nanos) {
        if let Some(recorder) = &mut self.recorder {
            recorder.tick(until);
        }
        if let Some(kept) = &mut self.kept {
            kept.tick(until);
        }
        self.complete(Some(until));
        let mut notes = PlaceNotes { recorder: self.recorder.as_mut(), kept: self.kept.as_mut() };
        let hosts = self.capture.hosts();
        let elsewhere = |pid| hosts.iter().for_each(|hosts| hosts.ask_place(pid));
        self.places.meet(&mut self.correlator, &mut notes, elsewhere);
        if let Some(hosts) = self.capture.hosts_mut() {
            for (number, (subject, text)) in hosts.notes() {
                let fact = NotedFact::read(Note { subject: &subject, text: &text });
                if let Some(fact) = fact.map(|fact| fact.on_host(number)) {
                    fact.write(&mut notes);
                    fact.tell(&mut self.correlator);
                }
            }
        }
    }

    /// Completes the deliveries up to a time, or all of them.
    fn complete(&mut self, until: Option<Nanos>) {
        let (correlator, sink) = (&mut self.correlator, &mut self.sink);
        match (&mut self.recorder, until) {
            (Some(recorder), until) => self.annotator.tick(until, correlator, sink, recorder),
            (None, Some(until)) => correlator.tick(until, sink),
            (None, None) => correlator.finish(sink),
        }
    }

    /// True if the recording cannot be written further, which ends the session.
    fn is_unwritable(&self) -> bool {
        self.recorder.as_ref().is_some_and(|recorder| recorder.failed().is_some())
    }
}

/// The meter of a process, with a new sample. It is started at the first call. The number of meters is bounded by the number
/// of processes in snapshots.
fn meter_of(meters: &mut HashMap<u32, Meter>, pid: u32) -> Option<&mut Meter> {
    let meter = match meters.entry(pid) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => new.insert(Meter::start(pid)?),
    };
    meter.sample();
    Some(meter)
}
