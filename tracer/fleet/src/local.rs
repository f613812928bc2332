//! The `wirelap agent` of this host, which runs while somebody watches.

use std::fs::File;
use std::io::{BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wirelap_hosts::stream::{AgentReader, Question, StreamError};
use wirelap_hosts::{Ending, last_line};
use wirelap_process::rights;
use wirelap_process::steward::{StartedProcess, Steward};

/// Time that an agent gets to end by itself.
const ENDING: Duration = Duration::from_secs(2);

/// Interval at which it is looked whether it has.
const INTERVAL: Duration = Duration::from_millis(10);

/// News of a run of the agent.
#[derive(Debug)]
pub enum LocalNews {
    /// The agent has sent this frame.
    Frame(Vec<u8>),
    /// The agent has ended; why.
    Ended(String),
}

/// A run of the agent. Dropping it ends the agent.
#[derive(Debug)]
pub struct LocalAgent {
    steward: Arc<Steward>,
    pid: u32,
    stdin: Option<File>,
    reader: Option<JoinHandle<()>>,
}

impl LocalAgent {
    /// Starts the steward's command. Its news come with the number of the run.
    ///
    /// # Errors
    /// A sentence that says why it cannot be started.
    pub fn start<N: From<(u64, LocalNews)> + Send + 'static>(
        steward: &Arc<Steward>,
        run: u64,
        news: SyncSender<N>,
    ) -> Result<LocalAgent, String> {
        let failed = |error: std::io::Error| error.to_string();
        let StartedProcess { pid, files } = steward.start_command(0).map_err(failed)?;
        let mut files = files.into_iter();
        let (Some(stdin), Some(stdout), Some(stderr)) = (files.next(), files.next(), files.next())
        else {
            return Err("the steward sent no pipes: this is a defect of wirelap".into());
        };
        let stdin = File::from(stdin);
        // An agent that does not read must not hold anybody up.
        let _ = rustix::io::ioctl_fionbio(&stdin, true);
        let mut agent =
            LocalAgent { steward: Arc::clone(steward), pid, stdin: Some(stdin), reader: None };
        let stream = Stream { stdout, stderr, steward: Arc::clone(steward), pid };
        let read = move || stream.read(|one| news.send((run, one).into()).is_ok());
        agent.reader = Some(rights::spawn("agent", read).map_err(failed)?);
        Ok(agent)
    }

    /// Asks it, if it reads: a question is not worth waiting for.
    pub fn ask(&mut self, question: Question) {
        if let Some(stdin) = &mut self.stdin {
            let _ = writeln!(stdin, "{question}");
        }
    }
}

impl Drop for LocalAgent {
    fn drop(&mut self) {
        // The end of its stdin ends an agent.
        self.stdin = None;
        let Some(reader) = self.reader.take() else {
            let _ = self.steward.reap_workload(self.pid);
            return;
        };
        let began = Instant::now();
        while !reader.is_finished() && began.elapsed() < ENDING {
            std::thread::sleep(INTERVAL);
        }
        if !reader.is_finished() {
            // The thread sees its end, and reaps it.
            self.steward.end_workload(self.pid);
        }
    }
}

/// The stream of a run of the agent.
struct Stream {
    stdout: OwnedFd,
    stderr: OwnedFd,
    steward: Arc<Steward>,
    pid: u32,
}

impl Stream {
    /// Tells of every frame, and of the end, until nobody wants to know.
    fn read(self, tell: impl Fn(LocalNews) -> bool) {
        let Stream { stdout, stderr, steward, pid } = self;
        let said = rights::spawn("stderr", move || last_line(stderr));
        let stdout = BufReader::with_capacity(1 << 16, File::from(stdout));
        let other = |its: &str| Err(StreamError::OtherArchitecture(its.to_owned()));
        let mut has_said_why = false;
        let error = match AgentReader::begin(stdout, other) {
            Err(error) => error,
            Ok(mut reader) => loop {
                match reader.next_raw() {
                    Ok(frame) => {
                        has_said_why |= frame.is_end();
                        let mut bytes = Vec::new();
                        frame.tagged(&mut bytes);
                        if !tell(LocalNews::Frame(bytes)) {
                            break StreamError::Silent;
                        }
                    }
                    Err(error) => break error,
                }
            },
        };
        let status = steward.reap_workload(pid);
        let status = status.and_then(|status| {
            status.code().or(status.signal().map(|signal| 128_i32.saturating_add(signal)))
        });
        let said = said.ok().and_then(|said| said.join().ok()).unwrap_or_default();
        let ending = Ending { error, goodbye: None, said, status };
        let why = if has_said_why { String::new() } else { ending.sentence() };
        let _ = tell(LocalNews::Ended(why));
    }
}
