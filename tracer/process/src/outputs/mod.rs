//! The files that wirelap writes. Only their owner can read them; they are never written through a link that another user
//! has made, and they replace an existing file only with `--force`.
//!
//! A path is looked up once, at the start: from then on it is a folder that is held open and a name in this folder. A
//! result gets its name when it is complete, and that of a run after each trial; until then the file has no name, so that
//! nothing is left behind if wirelap is killed. A recording has its name from the start, because an incomplete one is useful too. The files are created by
//! wirelap itself or, where it has given up the rights to do so, by its [`Steward`].

use crate::failure::Failure;
use crate::files::{Destination, Existing, OutputNames, numbers, resolve};
use crate::remedy;
use crate::steward::{Steward, StewardRole};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use wirelap_recording::Store;

/// Creates the output files of one command.
#[derive(Clone, Debug)]
pub struct Outputs {
    creator: Creator,
    force: bool,
    /// Devices and pipes by their path. They are opened once and written to directly.
    special: Arc<Mutex<HashMap<PathBuf, File>>>,
    /// The numbers of the files of rings that are continued, by the path of the ring.
    continued: Arc<Mutex<HashMap<PathBuf, Vec<u64>>>>,
}

#[derive(Clone, Debug)]
enum Creator {
    ThisProcess(Arc<Mutex<OutputNames>>),
    Steward(Arc<Steward>),
}

impl Outputs {
    /// Creates files through the steward if there is one, otherwise in this process. `force` replaces existing files.
    pub fn new(force: bool, steward: Option<Arc<Steward>>) -> Outputs {
        let creator = match steward {
            Some(steward) => Creator::Steward(steward),
            None => Creator::ThisProcess(Arc::default()),
        };
        Outputs { creator, force, special: Arc::default(), continued: Arc::default() }
    }

