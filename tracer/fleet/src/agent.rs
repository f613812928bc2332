//! `wirelap-fleet agent`: waits on a host until somebody watches, and sends what its agent observes meanwhile.

use crate::audience::Audience;
use crate::envelope::Envelope;
use crate::keys::{self, Keys, Told, told};
use crate::local::{LocalAgent, LocalNews};
use crate::sender::{Sender, SharedOutbox};
use crate::uplink::{self, FleetArgs, Uplink, Urgency};
use clap::Args;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use wirelap_hosts::stream::{Question, RawFrame, STREAM_VERSION, answer_bytes};
use wirelap_process::steward::{DeclaredCommand, FurtherArguments, Steward, StewardRole};
use wirelap_process::{Failure, Signals, catch_signals, output, rights};
use zenoh::Session;

/// Line by which a collector asks for the introduction of the agent.
pub const JOIN: &str = "join";

/// The first time after which a router, or the agent, is tried again; it doubles up to the longest.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(15);

/// Interval at which signals and the router are looked for.
const INTERVAL: Duration = Duration::from_millis(100);

/// News that wait to be taken in.
const MAX_NEWS: usize = 1_024;

/// The most connections that are left out.
const MAX_CARRIERS: usize = 4_096;

/// `wirelap-fleet agent`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "While nobody watches, nothing is observed and nothing is sent. Options of `wirelap agent` stand behind `--`, and say what may be seen:
  sudo wirelap-fleet agent --to tcp/hub:7447 -- --ports 1883 --snap 128"
)]
pub struct AgentArgs {
    /// The router: tcp/HUB:7447, tls/HUB:7447
    #[arg(long, value_name = "LOCATOR")]
    to: String,

    /// The host's name, which no other host of the fleet has [default: its hostname]
    #[arg(long, value_name = "HOST", value_parser = keys::name)]
    name: Option<String>,

    /// The fleet.
    #[command(flatten)]
    fleet: FleetArgs,

    /// Options of `wirelap agent`
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<OsString>,
}

/// Waits for collectors until a signal arrives.
///
/// # Errors
/// An option is wrong, or the process that starts the agent cannot be started.
pub fn run(args: &AgentArgs) -> Result<ExitCode, Failure> {
    let host = if let Some(name) = &args.name {
        name.clone()
    } else {
        let own = rustix::system::uname().nodename().to_string_lossy().into_owned();
        keys::name(&own).map_err(|why| Failure::Usage(format!("give --name: {why}")))?
    };
    let steward = Steward::start(StewardRole::Hosts)?;
    let mut words: Vec<OsString> = vec![program().into(), "agent".into()];
    words.extend(args.options.iter().cloned());
    let failed = |error: std::io::Error| Failure::Machine(error.to_string());
    steward
        .declare_commands(vec![DeclaredCommand {
            words,
            as_user: false,
            further: FurtherArguments::None,
        }])
        .and_then(|()| steward.seal())
        .map_err(failed)?;
    // The process that reads the network has no rights from here on.
    rights::confine_collector();
    let signals = catch_signals()?;
    let waiting = Waiting { args, host, steward, signals };
    let mut wait = FIRST_WAIT;
    let mut before = String::new();
    while waiting.signals.caught().is_none() {
        let began = Instant::now();
        let why = match waiting.serve() {
            Ok(()) => break,
            Err(Failure::Machine(why)) => why,
            Err(failure) => return Err(failure),
        };
        if why != before {
            output::say(&format!("wirelap-fleet: {why}; trying again\n"));
        }
        // A connection that has worked for a while works again soon.
        wait = if began.elapsed() > LONGEST_WAIT { FIRST_WAIT } else { wait };
        waiting.rest(wait);
        wait = wait.saturating_mul(2).min(LONGEST_WAIT);
        before = why;
    }
    Ok(ExitCode::SUCCESS)
}

/// The program `wirelap`: the one beside this, or the one in the path.
fn program() -> PathBuf {
    let own = std::env::current_exe().ok();
    let beside = own.map(|own| own.with_file_name("wirelap")).filter(|program| program.is_file());
    beside.unwrap_or_else(|| "wirelap".into())
}

/// News of collectors, and of the local agent.
enum Happening {
    /// A collector watches, or no more.
    Watching(String, bool),
    /// A collector asks.
    Asked(String, String),
    /// A connection carries what agents send.
    Carrier(SocketAddr, SocketAddr),
    /// News of a run of the local agent.
    Local(u64, LocalNews),
}

impl From<(u64, LocalNews)> for Happening {
    fn from((run, news): (u64, LocalNews)) -> Happening {
        Happening::Local(run, news)
    }
}

struct Waiting<'a> {
    args: &'a AgentArgs,
    host: String,
    steward: Arc<Steward>,
    signals: Signals,
}

