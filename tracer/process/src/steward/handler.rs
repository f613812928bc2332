//! A run of the command for events.

use super::client::{StartedProcess, Steward};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::time::Duration;

/// The most reads of what it writes at each look: a command that writes without end is not read without end.
const READS: usize = 64;
/// The most bytes that are kept of what it writes to stderr.
const COMPLAINT_BYTES: usize = 200;

/// A process of [`Steward::start_handler`]. Nothing that it does or leaves undone holds up its owner.
#[derive(Debug)]
pub struct HandlerRun {
    pid: u32,
    /// Stdout and stderr.
    outputs: [File; 2],
    pidfd: OwnedFd,
    /// The beginning of what it wrote to stderr.
    complaint: Vec<u8>,
}

impl HandlerRun {
    /// Starts the command and gives it a text on its stdin, as much of it as a pipe takes at once.
    ///
    /// # Errors
    /// The shell cannot be started.
    pub fn start(steward: &Steward, text: &[u8]) -> io::Result<HandlerRun> {
        let StartedProcess { pid, files } = steward.start_handler()?;
        let files = <[OwnedFd; 4]>::try_from(files);
        let [stdin, stdout, stderr, pidfd] = files.map_err(|_| io::ErrorKind::BrokenPipe)?;
        for stream in [&stdin, &stdout, &stderr] {
            fcntl_setfl(stream, fcntl_getfl(stream)? | OFlags::NONBLOCK)?;
        }
        // A command that reads nothing is no error.
        let _ = File::from(stdin).write_all(text);
        let outputs = [stdout, stderr].map(File::from);
        Ok(HandlerRun { pid, outputs, pidfd, complaint: Vec::new() })
    }

    /// Waits so long until it has ended. Returns true if it has.
    pub fn wait(&mut self, time: Duration) -> bool {
        self.drain();
        let time = Timespec::try_from(time).ok();
        let mut ended = [PollFd::new(&self.pidfd, PollFlags::IN)];
        poll(&mut ended, time.as_ref()).is_ok_and(|ready| ready > 0)
    }

    /// Ends what is left of it. Returns its exit status, and the beginning of what it wrote to stderr.
    pub fn reap(&mut self, steward: &Steward) -> (Option<ExitStatus>, String) {
        self.drain();
        let status = steward.reap_workload(self.pid);
        (status, String::from_utf8_lossy(&self.complaint).into_owned())
    }

    /// Reads what it wrote, so that it can go on.
    fn drain(&mut self) {
        let mut buffer = [0; 4096];
        let [stdout, stderr] = &mut self.outputs;
        for _ in 0..READS {
            let is_more = stdout.read(&mut buffer).is_ok_and(|length| length > 0);
            let length = stderr.read(&mut buffer).unwrap_or(0);
            let room = COMPLAINT_BYTES.saturating_sub(self.complaint.len());
            self.complaint.extend_from_slice(&buffer[..length.min(room)]);
            if !is_more && length == 0 {
                break;
            }
        }
    }
}
