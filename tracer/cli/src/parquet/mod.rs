//! The options `--parquet` and `--parquet-dir`: single messages as tables. The libraries for them are large, so they are in programs
//! that were built with the feature `parquet` only.

#[cfg(feature = "parquet")]
mod folder;
#[cfg(feature = "parquet")]
mod table;
#[cfg(feature = "parquet")]
pub use folder::TabledSink;
#[cfg(feature = "parquet")]
pub use table::MessageTable;

#[cfg(not(feature = "parquet"))]
mod without;
#[cfg(not(feature = "parquet"))]
pub use without::{MessageTable, TabledSink};

use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// The options for a folder of tables.
#[derive(Clone, Debug, Default, Args)]
pub struct ParquetArgs {
    /// Write a row for each delivery to Parquet files in this folder, which others read as one table. A file
    /// appears when it is complete; after those of earlier starts, the numbers go on (wirelap must be built with the feature `parquet`)
    #[arg(long, value_name = "DIR")]
    pub parquet_dir: Option<PathBuf>,

    /// The time that a file of --parquet-dir covers
    #[arg(
        long,
        value_name = "TIME",
        value_parser = humantime::parse_duration,
        default_value = "10m",
        requires = "parquet_dir"
    )]
    pub parquet_every: Duration,
}