impl Waiting<'_> {
    fn rest(&self, time: Duration) {
        let began = Instant::now();
        while began.elapsed() < time && self.signals.caught().is_none() {
            thread::sleep(INTERVAL.min(time));
        }
    }

    /// Serves collectors until a signal arrives, or the router is gone.
    fn serve(&self) -> Result<(), Failure> {
        let FleetArgs { fleet, zenoh_config } = &self.args.fleet;
        let connect = ("connect/endpoints", self.args.to.as_str());
        let config = uplink::config(zenoh_config.as_deref(), "client", connect);
        let config = config.map_err(Failure::Usage)?;
        let uplink = Uplink::open(config, &self.args.to, fleet).map_err(Failure::Machine)?;
        let (news, happenings) = sync_channel(MAX_NEWS);
        let run = Arc::<AtomicU64>::default();
        self.listen(&uplink, &news, &run).map_err(Failure::Machine)?;
        output::say(&format!(
            "wirelap-fleet: {} waits in fleet {fleet} at {}\n",
            self.host, self.args.to
        ));
        let sender = Sender::start(&uplink, uplink.keys.stream(&self.host));
        let mut serving = Serving {
            waiting: self,
            uplink: &uplink,
            outbox: sender.outbox(),
            news,
            audience: Audience::default(),
            carriers: crate::connections::own().into_iter().collect(),
            agent: None,
            run,
            wait: FIRST_WAIT,
            not_before: None,
        };
        let why = serving.serve(&happenings);
        // Whoever waits for capacity waits for nobody.
        drop(happenings);
        drop(serving);
        drop(sender);
        uplink.close();
        why.map_or(Ok(()), |why| Err(Failure::Machine(why)))
    }

    fn listen(
        &self,
        uplink: &Uplink,
        news: &SyncSender<Happening>,
        run: &Arc<AtomicU64>,
    ) -> Result<(), String> {
        let keys = uplink.keys.clone();
        // Two hosts of one name would be taken for one.
        let others = uplink.session.liveliness().get(keys.alive(&self.host));
        let others = zenoh::Wait::wait(others).map_err(|error| error.to_string())?;
        if others.iter().any(|reply| reply.result().is_ok()) {
            return Err(format!(
                "a host called {} is in the fleet already: give each its own --name",
                self.host
            ));
        }
        let tell = news.clone();
        let pings = Pings {
            run: Arc::clone(run),
            session: uplink.session.clone(),
            keys: keys.clone(),
            host: self.host.clone(),
        };
        uplink.listen(&keys.asked(&self.host, "*"), move |key, line| {
            if let Some(Told::Asked { collector }) = told(key) {
                let line = String::from_utf8_lossy(line).into_owned();
                if let Ok(Question::Ping(number)) = line.parse() {
                    return pings.answer(collector, number);
                }
                let _ = tell.send(Happening::Asked(collector.to_owned(), line));
            }
        })?;
        let tell = news.clone();
        uplink.watch(&keys.every_carrier(), move |key, is_there| {
            if let Some(Told::Carrier(one, other)) = told(key).filter(|_| is_there) {
                let _ = tell.send(Happening::Carrier(one, other));
            }
        })?;
        let tell = news.clone();
        uplink.watch(&keys.every_watching(), move |key, is_there| {
            // A collector of another version is told by the token of this agent.
            if let Some(Told::Watching { collector, version }) = told(key)
                && version.parse() == Ok(STREAM_VERSION)
            {
                let _ = tell.send(Happening::Watching(collector.to_owned(), is_there));
            }
        })?;
        uplink.be_alive(&keys.alive(&self.host))
    }
}

/// Answers pings where they come, so that nothing else delays them.
struct Pings {
    run: Arc<AtomicU64>,
    session: Session,
    keys: Keys,
    host: String,
}

impl Pings {
    fn answer(&self, collector: &str, number: u64) {
        let run = self.run.load(Ordering::Relaxed);
        // Whoever collects does not ask for the oscillator.
        let answer = answer_bytes(number, uplink::now(), 0);
        let envelope = Envelope { run, before: 0, frame: RawFrame::answer_of(&answer) };
        if run != 0 {
            let key = self.keys.reply(&self.host, collector);
            uplink::send(&self.session, &key, envelope.bytes(), Urgency::Now);
        }
    }
}

/// A run of the local agent.
struct Run {
    number: u64,
    agent: LocalAgent,
    /// Its introduction, once it has come.
    hello: Option<Vec<u8>>,
    /// Number of events that it has sent.
    events: u64,
}

/// The service to collectors while there is a router.
struct Serving<'a> {
    waiting: &'a Waiting<'a>,
    uplink: &'a Uplink,
    outbox: Arc<SharedOutbox>,
    news: SyncSender<Happening>,
    audience: Audience,
    carriers: BTreeSet<(SocketAddr, SocketAddr)>,
    agent: Option<Run>,
    /// Number of the run that has introduced itself; 0 if none has.
    run: Arc<AtomicU64>,
    /// Time after which an agent that ends by itself is started again.
    wait: Duration,
    not_before: Option<Instant>,
}

