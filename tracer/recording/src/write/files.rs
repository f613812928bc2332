//! Destination of a recording: a file, one after the other, a ring of them, or stdout.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use wirelap_events::human::bytes;
use wirelap_events::{Nanos, Saturate};

/// Limits at which a file ends and the next one begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// Most bytes of a file; no limit if `None`.
    pub bytes: Option<u64>,
    /// Longest time that the entries of a file span; no limit if `None`.
    pub time: Option<Nanos>,
    /// Number of files that are kept, the newest ones; all if `None`.
    pub files: Option<usize>,
}

impl Rotation {
    pub(crate) fn is_on(&self) -> bool {
        self.bytes.is_some() || self.time.is_some()
    }
}

/// Nothing more can be written. What was written before can be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to {} after {}: {error}", name(.path), bytes(*.written as f64))]
pub struct WriteFailed {
    /// The file.
    pub path: PathBuf,
    /// The bytes that were written until then, to all files.
    pub written: u64,
    /// Why it cannot be written.
    pub error: io::Error,
}

fn name(path: &Path) -> Cow<'_, str> {
    if path == Path::new("-") { "stdout".into() } else { path.to_string_lossy() }
}

/// Creates files and removes them.
pub trait Store: Debug + Send {
    /// Creates an empty file of this name.
    ///
    /// # Errors
    /// The file cannot be created.
    fn create(&mut self, path: &Path) -> io::Result<File>;

    /// Removes a file that was created, if it is still there.
    fn remove(&mut self, path: &Path);

    /// The numbers of the files that are there of a ring that is continued, in ascending order.
    fn continued(&self, _path: &Path) -> Vec<u64> {
        Vec::new()
    }
}

/// Creates files that their owner alone can read. A file that is there already is replaced.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Store for Plain {
    fn create(&mut self, path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
    }

    fn remove(&mut self, path: &Path) {
        let _ = fs::remove_file(path);
    }
}

/// Files that are being written.
#[derive(Debug)]
pub struct Files {
    path: PathBuf,
    store: Box<dyn Store>,
    rotation: Rotation,
    sink: RecordingSink,
    /// Bytes of complete blocks in the file that is being written.
    len: u64,
    number: u64,
    /// Files that were there before, the oldest first.
    older: VecDeque<PathBuf>,
    /// The files that were written and are there now, the oldest first.
    pub kept: VecDeque<PathBuf>,
    /// Bytes of all files.
    pub bytes: u64,
    /// Why nothing is written any more.
    pub failed: Option<WriteFailed>,
}

#[derive(Debug)]
enum RecordingSink {
    File(File),
    Stdout,
}

impl Files {
    /// Creates the first file. `-` is stdout.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(
        store: Box<dyn Store>,
        path: &Path,
        rotation: Rotation,
    ) -> Result<Files, WriteFailed> {
        let older = if rotation.is_on() { store.continued(path) } else { Vec::new() };
        let mut files = Files {
            path: path.to_owned(),
            store,
            rotation,
            sink: RecordingSink::Stdout,
            len: 0,
            number: older.last().copied().unwrap_or(0),
            older: older.iter().map(|&number| numbered(path, number)).collect(),
            kept: VecDeque::new(),
            bytes: 0,
            failed: None,
        };
        if path != Path::new("-") {
            files.next();
        }
        match files.failed.take() {
            None => Ok(files),
            Some(failed) => Err(failed),
        }
    }

    /// The file that is being written.
    pub fn path(&self) -> &Path {
        self.kept.back().map_or(self.path.as_path(), PathBuf::as_path)
    }

    /// Begins the next file.
    pub fn next(&mut self) {
        if self.failed.is_some() {
            return;
        }
        self.number.grow(1);
        let path = if self.rotation.is_on() {
            numbered(&self.path, self.number)
        } else {
            self.path.clone()
        };
        self.sink = match self.store.create(&path) {
            Ok(file) => RecordingSink::File(file),
            Err(error) => {
                return self.failed = Some(WriteFailed { path, written: self.bytes, error });
            }
        };
        self.len = 0;
        self.kept.push_back(path);
        let most = self.rotation.files.filter(|_| self.rotation.is_on());
        let there = |files: &Files| files.older.len().saturating_add(files.kept.len());
        while most.is_some_and(|most| there(self) > most.max(1)) {
            if let Some(old) = self.older.pop_front().or_else(|| self.kept.pop_front()) {
                self.store.remove(&old);
            }
        }
    }

    /// Removes all files that were written.
    pub fn discard(&mut self) {
        for path in self.kept.drain(..) {
            self.store.remove(&path);
        }
    }

    /// Writes complete blocks. A block that is written in part is cut off again.
    pub fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_some() || bytes.is_empty() {
            return;
        }
        let written = match &mut self.sink {
            RecordingSink::File(file) => file.write_all(bytes),
            RecordingSink::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
        };
        match written {
            Ok(()) => {
                self.len.grow(bytes.len() as u64);
                self.bytes.grow(bytes.len() as u64);
            }
            Err(error) => {
                if let RecordingSink::File(file) = &self.sink {
                    // If that fails, the file ends in the middle of a block, which readers cope with.
                    let _ = file.set_len(self.len);
                }
                let (path, written) = (self.path().to_owned(), self.bytes);
                self.failed = Some(WriteFailed { path, written, error });
            }
        }
    }
}

/// `trace.pcapng` → `trace-00007.pcapng`.
pub fn numbered(path: &Path, number: u64) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = match path.extension() {
        Some(extension) => format!("{stem}-{number:05}.{}", extension.to_string_lossy()),
        None => format!("{stem}-{number:05}"),
    };
    path.with_file_name(name)
}
