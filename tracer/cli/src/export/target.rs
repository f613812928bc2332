//! The file that an export is written to, which is kept only if it is complete.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use wirelap_events::Saturate;
use wirelap_process::Failure;
use wirelap_process::outputs::{self, Outputs};

/// An output that is being written. A file that is not kept disappears.
pub struct ExportTarget {
    /// Buffered, because events are written in pieces of a few bytes.
    out: BufWriter<Encoding>,
    path: PathBuf,
    outputs: Outputs,
}

enum Encoding {
    Plain(CountedOutput),
    Gzip(Box<GzEncoder<CountedOutput>>),
}

/// Counts the bytes that are written.
struct CountedOutput {
    out: ExportSink,
    bytes: u64,
}

enum ExportSink {
    /// A file that gets its name when it is complete, or a device or a pipe.
    File(File),
    Stdout(io::Stdout),
}

impl ExportTarget {
    /// Creates the output.
    ///
    /// # Errors
    /// The file exists and must not be replaced, or it cannot be created.
    pub fn open(path: &Path, outputs: Outputs) -> Result<ExportTarget, Failure> {
        let sink = if path == Path::new("-") {
            ExportSink::Stdout(io::stdout())
        } else {
            outputs.allow(path, false)?;
            let file = outputs.begin(path);
            ExportSink::File(file.map_err(|error| outputs::failure(path, &error))?)
        };
        let counted = CountedOutput { out: sink, bytes: 0 };
        let out = if path.extension().is_some_and(|ending| ending == "gz") {
            Encoding::Gzip(Box::new(GzEncoder::new(counted, Compression::fast())))
        } else {
            Encoding::Plain(counted)
        };
        let out = BufWriter::with_capacity(1 << 18, out);
        Ok(ExportTarget { out, path: path.to_owned(), outputs })
    }

    /// Gives the complete file its name. Returns its length in bytes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(self) -> io::Result<u64> {
        let CountedOutput { out, bytes } =
            match self.out.into_inner().map_err(io::IntoInnerError::into_error)? {
                Encoding::Plain(counted) => counted,
                Encoding::Gzip(packed) => packed.finish()?,
            };
        match out {
            ExportSink::File(file) => self.outputs.keep(&self.path, &file)?,
            ExportSink::Stdout(mut stdout) => stdout.flush()?,
        }
        Ok(bytes)
    }
}

impl Write for ExportTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Write for Encoding {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Encoding::Plain(out) => out.write(bytes),
            Encoding::Gzip(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Encoding::Plain(out) => out.flush(),
            Encoding::Gzip(out) => out.flush(),
        }
    }
}

impl Write for CountedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes.grow(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Write for ExportSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            ExportSink::File(file) => file.write(bytes),
            ExportSink::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            ExportSink::File(file) => file.flush(),
            ExportSink::Stdout(stdout) => stdout.flush(),
        }
    }
}
