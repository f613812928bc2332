//! `wirelap-fleet collect`: what all agents of a fleet send, as one stream for `wirelap`.

use crate::agent::JOIN;
use crate::connections;
use crate::envelope::Envelope;
use crate::inbox::Inbox;
use crate::keys::{self, Keys, Told, told};
use crate::reception::Reception;
use crate::uplink::{self, FleetArgs, Uplink, Urgency};
use clap::Args;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufWriter};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use wirelap_events::Nanos;
use wirelap_hosts::stream::{FleetWriter, PingAnswer, Question, STREAM_VERSION};
use wirelap_process::{Failure, output, rights};
use zenoh::Session;

/// Interval at which the router and the hosts are looked at.
const INTERVAL: Duration = Duration::from_millis(200);

/// Time in which an agent answers that runs, and after which it is asked again.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

/// Interval at which a host that has lost something is asked at most what is open.
const AGAIN_INTERVAL: Duration = Duration::from_secs(2);

/// Time after which it is said that no host is there.
const ARRIVAL_LIMIT: Duration = Duration::from_secs(2);

/// The most hosts.
const MAX_HOSTS: usize = 4_096;

/// The most pings whose answers are waited for.
const MAX_PINGS: usize = 1_024;

/// Exit status when there is no connection, as ssh has it: that may go by itself.
const NOT_CONNECTED: u8 = 255;

/// `wirelap-fleet collect`.
#[derive(Clone, Debug, Args)]
pub struct CollectArgs {
    /// The router
    #[arg(long, value_name = "LOCATOR")]
    from: String,

    /// The fleet.
    #[command(flatten)]
    fleet: FleetArgs,
}

/// Writes everything to stdout until stdin ends.
///
/// # Errors
/// An option is wrong, or stdout cannot be used.
pub fn run(args: &CollectArgs) -> Result<ExitCode, Failure> {
    rights::confine_collector();
    let stdout = rustix::io::dup(io::stdout()).map(File::from);
    let stdout = stdout.map_err(|error| Failure::Machine(format!("stdout: {error}")))?;
    let Ok(out) = FleetWriter::begin(BufWriter::with_capacity(1 << 16, stdout)) else {
        return Ok(ExitCode::SUCCESS);
    };
    let FleetArgs { fleet, zenoh_config } = &args.fleet;
    let connect = ("connect/endpoints", args.from.as_str());
    let config =
        uplink::config(zenoh_config.as_deref(), "client", connect).map_err(Failure::Usage)?;
    let failed = |why: String| {
        output::say(&format!("wirelap-fleet: {why}\n"));
        Ok(ExitCode::from(NOT_CONNECTED))
    };
    let uplink = match Uplink::open(config, &args.from, fleet) {
        Ok(uplink) => uplink,
        Err(why) => return failed(why),
    };
    match collect(&uplink, (&args.from, fleet), out) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(why) => failed(why),
    }
}

/// News from the router.
enum Incoming {
    /// An agent of a version is on a host, or has gone.
    Alive { host: String, version: String, is_there: bool },
    /// A connection carries what agents send.
    Carrier(SocketAddr, SocketAddr),
    /// A host has sent something.
    Observed { host: String, bytes: Vec<u8>, at: Nanos },
    /// Nobody wants it any more.
    Over,
}

