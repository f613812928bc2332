//! Files that are written from the screen. Their names are allowed before rights are given up, and differ only in a number.

use super::args::LiveArgs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wirelap_events::human;
use wirelap_process::outputs::unwritable;
use wirelap_process::{Failure, Outputs};
use wirelap_recording::{Excerpt, numbered};

/// The endings of the files: the screen as a picture and as text, and the packets of a message.
const ENDINGS: [&str; 3] = ["svg", "txt", "pcapng"];

/// Writes the files that the user asks for on the screen.
pub struct ScreenFiles {
    outputs: Outputs,
    /// The path of each file without its number and ending; `Err` is the sentence why no file may be written.
    stem: Result<PathBuf, String>,
    /// Number of times that files were written.
    written: u64,
}

impl ScreenFiles {
    /// Allows the files that the options let the screen write.
    ///
    /// # Errors
    /// The folder of `--save-to` cannot be written.
    pub fn of(args: &LiveArgs, outputs: &Outputs) -> Result<ScreenFiles, Failure> {
        if args.watch_only {
            return Ok(ScreenFiles::none(outputs));
        }
        ScreenFiles::allow(args.save_to.as_deref(), outputs)
    }

    /// Allows files in a folder to be written: in the present one if there is none, and then it is no failure if it cannot be written.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn allow(folder: Option<&Path>, outputs: &Outputs) -> Result<ScreenFiles, Failure> {
        let name = format!("wirelap-{}", time(SystemTime::now()));
        let stem = folder.unwrap_or(Path::new("")).join(name);
        let mut allowed = ENDINGS.iter().map(|ending| outputs.allow(&with(&stem, ending), true));
        let stem = match (allowed.find_map(Result::err), folder) {
            (None, _) => Ok(stem),
            (Some(failure), Some(_)) => return Err(failure),
            (Some(failure), None) => Err(format!("{failure}; or use --save-to FOLDER")),
        };
        Ok(ScreenFiles { outputs: outputs.clone(), stem, written: 0 })
    }

    /// Allows no files.
    pub fn none(outputs: &Outputs) -> ScreenFiles {
        let why = "no files can be written, because wirelap was started with --watch-only";
        ScreenFiles { outputs: outputs.clone(), stem: Err(why.into()), written: 0 }
    }

    /// Why no file may be written; `None` if files may be.
    pub fn refused(&self) -> Option<&str> {
        self.stem.as_ref().err().map(String::as_str)
    }

    /// Writes the screen as a picture and as text. Returns a sentence for the user.
    pub fn screenshot(&mut self, text: &str, svg: &str) -> String {
        self.write(&[("svg", svg.as_bytes()), ("txt", text.as_bytes())])
    }

    /// Writes what was chosen of a recording. Returns a sentence for the user.
    pub fn packets(&mut self, excerpt: &Excerpt) -> String {
        let packets = human::counted(excerpt.packets, "packet");
        format!("{packets}, {}", self.write(&[("pcapng", &excerpt.bytes)]))
    }

    /// Writes files of the same name with these endings. Returns a sentence for the user: their names, or why they were not written.
    fn write(&mut self, files: &[(&str, &[u8])]) -> String {
        let stem = match &self.stem {
            Ok(stem) => stem.clone(),
            Err(why) => return why.clone(),
        };
        self.written = self.written.saturating_add(1);
        let mut names = Vec::new();
        for (ending, bytes) in files {
            let path = numbered(&with(&stem, ending), self.written);
            if let Err(error) = self.write_one(&path, bytes) {
                return unwritable(&path, &error);
            }
            names.push(path.display().to_string());
        }
        format!("written: {}", names.join(", "))
    }

    /// The file has its name only when it is complete.
    fn write_one(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.outputs.begin(path)?;
        file.write_all(bytes)?;
        self.outputs.keep(path, &file)
    }
}

/// A path with an ending. The name has no dot before, so nothing is replaced.
fn with(stem: &Path, ending: &str) -> PathBuf {
    stem.with_extension(ending)
}

/// A time in UTC as it stands in names: `20261125-015500`.
pub fn time(time: SystemTime) -> String {
    let written = humantime::format_rfc3339_seconds(time).to_string();
    let shown = written.chars().filter_map(|c| match c {
        'T' => Some('-'),
        c if c.is_ascii_digit() => Some(c),
        _ => None,
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn names_have_the_time_and_a_number() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_mins(29_926_195);
        assert_eq!(time(at), "20261125-015500");
        let folder = tempfile::tempdir().unwrap();
        let outputs = Outputs::new(false, None);
        let mut files = ScreenFiles::allow(Some(folder.path()), &outputs).unwrap();
        for number in 1..=2 {
            let said = files.screenshot("the text", "<svg/>");
            let name = said.rsplit(", ").next().unwrap();
            assert!(name.ends_with(&format!("-0000{number}.txt")), "{said}");
            assert_eq!(std::fs::read_to_string(name).unwrap(), "the text");
        }
    }

    #[test]
    fn a_folder_that_was_named_must_be_there() {
        let outputs = Outputs::new(false, None);
        let refused = ScreenFiles::allow(Some(Path::new("/nonexistent")), &outputs);
        assert!(refused.is_err());
        let mut none = ScreenFiles::none(&outputs);
        assert!(none.refused().unwrap().contains("--watch-only"));
        let said = none.screenshot("", "");
        assert!(said.contains("--watch-only"), "{said}");
    }
}
