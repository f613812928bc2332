//! Ctrl-C and its kin are a wish to stop, not a death; so is a terminal that goes away.

use crate::rights;
use crate::stdio::Terminals;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// How long stopping everything in order may take: workloads that do not listen, events that are still to be read, a
/// slow disk.
const ENOUGH: Duration = Duration::from_secs(20);

/// How long saying so may take.
const LAST_WORD: Duration = Duration::from_secs(1);

/// Between two looks at what was caught.
const LOOK: Duration = Duration::from_millis(100);

/// Remembers the last signal that asked us to stop.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    last: Arc<AtomicUsize>,
    terminals: Terminals,
}

/// Those that are caught, once they are.
static CAUGHT: OnceLock<Signals> = OnceLock::new();

impl Signals {
    /// Catches SIGINT, SIGTERM and SIGHUP from now on; SIGHUP not where it is ignored.
    ///
    /// # Errors
    /// The kernel does not let us.
    pub fn catch() -> io::Result<Signals> {
        let signals = Signals { last: Arc::default(), terminals: Terminals::look() };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if signal == SIGHUP && is_to_outlive_its_terminal() {
                continue;
            }
            let number = usize::try_from(signal).unwrap_or_default();
            signal_hook::flag::register_usize(signal, Arc::clone(&signals.last), number)?;
        }
        // A file that may not grow further (`ulimit -f`) is then an error of the write, and ends nothing by itself.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        Ok(CAUGHT.get_or_init(|| signals).clone())
    }

    /// Starts a thread that sees to it that the process ends after any of them, whatever the others wait for: a pipe that
    /// nobody reads, one that nobody writes. It says so first.
    ///
    /// # Errors
    /// There can be no further thread.
    pub fn see_to_the_end(&self, say: fn(&str)) -> io::Result<()> {
        let watched = self.clone();
        rights::spawn("signals", move || watched.give_up_in_the_end(say)).map(drop)
    }

    fn give_up_in_the_end(&self, say: fn(&str)) {
        let caught = loop {
            match self.caught() {
                Some(caught) => break caught,
                None => thread::sleep(LOOK),
            }
        };
        thread::sleep(ENOUGH);
        let seconds = ENOUGH.as_secs();
        // Saying it may be what does not work.
        let text = format!(
            "wirelap: {caught}: what was begun did not end within {seconds} s and is given up\n"
        );
        let said = thread::spawn(move || say(&text));
        let until = Instant::now() + LAST_WORD;
        while !said.is_finished() && Instant::now() < until {
            thread::sleep(LOOK);
        }
        std::process::exit(1);
    }

    /// Whether a signal was caught; cheap enough to be asked for each event.
    pub fn signalled(&self) -> Option<&'static str> {
        match i32::try_from(self.last.load(Ordering::Relaxed)).ok()? {
            SIGINT => Some("Ctrl-C"),
            SIGTERM => Some("SIGTERM"),
            SIGHUP => Some("SIGHUP"),
            _ => None,
        }
    }

    /// What was caught, for people; a terminal that has hung up, too.
    pub fn caught(&self) -> Option<&'static str> {
        let gone = || self.terminals.have_hung_up().then_some("the end of its terminal");
        self.signalled().or_else(gone)
    }
}

/// Whether it was started with `nohup`, or as by it: SIGHUP is ignored.
fn is_to_outlive_its_terminal() -> bool {
    let status = procfs::process::Process::myself().and_then(|own| own.status());
    status.is_ok_and(|status| status.sigign & (1 << (SIGHUP - 1)) != 0)
}

/// Whether anything was caught. Before signals are caught, they end the process by themselves.
pub fn ask_to_stop() -> bool {
    CAUGHT.get().is_some_and(|signals| signals.caught().is_some())
}

/// Whether signals are caught, so that they end nothing by themselves.
pub fn are_caught() -> bool {
    CAUGHT.get().is_some()
}
