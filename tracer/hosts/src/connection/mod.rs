//! The thread of a host: starts its agent, reads what it sends, and starts it again when it has ended.

mod fleet;
mod news;
mod reason;

use crate::stream::{AgentReader, FleetReader, Frame, LONGEST_SILENCE, Question, StreamError};
use crate::target::PushedProgram;
use fleet::FleetHosts;
pub use news::News;
pub use reason::Ending;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use wirelap_events::Nanos;
use wirelap_process::steward::{StartedProcess, Steward};

/// The time after which an agent is started again; it doubles each time that this is in vain.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The longest such time.
const LONGEST_WAIT: Duration = Duration::from_secs(15);

/// Number of times that an agent is started in vain which never ran: what is wrong there does not mend itself.
const TRIES: u32 = 3;

/// Time that an agent gets to end by itself.
const ENDING: Duration = Duration::from_secs(2);

/// Said when the program that speaks Zenoh cannot be started.
const NO_FLEET_PROGRAM: &str = "wirelap-fleet cannot be started: install it beside wirelap, or in the PATH (`make fleet` builds it)";

/// The longest line of an agent's stderr that is looked at.
const MAX_LINE: u64 = 4_096;

/// State that the thread shares.
#[derive(Default)]
struct Shared {
    /// The agent's stdin, while one runs.
    questions: Mutex<Option<File>>,
    life: Mutex<Life>,
    changed: Condvar,
}

#[derive(Default)]
struct Life {
    /// The connection is not wanted any more.
    is_over: bool,
    /// The process that runs.
    pid: Option<u32>,
    /// The thread has done all that it had to.
    has_ended: bool,
}

/// The connection to a host. Dropping it ends the agent.
pub struct Connection {
    steward: Arc<Steward>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Connection {
    /// Starts the thread of a host, whose command is the steward's at `index`; of all hosts of a fleet from that place on if it
    /// `is_fleet`.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(
        index: usize,
        steward: Arc<Steward>,
        news: SyncSender<(usize, News)>,
        now: fn() -> Nanos,
        pushed: Option<PushedProgram>,
        is_fleet: bool,
    ) -> std::io::Result<Connection> {
        let shared = Arc::<Shared>::default();
        let worker = Worker {
            index,
            steward: Arc::clone(&steward),
            shared: Arc::clone(&shared),
            news,
            now,
            pushed,
            fleet: is_fleet.then(|| FleetHosts::new(index)),
        };
        let thread = Builder::new().name(format!("host {index}")).spawn(move || worker.run())?;
        Ok(Connection { steward, shared, thread: Some(thread) })
    }

    /// Asks the agent, if one runs and reads: a question is not worth waiting for.
    pub fn ask(&self, question: Question) {
        if let Some(stdin) = lock(&self.shared.questions).as_mut() {
            let _ = writeln!(stdin, "{question}");
        }
    }

