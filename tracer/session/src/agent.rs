//! The agent of a host: it observes, and hands everything to the collector, which joins it with what other hosts saw.
//!
//! It joins nothing itself. Nothing is read from the network: what it reads from its stdin are questions of the collector.

use crate::agent_windows::AgentWindows;
use crate::carriers::Carriers;
use crate::listening;
use crate::machine;
use crate::meter::Meter;
use crate::observer::Observer;
use crate::place_notes::{NAME, NAMESPACE, PROCESS, name_text, process_text};
use crate::places::{self, PlaceReader};
use crate::settings::SessionView;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use wirelap_capture::{CaptureConfig, CaptureError, Urgency, clock};
use wirelap_events::{Body, Cpu, Event, Nanos, Pid, Socket};
use wirelap_hosts::merged::WINDOW_MISSED;
use wirelap_hosts::stream::{AgentState, AgentWriter, Hello, ProbeCount, ProcessUse, Question};
use wirelap_process::{Failure, Signals, remedy, rights};
use wirelap_recording::{Note, RecordPacker};

/// The longest wait for events.
const WAIT: Duration = Duration::from_millis(5);

/// Interval at which records are sent.
const SEND_INTERVAL: Duration = Duration::from_millis(20);

/// Records of so many bytes are sent at once.
const SEND_BYTES: usize = 128 << 10;

/// Interval at which the agent says how it is.
const STATE_INTERVAL: Duration = Duration::from_secs(1);

/// The most processes whose use is told.
const MAX_PROCESSES: usize = 512;

/// Time that an agent gets to end once nobody wants it any more, for instance while nobody reads what it writes.
const ENDING: Duration = Duration::from_secs(1);

type Stream = Arc<Mutex<AgentWriter<BufWriter<File>>>>;

/// Settings of an agent.
#[derive(Debug)]
pub struct AgentSettings {
    /// Settings of the probes.
    pub capture: CaptureConfig,
    /// Source of the events.
    pub view: SessionView,
}

/// Observes this host and writes everything to stdout, until stdin ends or a signal arrives.
///
/// # Errors
/// Nothing can be observed.
pub fn run_agent(settings: &AgentSettings, signals: &Signals) -> Result<(), Failure> {
    let stdio = |fd: io::Result<OwnedFd>| {
        let failed =
            |error| Failure::Machine(format!("cannot use the pipes of this process: {error}"));
        fd.map(File::from).map_err(failed)
    };
    let stdout = stdio(rustix::io::dup(io::stdout()).map_err(Into::into))?;
    let stdin = stdio(rustix::io::dup(io::stdin()).map_err(Into::into))?;
    let out = BufWriter::with_capacity(1 << 16, stdout);
    let Ok(stream) = AgentWriter::begin(out) else { return Ok(()) };
    let stream: Stream = Arc::new(Mutex::new(stream));
    let is_over = Arc::<AtomicBool>::default();
    let (asked, questions) = channel();
    let listener = Listener { stream: Arc::clone(&stream), is_over: Arc::clone(&is_over), asked };
    rights::spawn("questions", move || listener.listen(stdin)).map_err(|error| {
        Failure::Machine(format!("cannot start a thread: {}", remedy::with(&error)))
    })?;
    let (observer, instead) = Observer::start(&settings.capture, &settings.view)?;
    let hello = Hello { instead, ..hello(&observer) };
    if lock(&stream).hello(&hello).is_err() {
        return Ok(());
    }
    let urgency = Urgency::watch(|| rights::keep(rights::to_hurry())).ok();
    rights::keep(observer.rights_still_needed(false));
    let agent = Agent {
        observer,
        carriers: Carriers::of_this_process(),
        rests: false,
        windows: AgentWindows::default(),
        urgency,
        stream,
        questions,
        records: RecordPacker::default(),
        places: PlaceReader::default(),
        meters: BTreeMap::new(),
        own: Meter::start(std::process::id()),
    };
    agent.run(&is_over, signals)
}