    /// Creates the files of these paths through a new steward; without one if all paths are `-` (stdout).
    ///
    /// # Errors
    /// The steward cannot be started.
    pub fn of<'a>(
        mut paths: impl Iterator<Item = &'a PathBuf>,
        force: bool,
    ) -> Result<Outputs, Failure> {
        let writes = paths.any(|path| path != Path::new("-"));
        let steward = writes.then(|| Steward::start(StewardRole::Outputs)).transpose()?;
        Ok(Outputs::new(force, steward))
    }

    /// Makes the steward refuse to allow further paths.
    ///
    /// # Errors
    /// The steward has ended.
    pub fn seal(&self) -> Result<(), Failure> {
        match &self.creator {
            Creator::ThisProcess(_) => Ok(()),
            Creator::Steward(steward) => {
                steward.seal().map_err(|error| Failure::Machine(remedy::with(&error)))
            }
        }
    }

    /// Looks up where a path leads and checks that it can be written. With `numbered`, the files that are created later have
    /// this name with a number in it. `-`, which means stdout, is always allowed.
    ///
    /// # Errors
    /// The path cannot be written, or a file is there already and `force` is not set.
    pub fn allow(&self, path: &Path, numbered: bool) -> Result<(), Failure> {
        let existing = if self.force { Existing::Replace } else { Existing::Refuse };
        self.allow_if(path, numbered, existing)
    }

    /// As [`Outputs::allow`], for a file that may be there already: the one that is continued.
    ///
    /// # Errors
    /// The path cannot be written.
    pub fn allow_continued(&self, path: &Path, numbered: bool) -> Result<(), Failure> {
        self.allow_if(path, numbered, Existing::Replace)
    }

    /// As [`Outputs::allow`] for numbered files, some of which may be there: they stay, and new ones get higher numbers.
    ///
    /// # Errors
    /// The path cannot be written, or its folder cannot be read.
    pub fn allow_further(&self, path: &Path) -> Result<(), Failure> {
        self.allow_if(path, true, Existing::Continue)
    }

    /// Allows a name in a folder that is held open, under a path that stands for it from now on. A file of this name is replaced.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn allow_in(&self, path: &Path, folder: OwnedFd, name: OsString) -> io::Result<()> {
        match &self.creator {
            Creator::ThisProcess(names) => {
                lock(names).allow(path, folder, name, Existing::Replace, false)
            }
            Creator::Steward(steward) => {
                steward.allow(path, folder.as_fd(), name, (Existing::Replace, false))
            }
        }
    }

    fn allow_if(&self, path: &Path, numbered: bool, existing: Existing) -> Result<(), Failure> {
        if path == Path::new("-") {
            return Ok(());
        }
        let failed = |error: io::Error| {
            if numbered && error.kind() == io::ErrorKind::AlreadyExists {
                return Failure::Usage(format!(
                    "cannot write {}: numbered files of that name are there already, such as {}: name another file, or \
                     replace them with --force",
                    path.display(),
                    wirelap_recording::numbered(path, 1).display()
                ));
            }
            failure(path, &error)
        };
        match resolve(path).map_err(failed)? {
            Destination::Special(_) if numbered => Err(Failure::Usage(format!(
                "cannot write {} as numbered files: it is not a regular file",
                path.display()
            ))),
            Destination::Special(file) => {
                self.special().insert(path.to_owned(), file);
                Ok(())
            }
            Destination::File { folder, name } => {
                if existing == Existing::Continue {
                    let numbers = numbers(&folder, &name).map_err(failed)?;
                    let mut continued =
                        self.continued.lock().unwrap_or_else(PoisonError::into_inner);
                    continued.insert(path.to_owned(), numbers);
                }
                match &self.creator {
                    Creator::ThisProcess(names) => {
                        lock(names).allow(path, folder, name, existing, numbered)
                    }
                    Creator::Steward(steward) => {
                        steward.allow(path, folder.as_fd(), name, (existing, numbered))
                    }
                }
                .map_err(failed)
            }
        }
    }

    /// Creates an empty file under its final name, or returns the device or pipe that the path leads to.
    ///
    /// # Errors
    /// The file cannot be created, or a file is there already and `force` is not set.
    pub fn create(&self, path: &Path) -> io::Result<File> {
        self.open(path, OutputNames::create, Steward::create)
    }

    /// Creates an empty file that has no name until [`Outputs::keep`], or returns the device or pipe that the path leads to.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn begin(&self, path: &Path) -> io::Result<File> {
        self.open(path, OutputNames::begin, Steward::begin)
    }

    /// True if an allowed path leads to a device or a pipe, which can be written only once.
    pub fn is_special(&self, path: &Path) -> bool {
        self.special().contains_key(path)
    }

    /// Gives a complete file of [`Outputs::begin`] its name. It replaces a file that was kept under this name before.
    ///
    /// # Errors
    /// Another file has the name by now and `force` is not set, or the disk is full.
    pub fn keep(&self, path: &Path, file: &File) -> io::Result<()> {
        if self.is_special(path) {
            return Ok(());
        }
        // Some file systems report a full disk only when the data is written back.
        file.sync_data()?;
        match &self.creator {
            Creator::ThisProcess(names) => lock(names).keep(path),
            Creator::Steward(steward) => steward.keep(path),
        }
    }

    fn special(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, File>> {
        self.special.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the output of a path, whoever creates it: this process, or the steward.
    fn open(
        &self,
        path: &Path,
        by_names: fn(&mut OutputNames, &Path) -> io::Result<OwnedFd>,
        by_steward: fn(&Steward, &Path) -> io::Result<OwnedFd>,
    ) -> io::Result<File> {
        if let Some(special) = self.special().get(path) {
            return special.try_clone();
        }
        let file = match &self.creator {
            Creator::ThisProcess(names) => by_names(&mut lock(names), path),
            Creator::Steward(steward) => by_steward(steward, path),
        };
        file.map(File::from)
    }
}

impl Store for Outputs {
    fn continued(&self, path: &Path) -> Vec<u64> {
        let continued = self.continued.lock().unwrap_or_else(PoisonError::into_inner);
        continued.get(path).cloned().unwrap_or_default()
    }

    fn create(&mut self, path: &Path) -> io::Result<File> {
        Outputs::create(self, path)
    }

    fn remove(&mut self, path: &Path) {
        if self.is_special(path) {
            return;
        }
        // A file that somebody has removed or moved away needs no removal.
        let _ = match &self.creator {
            Creator::ThisProcess(names) => lock(names).remove(path),
            Creator::Steward(steward) => steward.remove(path),
        };
    }
}

/// The message that a file cannot be written, with the reason and the remedy.
pub fn unwritable(path: &Path, error: &io::Error) -> String {
    let is_nowhere = remedy::begins_nowhere(path);
    let path = path.display();
    match error.kind() {
        _ if is_nowhere => format!(
            "cannot write {path}: {error}: the working folder was deleted, so change to one that exists (`cd`)"
        ),
        io::ErrorKind::AlreadyExists => {
            format!("cannot write {path}: it is there already: {}", remedy::of_file(error))
        }
        io::ErrorKind::IsADirectory => format!("cannot write {path}: it is a folder"),
        _ => format!("cannot write {path}: {error}: {}", remedy::of_file(error)),
    }
}

/// The failure of a command because a file cannot be written.
pub fn failure(path: &Path, error: &io::Error) -> Failure {
    remedy::failure(error)(unwritable(path, error))
}

fn lock(names: &Mutex<OutputNames>) -> std::sync::MutexGuard<'_, OutputNames> {
    names.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
