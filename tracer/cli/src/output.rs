//! Stdout and JSON files.

use crate::failure::Failure;
use crate::outputs::{Outputs, unwritable};
use serde::Serialize;
use std::fs::File;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;
use wirelap_report::write_json;

/// Prints text. A reader that has gone away (`| head`) is no failure.
///
/// # Errors
/// Stdout cannot be written, for instance because the disk is full.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    judge(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Prints text, and tells when nobody reads it any more.
///
/// # Errors
/// As [`print`].
pub fn print_unless_gone(text: &str) -> Result<ControlFlow<()>, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        result => judge(result).map(ControlFlow::Continue),
    }
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

fn judge(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Measured(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Where `--json` goes.
#[derive(Debug)]
pub enum Json<'a> {
    /// Nowhere.
    No,
    /// Stdout, which then carries nothing else.
    Stdout,
    /// A file, which has its name when it is whole.
    File(&'a Path, File, Outputs),
}

impl<'a> Json<'a> {
    /// `--json FILE|-`; the file is tried at once, not after a long run.
    ///
    /// # Errors
    /// The file could not be written, or is there already.
    pub fn open(told: Option<&'a Path>, outputs: &Outputs) -> Result<Json<'a>, Failure> {
        match told {
            None => Ok(Json::No),
            Some(path) if path == Path::new("-") => Ok(Json::Stdout),
            Some(path) => {
                outputs.allow(path, false)?;
                let file = outputs
                    .begin(path)
                    .map_err(|error| Failure::Usage(unwritable(path, &error)))?;
                Ok(Json::File(path, file, outputs.clone()))
            }
        }
    }

    /// Writes the report; the readable text goes to stdout, or to stderr when stdout is for JSON.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn write(self, report: &impl Serialize, text: &str) -> Result<(), Failure> {
        match self {
            Json::No => print(text),
            Json::Stdout => {
                eprint!("{text}");
                json_to_stdout(report)
            }
            Json::File(path, file, outputs) => {
                // The file first: it must be there even if nobody reads the text.
                let written = write_json(&file, report).and_then(|()| outputs.keep(path, &file));
                print(text)?;
                written.map_err(|error| failed(path, &error))
            }
        }
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::Measured(match error.kind() {
        io::ErrorKind::AlreadyExists => unwritable(path, error),
        _ => format!("cannot write {}: {error}: make room, or name another file", path.display()),
    })
}
