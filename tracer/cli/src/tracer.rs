//! The thread that takes events out of the kernel and turns them into deliveries and snapshots.

use crate::annotate::Annotator;
use crate::cost::Turn;
use crate::machine::{self, Meter};
use crate::quantity::Sampling;
use crate::recording;
use crate::turns::{Turns, Windows};
use rustix::thread::CapabilitySet;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use wirelap_capture::{AttachError, Capture, CaptureError, MAX_BATCH};
use wirelap_correlate::{
    Correlator, DeliverySink, Evidence, Group, Label, ProbeLoss, Snapshot, TracerCost,
};
use wirelap_events::{Body, Cpu, Event, Nanos};
use wirelap_process::Failure;
use wirelap_process::remedy;
use wirelap_process::rights;
use wirelap_recording::Recorder;
use wirelap_report::Hook;

/// The longest wait for events before orders are looked at.
const WAIT: Duration = Duration::from_millis(2);

/// How often completed deliveries are handed out.
const TICK: Duration = Duration::from_millis(2);

/// How often a snapshot is published.
const PUBLISH: Duration = Duration::from_millis(250);

/// Without an event for this long, everything that the workloads caused has been taken in.
const QUIET: Duration = Duration::from_millis(100);

/// The end is not waited for longer than this.
const DRAIN: Duration = Duration::from_secs(3);

/// What will be attached once the probes are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Later {
    /// Nothing: the rights for it are given up.
    #[default]
    Nothing,
    /// The probes of another tracer.
    Another,
}

/// What is traced and how.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What the kernel side does.
    pub capture: wirelap_capture::Config,
    /// Ports whose protocol the user knows.
    pub decode: Vec<(u16, String)>,
    /// What will be attached later.
    pub later: Later,
    /// The probes will be attached and detached by turns.
    pub alternates: bool,
    /// At the end, wait until no event comes any more.
    pub drain: bool,
    /// Publish snapshots while tracing.
    pub publish: bool,
}

/// An order to the thread.
#[derive(Debug)]
enum Order {
    Port(u16),
    /// And whom to tell when it holds.
    Label(Label, Sender<()>),
    Begin(Sampling),
    /// Attach and detach by turns of this length.
    Alternate(Duration),
    End,
}

/// Gives orders to a tracer's thread. A thread that has ended tells so by its findings, not here.
#[derive(Clone, Debug)]
pub struct Orders(Sender<Order>);

impl Orders {
    /// Follows a port too.
    pub fn follow_port(&self, port: u16) {
        self.give(Order::Port(port));
    }

    /// Names a row. Returns once the name holds: traffic from now on is in that row.
    pub fn label(&self, label: Label) {
        let (done, wait) = channel();
        self.give(Order::Label(label, done));
        // An error means that the thread has ended, which is told elsewhere.
        let _ = wait.recv();
    }

    /// The workloads begin: from here on the tracer's cost counts, and events are sampled.
    pub fn begin(&self, sampling: Sampling) {
        self.give(Order::Begin(sampling));
    }

    /// From here on the probes are attached and detached by turns of this length.
    pub fn alternate(&self, turn: Duration) {
        self.give(Order::Alternate(turn));
    }

    fn give(&self, order: Order) {
        let _ = self.0.send(order);
    }
}

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

/// A running tracer. Dropping it detaches everything.
pub struct Tracer<S> {
    orders: Orders,
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
            listening: crate::listening::ports(),
            topics: recorder.is_some(),
            wall: Some(crate::machine::wall_offset()),
            ..wirelap_correlate::Config::default()
        };
        let latest = Arc::new(Mutex::new(Arc::new(Snapshot::default())));
        let (orders, taken) = channel();
        let work = Work {
            capture,
            correlator: Correlator::new(config),
            sink,
            recorder,
            annotator: Annotator::default(),
            orders: taken,
            latest: Arc::clone(&latest),
            meter: Meter::start(std::process::id()),
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
        Ok(Tracer { orders: Orders(orders), thread: Some(thread), latest, hooks })
    }

    /// The hook that each observation is made with.
    pub fn hooks(&self) -> &[Hook] {
        &self.hooks
    }

    /// For whoever gives orders.
    pub fn orders(&self) -> Orders {
        self.orders.clone()
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
        self.orders.give(Order::End);
        let lost = || Failure::Measured("the tracer failed; this is a defect of wirelap".into());
        self.thread.take().ok_or_else(lost)?.join().map_err(|_| lost())
    }
}

impl<S> Drop for Tracer<S> {
    fn drop(&mut self) {
        self.orders.give(Order::End);
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

/// The sentence for everyone who is not root, or is a root without some of its capabilities.
pub fn needs_root(missing: &str) -> Failure {
    Failure::Machine(if rustix::process::geteuid().is_root() {
        format!(
            "attaching probes needs {missing}, which this root does not have: run it with all of root's capabilities \
             (a container: with --privileged)"
        )
    } else {
        "attaching probes needs root (CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN): run `sudo wirelap …`"
            .into()
    })
}

struct Work<S> {
    capture: Capture,
    correlator: Correlator,
    sink: S,
    recorder: Option<Recorder>,
    annotator: Annotator,
    orders: Receiver<Order>,
    latest: Arc<Mutex<Arc<Snapshot>>>,
    meter: Option<Meter>,
    meters: HashMap<u32, Meter>,
    windows: Option<Windows>,
    turns: Option<Turns>,
    drain: bool,
    publish: bool,
}

impl<S: DeliverySink> Work<S> {
    fn run(mut self) -> Findings<S> {
        let error = self.trace().err().map(|error| error.to_string());
        let failed = self.recorder.as_ref().and_then(Recorder::failed);
        let unwritten =
            failed.filter(|failed| !recording::has_enough(failed)).map(recording::unwritten_text);
        self.complete(None);
        let snapshot = self.snapshot();
        if let Some(recorder) = &mut self.recorder {
            recording::note_end(recorder, snapshot.at);
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

    /// Follows all orders that have come; true for the last one.
    fn obey(&mut self) -> Result<bool, CaptureError> {
        loop {
            match self.orders.try_recv() {
                Ok(Order::Port(port)) => self.capture.add_port(port)?,
                Ok(Order::Label(label, done)) => {
                    if let Some(recorder) = &mut self.recorder {
                        recording::note_label(recorder, &label);
                    }
                    self.correlator.add_label(label);
                    let _ = done.send(());
                }
                Ok(Order::Begin(sampling)) => self.begin(sampling),
                Ok(Order::Alternate(turn)) => self.turns = Some(Turns::new(turn, machine::now())),
                Ok(Order::End) | Err(TryRecvError::Disconnected) => return Ok(true),
                Err(TryRecvError::Empty) => break,
            }
        }
        let windows = self.windows.as_mut();
        if let Some(open) = windows.and_then(|windows| windows.change(machine::now())) {
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
            self.windows = Some(Windows { open, every, began: machine::now(), is_open: true });
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
        for process in snapshot.groups.iter_mut().flat_map(|group| &mut group.processes) {
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

fn hooks(capture: &Capture) -> Vec<Hook> {
    let chosen = capture.hooks().iter();
    chosen
        .map(|chosen| Hook {
            observation: chosen.observation.to_string(),
            hook: chosen.hook.as_ref().map(ToString::to_string),
        })
        .collect()
}
