//! Files that are read, and their names for people.

use std::io;
use std::path::Path;
use wirelap_process::Failure;
use wirelap_recording::Recording;

/// A capture that begins to be read.
pub fn open(path: &Path) -> Result<Recording<Box<dyn io::Read + Send>>, Failure> {
    let bytes = wirelap_recording::open(path)
        .map_err(|error| unread(path, &format!("cannot be read: {error}")))?;
    Recording::new(bytes).map_err(|error| unread(path, &error))
}

/// Why a file cannot be read, as what ends a command.
pub fn unread(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("{} {why}", shown(path)))
}

/// A file's name for people.
pub fn shown(path: &Path) -> String {
    if path == Path::new("-") { "stdin".into() } else { path.display().to_string() }
}