    /// Asks the agent of a host of a fleet.
    pub fn ask_host(&self, name: &str, question: Question) {
        if let Some(stdin) = lock(&self.shared.questions).as_mut() {
            let _ = writeln!(stdin, "{name} {question}");
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        lock(&self.shared.life).is_over = true;
        self.shared.changed.notify_all();
        // The end of its stdin ends an agent.
        *lock(&self.shared.questions) = None;
        let life = lock(&self.shared.life);
        let waited = self.shared.changed.wait_timeout_while(life, ENDING, |life| !life.has_ended);
        let (life, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let (pid, has_ended) = (life.pid, life.has_ended);
        drop(life);
        if let Some(pid) = pid.filter(|_| !has_ended) {
            self.steward.end_workload(pid);
            let _ = self.steward.reap_workload(pid);
        }
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Outcome of starting an agent.
struct Attempt {
    why: String,
    /// The agent ran.
    ran: bool,
    /// The reason may go by itself, as a host that is switched off.
    mends_itself: bool,
}

struct Worker {
    index: usize,
    steward: Arc<Steward>,
    shared: Arc<Shared>,
    news: SyncSender<(usize, News)>,
    now: fn() -> Nanos,
    pushed: Option<PushedProgram>,
    /// The hosts behind the command, if it is that of a fleet.
    fleet: Option<FleetHosts>,
}

impl Worker {
    fn run(mut self) {
        let (mut wait, mut in_vain, mut ever) = (FIRST_WAIT, 0_u32, false);
        while !self.is_over() {
            let Attempt { why, ran, mends_itself } = self.run_agent();
            ever |= ran;
            (wait, in_vain) = if ran { (FIRST_WAIT, 0) } else { (wait, in_vain.saturating_add(1)) };
            let is_final = !ever && !mends_itself && in_vain >= TRIES;
            if self.tell_end(why, is_final).is_err() || is_final {
                break;
            }
            self.rest(wait);
            wait = wait.saturating_mul(2).min(LONGEST_WAIT);
        }
        lock(&self.shared.life).has_ended = true;
        self.shared.changed.notify_all();
    }

    fn is_over(&self) -> bool {
        lock(&self.shared.life).is_over
    }

    /// Waits, unless the connection is not wanted any more.
    fn rest(&self, time: Duration) {
        let life = lock(&self.shared.life);
        drop(self.shared.changed.wait_timeout_while(life, time, |life| !life.is_over));
    }

    fn tell(&self, news: News) -> Result<(), ()> {
        self.news.send((self.index, news)).map_err(drop)
    }

    fn tell_end(&mut self, why: String, is_final: bool) -> Result<(), ()> {
        match &mut self.fleet {
            Some(fleet) => {
                fleet.end(&why).into_iter().try_for_each(|one| self.news.send(one).map_err(drop))
            }
            None => self.tell(News::Ended { why, is_final }),
        }
    }

    /// Runs an agent until it ends.
    fn run_agent(&mut self) -> Attempt {
        let failed = |why: String| Attempt { why, ran: false, mends_itself: false };
        let started = match self.steward.start_command(self.index) {
            Ok(started) => started,
            Err(_) if self.fleet.is_some() => return failed(NO_FLEET_PROGRAM.into()),
            Err(error) => return failed(error.to_string()),
        };
        let StartedProcess { pid, files } = started;
        let mut files = files.into_iter();
        let (Some(stdin), Some(stdout), Some(stderr)) = (files.next(), files.next(), files.next())
        else {
            return failed("the steward sent no pipes: this is a defect of wirelap".into());
        };
        lock(&self.shared.life).pid = Some(pid);
        let said = Builder::new().name("stderr".into()).spawn(move || last_line(stderr));
        let (error, goodbye, ran) = match self.fleet.take() {
            Some(mut fleet) => {
                let (error, ran) = self.read_fleet(stdin, stdout, &mut fleet);
                self.fleet = Some(fleet);
                (error, None, ran)
            }
            None => self.read(stdin, stdout),
        };
        *lock(&self.shared.questions) = None;
        let status = self.steward.reap_workload(pid);
        lock(&self.shared.life).pid = None;
        let said = said.ok().and_then(|said| said.join().ok()).unwrap_or_default();
        let status = status.and_then(|status| {
            status.code().or(status.signal().map(|s| 128_i32.saturating_add(s)))
        });
        let ending = Ending { error, goodbye, said, status };
        Attempt { ran, mends_itself: ending.mends_itself(), why: ending.sentence() }
    }

    /// Writes the program to a host that has asked for it.
    fn push(&self, stdin: &mut File, architecture: &str) -> Result<(), StreamError> {
        match &self.pushed {
            Some(program) if architecture == std::env::consts::ARCH => {
                stdin.write_all(&program.bytes).map_err(StreamError::Ended)
            }
            _ => Err(StreamError::OtherArchitecture(architecture.to_owned())),
        }
    }

    /// Reads a stream until it ends. Returns why, what the agent itself said of that, and whether it is one.
    fn read(&self, stdin: OwnedFd, stdout: OwnedFd) -> (StreamError, Option<String>, bool) {
        let mut goodbye = None;
        if !speaks(&stdout) {
            return (StreamError::Silent, None, false);
        }
        let mut stdin = File::from(stdin);
        let push = |architecture: &str| self.push(&mut stdin, architecture);
        let mut reader =
            match AgentReader::begin(BufReader::with_capacity(1 << 16, File::from(stdout)), push) {
                Ok(reader) => reader,
                Err(error) => return (error, None, false),
            };
        // An agent that does not read must not hold anybody up.
        let _ = rustix::io::ioctl_fionbio(&stdin, true);
        *lock(&self.shared.questions) = Some(stdin).filter(|_| !self.is_over());
        let mut ran = false;
        loop {
            let news = match reader.next_frame() {
                Ok(Frame::Hello(hello)) => {
                    ran = true;
                    News::Hello(hello)
                }
                Ok(Frame::Records(block)) => News::Records(Box::new(block), reader.bytes_read()),
                Ok(Frame::Answer(number, there, ahead)) => {
                    let (ahead, back) = (Some(ahead), (self.now)());
                    News::Answer { number, there, ahead, back, sent: None }
                }
                Ok(Frame::State(state)) => News::State(state),
                Ok(Frame::Lost(count)) => News::Lost(count),
                Ok(Frame::End(why)) => {
                    goodbye = Some(why);
                    continue;
                }
                Err(error) => return (error, goodbye, ran),
            };
            if self.tell(news).is_err() {
                return (StreamError::over(), goodbye, ran);
            }
        }
    }

    /// Reads the stream of a fleet until it ends. Returns why, and whether the router was reached.
    fn read_fleet(
        &self,
        stdin: OwnedFd,
        stdout: OwnedFd,
        fleet: &mut FleetHosts,
    ) -> (StreamError, bool) {
        if !speaks(&stdout) {
            return (StreamError::Silent, false);
        }
        let stdin = File::from(stdin);
        let from = BufReader::with_capacity(1 << 16, File::from(stdout));
        let mut reader = match FleetReader::begin(from) {
            Ok(reader) => reader,
            Err(error) => return (error, false),
        };
        let _ = rustix::io::ioctl_fionbio(&stdin, true);
        *lock(&self.shared.questions) = Some(stdin).filter(|_| !self.is_over());
        let mut ran = false;
        loop {
            let news = match reader.next_frame() {
                Ok(frame) => fleet.news(frame),
                Err(error) => return (error, ran),
            };
            ran = true;
            if news.is_some_and(|news| self.news.send(news).is_err()) {
                return (StreamError::over(), ran);
            }
        }
    }
}

/// Waits until there is something in a pipe; false if nothing comes.
fn speaks(pipe: &OwnedFd) -> bool {
    let limit = Timespec::try_from(LONGEST_SILENCE).ok();
    let mut wanted = [PollFd::new(pipe, PollFlags::IN)];
    poll(&mut wanted, limit.as_ref()).is_ok_and(|ready| ready > 0)
}

/// The last line that was written to a pipe.
pub fn last_line(from: OwnedFd) -> String {
    let mut from = BufReader::new(File::from(from));
    let (mut line, mut last) = (Vec::new(), String::new());
    loop {
        line.clear();
        match from.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return last,
            Ok(_) => {
                let text = crate::stream::shown(&line);
                if !text.is_empty() {
                    last = text;
                }
            }
        }
    }
}

/// The shared value, also after a thread has panicked.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
