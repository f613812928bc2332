//! One workload process: started, heard, stopped.

use super::installation::{Installation, not_started};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use wirelap_contract::{Done, Ready, Role, Spec};
use wirelap_process::Failure;
use wirelap_process::remedy;
use wirelap_process::rights;
use wirelap_process::steward::{Started, Steward};

/// Lines of its stderr that are kept.
const LAST_WORDS: usize = 8;

/// The longest line that is taken from it.
const LONGEST_LINE: u64 = 1 << 20;

/// What a workload says on stdout.
#[derive(Debug)]
pub enum Statement {
    /// It can do its work.
    Ready(Ready),
    /// It has done its work.
    Done(Done),
    /// Something that it must not say.
    Nonsense(String),
}

/// A workload process. Dropping it kills it.
#[derive(Debug)]
pub struct Child {
    /// What it does.
    pub role: Role,
    /// How it is called in messages: `the mqtt broker (mosquitto)`.
    pub title: String,
    /// Its READY, once it came.
    pub ready: Option<Ready>,
    /// Its DONE, once it came.
    pub done: Option<Done>,
    /// Where it writes the truth, if it does.
    pub truth: Option<File>,
    steward: Arc<Steward>,
    pid: u32,
    /// Refers to the process, and not to another that is given its id.
    process: OwnedFd,
    stdin: Option<File>,
    status: Option<ExitStatus>,
    last_words: Arc<Mutex<VecDeque<String>>>,
}

impl Child {
    /// Starts a process, which writes records if `truth` says so. What it says comes through `heard`, with `number` in
    /// front.
    ///
    /// # Errors
    /// It cannot be executed.
    pub fn start(
        installation: &Installation,
        spec: &Spec,
        title: String,
        number: usize,
        truth: bool,
        heard: Sender<(usize, Statement)>,
    ) -> Result<Child, Failure> {
        let failed = |error| not_started(&title, &installation.program, &error);
        let Started { pid, files } = installation.start(spec.to_args(), truth).map_err(failed)?;
        let mut files = files.into_iter();
        let mut next =
            || files.next().ok_or_else(|| failed(io::Error::other("its pipes are missing")));
        let (stdin, stdout, stderr) = (next()?.into(), File::from(next()?), File::from(next()?));
        let process = next()?;
        let last_words: Arc<Mutex<VecDeque<String>>> = Arc::default();
        let remembered = Arc::clone(&last_words);
        rights::spawn("listen", move || listen(stdout, number, &heard))
            .and_then(|_| rights::spawn("remember", move || remember(stderr, &remembered)))
            .map_err(failed)?;
        Ok(Child {
            role: spec.role,
            title,
            ready: None,
            done: None,
            truth: files.next().map(File::from),
            steward: Arc::clone(&installation.steward),
            pid,
            process,
            stdin: Some(stdin),
            status: None,
            last_words,
        })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The id of the process that does the work: a broker may be a child of the one we started.
    pub fn working_pid(&self) -> u32 {
        self.ready.as_ref().map(|ready| ready.pid).filter(|&pid| pid != 0).unwrap_or(self.pid())
    }

    /// Lets a publisher begin. That it is already gone is noticed elsewhere.
    pub fn go(&mut self) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(b"GO\n").and_then(|()| stdin.flush());
        }
    }

    /// Tells it to end: its input ends, and a signal says the same.
    pub fn ask_to_end(&mut self) {
        self.stdin = None;
        if !self.has_exited() {
            self.steward.end_workload(self.pid);
        }
    }

    /// Whether it has exited. It is left for [`Child::reap`], so that its CPU time can still be read.
    pub fn has_exited(&self) -> bool {
        if self.status.is_some() {
            return true;
        }
        // A descriptor of a process can be read from when the process has ended.
        let mut process = [PollFd::new(&self.process, PollFlags::IN)];
        !matches!(poll(&mut process, Some(&Timespec::default())), Ok(0))
    }

    /// Kills what is left of its process group and collects its status.
    pub fn reap(&mut self) -> Option<ExitStatus> {
        self.stdin = None;
        if self.status.is_none() {
            self.status = self.steward.reap_workload(self.pid);
        }
        self.status
    }

    /// How it ended, for people: `ended with status 1 before it was ready: address in use`.
    pub fn epitaph(&mut self, when: &str) -> String {
        let status = self.reap();
        let ending = match status.map(|status| (status.signal(), status.code())) {
            Some((Some(signal), _)) => format!("was killed by signal {signal}"),
            Some((None, Some(code))) => format!("ended with status {code}"),
            _ => "ended".into(),
        };
        match self.last_word() {
            Some(word) => {
                let remedy = remedy::of_workload(&word).map(|remedy| format!(": {remedy}"));
                format!("{ending} {when}: {word}{}", remedy.unwrap_or_default())
            }
            None => format!("{ending} {when}"),
        }
    }

    /// The last line of its stderr, without the program's name.
    fn last_word(&self) -> Option<String> {
        let words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        let own = words.iter().rev().find_map(|line| line.strip_prefix("wirelap-workload: "));
        own.or(words.back().map(String::as_str)).map(|line| line.trim().to_owned())
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.reap();
    }
}

fn listen(stdout: impl Read, number: usize, heard: &Sender<(usize, Statement)>) {
    each_line(stdout, |line| {
        let said = match (Ready::from_line(line), Done::from_line(line)) {
            (Ok(Some(ready)), _) => Statement::Ready(ready),
            (_, Ok(Some(done))) => Statement::Done(done),
            (Err(error), _) | (_, Err(error)) => Statement::Nonsense(error.to_string()),
            // Libraries chat on stdout; that is nobody's business.
            (Ok(None), Ok(None)) => return true,
        };
        heard.send((number, said)).is_ok()
    });
}

fn remember(stderr: impl Read, last_words: &Mutex<VecDeque<String>>) {
    each_line(stderr, |line| {
        let mut words = last_words.lock().unwrap_or_else(PoisonError::into_inner);
        if words.len() == LAST_WORDS {
            words.pop_front();
        }
        words.push_back(line.to_owned());
        true
    });
}

/// Every line until the input ends or `take` says that it has enough.
fn each_line(input: impl Read, mut take: impl FnMut(&str) -> bool) {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) if !take(String::from_utf8_lossy(&line).trim_end()) => return,
            Ok(_) => {}
        }
    }
}
