//! Standard streams that are closed at the other end, or that nobody reads.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Time between two questions of a waiting write whether to give up.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The standard streams that are terminals. They must be found out at the start, because a terminal that has hung up is not
/// recognised as one any more.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminals {
    stdin: bool,
    stdout: bool,
    stderr: bool,
}

impl Terminals {
    /// Finds out which of the standard streams are terminals.
    pub fn look() -> Terminals {
        Terminals {
            stdin: io::stdin().is_terminal(),
            stdout: io::stdout().is_terminal(),
            stderr: io::stderr().is_terminal(),
        }
    }

    /// Standard input and output, which were terminals before.
    pub fn of_screen() -> Terminals {
        Terminals { stdin: true, stdout: true, stderr: io::stderr().is_terminal() }
    }

    /// True if one of the terminals has hung up: its window was closed, or its connection has ended. A process whose controlling
    /// terminal is another one gets no SIGHUP for that.
    pub fn have_hung_up(self) -> bool {
        (self.stdin && has_hung_up(&io::stdin()))
            || (self.stdout && has_hung_up(&io::stdout()))
            || (self.stderr && has_hung_up(&io::stderr()))
    }
}

/// True if `poll` reports a hangup or an error, which it does without being asked for any event.
fn has_hung_up(stream: &impl AsFd) -> bool {
    let mut asked = [PollFd::new(stream, PollFlags::empty())];
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    matches!(poll(&mut asked, Some(&Timespec::default())), Ok(1))
        && asked[0].revents().intersects(gone)
}

/// Waits until standard input can be read, has ended, or a signal comes; at most so long. Returns whether there is
/// something to read, the end included.
pub fn wait_for_input(limit: Duration) -> bool {
    let stdin = io::stdin();
    let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
    // A limit beyond the range of the kernel's clock is none.
    matches!(poll(&mut asked, Timespec::try_from(limit).ok().as_ref()), Ok(1))
}

/// Writes to a stream on a thread of its own, so that a reader that does not read (a full pipe, a terminal stopped with
/// Ctrl-S) blocks the caller only as long as the caller wants.
#[derive(Debug)]
pub struct BackgroundWriter {
    jobs: Sender<Vec<u8>>,
    results: Receiver<io::Result<()>>,
    /// Writes whose result was not received yet, including those that the caller has given up.
    pending: usize,
}

impl BackgroundWriter {
    /// Starts the thread, which ends when this value is dropped. A thread that is blocked ends with the process.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn new(mut stream: impl Write + Send + 'static) -> io::Result<BackgroundWriter> {
        let (jobs, taken) = channel::<Vec<u8>>();
        let (result_sender, results) = channel();
        thread::Builder::new().name("output".into()).spawn(move || {
            for bytes in taken {
                let written = stream.write_all(&bytes).and_then(|()| stream.flush());
                if result_sender.send(written).is_err() {
                    break;
                }
            }
        })?;
        Ok(BackgroundWriter { jobs, results, pending: 0 })
    }

    /// Writes all bytes, or stops waiting when `give_up` returns true.
    ///
    /// # Errors
    /// The error of the stream; `TimedOut` if the write was given up; `BrokenPipe` if the thread has ended.
    pub fn write(&mut self, bytes: Vec<u8>, give_up: &mut dyn FnMut() -> bool) -> io::Result<()> {
        let gone = || io::Error::from(ErrorKind::BrokenPipe);
        self.jobs.send(bytes).map_err(|_| gone())?;
        self.pending = self.pending.saturating_add(1);
        loop {
            match self.results.recv_timeout(POLL_INTERVAL) {
                Ok(result) => {
                    self.pending = self.pending.saturating_sub(1);
                    if self.pending == 0 {
                        return result;
                    }
                }
                Err(RecvTimeoutError::Timeout) if give_up() => {
                    return Err(ErrorKind::TimedOut.into());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::time::Instant;

    #[test]
    fn what_nobody_reads_is_given_up_and_what_is_read_again_goes_on() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut outlet = BackgroundWriter::new(writer).unwrap();
        let more_than_a_pipe_takes = vec![b'a'; 1 << 20];
        let mut asked = 0;
        let mut give_up = || {
            asked += 1;
            asked > 1
        };
        let stuck = outlet.write(more_than_a_pipe_takes, &mut give_up);
        assert_eq!(stuck.unwrap_err().kind(), ErrorKind::TimedOut);
        let reading = thread::spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).unwrap();
            all.len()
        });
        outlet.write(b"b".to_vec(), &mut || false).unwrap();
        drop(outlet);
        assert_eq!(reading.join().unwrap(), (1 << 20) + 1);
    }

    #[test]
    fn a_reader_that_has_gone_is_told() {
        let (reader, writer) = io::pipe().unwrap();
        assert!(!has_hung_up(&writer));
        drop(reader);
        // A child that another test starts has the reader, too, until it executes its program.
        let deadline = Instant::now() + Duration::from_secs(10);
        while !has_hung_up(&writer) {
            assert!(Instant::now() < deadline, "the reader has gone");
            thread::yield_now();
        }
        let written = BackgroundWriter::new(writer).unwrap().write(b"a".to_vec(), &mut || false);
        assert_eq!(written.unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
}
