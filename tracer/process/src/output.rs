//! Writes text to stdout and stderr, without blocking for ever when nobody reads, and without anything in it that steers a
//! terminal: names in it are those of others.

use crate::failure::Failure;
use crate::rights;
use crate::signals;
use crate::stdio::BackgroundWriter;
use serde::Serialize;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use wirelap_events::human::{clean_lines, escape_json};

/// Longest wait of a write for a reader of stdout or stderr after the user has asked wirelap to stop.
const PATIENCE: Duration = Duration::from_secs(2);

const EIO: i32 = rustix::io::Errno::IO.raw_os_error();

static STDOUT: Mutex<Option<BackgroundWriter>> = Mutex::new(None);
static STDERR: Mutex<Option<BackgroundWriter>> = Mutex::new(None);

/// Prints text to stdout. A reader that has gone away (`| head`) is not an error.
///
/// # Errors
/// Stdout cannot be written, for instance because the disk is full.
pub fn print(text: &str) -> Result<(), Failure> {
    judge(write(&STDOUT, io::stdout, text, &mut impatience())).map(drop)
}

/// Prints text to stdout. Returns `Break` when the reader has gone away, or when `give_up` returned true while the write
/// was waiting.
///
/// # Errors
/// Stdout cannot be written for another reason.
pub fn print_unless_gone(
    text: &str,
    give_up: &dyn Fn() -> bool,
) -> Result<ControlFlow<()>, Failure> {
    judge(write(&STDOUT, io::stdout, text, &mut || give_up()))
}

/// Prints text to stderr. An error is ignored, because there is no other place to report it.
pub fn say(text: &str) {
    let _ = write(&STDERR, io::stderr, text, &mut impatience());
}

fn write<S: Write + Send + 'static>(
    outlet: &Mutex<Option<BackgroundWriter>>,
    stream: fn() -> S,
    text: &str,
    give_up: &mut dyn FnMut() -> bool,
) -> io::Result<()> {
    let text = clean_lines(text);
    let bytes = text.as_bytes();
    let mut outlet = outlet.lock().unwrap_or_else(PoisonError::into_inner);
    // Before signals are caught, any of them ends the process, even in a blocked write: no thread is needed.
    if outlet.is_none() && signals::are_caught() {
        *outlet = start(stream());
    }
    if let Some(outlet) = &mut *outlet {
        return outlet.write(bytes.to_vec(), give_up);
    }
    let mut stream = stream();
    stream.write_all(bytes).and_then(|()| stream.flush())
}

/// Starts the thread that writes. It is started from a thread without rights, whose (missing) rights it inherits.
fn start<S: Write + Send + 'static>(stream: S) -> Option<BackgroundWriter> {
    rights::spawn("output", move || BackgroundWriter::new(stream).ok()).ok()?.join().ok()?
}

/// A condition that becomes true when the user asked wirelap to stop at least [`PATIENCE`] ago.
fn impatience() -> impl FnMut() -> bool {
    let mut since = None;
    move || signals::ask_to_stop() && since.get_or_insert_with(Instant::now).elapsed() >= PATIENCE
}

/// Prints a value as JSON to stdout.
///
/// # Errors
/// The value cannot be serialised, or stdout cannot be written.
pub fn json_to_stdout(value: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::Measured(format!("cannot write the JSON: {error}")))?;
    text.push('\n');
    print(&escape_json(text))
}

/// A reader that has gone away, or that does not read although wirelap has to stop, is not an error.
fn judge(result: io::Result<()>) -> Result<ControlFlow<()>, Failure> {
    match result {
        Ok(()) => Ok(ControlFlow::Continue(())),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::TimedOut) =>
        {
            Ok(ControlFlow::Break(()))
        }
        // A terminal that has hung up returns EIO.
        Err(error) if error.raw_os_error() == Some(EIO) && signals::ask_to_stop() => {
            Ok(ControlFlow::Break(()))
        }
        Err(error) => Err(Failure::Measured(format!("cannot write to stdout: {error}"))),
    }
}