/// Introduction of this agent.
fn hello(observer: &Observer) -> Hello {
    let lacks = observer.hooks().into_iter().filter(|hook| hook.hook.is_none());
    Hello {
        version: env!("CARGO_PKG_VERSION").into(),
        host: machine::hostname().unwrap_or_default(),
        kernel: machine::kernel(),
        boot: machine::boot_id(),
        listening: listening::ports(),
        instead: None,
        lacks: lacks.map(|hook| format!("{}: {}", hook.observation, hook.without)).collect(),
    }
}

/// The thread that reads the collector's questions.
struct Listener {
    stream: Stream,
    is_over: Arc<AtomicBool>,
    asked: Sender<Question>,
}

impl Listener {
    fn listen(self, stdin: File) {
        for line in BufReader::new(stdin).lines().map_while(Result::ok) {
            match line.parse() {
                Ok(Question::Ping(number)) => {
                    // The time is taken when the answer can be written, so that waiting for that counts for the way there.
                    let mut stream = lock(&self.stream);
                    let (at, ahead) = machine::oscillator();
                    if stream.answer(number, at, ahead).is_err() {
                        break;
                    }
                }
                Ok(question) => {
                    if self.asked.send(question).is_err() {
                        break;
                    }
                }
                // A later version asks it.
                Err(()) => {}
            }
        }
        self.is_over.store(true, Ordering::Relaxed);
        thread::sleep(ENDING);
        std::process::exit(0);
    }
}

struct Agent {
    observer: Observer,
    carriers: Carriers,
    /// Another agent of this kernel sends the events.
    rests: bool,
    windows: AgentWindows,
    urgency: Option<Urgency>,
    stream: Stream,
    questions: Receiver<Question>,
    records: RecordPacker,
    places: PlaceReader,
    /// Meters of the processes that were asked for.
    meters: BTreeMap<u32, Meter>,
    own: Option<Meter>,
}

impl Agent {
    fn run(mut self, is_over: &AtomicBool, signals: &Signals) -> Result<(), Failure> {
        self.tell_namespace();
        // Which connections are left out is known before the first of their bytes is seen.
        self.answer();
        let (mut sent, mut told) = (Instant::now(), None::<Instant>);
        let ending = loop {
            if is_over.load(Ordering::Relaxed) {
                break None;
            }
            if let Some(signal) = signals.caught() {
                break Some(format!("{signal} ended it"));
            }
            let until = match self.poll() {
                Ok(until) => until,
                Err(error) => break Some(error.to_string()),
            };
            self.answer();
            let is_due = sent.elapsed() >= SEND_INTERVAL;
            if is_due || self.records.len() >= SEND_BYTES {
                sent = Instant::now();
                self.records.tick(until);
                if lock(&self.stream).records(&mut self.records).is_err() {
                    return Ok(());
                }
            }
            if is_due && told.is_none_or(|told| told.elapsed() >= STATE_INTERVAL) {
                told = Some(Instant::now());
                let state = self.state();
                if lock(&self.stream).state(&state).is_err() {
                    return Ok(());
                }
            }
        };
        let mut stream = lock(&self.stream);
        let _ = stream.records(&mut self.records);
        match ending {
            None => Ok(()),
            Some(why) => {
                let _ = stream.end(&why);
                Err(Failure::Measured(why))
            }
        }
    }

    /// Takes events out of the ring buffer. Returns the time up to which all were taken.
    fn poll(&mut self) -> Result<Nanos, CaptureError> {
        let (before, mut last) = (machine::now(), Nanos(0));
        let (records, carriers) = (&mut self.records, &mut self.carriers);
        let (rests, windows) = (self.rests, &self.windows);
        let count = self.observer.poll(WAIT, &mut |event| {
            last = last.max(event.at);
            if carriers.is_one(event) || rests || !windows.sends(event) {
                return;
            }
            // What programs encrypt leaves no host.
            if !matches!(event.body, Body::Plain(_) | Body::Written(_)) {
                records.event(event);
            }
        })?;
        let until = self.observer.taken_until(before, count, last);
        self.windows.reach(until);
        let carriers = self.carriers.news();
        if let Some(probes) = self.observer.probes_mut().filter(|_| !carriers.is_empty()) {
            probes.mute(&carriers)?;
        }
        if let Some(urgency) = &self.urgency {
            urgency.read(until);
        }
        Ok(until)
    }