/// Collects until nobody wants it any more.
///
/// # Errors
/// The router is gone, or refuses something.
fn collect(
    uplink: &Uplink,
    (from, fleet): (&str, &str),
    out: FleetWriter<BufWriter<File>>,
) -> Result<(), String> {
    let inbox = Arc::new(Inbox::new());
    let asking = Asking {
        session: uplink.session.clone(),
        keys: uplink.keys.clone(),
        own: uplink.id.clone(),
        pings: Arc::default(),
    };
    let (reading, over) = (asking.clone(), Arc::clone(&inbox));
    let _ = rights::spawn("questions", move || {
        reading.read_questions();
        over.push(0, Incoming::Over);
    });
    for (one, other) in connections::own() {
        inbox.push(0, Incoming::Carrier(one, other));
    }
    listen(uplink, &inbox)?;
    let mut hosts = CollectedHosts { out, known: BTreeMap::new(), asking, is_over: false };
    let mut said = None;
    let (began, mut looked) = (Instant::now(), Instant::now());
    let ended = loop {
        match inbox.pop(INTERVAL) {
            Some(Incoming::Alive { host, version, is_there }) => {
                hosts.know(&host, &version, is_there);
            }
            Some(Incoming::Carrier(one, other)) => hosts.write(|out| out.carrier(one, other)),
            Some(Incoming::Observed { host, bytes, at }) => hosts.take(&host, &bytes, at),
            Some(Incoming::Over) => break Ok(()),
            None => {}
        }
        if hosts.is_over {
            break Ok(());
        }
        if looked.elapsed() < INTERVAL {
            continue;
        }
        looked = Instant::now();
        if !uplink.is_up() {
            break Err(format!("the router at {from} has gone"));
        }
        hosts.ask_again();
        let is_there = hosts.known.values().any(|host| host.is_there);
        if is_there || began.elapsed() > ARRIVAL_LIMIT {
            let trouble = if is_there { String::new() } else { nobody(fleet) };
            if said.as_ref() != Some(&trouble) {
                hosts.write(|out| out.trouble(&trouble));
                said = Some(trouble);
            }
        }
    };
    inbox.end();
    ended
}

/// Has everything put in that comes.
fn listen(uplink: &Uplink, inbox: &Arc<Inbox<Incoming>>) -> Result<(), String> {
    let keys = &uplink.keys;
    for key in [keys.stream("*"), keys.reply("*", &uplink.id)] {
        let inbox = Arc::clone(inbox);
        uplink.listen(&key, move |key, bytes| {
            let at = uplink::now();
            if let Some(Told::Observed { host }) = told(key) {
                let (host, bytes) = (host.to_owned(), bytes.to_vec());
                inbox.push(bytes.len(), Incoming::Observed { host, bytes, at });
            }
        })?;
    }
    uplink.be_alive(&keys.watching(&uplink.id))?;
    let carriers = Arc::clone(inbox);
    uplink.watch(&keys.every_carrier(), move |key, is_there| {
        if let Some(Told::Carrier(one, other)) = told(key).filter(|_| is_there) {
            carriers.push(0, Incoming::Carrier(one, other));
        }
    })?;
    let inbox = Arc::clone(inbox);
    uplink.watch(&keys.every_alive(), move |key, is_there| {
        if let Some(Told::Alive { host, version }) = told(key) {
            let (host, version) = (host.to_owned(), version.to_owned());
            inbox.push(0, Incoming::Alive { host, version, is_there });
        }
    })
}

fn nobody(fleet: &str) -> String {
    format!(
        "no agent waits there: start `wirelap-fleet agent --fleet {fleet}` on its hosts, or let the router's access control show them"
    )
}

/// The way to the agents.
#[derive(Clone)]
struct Asking {
    session: Session,
    keys: Keys,
    own: String,
    /// Pings that are on their way: host, number, and when they were sent.
    pings: Arc<Mutex<VecDeque<(String, u64, Nanos)>>>,
}

impl Asking {
    fn ask(&self, host: &str, line: &str) {
        if let Ok(Question::Ping(number)) = line.parse() {
            let mut pings = self.pings.lock().unwrap_or_else(PoisonError::into_inner);
            if pings.len() >= MAX_PINGS {
                pings.pop_front();
            }
            pings.push_back((host.to_owned(), number, uplink::now()));
        }
        uplink::send(&self.session, &self.keys.asked(host, &self.own), line, Urgency::Now);
    }

    /// The time at which a ping was sent that is answered now.
    fn sent(&self, host: &str, number: u64) -> Option<Nanos> {
        let mut pings = self.pings.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |ping: &(String, u64, Nanos)| ping.0 == host && ping.1 == number;
        let at = pings.iter().position(is_it)?;
        pings.remove(at).map(|(_, _, sent)| sent)
    }

