//! Signals that ask wirelap to stop, which it does in order: SIGINT (Ctrl-C), SIGTERM, SIGHUP, and a terminal that hangs up.

use crate::rights;
use crate::stdio::Terminals;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXFSZ};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time for stopping in order: workloads that do not answer, events that have not been read yet, or a slow disk
/// may delay it.
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// Longest time for writing the last message.
const MESSAGE_LIMIT: Duration = Duration::from_secs(1);

/// Time between two checks of the watchdog whether a signal was caught.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Remembers the last signal that asked wirelap to stop.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    last: Arc<AtomicUsize>,
    terminals: Terminals,
    /// Set by this process itself to stop a part of what it does.
    flag: Option<Arc<AtomicBool>>,
}

/// The signal handling of this process, from the moment that signals are caught.
static CAUGHT: OnceLock<Signals> = OnceLock::new();

impl Signals {
    /// Catches SIGINT, SIGTERM and, unless it is ignored (`nohup`), SIGHUP from now on.
    ///
    /// # Errors
    /// The kernel does not install a signal handler.
    pub fn catch() -> io::Result<Signals> {
        let signals = Signals { last: Arc::default(), terminals: Terminals::look(), flag: None };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if signal == SIGHUP && is_to_outlive_its_terminal() {
                continue;
            }
            let number = usize::try_from(signal).unwrap_or_default();
            signal_hook::flag::register_usize(signal, Arc::clone(&signals.last), number)?;
        }
        // With this handler, a file that reaches `ulimit -f` is an error of the write and does not end the process.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        Ok(CAUGHT.get_or_init(|| signals).clone())
    }

    /// These signals, and a flag that stops whatever listens to the returned value alone.
    #[must_use]
    pub fn or(&self, flag: Arc<AtomicBool>) -> Signals {
        Signals { flag: Some(flag), ..self.clone() }
    }

    /// Starts a thread that ends the process some time after a signal, even if other threads are blocked (by a pipe that
    /// nobody reads, for instance). It reports that with `say` first.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start_watchdog(&self, say: fn(&str)) -> io::Result<()> {
        let watched = self.clone();
        rights::spawn("signals", move || watched.end_process_in_time(say)).map(drop)
    }

    fn end_process_in_time(&self, say: fn(&str)) {
        let caught = loop {
            match self.caught() {
                Some(caught) => break caught,
                None => thread::sleep(POLL_INTERVAL),
            }
        };
        thread::sleep(STOP_LIMIT);
        let seconds = STOP_LIMIT.as_secs();
        // Writing this message may block as well, so a thread of its own does it.
        let text = format!(
            "wirelap: {caught}: wirelap could not stop in order within {seconds} s and ends now; output may be incomplete\n"
        );
        let said = thread::Builder::new().name("message".into()).spawn(move || say(&text));
        let until = Instant::now() + MESSAGE_LIMIT;
        while said.as_ref().is_ok_and(|said| !said.is_finished()) && Instant::now() < until {
            thread::sleep(POLL_INTERVAL);
        }
        std::process::exit(1);
    }

    /// The name of the signal that was caught, if any. Cheap enough to be called for each event.
    pub fn signalled(&self) -> Option<&'static str> {
        match i32::try_from(self.last.load(Ordering::Relaxed)).ok()? {
            SIGINT => Some("Ctrl-C"),
            SIGTERM => Some("SIGTERM"),
            SIGHUP => Some("SIGHUP"),
            _ => None,
        }
    }

    /// The reason why wirelap was asked to stop, in words for people: a signal, or a terminal that has hung up. `None` if it was not.
    pub fn caught(&self) -> Option<&'static str> {
        let gone = || self.terminals.have_hung_up().then_some("the end of its terminal");
        let flagged = || {
            let is_set = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
            self.flag.as_ref().is_some_and(is_set).then_some("the user")
        };
        self.signalled().or_else(gone).or_else(flagged)
    }
}

/// A flag that SIGUSR1 sets from now on, instead of ending the process.
///
/// # Errors
/// The kernel does not install a signal handler.
pub fn on_request() -> io::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGUSR1, Arc::clone(&asked))?;
    Ok(asked)
}

/// True if the process was started with SIGHUP ignored, as `nohup` does.
fn is_to_outlive_its_terminal() -> bool {
    let status = procfs::process::Process::myself().and_then(|own| own.status());
    status.is_ok_and(|status| status.sigign & (1 << (SIGHUP - 1)) != 0)
}

/// True if wirelap was asked to stop. False before signals are caught: until then they end the process.
pub fn ask_to_stop() -> bool {
    CAUGHT.get().is_some_and(|signals| signals.caught().is_some())
}

/// True if signals are caught, so that a signal does not end the process.
pub fn are_caught() -> bool {
    CAUGHT.get().is_some()
}
