//! Opens files to be read, and names them in messages.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wirelap_process::Failure;
use wirelap_recording::Recording;

/// Counts the bytes that are read of a file, as they are in the file: compressed.
struct CountedInput {
    source: Box<dyn Read + Send>,
    read: Arc<AtomicU64>,
}

impl Read for CountedInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Opens a recording or capture. The bytes that are read of it are added to `read`.
pub fn open(
    path: &Path,
    read: &Arc<AtomicU64>,
) -> Result<Recording<Box<dyn io::Read + Send>>, Failure> {
    let read = Arc::clone(read);
    let bytes =
        wirelap_recording::open_through(path, |source| Box::new(CountedInput { source, read }))
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
