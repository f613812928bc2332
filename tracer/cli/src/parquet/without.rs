//! Options `--parquet` and `--parquet-dir` in a program that was built without Parquet.

use super::ParquetArgs;
use std::path::Path;
use wirelap_events::{Delivery, Event};
use wirelap_experiment::SharedSamples;
use wirelap_process::{Failure, Outputs};
use wirelap_replay::Follower;

fn built_without(option: &str) -> Failure {
    Failure::Usage(format!(
        "this wirelap was built without Parquet: build it with `cargo build -p wirelap --features parquet`, or leave {option} out"
    ))
}

/// A sink, with nothing beside it.
pub type TabledSink<S> = S;

/// A folder of tables, which this program cannot write.
#[derive(Debug)]
pub struct WantedFolder;

/// No folder.
#[derive(Debug)]
pub struct TableFolder;

impl ParquetArgs {
    /// There is no folder without a path.
    ///
    /// # Errors
    /// A folder is wanted.
    pub fn open(&self, _: &Outputs) -> Result<WantedFolder, Failure> {
        self.parquet_dir.as_ref().map_or(Ok(WantedFolder), |_| Err(built_without("--parquet-dir")))
    }
}

impl WantedFolder {
    /// The sink alone.
    ///
    /// # Errors
    /// None.
    pub fn beside<S>(self, first: S) -> Result<(TableFolder, TabledSink<S>), Failure> {
        Ok((TableFolder, first))
    }
}

impl TableFolder {
    /// Nothing was written.
    ///
    /// # Errors
    /// None.
    pub fn end(self) -> Result<(), Failure> {
        Ok(())
    }
}

/// The table of messages, which this program cannot write.
#[derive(Debug)]
pub struct MessageTable;

impl MessageTable {
    /// There is no table without a path.
    ///
    /// # Errors
    /// A table is wanted.
    pub fn open(
        path: Option<&Path>,
        _is_resumed: bool,
        _: &Outputs,
    ) -> Result<MessageTable, Failure> {
        match path {
            None => Ok(MessageTable),
            Some(_) => Err(built_without("--parquet")),
        }
    }

    /// Nothing has to be started.
    ///
    /// # Errors
    /// None.
    pub fn start(&mut self) -> Result<Option<SharedSamples>, Failure> {
        Ok(None)
    }

    /// As [`MessageTable::start`].
    ///
    /// # Errors
    /// None.
    pub fn follower(&mut self) -> Result<Option<TableFollower>, Failure> {
        Ok(None)
    }

    /// As [`MessageTable::finish`].
    ///
    /// # Errors
    /// None.
    pub fn judge(self, _: NothingWritten) -> Result<(), Failure> {
        Ok(())
    }

    /// There is nothing to complete.
    pub fn finish(self) -> Result<(), Failure> {
        Ok(())
    }
}

/// The result of a writer that there is none of here.
#[derive(Debug)]
pub struct NothingWritten;

/// The writer of a table, which there is none of here.
#[derive(Debug)]
pub enum TableFollower {}

impl TableFollower {
    /// Cannot be called.
    pub fn finish(self) -> NothingWritten {
        match self {}
    }
}

impl Follower for TableFollower {
    const DELIVERIES: bool = false;

    fn begin(&mut self, _: Option<i64>) {
        match *self {}
    }

    fn event(&mut self, _: &Event<'_>) -> Result<(), Failure> {
        match *self {}
    }

    fn delivery(&mut self, _: &Delivery, _: Option<&[u8]>) -> Result<(), Failure> {
        match *self {}
    }
}
