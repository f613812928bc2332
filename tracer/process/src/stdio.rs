//! Standard streams that go away, or that nobody reads any more.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Between two questions whether a write is to be given up.
const LOOK: Duration = Duration::from_millis(20);

/// Which of the standard streams are terminals. To be asked once, at the start: a terminal that is gone does not say
/// that it was one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminals {
    stdin: bool,
    stdout: bool,
    stderr: bool,
}

impl Terminals {
    /// Looks at the standard streams.
    pub fn look() -> Terminals {
        Terminals {
            stdin: io::stdin().is_terminal(),
            stdout: io::stdout().is_terminal(),
            stderr: io::stderr().is_terminal(),
        }
    }

    /// Whether one of them has hung up: its window was closed, its connection ended. Whoever does not have it as the
    /// controlling terminal gets no SIGHUP then, and learns it nowhere else.
    pub fn have_hung_up(self) -> bool {
        (self.stdin && has_hung_up(&io::stdin()))
            || (self.stdout && has_hung_up(&io::stdout()))
            || (self.stderr && has_hung_up(&io::stderr()))
    }
}

/// Without being asked for any event, `poll` tells of hangups and errors.
fn has_hung_up(stream: &impl AsFd) -> bool {
    let mut asked = [PollFd::new(stream, PollFlags::empty())];
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    matches!(poll(&mut asked, Some(&Timespec::default())), Ok(1))
        && asked[0].revents().intersects(gone)
}

/// Writes to a stream on a thread of its own, so that a reader who does not read (a full pipe, a terminal that was
/// stopped with Ctrl-S) holds up the caller no longer than the caller wants.
#[derive(Debug)]
pub struct Outlet {
    jobs: Sender<Vec<u8>>,
    results: Receiver<io::Result<()>>,
    /// Writes whose result has not come, some of them given up.
    pending: usize,
}

impl Outlet {
    /// Starts the thread. It ends when this is dropped, or with the process if it is stuck.
    ///
    /// # Errors
    /// There can be no further thread.
    pub fn new(mut stream: impl Write + Send + 'static) -> io::Result<Outlet> {
        let (jobs, taken) = channel::<Vec<u8>>();
        let (told, results) = channel();
        thread::Builder::new().name("output".into()).spawn(move || {
            for bytes in taken {
                let written = stream.write_all(&bytes).and_then(|()| stream.flush());
                if told.send(written).is_err() {
                    break;
                }
            }
        })?;
        Ok(Outlet { jobs, results, pending: 0 })
    }

    /// Writes everything, or stops waiting when `give_up` says so.
    ///
    /// # Errors
    /// It cannot be written; `TimedOut` if that was given up.
    pub fn write(&mut self, bytes: Vec<u8>, give_up: &mut dyn FnMut() -> bool) -> io::Result<()> {
        let gone = || io::Error::from(ErrorKind::BrokenPipe);
        self.jobs.send(bytes).map_err(|_| gone())?;
        self.pending = self.pending.saturating_add(1);
        loop {
            match self.results.recv_timeout(LOOK) {
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

    #[test]
    fn what_nobody_reads_is_given_up_and_what_is_read_again_goes_on() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut outlet = Outlet::new(writer).unwrap();
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
        assert!(has_hung_up(&writer));
        let written = Outlet::new(writer).unwrap().write(b"a".to_vec(), &mut || false);
        assert_eq!(written.unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
}
