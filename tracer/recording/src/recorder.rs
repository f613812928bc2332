//! Files that are being recorded: one, or one after the other, or a ring of them.

use crate::{Encoder, Entry, Note};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use wirelap_events::{Event, Nanos};

/// Written at once.
const CHUNK: usize = 256 << 10;

/// What was seen is in the file after this time at the latest.
const DELAY: Nanos = Nanos::from_millis(1000);

/// When a file ends and the next one begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// When it has so many bytes.
    pub bytes: Option<u64>,
    /// When it tells of so much time.
    pub time: Option<Nanos>,
    /// So many files are kept, the newest; all if not given.
    pub files: Option<usize>,
}

impl Rotation {
    fn is_on(&self) -> bool {
        self.bytes.is_some() || self.time.is_some()
    }
}

/// Nothing more can be written. What was written before can be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to {path}: {error}", path = .path.display())]
pub struct WriteFailed {
    /// The file.
    pub path: PathBuf,
    /// Why not.
    pub error: io::Error,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The files that are there now, the oldest first.
    pub files: Vec<PathBuf>,
    /// Bytes of all files, those that are gone included.
    pub bytes: u64,
}

/// Writes entries into files.
#[derive(Debug)]
pub struct Recorder {
    encoder: Encoder,
    path: PathBuf,
    rotation: Rotation,
    sink: Sink,
    /// Bytes of the file that is being written, all of them whole blocks.
    len: u64,
    /// The first and the last time in it.
    span: Option<(Nanos, Nanos)>,
    flushed: Nanos,
    number: u64,
    kept: VecDeque<PathBuf>,
    bytes: u64,
    failed: Option<WriteFailed>,
}

#[derive(Debug)]
enum Sink {
    File(File),
    Stdout,
}

impl Recorder {
    /// Creates the file, or the first one: `trace-00001.pcapng` for `trace.pcapng` when there will be several. `-` is
    /// stdout.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(
        path: &Path,
        encoder: Encoder,
        rotation: Rotation,
    ) -> Result<Recorder, WriteFailed> {
        let mut recorder = Recorder {
            encoder,
            path: path.to_owned(),
            rotation,
            sink: Sink::Stdout,
            len: 0,
            span: None,
            flushed: Nanos(0),
            number: 0,
            kept: VecDeque::new(),
            bytes: 0,
            failed: None,
        };
        if path != Path::new("-") {
            recorder.next_file().map_err(|(path, error)| WriteFailed { path, error })?;
        }
        recorder.flush();
        match recorder.failed.take() {
            None => Ok(recorder),
            Some(failed) => Err(failed),
        }
    }

    /// The file that is being written.
    pub fn path(&self) -> &Path {
        self.kept.back().map_or(self.path.as_path(), PathBuf::as_path)
    }

    /// Why nothing is written any more.
    pub fn failed(&self) -> Option<&WriteFailed> {
        self.failed.as_ref()
    }

    /// Takes an event.
    pub fn event(&mut self, event: &Event<'_>) {
        if self.failed.is_none() {
            self.encoder.event(event);
            self.passed(event.at);
        }
    }

    /// All events up to this time have been taken.
    pub fn tick(&mut self, at: Nanos) {
        if self.failed.is_none() {
            self.encoder.entry(&Entry::Tick(at));
            self.passed(at);
        }
    }

    /// Writes something down.
    pub fn note(&mut self, note: Note<'_>) {
        self.encoder.note(note);
    }

    /// Writes something down in each file.
    pub fn standing_note(&mut self, note: Note<'_>) {
        self.encoder.standing_note(note);
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// Not everything could be written, now or before.
    pub fn close(mut self) -> Result<Written, WriteFailed> {
        self.encoder.complete();
        self.flush();
        match self.failed {
            None => Ok(Written { files: self.kept.into(), bytes: self.bytes }),
            Some(failed) => Err(failed),
        }
    }

    /// Time has come to `at`: writes and changes files if it is time.
    fn passed(&mut self, at: Nanos) {
        let (first, last) = self.span.unwrap_or((at, at));
        let last = last.max(at);
        self.span = Some((first, last));
        let is_late = last >= self.flushed + DELAY;
        if is_late && self.encoder.has_news() {
            self.encoder.complete();
        }
        if is_late || self.encoder.bytes().len() >= CHUNK {
            self.flushed = last;
            self.flush();
        }
        let is_over = |is: u64, most: Option<u64>| most.is_some_and(|most| is >= most);
        if is_over(self.len, self.rotation.bytes)
            || is_over((last - first).0, self.rotation.time.map(|time| time.0))
        {
            self.rotate();
        }
    }

    fn rotate(&mut self) {
        self.encoder.complete();
        self.flush();
        if self.failed.is_none()
            && let Err((path, error)) = self.next_file()
        {
            self.failed = Some(WriteFailed { path, error });
        }
        self.encoder.restart();
        self.span = None;
    }

    fn next_file(&mut self) -> Result<(), (PathBuf, io::Error)> {
        self.number += 1;
        let path = if self.rotation.is_on() {
            numbered(&self.path, self.number)
        } else {
            self.path.clone()
        };
        self.sink = Sink::File(File::create(&path).map_err(|error| (path.clone(), error))?);
        self.len = 0;
        self.kept.push_back(path);
        let most = self.rotation.files.filter(|_| self.rotation.is_on());
        while most.is_some_and(|most| self.kept.len() > most.max(1)) {
            if let Some(old) = self.kept.pop_front() {
                // One that somebody has moved away is not in the way.
                let _ = fs::remove_file(old);
            }
        }
        Ok(())
    }

    /// Writes all complete blocks. What is written in part is cut off again.
    fn flush(&mut self) {
        let bytes = self.encoder.bytes();
        if self.failed.is_none() && !bytes.is_empty() {
            let written = match &mut self.sink {
                Sink::File(file) => file.write_all(bytes),
                Sink::Stdout => {
                    let mut out = io::stdout().lock();
                    out.write_all(bytes).and_then(|()| out.flush())
                }
            };
            match written {
                Ok(()) => {
                    self.len += bytes.len() as u64;
                    self.bytes += bytes.len() as u64;
                }
                Err(error) => {
                    if let Sink::File(file) = &self.sink {
                        // If not, the file ends in the middle of a block, which readers cope with.
                        let _ = file.set_len(self.len);
                    }
                    self.failed = Some(WriteFailed { path: self.path().to_owned(), error });
                }
            }
        }
        self.encoder.clear();
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
