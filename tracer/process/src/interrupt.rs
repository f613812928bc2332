//! Signals are caught from a time on that the command chooses.

use crate::failure::Failure;
use crate::output;
use crate::remedy;
use crate::signals::Signals;

/// Catches signals from now on. To be called once rights are given up: a thread is started.
///
/// # Errors
/// The kernel does not let us.
pub fn catch_signals() -> Result<Signals, Failure> {
    let failed =
        |error| Failure::Machine(format!("cannot catch signals: {}", remedy::with(&error)));
    let signals = Signals::catch().map_err(failed)?;
    signals.see_to_the_end(output::say).map_err(failed)?;
    Ok(signals)
}
