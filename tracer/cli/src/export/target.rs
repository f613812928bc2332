//! Where an export goes: all of it, or nothing.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use wirelap_events::Saturate;
use wirelap_process::Failure;
use wirelap_process::outputs::{self, Outputs};

/// A file that is being written; gone if it is not kept.
pub struct Target {
    /// Events come in pieces of some bytes.
    out: BufWriter<Packing>,
    path: PathBuf,
    outputs: Outputs,
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
    /// Named when it is whole; or a device or a pipe.
    File(File),
    Stdout(io::Stdout),
}

impl Target {
    /// Begins a file.
    ///
    /// # Errors
    /// There is one already, or it cannot be created.
    pub fn open(path: &Path, outputs: Outputs) -> Result<Target, Failure> {
        let place = if path == Path::new("-") {
            Place::Stdout(io::stdout())
        } else {
            outputs.allow(path, false)?;
            let file = outputs.begin(path);
            Place::File(file.map_err(|error| outputs::failure(path, &error))?)
        };
        let counted = Counted { out: place, bytes: 0 };
        let out = if path.extension().is_some_and(|ending| ending == "gz") {
            Packing::Gzip(Box::new(GzEncoder::new(counted, Compression::fast())))
        } else {
            Packing::Plain(counted)
        };
        let out = BufWriter::with_capacity(1 << 18, out);
        Ok(Target { out, path: path.to_owned(), outputs })
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
            Place::File(file) => self.outputs.keep(&self.path, &file)?,
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
        self.bytes.grow(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Place::File(file) => file.write(bytes),
            Place::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Place::File(file) => file.flush(),
            Place::Stdout(stdout) => stdout.flush(),
        }
    }
}
