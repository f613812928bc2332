//! The option `--json`: where the report is written.

use serde::Serialize;
use std::fs::File;
use std::path::Path;
use wirelap_process::output::{json_to_stdout, print, say};
use wirelap_process::outputs::{self, unwritable};
use wirelap_process::{Failure, Outputs};
use wirelap_report::write_json;

/// The destination of `--json`.
#[derive(Debug)]
pub enum Json<'a> {
    /// No JSON is written.
    No,
    /// Stdout; the readable text goes to stderr then.
    Stdout,
    /// A file, which gets its name when it is complete.
    File(&'a Path, File, Outputs),
}

impl<'a> Json<'a> {
    /// Opens the destination. The file is created at once, so that an error does not come after a long run only.
    ///
    /// # Errors
    /// The file cannot be written, or it exists and must not be replaced.
    pub fn open(path: Option<&'a Path>, outputs: &Outputs) -> Result<Json<'a>, Failure> {
        match path {
            None => Ok(Json::No),
            Some(path) if path == Path::new("-") => Ok(Json::Stdout),
            Some(path) => {
                outputs.allow(path, false)?;
                let file = outputs.begin(path).map_err(|error| outputs::failure(path, &error))?;
                Ok(Json::File(path, file, outputs.clone()))
            }
        }
    }

    /// Writes the report, and the readable text to stdout, or to stderr if stdout is for JSON. If the file cannot be written,
    /// the JSON is written to stdout, so that the results are not lost.
    ///
    /// # Errors
    /// The report or the text cannot be written.
    pub fn write(self, report: &impl Serialize, text: &str) -> Result<(), Failure> {
        let (path, file, outputs) = match self {
            Json::No => return print(text),
            Json::Stdout => {
                say(text);
                return json_to_stdout(report);
            }
            Json::File(path, file, outputs) => (path, file, outputs),
        };
        // The file is written first, because writing the text may fail or block if nobody reads it.
        let written = write_json(&file, report).and_then(|()| outputs.keep(path, &file));
        let Err(error) = written else { return print(text) };
        say(text);
        let unwritten = unwritable(path, &error);
        Err(Failure::Measured(match json_to_stdout(report) {
            Ok(()) => format!("{unwritten}; the JSON is on stdout"),
            Err(also) => format!("{unwritten}; {also}"),
        }))
    }
}
