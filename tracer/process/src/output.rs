//! Text to stdout and stderr.

use crate::failure::Failure;
use crate::rights;
use crate::signals;
use crate::stdio::Outlet;
use serde::Serialize;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Once the user wants us to stop, whoever reads stdout or stderr has so much time to do it.
const PATIENCE: Duration = Duration::from_secs(2);

const EIO: i32 = rustix::io::Errno::IO.raw_os_error();

static STDOUT: Mutex<Option<Outlet>> = Mutex::new(None);
static STDERR: Mutex<Option<Outlet>> = Mutex::new(None);

/// Prints text. A reader that has gone away (`| head`) is no failure.
///
/// # Errors
/// Stdout cannot be written, for instance because the disk is full.
pub fn print(text: &str) -> Result<(), Failure> {
    judge(write(&STDOUT, io::stdout, text, &mut impatience())).map(drop)
}

/// Prints text, and tells when nobody reads it any more, or `give_up` says that it has been waited long enough.
///
/// # Errors
/// As [`print`].
pub fn print_unless_gone(
    text: &str,
    give_up: &dyn Fn() -> bool,
) -> Result<ControlFlow<()>, Failure> {
    judge(write(&STDOUT, io::stdout, text, &mut || give_up()))
}

/// Says something on stderr. Where that is not possible, there is nobody to be told.
pub fn say(text: &str) {
    let _ = write(&STDERR, io::stderr, text, &mut impatience());
}

fn write<S: Write + Send + 'static>(
    outlet: &Mutex<Option<Outlet>>,
    stream: fn() -> S,
    text: &str,
    give_up: &mut dyn FnMut() -> bool,
) -> io::Result<()> {
    let bytes = text.as_bytes();
    let mut outlet = outlet.lock().unwrap_or_else(PoisonError::into_inner);
    // Before signals are caught, one ends us even while we wait for a reader.
    if outlet.is_none() && signals::are_caught() {
        *outlet = start(stream());
    }
    if let Some(outlet) = &mut *outlet {
        return outlet.write(bytes.to_vec(), give_up);
    }
    let mut stream = stream();
    stream.write_all(bytes).and_then(|()| stream.flush())
}

/// A thread has the rights of the one that starts it, and whoever prints may keep some for later.
fn start<S: Write + Send + 'static>(stream: S) -> Option<Outlet> {
    rights::spawn("output", move || Outlet::new(stream).ok()).ok()?.join().ok()?
}

/// Gives up when the user has wanted us to stop for a while.
fn impatience() -> impl FnMut() -> bool {
    let mut since = None;
    move || signals::ask_to_stop() && since.get_or_insert_with(Instant::now).elapsed() >= PATIENCE
}

/// Prints JSON and nothing else.
///
/// # Errors
/// As [`print`].
pub fn json_to_stdout(value: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::Measured(format!("cannot write the JSON: {error}")))?;
    text.push('\n');
    print(&text)
}

/// A reader that has gone, or reads nothing although it is time to stop, is no failure.
fn judge(result: io::Result<()>) -> Result<ControlFlow<()>, Failure> {
    match result {
        Ok(()) => Ok(ControlFlow::Continue(())),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::TimedOut) =>
        {
            Ok(ControlFlow::Break(()))
        }
        // So says a terminal that has hung up.
        Err(error) if error.raw_os_error() == Some(EIO) && signals::ask_to_stop() => {
            Ok(ControlFlow::Break(()))
        }
        Err(error) => Err(Failure::Measured(format!("cannot write to stdout: {error}"))),
    }
}
