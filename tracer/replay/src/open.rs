//! Opens files to be read, and names them in messages.

use std::io;
use std::path::Path;
use wirelap_process::Failure;
use wirelap_recording::Recording;

/// Opens a recording or capture.
pub fn open(path: &Path) -> Result<Recording<Box<dyn io::Read + Send>>, Failure> {
    let bytes = wirelap_recording::open(path)
        .map_err(|error| unread(path, &format!("cannot be read: {error}")))?;
    Recording::new(bytes).map_err(|error| unread(path, &error))
}

/// The failure of a command because a file cannot be read.
pub fn unread(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("{} {why}", shown(path)))
}

/// The name of a file in messages.
pub fn shown(path: &Path) -> String {
    if path == Path::new("-") { "stdin".into() } else { path.display().to_string() }
}
