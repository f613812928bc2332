//! The option `--parquet`: single messages as a table. The libraries for it are large, so they are in programs that were built
//! with the feature `parquet` only.

#[cfg(feature = "parquet")]
mod table;
#[cfg(feature = "parquet")]
pub use table::MessageTable;

#[cfg(not(feature = "parquet"))]
mod without;
#[cfg(not(feature = "parquet"))]
pub use without::MessageTable;
