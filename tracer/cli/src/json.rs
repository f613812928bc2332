//! The option `--json`: where the report is written.

use serde::Serialize;
use std::fs::File;
use std::io;
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
    /// A file. That of a run has its name after each trial, any other one when it is complete.
    File(JsonFile<'a>),
}

/// The file that JSON is written to.
#[derive(Debug)]
pub struct JsonFile<'a> {
    path: &'a Path,
    /// The file that is written next; `None` if it is still to be created.
    begun: Option<File>,
    outputs: Outputs,
    /// True if the user has been told that the file cannot be written.
    is_told: bool,
}

impl<'a> Json<'a> {
    /// Opens the destination. The file is created at once, so that an error does not come after a long run only.
    ///
    /// # Errors
    /// The file cannot be written, or it exists and must not be replaced.
    pub fn open(path: Option<&'a Path>, outputs: &Outputs) -> Result<Json<'a>, Failure> {
        Json::open_with(path, outputs, Outputs::allow)
    }

    /// Opens the file of a run that is resumed, which is there already.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn open_continued(path: &'a Path, outputs: &Outputs) -> Result<Json<'a>, Failure> {
        Json::open_with(Some(path), outputs, Outputs::allow_continued)
    }

    fn open_with(
        path: Option<&'a Path>,
        outputs: &Outputs,
        allow: fn(&Outputs, &Path, bool) -> Result<(), Failure>,
    ) -> Result<Json<'a>, Failure> {
        match path {
            None => Ok(Json::No),
            Some(path) if path == Path::new("-") => Ok(Json::Stdout),
            Some(path) => {
                allow(outputs, path, false)?;
                let file = outputs.begin(path).map_err(|error| outputs::failure(path, &error))?;
                let (begun, outputs) = (Some(file), outputs.clone());
                Ok(Json::File(JsonFile { path, begun, outputs, is_told: false }))
            }
        }
    }

    /// The file, unless what is written to it cannot be replaced.
    pub fn replaceable(&mut self) -> Option<&mut JsonFile<'a>> {
        match self {
            Json::File(file) if !file.outputs.is_special(file.path) => Some(file),
            _ => None,
        }
    }

    /// Writes the report, and the readable text to stdout, or to stderr if stdout is for JSON. If the file cannot be written,
    /// the JSON is written to stdout, so that the results are not lost.
    ///
    /// # Errors
    /// The report or the text cannot be written.
    pub fn write(self, report: &impl Serialize, text: &str) -> Result<(), Failure> {
        let mut file = match self {
            Json::No => return print(text),
            Json::Stdout => {
                say(text);
                return json_to_stdout(report);
            }
            Json::File(file) => file,
        };
        // The file is written first, because writing the text may fail or block if nobody reads it.
        let Err(error) = file.replace(report) else { return print(text) };
        say(text);
        let unwritten = unwritable(file.path, &error);
        Err(Failure::Measured(match json_to_stdout(report) {
            Ok(()) => format!("{unwritten}; the JSON is on stdout"),
            Err(also) => format!("{unwritten}; {also}"),
        }))
    }
}

impl JsonFile<'_> {
    /// Writes what has been measured so far. If that fails, the file stays as it was, and the user is told once.
    pub fn save(&mut self, report: &impl Serialize) {
        let Err(error) = self.replace(report) else {
            self.is_told = false;
            return;
        };
        if !std::mem::replace(&mut self.is_told, true) {
            let unwritten = unwritable(self.path, &error);
            say(&format!(
                "wirelap: {unwritten}; what was written before is kept, and it is tried again after the next trial\n"
            ));
        }
    }

    /// Writes the report to a new file, and gives that the name when it is complete.
    fn replace(&mut self, report: &impl Serialize) -> io::Result<()> {
        let file = match self.begun.take() {
            Some(file) => file,
            None => self.outputs.begin(self.path)?,
        };
        write_json(&file, report)?;
        self.outputs.keep(self.path, &file)
    }
}