impl Serving<'_> {
    /// Serves until a signal arrives or the router is gone. Returns why, unless it is a signal.
    fn serve(&mut self, happenings: &Receiver<Happening>) -> Option<String> {
        let mut looked = Instant::now();
        loop {
            match happenings.recv_timeout(INTERVAL) {
                Ok(happening) => self.take(happening),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
            self.start_if_wanted();
            if looked.elapsed() < INTERVAL {
                continue;
            }
            looked = Instant::now();
            if self.waiting.signals.caught().is_some() {
                return None;
            }
            if !self.uplink.is_up() {
                return Some(format!("the router at {} has gone", self.waiting.args.to));
            }
        }
    }

    fn take(&mut self, happening: Happening) {
        match happening {
            Happening::Watching(collector, is_there) => {
                let before = self.audience.len();
                let question = if is_there {
                    self.audience.join(&collector)
                } else {
                    self.audience.leave(&collector)
                };
                self.ask(question);
                let now = self.audience.len();
                if now != before {
                    output::say(&format!("wirelap-fleet: watched by {now}\n"));
                }
                if now == 0 {
                    self.agent = None;
                    (self.wait, self.not_before) = (FIRST_WAIT, None);
                }
            }
            Happening::Asked(collector, line) if line == JOIN => self.introduce(&collector),
            Happening::Asked(collector, line) => {
                let question = line.parse().ok();
                let question = question.and_then(|one| self.audience.ask(&collector, one));
                self.ask(question);
            }
            Happening::Carrier(one, other) => {
                if self.carriers.len() < MAX_CARRIERS && self.carriers.insert((one, other)) {
                    self.ask(Some(Question::Carrier(one, other)));
                }
            }
            Happening::Local(run, news) => {
                if self.agent.as_ref().is_some_and(|agent| agent.number == run) {
                    self.take_local(news);
                }
            }
        }
    }

    fn ask(&mut self, question: Option<Question>) {
        if let Some((run, question)) = self.agent.as_mut().zip(question) {
            run.agent.ask(question);
        }
    }

    /// Introduces the agent to a collector that has come later, which then has to know what is open.
    fn introduce(&mut self, collector: &str) {
        let Some(run) = &mut self.agent else { return };
        let hello = run.hello.as_deref().and_then(RawFrame::of_tagged);
        let Some(frame) = hello else { return };
        let envelope = Envelope { run: run.number, before: run.events, frame };
        self.uplink.reply(&self.waiting.host, collector, envelope);
        run.agent.ask(Question::Again);
    }

    fn take_local(&mut self, news: LocalNews) {
        let Some(run) = &mut self.agent else { return };
        let bytes = match news {
            LocalNews::Frame(bytes) => bytes,
            LocalNews::Ended(why) => {
                if !why.is_empty() {
                    let mut end = Vec::new();
                    RawFrame::end(&why).tagged(&mut end);
                    self.publish(&end);
                    output::say(&format!("wirelap-fleet: the agent has ended: {why}\n"));
                }
                self.agent = None;
                self.not_before = Instant::now().checked_add(self.wait);
                self.wait = self.wait.saturating_mul(2).min(LONGEST_WAIT);
                return;
            }
        };
        let Some(frame) = RawFrame::of_tagged(&bytes) else { return };
        if frame.is_hello() {
            run.hello = Some(bytes.clone());
            self.run.store(run.number, Ordering::Relaxed);
            self.wait = FIRST_WAIT;
        }
        self.publish(&bytes);
    }

    /// Puts a frame out for all collectors.
    fn publish(&mut self, tagged: &[u8]) {
        let Some((run, frame)) = self.agent.as_mut().zip(RawFrame::of_tagged(tagged)) else {
            return;
        };
        let envelope = Envelope { run: run.number, before: run.events, frame };
        run.events = run.events.saturating_add(frame.events());
        self.outbox.push(envelope.bytes());
    }

    /// Starts the agent if somebody watches and none runs.
    fn start_if_wanted(&mut self) {
        let is_due = self.not_before.is_none_or(|at| Instant::now() >= at);
        if self.agent.is_some() || self.audience.is_empty() || !is_due {
            return;
        }
        let number = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let number = u64::try_from(number).unwrap_or(u64::MAX);
        match LocalAgent::start(&self.waiting.steward, number, self.news.clone()) {
            Ok(mut agent) => {
                for (one, other) in &self.carriers {
                    agent.ask(Question::Carrier(*one, *other));
                }
                self.agent = Some(Run { number, agent, hello: None, events: 0 });
            }
            Err(why) => {
                output::say(&format!("wirelap-fleet: the agent cannot be started: {why}\n"));
                self.not_before = Instant::now().checked_add(self.wait);
                self.wait = self.wait.saturating_mul(2).min(LONGEST_WAIT);
            }
        }
    }
}
