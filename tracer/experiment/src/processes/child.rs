//! One workload process: it is started, its output is read, and it is stopped.

use super::installation::{WorkloadInstallation, not_started};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use wirelap_contract::{Done, ReadyLine, Role, Spec, truth_line};
use wirelap_process::Failure;
use wirelap_process::remedy;
use wirelap_process::rights;
use wirelap_process::steward::{StartedProcess, Steward};

/// Number of the last lines of stderr that are kept.
const STDERR_LINES: usize = 8;

/// The longest line of output that is read, in bytes.
const LONGEST_LINE: u64 = 1 << 20;

/// Report of a workload on stdout.
#[derive(Debug)]
pub enum Statement {
    /// The workload is ready.
    Ready(ReadyLine),
    /// The workload has done its work.
    Done(Done),
    /// A line that cannot be parsed; the text says why.
    Invalid(String),
}

/// True if the process of a pidfd has ended: the pidfd is readable then.
fn has_ended(process: &OwnedFd) -> bool {
    let mut process = [PollFd::new(process, PollFlags::IN)];
    !matches!(poll(&mut process, Some(&Timespec::default())), Ok(0))
}

/// A workload process. Dropping it kills it.
#[derive(Debug)]
pub struct WorkloadProcess {
    /// The role of the process.
    pub role: Role,
    /// The name of the process in messages: `the mqtt broker (mosquitto)`.
    pub title: String,
    /// The most clients that the process may have.
    pub clients: u32,
    /// The statement `READY`, once it was received.
    pub ready: Option<ReadyLine>,
    /// The statement `DONE`, once it was received.
    pub done: Option<Done>,
    /// The truth file, if the process writes one; of a process on another host, a file in memory.
    pub truth: Option<File>,
    /// Name of the host that it runs on, if that is another one.
    pub elsewhere: Option<String>,
    steward: Arc<Steward>,
    pid: u32,
    /// A pidfd, which never refers to another process that gets the same id later.
    process: OwnedFd,
    stdin: Option<File>,
    status: Option<ExitStatus>,
    stderr_lines: Arc<Mutex<VecDeque<String>>>,
    /// The threads that read what the process writes.
    readers: [JoinHandle<()>; 2],
}

