//! The thread that takes events out of the kernel and turns them into deliveries and snapshots.

use crate::annotate::Annotator;
use crate::commands::Command;
use crate::machine::{self, Meter};
use crate::notes;
use crate::sampling::Sampling;
use crate::turns::{Turn, Turns};
use crate::unix::UnixServers;
use crate::windows::Windows;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use wirelap_capture::{Capture, CaptureError, MAX_BATCH};
use wirelap_correlate::{
    Correlator, DeliverySink, Evidence, Group, ProbeLoss, Snapshot, TracerCost,
};
use wirelap_events::{Body, Cpu, Event, Nanos};
use wirelap_recording::Recorder;

/// The longest wait for events before commands are looked at.
const WAIT: Duration = Duration::from_millis(2);

/// How often completed deliveries are handed out.
const TICK: Duration = Duration::from_millis(2);

/// How often a snapshot is published.
const PUBLISH: Duration = Duration::from_millis(250);

/// Without an event for this long, everything that the workloads caused has been taken in.
const QUIET: Duration = Duration::from_millis(100);

/// The end is not waited for longer than this.
const DRAIN: Duration = Duration::from_secs(3);

/// What came of it all.
#[derive(Debug)]
pub struct Findings<S> {
    /// Whom the deliveries were handed to.
    pub sink: S,
    /// The last picture.
    pub snapshot: Snapshot,
    /// Why each row's messages took as long as they did, by the row's name.
    pub evidence: Vec<(String, Evidence)>,
    /// Why tracing ended early, if it did.
    pub error: Option<String>,
    /// When the probes were attached and when not, where they were by turns.
    pub turns: Vec<Turn>,
    /// Whom the events were told, if anyone: it holds all of them.
    pub recorder: Option<Recorder>,
}

/// All that the thread has.
pub struct Work<S> {
    pub capture: Capture,
    pub correlator: Correlator,
    pub sink: S,
    pub recorder: Option<Recorder>,
    pub annotator: Annotator,
    pub commands: Receiver<Command>,
    pub latest: Arc<Mutex<Arc<Snapshot>>>,
    pub meter: Option<Meter>,
    pub meters: HashMap<u32, Meter>,
    pub unix: UnixServers,
    pub windows: Option<Windows>,
    pub turns: Option<Turns>,
    pub drain: bool,
    pub publish: bool,
}

impl<S: DeliverySink> Work<S> {
    /// Traces until it is told to end, or cannot go on.
    pub fn run(mut self) -> Findings<S> {
        let error = self.trace().err().map(|error| error.to_string());
        let failed = self.recorder.as_ref().and_then(Recorder::failed);
        let unwritten =
            failed.filter(|failed| !notes::has_enough(failed)).map(notes::unwritten_text);
        self.complete(None);
        let snapshot = self.snapshot();
        if let Some(recorder) = &mut self.recorder {
            notes::note_end(recorder, snapshot.at);
        }
        let evidence = self.correlator.evidence();
        let (sink, error, recorder) = (self.sink, error.or(unwritten), self.recorder);
        let turns = self.turns.map(|turns| turns.past).unwrap_or_default();
        Findings { sink, snapshot, evidence, error, turns, recorder }
    }

    fn trace(&mut self) -> Result<(), CaptureError> {
        let (mut ticked, mut published) = (Instant::now(), Instant::now());
        while !self.obey()? && !self.is_unwritable() {
            let (_, until) = self.poll()?;
            if ticked.elapsed() >= TICK {
                ticked = Instant::now();
                self.tick(until);
            }
            if published.elapsed() < PUBLISH {
                continue;
            }
            published = Instant::now();
            self.look();
            if self.publish {
                let snapshot = Arc::new(self.snapshot());
                *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = snapshot;
            }
        }
        if self.drain { self.take_the_rest() } else { self.catch_up() }
    }

    /// Looks what those processes do that have messages which ought to have arrived: of a thread that does not run, no
    /// event tells.
    fn look(&mut self) {
        let at = machine::now();
        for pid in self.correlator.holding(at) {
            for state in machine::threads(pid) {
                let event = Event { at, cpu: Cpu(0), body: Body::State(state) };
                let Some(recorder) = &mut self.recorder else {
                    self.correlator.take(&event, &mut self.sink);
                    continue;
                };
                recorder.event(&event);
                self.annotator.event(&event, &mut self.correlator, &mut self.sink, recorder);
            }
        }
    }

