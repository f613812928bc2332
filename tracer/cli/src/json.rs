//! `--json`.

use serde::Serialize;
use std::fs::File;
use std::path::Path;
use wirelap_process::output::{json_to_stdout, print, say};
use wirelap_process::outputs::{self, unwritable};
use wirelap_process::{Failure, Outputs};
use wirelap_report::write_json;

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
                let file = outputs.begin(path).map_err(|error| outputs::failure(path, &error))?;
                Ok(Json::File(path, file, outputs.clone()))
            }
        }
    }

    /// Writes the report; the readable text goes to stdout, or to stderr when stdout is for JSON. If the file cannot be
    /// written, stdout gets the JSON: what was measured is not lost.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn write(self, report: &impl Serialize, text: &str) -> Result<(), Failure> {
        let (path, file, outputs) = match self {
            Json::No => return print(text),
            Json::Stdout => {
                say(text);
                return json_to_stdout(report);
            }
            Json::File(path, file, outputs) => (path, file, outputs),
        };
        // The file first: it must be there even if nobody reads the text.
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
