//! Starts the handling of signals at the moment that each command chooses.

use crate::failure::Failure;
use crate::output;
use crate::remedy;
use crate::signals::Signals;

/// Catches signals from now on. Must be called after rights are given up, because it starts a thread, which would keep them.
///
/// # Errors
/// A signal handler cannot be installed, or the thread cannot be started.
pub fn catch_signals() -> Result<Signals, Failure> {
    let failed =
        |error| Failure::Machine(format!("cannot catch signals: {}", remedy::with(&error)));
    let signals = Signals::catch().map_err(failed)?;
    signals.start_watchdog(output::say).map_err(failed)?;
    Ok(signals)
}