    /// Follows all commands that have come; true for the last one.
    fn obey(&mut self) -> Result<bool, CaptureError> {
        loop {
            match self.commands.try_recv() {
                Ok(Command::Port(port)) => self.capture.add_port(port)?,
                Ok(Command::Label(label, done)) => {
                    if let Some(recorder) = &mut self.recorder {
                        notes::note_label(recorder, &label);
                    }
                    self.correlator.add_label(label);
                    let _ = done.send(());
                }
                Ok(Command::Begin(sampling)) => self.begin(sampling),
                Ok(Command::Alternate(turn)) => self.turns = Some(Turns::new(turn, machine::now())),
                Ok(Command::End) | Err(TryRecvError::Disconnected) => return Ok(true),
                Err(TryRecvError::Empty) => break,
            }
        }
        let correlator = &self.correlator;
        let change = |windows: &mut Windows| {
            windows.change(machine::now(), |from, to| correlator.are_waited_for(from, to))
        };
        if let Some(open) = self.windows.as_mut().and_then(change) {
            self.capture.set_window(open)?;
        }
        self.take_turns()?;
        Ok(false)
    }

    /// Attaches or detaches the probes when it is time. What that takes itself is in no turn.
    fn take_turns(&mut self) -> Result<(), CaptureError> {
        let Some(turns) = &mut self.turns else { return Ok(()) };
        if let Some(traced) = turns.end(machine::now()) {
            if traced {
                self.capture.attach_again()?;
            } else {
                self.capture.detach()?;
            }
            turns.begin(machine::now(), traced);
        }
        Ok(())
    }

    fn begin(&mut self, sampling: Sampling) {
        self.meter = Meter::start(std::process::id());
        if let Sampling::Windows { open, every } = sampling {
            self.windows = Some(Windows::new(open, every, machine::now()));
        }
    }

    /// Takes events in. Returns their number, and the time up to which all have been taken.
    fn poll(&mut self) -> Result<(usize, Nanos), CaptureError> {
        let (correlator, sink) = (&mut self.correlator, &mut self.sink);
        let (recorder, annotator) = (&mut self.recorder, &mut self.annotator);
        let before = machine::now();
        let mut last = Nanos(0);
        let count = self.capture.poll(WAIT, &mut |event| {
            last = last.max(event.at);
            let Some(recorder) = recorder else { return correlator.take(event, sink) };
            recorder.event(event);
            annotator.event(event, correlator, sink, recorder);
        })?;
        // An emptied ring buffer had all that happened before; with a backlog, the last event tells.
        Ok((count, if count < MAX_BATCH { before } else { last.min(before) }))
    }

    /// Takes in what has happened so far and was not taken in yet: on a busy machine that is much.
    fn catch_up(&mut self) -> Result<(), CaptureError> {
        let (began, now) = (Instant::now(), machine::now());
        let mut taken = Nanos(0);
        while taken < now && began.elapsed() < DRAIN && !self.is_unwritable() {
            (_, taken) = self.poll()?;
            self.tick(taken);
        }
        Ok(())
    }

    fn take_the_rest(&mut self) -> Result<(), CaptureError> {
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
        self.complete(Some(until));
    }

    /// Completes the messages whose time has come, or all.
    fn complete(&mut self, until: Option<Nanos>) {
        let (correlator, sink) = (&mut self.correlator, &mut self.sink);
        match (&mut self.recorder, until) {
            (Some(recorder), until) => self.annotator.tick(until, correlator, sink, recorder),
            (None, Some(until)) => correlator.tick(until, sink),
            (None, None) => correlator.finish(sink),
        }
    }

    /// A recording that cannot be gone on with ends the trace.
    fn is_unwritable(&self) -> bool {
        self.recorder.as_ref().is_some_and(|recorder| recorder.failed().is_some())
    }

    /// The correlator's picture, with what only we know.
    fn snapshot(&mut self) -> Snapshot {
        let mut snapshot = self.correlator.snapshot(machine::now());
        snapshot.trust.events_lost = self.losses();
        snapshot.trust.tracer = self.own_cost();
        let mut meters = std::mem::take(&mut self.meters);
        self.unix.refresh(&mut self.capture);
        for process in snapshot.groups.iter_mut().flat_map(|group| &mut group.processes) {
            process.unix = self.unix.of(process.pid.0).cloned();
            let Some(meter) = meter_of(&mut meters, process.pid.0) else { continue };
            process.cpu_share = Some(meter.cpu_share());
            process.rss_bytes = Some(meter.peak_rss());
        }
        self.meters = meters;
        snapshot.groups.iter_mut().for_each(Group::check_verdicts);
        snapshot
    }

    fn losses(&self) -> Vec<ProbeLoss> {
        let counters = self.capture.counters().into_iter();
        counters.map(|counter| ProbeLoss { probe: counter.probe, count: counter.lost }).collect()
    }

    fn own_cost(&mut self) -> TracerCost {
        let Some(meter) = &mut self.meter else { return TracerCost::default() };
        meter.sample();
        TracerCost { cpu_share: meter.cpu_share(), rss_bytes: meter.peak_rss() }
    }
}

/// A process's meter, started when it is first asked for; bounded by the processes that a snapshot
/// lists.
fn meter_of(meters: &mut HashMap<u32, Meter>, pid: u32) -> Option<&mut Meter> {
    let meter = match meters.entry(pid) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => new.insert(Meter::start(pid)?),
    };
    meter.sample();
    Some(meter)
}
