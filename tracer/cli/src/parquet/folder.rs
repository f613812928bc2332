//! A folder of tables, with a new file from time to time.

use super::ParquetArgs;
use super::table::no_thread;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;
use wirelap_correlate::SinkPair;
use wirelap_events::{Nanos, Saturate, human};
use wirelap_parquet::{RowTable, Sampler, TableFiles, WhenBehind, WrittenTable};
use wirelap_process::outputs::unwritable;
use wirelap_process::{Failure, Outputs, output};
use wirelap_recording::{Store, numbered};
use wirelap_session::machine;

/// A sink, and a table of what it gets.
pub type TabledSink<S> = SinkPair<S, RowTable>;

/// The shortest time that a file covers.
const SHORTEST: Duration = Duration::from_secs(1);

/// A folder of tables that is not written yet; none without the option.
#[derive(Debug)]
pub struct WantedFolder(Option<(NumberedFiles, Nanos)>);

/// A folder that tables are written to; none without the option.
#[derive(Debug)]
pub struct TableFolder(Option<(PathBuf, Receiver<WrittenTable>)>);

impl ParquetArgs {
    /// Looks the folder up. Call it before rights are given up.
    ///
    /// # Errors
    /// The folder is not there or cannot be written, or the time is too short.
    pub fn open(&self, outputs: &Outputs) -> Result<WantedFolder, Failure> {
        let Some(folder) = &self.parquet_dir else { return Ok(WantedFolder(None)) };
        if self.parquet_every < SHORTEST {
            return Err(Failure::Usage("--parquet-every must be at least 1s".into()));
        }
        if !folder.is_dir() {
            let folder = folder.display();
            return Err(Failure::Usage(format!(
                "--parquet-dir: {folder} is not a folder: make it first (`mkdir -p {folder}`), or name another"
            )));
        }
        let host = machine::hostname().unwrap_or_default();
        let host: String =
            host.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let path = folder.join(format!("wirelap-{host}.parquet"));
        outputs.allow_further(&path)?;
        let number = Store::continued(outputs, &path).last().copied().unwrap_or_default();
        let files =
            NumberedFiles { folder: folder.clone(), path, outputs: outputs.clone(), number };
        let every = Nanos(u64::try_from(self.parquet_every.as_nanos()).unwrap_or(u64::MAX));
        Ok(WantedFolder(Some((files, every))))
    }
}

impl WantedFolder {
    /// Begins to write, and returns the sink that takes deliveries beside another one. Called after rights were given up, because it
    /// starts a thread.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn beside<S>(self, first: S) -> Result<(TableFolder, TabledSink<S>), Failure> {
        let Some((files, every)) = self.0 else {
            return Ok((TableFolder(None), SinkPair { first, second: None }));
        };
        let folder = files.folder.clone();
        let sampler = Sampler::start(files, WhenBehind::Drop).map_err(|error| no_thread(&error))?;
        let (sender, result) = sync_channel(1);
        let table = RowTable::new(sampler)
            .of_host(machine::hostname())
            .in_pieces(every, machine::wall_offset)
            .with_result(sender);
        let folder = TableFolder(Some((folder, result)));
        Ok((folder, SinkPair { first, second: Some(table) }))
    }
}

impl TableFolder {
    /// Says what was written. The session must have ended.
    ///
    /// # Errors
    /// Not all messages were written.
    pub fn end(self) -> Result<(), Failure> {
        let Some((folder, result)) = self.0 else { return Ok(()) };
        result.recv().map_or(Ok(()), |written| said(&folder, &written))
    }
}

/// Says how much was written.
fn said(folder: &Path, written: &WrittenTable) -> Result<(), Failure> {
    let WrittenTable { files, rows, taken, dropped, error } = written;
    let shown = folder.display();
    let files = human::counted(files.0, "file");
    output::say(&format!("{shown}: {files}, {}\n", human::counted(*rows, "message")));
    let missing = taken.saturating_sub(*rows);
    if let Some(error) = error {
        let why = unwritable(folder, error);
        return Err(Failure::Measured(format!(
            "{why}; {missing} of {taken} messages are in no file"
        )));
    }
    if *dropped > 0 {
        return Err(Failure::Measured(format!(
            "{shown}: {dropped} of {taken} messages are in no file, because they came faster than they could be written: trace less \
             (--sample, --ports)"
        )));
    }
    Ok(())
}

/// Files with one name and successive numbers.
#[derive(Debug)]
struct NumberedFiles {
    folder: PathBuf,
    /// Their name without numbers.
    path: PathBuf,
    outputs: Outputs,
    /// The number of the file that was begun last.
    number: u64,
}

impl TableFiles for NumberedFiles {
    fn begin(&mut self) -> io::Result<File> {
        self.number.grow(1);
        self.outputs.begin(&numbered(&self.path, self.number))
    }

    fn keep(&mut self, file: File) -> io::Result<()> {
        self.outputs.keep(&numbered(&self.path, self.number), &file)
    }

    fn keeps_empty(&self) -> bool {
        false
    }
}