    /// Passes questions on: the name of a host, a blank, and a line for its agent.
    fn read_questions(&self) {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if let Some((host, line)) = line.split_once(' ')
                && keys::name(host).is_ok()
            {
                self.ask(host, line);
            }
        }
    }
}

/// A host of the fleet.
struct CollectedHost {
    number: u16,
    is_there: bool,
    reception: Reception,
    /// When it was asked last for its introduction, and what is open.
    asked: Instant,
    told_again: Option<Instant>,
}

/// The hosts, and what is written of them.
struct CollectedHosts {
    out: FleetWriter<BufWriter<File>>,
    known: BTreeMap<String, CollectedHost>,
    asking: Asking,
    /// Nobody reads any more.
    is_over: bool,
}

impl CollectedHosts {
    fn write(&mut self, write: impl FnOnce(&mut FleetWriter<BufWriter<File>>) -> io::Result<()>) {
        self.is_over |= write(&mut self.out).is_err();
    }

    /// An agent of a host is there, or has gone.
    fn know(&mut self, name: &str, version: &str, is_there: bool) {
        let count = self.known.len();
        let Ok(number) = u16::try_from(count) else { return };
        if count >= MAX_HOSTS && !self.known.contains_key(name) {
            return;
        }
        let host = self.known.entry(name.to_owned()).or_insert_with(|| CollectedHost {
            number,
            is_there: false,
            reception: Reception::default(),
            asked: Instant::now(),
            told_again: None,
        });
        let number = host.number;
        if !is_there {
            host.is_there = false;
            host.reception.end();
            self.write(|out| {
                out.left(
                    number,
                    "its agent has left the fleet, or its connection to the router has ended",
                )
            });
            return;
        }
        self.write(|out| out.joined(number, name));
        if version.parse() != Ok(STREAM_VERSION) {
            let why = format!(
                "its agent speaks version {version} of the protocol, and this wirelap version {STREAM_VERSION}: install the same version on both hosts"
            );
            self.write(|out| out.left(number, &why));
            return;
        }
        if let Some(host) = self.known.get_mut(name) {
            (host.is_there, host.asked) = (true, Instant::now());
        }
        self.asking.ask(name, JOIN);
    }

    /// Something of a host has come.
    fn take(&mut self, name: &str, bytes: &[u8], at: Nanos) {
        let Some(host) = self.known.get_mut(name).filter(|host| host.is_there) else { return };
        let Some(envelope) = Envelope::read(bytes) else { return };
        let Some(lost) = host.reception.take(&envelope) else { return };
        let number = host.number;
        if let Some((ping, there, _)) = envelope.frame.answer() {
            if let Some(sent) = self.asking.sent(name, ping) {
                let answer = PingAnswer { number: ping, there, sent, back: at };
                self.write(|out| out.answered(number, answer));
            }
            return;
        }
        let now = Instant::now();
        let asked_at = host.told_again;
        let is_due = asked_at.is_none_or(|at| now.duration_since(at) >= AGAIN_INTERVAL);
        if lost > 0 && is_due {
            // Among what was lost may have been that a socket was opened.
            host.told_again = Some(now);
            self.asking.ask(name, "again");
        }
        if lost > 0 {
            self.write(|out| out.lost(number, lost));
        }
        self.write(|out| out.frame(number, envelope.frame));
    }

    /// Asks hosts again that have not introduced themselves.
    fn ask_again(&mut self) {
        let is_due = |host: &&mut CollectedHost| {
            host.is_there && !host.reception.is_greeted() && host.asked.elapsed() >= ANSWER_LIMIT
        };
        let mut names = Vec::new();
        for (name, host) in &mut self.known {
            if is_due(&host) {
                host.asked = Instant::now();
                names.push(name.clone());
            }
        }
        for name in &names {
            self.asking.ask(name, JOIN);
        }
    }
}