impl WorkloadProcess {
    /// Starts a process, which writes a truth file if `truth` is set. Its statements are sent to `statements`, together with
    /// `number`.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start(
        installation: &WorkloadInstallation,
        spec: &Spec,
        title: String,
        number: usize,
        truth: bool,
        statements: Sender<(usize, Statement)>,
    ) -> Result<WorkloadProcess, Failure> {
        let failed = |error| not_started(&title, &installation.program, &error);
        let StartedProcess { pid, files } =
            installation.start(spec.to_args(), truth).map_err(failed)?;
        let mut files = files.into_iter();
        let mut next = || {
            files.next().ok_or_else(|| {
                failed(io::Error::other(
                    "the steward returned no pipes: this is a defect of wirelap",
                ))
            })
        };
        let (stdin, stdout, stderr) = (next()?.into(), File::from(next()?), File::from(next()?));
        let process = next()?;
        let elsewhere = installation.elsewhere.as_ref().map(|elsewhere| elsewhere.host.clone());
        let truth = match &elsewhere {
            None => files.next().map(File::from),
            Some(_) => truth.then(memory_file).transpose().map_err(failed)?,
        };
        let is_apart = elsewhere.is_some();
        let received = truth.as_ref().filter(|_| is_apart).map(File::try_clone);
        let received = received.transpose().map_err(failed)?;
        let stderr_lines: Arc<Mutex<VecDeque<String>>> = Arc::default();
        let kept_lines = Arc::clone(&stderr_lines);
        let readers = [
            rights::spawn("stdout", move || read_stdout(stdout, number, received, &statements))
                .map_err(failed)?,
            rights::spawn("stderr", move || keep_lines(stderr, &kept_lines)).map_err(failed)?,
        ];
        Ok(WorkloadProcess {
            role: spec.role,
            clients: spec.topology.publishers.max(spec.topology.subscribers),
            title,
            ready: None,
            done: None,
            truth,
            elsewhere,
            steward: Arc::clone(&installation.steward),
            pid,
            process,
            stdin: Some(stdin),
            status: None,
            stderr_lines,
            readers,
        })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The id of the process that does the work: a broker may be a child of the process that was started.
    pub fn working_pid(&self) -> u32 {
        self.ready.as_ref().map(|ready| ready.pid).filter(|&pid| pid != 0).unwrap_or(self.pid())
    }

    /// Lets a sender begin. An error is ignored, because the end of the process is noticed elsewhere.
    pub fn go(&mut self) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(b"GO\n").and_then(|()| stdin.flush());
        }
    }

    /// Asks the process to end: closes its stdin, and sends SIGTERM. On another host, the end of its stdin must do: a signal would end the
    /// connection before its last statement has come.
    pub fn ask_to_end(&mut self) {
        self.stdin = None;
        if self.elsewhere.is_none() && !self.has_exited() {
            self.steward.end_workload(self.pid);
        }
    }

    /// True if the process has exited. It is not waited for until [`WorkloadProcess::reap`], so that its CPU time can still be read.
    pub fn has_exited(&self) -> bool {
        if self.status.is_some() {
            return true;
        }
        has_ended(&self.process)
    }

    /// True if the process that does the work has ended, also if the one that was started has not noticed it yet.
    pub fn has_stopped_working(&self) -> bool {
        let pid = i32::try_from(self.working_pid()).ok().and_then(Pid::from_raw);
        let Some(pid) = pid.filter(|_| self.elsewhere.is_none()) else { return self.has_exited() };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(process) => has_ended(&process),
            Err(error) => error == Errno::SRCH,
        }
    }

    /// True if everything was read that the process has written, and nobody can write more.
    pub fn has_said_all(&self) -> bool {
        self.readers.iter().all(JoinHandle::is_finished)
    }

    /// Kills what is left of the process and its children, and returns its exit status.
    pub fn reap(&mut self) -> Option<ExitStatus> {
        self.stdin = None;
        if self.status.is_none() {
            self.status = self.steward.reap_workload(self.pid);
        }
        self.status
    }

    /// Describes how the process ended: `ended with status 1 before it was ready: address in use`.
    pub fn describe_end(&mut self, when: &str) -> String {
        let status = self.reap();
        let ending = match status.map(|status| (status.signal(), status.code())) {
            Some((Some(signal), _)) => format!("was killed by signal {signal}"),
            Some((None, Some(code))) => format!("ended with status {code}"),
            _ => "ended".into(),
        };
        match self.last_error() {
            Some(error) => {
                let remedy = remedy::of_workload(&error).map(|remedy| format!(": {remedy}"));
                format!("{ending} {when}: {error}{}", remedy.unwrap_or_default())
            }
            None => format!("{ending} {when}"),
        }
    }

    /// The last error message on stderr, without the program's name.
    fn last_error(&self) -> Option<String> {
        let lines = self.stderr_lines.lock().unwrap_or_else(PoisonError::into_inner);
        let own = lines.iter().rev().find_map(|line| line.strip_prefix("wirelap-workload: "));
        own.or(lines.back().map(String::as_str)).map(|line| line.trim().to_owned())
    }
}

impl Drop for WorkloadProcess {
    fn drop(&mut self) {
        self.reap();
    }
}

/// A file in memory.
fn memory_file() -> io::Result<File> {
    Ok(memfd_create("truth", MemfdFlags::CLOEXEC)?.into())
}

/// Sends the statements on stdout with the number of the process, and keeps what it prints of its truth file.
fn read_stdout(
    stdout: impl Read,
    number: usize,
    mut truth: Option<File>,
    statements: &Sender<(usize, Statement)>,
) {
    each_line(stdout, |line| {
        if let Some(file) = &mut truth
            && let Some(bytes) = truth_line::from_line(line)
        {
            let Err(error) = file.write_all(&bytes) else { return true };
            let invalid = Statement::Invalid(format!("its truth file cannot be kept: {error}"));
            return statements.send((number, invalid)).is_ok();
        }
        let statement = match (ReadyLine::from_line(line), Done::from_line(line)) {
            (Ok(Some(ready)), _) => Statement::Ready(ready),
            (_, Ok(Some(done))) => Statement::Done(done),
            (Err(error), _) | (_, Err(error)) => Statement::Invalid(error.to_string()),
            // Other lines on stdout are output of libraries.
            (Ok(None), Ok(None)) => return true,
        };
        statements.send((number, statement)).is_ok()
    });
}

/// Keeps the last lines of stderr.
fn keep_lines(stderr: impl Read, kept: &Mutex<VecDeque<String>>) {
    each_line(stderr, |line| {
        let mut lines = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == STDERR_LINES {
            lines.pop_front();
        }
        lines.push_back(line.to_owned());
        true
    });
}

/// Calls `take` with every line until the input ends or `take` returns false.
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
