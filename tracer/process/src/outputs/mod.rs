//! Files that wirelap writes: readable by their owner alone, never through a link of somebody else's, and never over a file
//! that is there unless `--force` says so.
//!
//! A path is looked up once, at the start: where it leads is then a folder that is held open, and a name in it. Results get
//! their name when they are whole; until then they have none, so that nothing is left behind whatever happens. Recordings
//! have theirs from the start, as they are of use even if wirelap is killed. Who creates the files is wirelap itself, or
//! its [`Steward`] where wirelap has given up the rights for it.

use crate::failure::Failure;
use crate::files::{Names, Place, resolve};
use crate::remedy;
use crate::steward::{Duty, Steward};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use wirelap_recording::Store;

/// How the files of one command are created.
#[derive(Clone, Debug)]
pub struct Outputs {
    by: By,
    force: bool,
    /// Devices and pipes, which are written to as they are.
    special: Arc<Mutex<HashMap<PathBuf, File>>>,
}

#[derive(Clone, Debug)]
enum By {
    Ourselves(Arc<Mutex<Names>>),
    Steward(Arc<Steward>),
}

impl Outputs {
    /// Files that are replaced if `force` says so; created by ourselves without a steward.
    pub fn new(force: bool, steward: Option<Arc<Steward>>) -> Outputs {
        let by = match steward {
            Some(steward) => By::Steward(steward),
            None => By::Ourselves(Arc::default()),
        };
        Outputs { by, force, special: Arc::default() }
    }

    /// The same with a steward, if any of the paths is a file.
    ///
    /// # Errors
    /// The steward cannot be started.
    pub fn of<'a>(
        mut paths: impl Iterator<Item = &'a PathBuf>,
        force: bool,
    ) -> Result<Outputs, Failure> {
        let writes = paths.any(|path| path != Path::new("-"));
        let steward = writes.then(|| Steward::start(Duty::Outputs)).transpose()?;
        Ok(Outputs::new(force, steward))
    }

    /// Allows nothing more from here on.
    ///
    /// # Errors
    /// The steward is gone.
    pub fn seal(&self) -> Result<(), Failure> {
        match &self.by {
            By::Ourselves(_) => Ok(()),
            By::Steward(steward) => {
                steward.seal().map_err(|error| Failure::Machine(remedy::with(&error)))
            }
        }
    }

    /// Finds out where a path leads, and whether it can be written. With `numbered`, other files will have its name with
    /// numbers in it. `-`, which is stdout, is always allowed.
    ///
    /// # Errors
    /// It cannot be written, or it is there already.
    pub fn allow(&self, path: &Path, numbered: bool) -> Result<(), Failure> {
        if path == Path::new("-") {
            return Ok(());
        }
        let failed = |error: io::Error| {
            if numbered && error.kind() == io::ErrorKind::AlreadyExists {
                return Failure::Usage(format!(
                    "cannot write {}: a file of that name with a number is there already, such as {}: \
                     name another, or replace them with --force",
                    path.display(),
                    wirelap_recording::numbered(path, 1).display()
                ));
            }
            failure(path, &error)
        };
        match resolve(path).map_err(failed)? {
            Place::Special(_) if numbered => Err(Failure::Usage(format!(
                "cannot write {} with numbers in its name: it is no file",
                path.display()
            ))),
            Place::Special(file) => {
                self.special().insert(path.to_owned(), file);
                Ok(())
            }
            Place::File { folder, name } => match &self.by {
                By::Ourselves(names) => lock(names).allow(path, folder, name, self.force, numbered),
                By::Steward(steward) => {
                    use std::os::fd::AsFd;
                    steward.allow(path, folder.as_fd(), name, (self.force, numbered))
                }
            }
            .map_err(failed),
        }
    }

    /// A file of this name, empty.
    ///
    /// # Errors
    /// It cannot be created, or it is there already.
    pub fn create(&self, path: &Path) -> io::Result<File> {
        if let Some(special) = self.special_at(path) {
            return special;
        }
        match &self.by {
            By::Ourselves(names) => lock(names).create(path),
            By::Steward(steward) => steward.create(path),
        }
        .map(File::from)
    }

    /// The same without its name, until [`Outputs::keep`].
    ///
    /// # Errors
    /// As [`Outputs::create`].
    pub fn begin(&self, path: &Path) -> io::Result<File> {
        if let Some(special) = self.special_at(path) {
            return special;
        }
        match &self.by {
            By::Ourselves(names) => lock(names).begin(path),
            By::Steward(steward) => steward.begin(path),
        }
        .map(File::from)
    }

    /// All is written: the file gets its name.
    ///
    /// # Errors
    /// There is one of that name now, or the disk is full.
    pub fn keep(&self, path: &Path, file: &File) -> io::Result<()> {
        if self.special().contains_key(path) {
            return Ok(());
        }
        // A full disk may come to light only now.
        file.sync_data()?;
        match &self.by {
            By::Ourselves(names) => lock(names).keep(path),
            By::Steward(steward) => steward.keep(path),
        }
    }

    fn special(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, File>> {
        self.special.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn special_at(&self, path: &Path) -> Option<io::Result<File>> {
        self.special().get(path).map(File::try_clone)
    }
}

impl Store for Outputs {
    fn create(&mut self, path: &Path) -> io::Result<File> {
        Outputs::create(self, path)
    }

    fn remove(&mut self, path: &Path) {
        if self.special().contains_key(path) {
            return;
        }
        // One that somebody has moved away is not in the way.
        let _ = match &self.by {
            By::Ourselves(names) => lock(names).remove(path),
            By::Steward(steward) => steward.remove(path),
        };
    }
}

/// Why a file cannot be written, in a sentence.
pub fn unwritable(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::AlreadyExists => {
            format!("cannot write {path}: it is there already: {}", remedy::of_file(error))
        }
        io::ErrorKind::IsADirectory => format!("cannot write {path}: it is a folder"),
        _ => format!("cannot write {path}: {error}: {}", remedy::of_file(error)),
    }
}

/// The same as what ends a command before it has begun.
pub fn failure(path: &Path, error: &io::Error) -> Failure {
    remedy::failure(error)(unwritable(path, error))
}

fn lock(names: &Mutex<Names>) -> std::sync::MutexGuard<'_, Names> {
    names.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
