//! JSON to a file, all or nothing.

use serde::Serialize;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Why a file could not be written. What stood there before still does.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", path.display())]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    pub source: io::Error,
}

/// Writes `value` to `path`: into a new file beside it that then takes its place, so that a reader
/// never sees half of it. A device or a pipe is written to as it is.
///
/// # Errors
/// The folder is missing or not writable, or the disk is full.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), WriteError> {
    let result = if is_special(path) { write_through(path, value) } else { replace(path, value) };
    result.map_err(|source| WriteError { path: path.to_owned(), source })
}

/// Finds out before a long run whether [`write_json`] would succeed, disk space apart.
///
/// # Errors
/// As [`write_json`].
pub fn check_writable(path: &Path) -> Result<(), WriteError> {
    let error = |source| WriteError { path: path.to_owned(), source };
    if path.is_dir() {
        return Err(error(io::Error::from(io::ErrorKind::IsADirectory)));
    }
    if is_special(path) {
        return Ok(());
    }
    tempfile::NamedTempFile::new_in(folder_of(path)).map(drop).map_err(error)
}

fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn write_through(path: &Path, value: &impl Serialize) -> io::Result<()> {
    fill(&mut std::fs::OpenOptions::new().write(true).open(path)?, value)
}

fn replace(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder_of(path))?;
    fill(file.as_file_mut(), value)?;
    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
    // A full disk may come to light only now.
    file.as_file().sync_data()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

fn fill(file: &mut std::fs::File, value: &impl Serialize) -> io::Result<()> {
    let mut out = io::BufWriter::new(file);
    serde_json::to_writer_pretty(&mut out, value)?;
    out.write_all(b"\n")?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        std::fs::write(&path, "old").unwrap();
        write_json(&path, &[1, 2]).unwrap();
        let read: Vec<u32> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(read, [1, 2]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_full_disk_is_told() {
        let error = write_json(Path::new("/dev/full"), &[1]).unwrap_err();
        assert!(error.to_string().contains("/dev/full: No space left"), "{error}");
    }

    #[test]
    fn a_missing_folder_is_noticed_before() {
        let error = check_writable(Path::new("/nonexistent/out.json")).unwrap_err();
        assert!(error.to_string().contains("No such file"), "{error}");
        assert!(check_writable(Path::new("/proc")).is_err());
        assert!(check_writable(Path::new("/dev/null")).is_ok());
    }
}
