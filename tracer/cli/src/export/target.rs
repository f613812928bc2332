//! Where an export goes: all of it, or nothing.

use crate::failure::Failure;
use crate::workload::user;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file that is being written; gone if it is not kept.
pub struct Target {
    /// Events come in pieces of some bytes.
    out: BufWriter<Packing>,
    path: PathBuf,
    force: bool,
}

enum Packing {
    Plain(Counted),
    Gzip(Box<GzEncoder<Counted>>),
}

/// Counts what is written.
struct Counted {
    out: Place,
    bytes: u64,
}

enum Place {
    /// Beside the file that it will be.
    New(NamedTempFile),
    /// A device or a pipe.
    Special(File),
    Stdout(io::Stdout),
}

impl Target {
    /// Begins a file.
    ///
    /// # Errors
    /// There is one already, or it cannot be created.
    pub fn open(path: &Path, force: bool) -> Result<Target, Failure> {
        let usage = |why: &dyn std::fmt::Display| {
            Failure::Usage(format!("cannot write {}: {why}", path.display()))
        };
        let place = if path == Path::new("-") {
            Place::Stdout(io::stdout())
        } else {
            match std::fs::metadata(path) {
                Ok(there) if there.is_dir() => return Err(usage(&"it is a folder")),
                Ok(there) if !there.is_file() => {
                    let file = OpenOptions::new().write(true).open(path);
                    Place::Special(file.map_err(|error| usage(&error))?)
                }
                Ok(_) if !force => {
                    return Err(usage(
                        &"it is there already: name another, or replace it with --force",
                    ));
                }
                _ => {
                    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                    let file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")));
                    Place::New(file.map_err(|error| usage(&error))?)
                }
            }
        };
        let counted = Counted { out: place, bytes: 0 };
        let out = if path.extension().is_some_and(|ending| ending == "gz") {
            Packing::Gzip(Box::new(GzEncoder::new(counted, Compression::fast())))
        } else {
            Packing::Plain(counted)
        };
        let out = BufWriter::with_capacity(1 << 18, out);
        Ok(Target { out, path: path.to_owned(), force })
    }

    /// All is written: the file takes its name. Returns its length in bytes.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(self) -> io::Result<u64> {
        let Counted { out, bytes } =
            match self.out.into_inner().map_err(io::IntoInnerError::into_error)? {
                Packing::Plain(counted) => counted,
                Packing::Gzip(packed) => packed.finish()?,
            };
        match out {
            Place::New(file) => {
                file.as_file().set_permissions(Permissions::from_mode(0o644))?;
                // A full disk may come to light only now.
                file.as_file().sync_data()?;
                let kept = if self.force {
                    file.persist(&self.path)
                } else {
                    file.persist_noclobber(&self.path)
                };
                kept.map_err(|error| error.error)?;
                // Root's file in a user's folder would be in the way; that it stays so is no harm.
                if rustix::process::geteuid().is_root() {
                    let _ = user::give(&self.path, user::invoking());
                }
            }
            Place::Special(mut file) => file.flush()?,
            Place::Stdout(mut stdout) => stdout.flush()?,
        }
        Ok(bytes)
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Write for Packing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Packing::Plain(out) => out.write(bytes),
            Packing::Gzip(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Packing::Plain(out) => out.flush(),
            Packing::Gzip(out) => out.flush(),
        }
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Place::New(file) => file.write(bytes),
            Place::Special(file) => file.write(bytes),
            Place::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Place::New(file) => file.flush(),
            Place::Special(file) => file.flush(),
            Place::Stdout(stdout) => stdout.flush(),
        }
    }
}
