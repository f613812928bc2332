//! Ctrl-C and its kin are a wish to stop, not a death.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Remembers the last signal that asked us to stop.
#[derive(Clone, Debug, Default)]
pub struct Signals(Arc<AtomicUsize>);

impl Signals {
    /// Catches SIGINT, SIGTERM and SIGHUP from now on.
    pub fn catch() -> std::io::Result<Signals> {
        let signals = Signals::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = usize::try_from(signal).unwrap_or_default();
            signal_hook::flag::register_usize(signal, Arc::clone(&signals.0), number)?;
        }
        Ok(signals)
    }

    /// What was caught, for people.
    pub fn caught(&self) -> Option<&'static str> {
        match i32::try_from(self.0.load(Ordering::Relaxed)).ok()? {
            SIGINT => Some("Ctrl-C"),
            SIGTERM => Some("SIGTERM"),
            SIGHUP => Some("SIGHUP"),
            _ => None,
        }
    }
}