    fn answer(&mut self) {
        while let Ok(question) = self.questions.try_recv() {
            match question {
                Question::Place(pid) => self.place(pid),
                Question::States(pid) => {
                    let at = machine::now();
                    for state in machine::thread_states(pid) {
                        let event = Event { at, cpu: Cpu(0), body: Body::State(state) };
                        self.records.event(&event);
                    }
                }
                Question::Rest(rests) => self.rest(rests),
                Question::Again if !self.rests => self.begin_again(),
                Question::Carrier(one, other) => self.carriers.add(one, other),
                Question::Window { at, open } => {
                    if !self.windows.note(at, open) {
                        self.records.note(Note { subject: WINDOW_MISSED, text: "{}" });
                    }
                }
                Question::Again | Question::Ping(_) => {}
            }
        }
    }

    /// Stops sending events, or begins again with the sockets that are open.
    fn rest(&mut self, rests: bool) {
        if std::mem::replace(&mut self.rests, rests) && !rests {
            self.tell_what_is_open();
        }
    }

    /// Tells what somebody needs to know who listens only now, or has missed something: who has not read the blocks before can read the
    /// next ones.
    fn begin_again(&mut self) {
        if !self.records.is_empty() && lock(&self.stream).records(&mut self.records).is_err() {
            return;
        }
        self.records.begin_again();
        self.tell_what_is_open();
    }

    /// Tells this namespace, and the sockets that are open.
    fn tell_what_is_open(&mut self) {
        self.tell_namespace();
        let at = machine::now();
        for socket in self.carriers.open_sockets() {
            // Where its bytes were when it was found says nothing any more.
            let socket = Socket { tx_next: None, rx_next: None, ..*socket };
            let event = Event { at, cpu: Cpu(0), body: Body::Socket(socket) };
            self.records.event(&event);
        }
    }

    fn tell_namespace(&mut self) {
        if let Some(own) = places::own_namespace() {
            self.records.note(Note { subject: NAMESPACE, text: &own.0.to_string() });
        }
    }

    fn place(&mut self, pid: Pid) {
        let (read, names) = self.places.describe_anew(pid);
        let text = process_text(pid, &read, &names);
        self.records.note(Note { subject: PROCESS, text: &text });
        if let Some(comm) = places::comm(pid) {
            self.records.note(Note { subject: NAME, text: &name_text(pid, comm) });
        }
        if self.meters.len() < MAX_PROCESSES
            && let Some(meter) = Meter::start(pid.0)
        {
            self.meters.entry(pid.0).or_insert(meter);
        }
    }

    fn state(&mut self) -> AgentState {
        self.meters.values_mut().for_each(Meter::sample);
        let processes = self.meters.iter().map(|(pid, meter)| ProcessUse {
            pid: *pid,
            cpu_share: meter.cpu_share(),
            rss_bytes: meter.peak_rss(),
            major_faults: meter.major_faults(),
            ended: meter.has_ended(),
        });
        let processes = processes.collect();
        self.meters.retain(|_, meter| !meter.has_ended());
        let counters = self.observer.counters();
        let is_counted = !self.observer.is_packets();
        let count = |counter: &wirelap_capture::ProbeCounters| ProbeCount {
            probe: counter.probe.name().into(),
            missing: counter.missing(),
            skipped: counter.skipped,
            filtered: if is_counted { counter.filtered } else { 0 },
        };
        let mut state = AgentState {
            at: machine::now().0,
            wall: machine::wall_offset(),
            max_error: clock::max_error().map(|error| error.0),
            probes: counters.iter().map(count).collect(),
            processes,
            ..AgentState::default()
        };
        if let Some(own) = &mut self.own {
            own.sample();
            state.cpu_share = own.cpu_share();
            state.rss_bytes = own.peak_rss().saturating_sub(self.observer.counted_twice());
            state.cpu_time = u64::try_from(own.cpu().as_nanos()).unwrap_or(u64::MAX);
        }
        state
    }
}

/// The shared value, also after a thread has panicked.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
