//! Option `--parquet` in a program that was built without Parquet.

use std::path::Path;
use wirelap_experiment::SharedSamples;
use wirelap_process::{Failure, Outputs};

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
            Some(_) => Err(Failure::Usage(
                "this wirelap was built without Parquet: build it with `cargo build -p wirelap --features parquet`, or \
                 leave --parquet out"
                    .into(),
            )),
        }
    }

    /// Nothing has to be started.
    ///
    /// # Errors
    /// None.
    pub fn start(&mut self) -> Result<Option<SharedSamples>, Failure> {
        Ok(None)
    }

    /// There is nothing to complete.
    pub fn finish(self) -> Result<(), Failure> {
        Ok(())
    }
}
