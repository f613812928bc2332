//! The conversation with whoever started the process: READY and DONE out, GO and the end of stdin in, and
//! the signals.

use crate::facts::Facts;
use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use wirelap_contract::ReadyLine;

/// Longest time that the process takes to finish after it was told to stop.
const GRACE: Duration = Duration::from_secs(5);
/// Longest time, after a stop, in which messages that were already handed to the library may leave.
const STOP_FLUSH: Duration = Duration::from_secs(2);

/// Prints a line. Nobody may be there to read it any more, and that is no error.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// The error of whoever gives up because the process was told to stop.
#[derive(Debug)]
pub struct Stopped;

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("told to stop")
    }
}

impl std::error::Error for Stopped {}

/// Commands that the process was given, shared by all its threads.
#[derive(Clone)]
pub struct Control {
    shared: Arc<ControlState>,
}

struct ControlState {
    interrupted: AtomicBool,
    go: AtomicBool,
    ready: AtomicBool,
    stopped_at: OnceLock<Instant>,
    failure: Mutex<Option<anyhow::Error>>,
    main: Thread,
}

impl Control {
    /// Starts to listen to stdin and signals. To be called by the main thread.
    ///
    /// # Errors
    ///
    /// When the kernel lets no signal handler or thread be made.
    pub fn start() -> Result<Control> {
        let shared = Arc::new(ControlState {
            interrupted: AtomicBool::new(false),
            go: AtomicBool::new(false),
            ready: AtomicBool::new(false),
            stopped_at: OnceLock::new(),
            failure: Mutex::new(None),
            main: thread::current(),
        });
        let control = Control { shared };
        let mut signals =
            Signals::new([SIGTERM, SIGINT, SIGHUP]).context("cannot listen to signals")?;
        let listener = control.clone();
        spawn("signals", move || signals.forever().for_each(|_| listener.stop()))?;
        let listener = control.clone();
        spawn("stdin", move || listener.listen_to_stdin())?;
        Ok(control)
    }

    fn listen_to_stdin(&self) {
        for line in std::io::stdin().lock().lines() {
            match line {
                Ok(line) if line.trim() == "GO" => {
                    self.shared.go.store(true, Ordering::Release);
                    self.wake();
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.stop();
    }

    fn stop(&self) {
        if self.shared.stopped_at.set(Instant::now()).is_ok() {
            self.shared.interrupted.store(true, Ordering::Release);
            self.wake();
            // A library may hang in a call (a broker that is there but does not read): then there is
            // nothing left but to leave without it.
            let _ = spawn("grace", || {
                thread::sleep(GRACE);
                // Whoever started us may be gone, and the macro would then panic instead of leaving.
                let _ = writeln!(
                    std::io::stderr(),
                    "wirelap-workload: told to stop, but the library did not return within {} s",
                    GRACE.as_secs()
                );
                std::process::exit(1);
            });
        }
    }

    /// Wakes the main thread from [`thread::park`].
    pub fn wake(&self) {
        self.shared.main.unpark();
    }

    /// Reports that something broke in a thread of a library. The first report counts.
    pub fn fail(&self, error: anyhow::Error) {
        self.failure().get_or_insert(error);
        self.shared.interrupted.store(true, Ordering::Release);
        self.wake();
    }

    /// Told to stop, or something failed. Cheap enough to be asked for each message.
    #[inline]
    pub fn interrupted(&self) -> bool {
        self.shared.interrupted.load(Ordering::Acquire)
    }

    /// Told to stop.
    pub fn stopped(&self) -> bool {
        self.shared.stopped_at.get().is_some()
    }

    /// The failure, if one was reported and nobody had said stop.
    ///
    /// # Errors
    ///
    /// The failure.
    pub fn check(&self) -> Result<()> {
        if !self.interrupted() || self.stopped() {
            return Ok(());
        }
        self.failure().take().map_or(Ok(()), Err)
    }

    /// Prints READY.
    pub fn say_ready(&self, pid: u32, facts: Facts) {
        self.shared.ready.store(true, Ordering::Release);
        let Facts { endpoint, versions, settings } = facts;
        say(&ReadyLine { pid, endpoint, versions, settings }.to_line());
    }

    /// True if `error` may be passed over, because the process was told to stop. Whoever stops a workload usually stops its peer
    /// too, so after READY everything may; what makes READY impossible is told in any case.
    pub fn excuses(&self, error: &anyhow::Error) -> bool {
        self.stopped() && (self.shared.ready.load(Ordering::Acquire) || error.is::<Stopped>())
    }

    /// The result, without an error that [may be passed over](Control::excuses).
    ///
    /// # Errors
    ///
    /// The result's, if it counts.
    pub fn excuse(&self, result: Result<()>) -> Result<()> {
        result.or_else(|error| if self.excuses(&error) { Ok(()) } else { Err(error) })
    }

    /// [`Control::wait_until`] for something that must come before READY: `late` is the error when it does not.
    ///
    /// # Errors
    ///
    /// What `late` gives, [`Stopped`] when told to stop, or the failure of a thread.
    pub fn wait_or(
        &self,
        limit: Duration,
        done: impl Fn() -> bool,
        late: impl FnOnce() -> anyhow::Error,
    ) -> Result<()> {
        if self.wait_until(Some(Instant::now() + limit), done)? {
            return Ok(());
        }
        Err(if self.stopped() { Stopped.into() } else { late() })
    }

    fn failure(&self) -> std::sync::MutexGuard<'_, Option<anyhow::Error>> {
        self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for `GO`, or for another one if there was one before. False when told to stop instead.
    ///
    /// # Errors
    ///
    /// The failure of a thread.
    pub fn wait_for_go(&self) -> Result<bool> {
        self.wait_until(None, || self.shared.go.swap(false, Ordering::AcqRel))
    }

    /// Waits until `done` is true: false when told to stop, or when `deadline` passes first.
    /// Whoever makes it true from another thread calls [`Control::wake`].
    ///
    /// # Errors
    ///
    /// The failure of a thread.
    pub fn wait_until(&self, deadline: Option<Instant>, done: impl Fn() -> bool) -> Result<bool> {
        loop {
            if done() {
                return Ok(true);
            }
            self.check()?;
            if self.stopped() || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(false);
            }
            thread::park_timeout(Duration::from_millis(20));
        }
    }

    /// Waits until what was sent has left. Goes on for a while after a stop: what was handed to the library
    /// was published. False when it did not.
    ///
    /// # Errors
    ///
    /// The failure of a thread.
    pub fn wait_for_flush(&self, limit: Duration, done: impl Fn() -> bool) -> Result<bool> {
        let deadline = Instant::now() + limit;
        loop {
            if done() {
                return Ok(true);
            }
            self.check()?;
            let stop = self.shared.stopped_at.get().is_some_and(|at| at.elapsed() > STOP_FLUSH);
            if stop || Instant::now() >= deadline {
                return Ok(false);
            }
            thread::park_timeout(Duration::from_millis(5));
        }
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<()> {
    thread::Builder::new().name(name.into()).spawn(body).context("cannot start a thread")?;
    Ok(())
}
