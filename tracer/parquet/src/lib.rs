//! Single messages as a table: one row for each delivery, in Parquet files.
//!
//! ```text
//!  Delivery ─▶ Sampler ──batches──▶ thread: columns ─▶ row group ─▶ file
//!              (tracing thread)     (bounded queue)    (65,536 rows)
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`RowTable`] | takes all that a correlator delivers, row by row of its report |
//! | [`Sampler`] | takes deliveries on the thread that traces, and gives them to a thread that writes |
//! | `batch` | what is kept of a delivery until it is written |
//! | `columns` | the columns: names, meaning, values |
//! | `writer` | the thread that writes, and the files that it is given |
//! | `file` | a Parquet file that grows by whole row groups |
//!
//! The columns are those of `docs/guide/export.md`, section *Single messages*; a test compares them.

// Numbers from a file or a packet may have any value, so plain arithmetic could overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

mod batch;
mod columns;
mod file;
mod row_table;
mod sampler;
mod writer;

pub use columns::{ColumnDescription, columns};
pub use row_table::RowTable;
pub use sampler::{Sampler, WhenBehind};
pub use writer::{TableFiles, WrittenTable};
