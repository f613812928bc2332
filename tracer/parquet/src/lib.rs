//! Single messages as a table: one row for each delivery, in a Parquet file.
//!
//! ```text
//!  Delivery ─▶ Sampler ──batches──▶ thread: columns ─▶ row group ─▶ file
//!              (tracing thread)     (bounded queue)    (65,536 rows)
//! ```
//!
//! | module | what |
//! |---|---|
//! | [`Sampler`] | takes deliveries on the thread that traces, and gives them to a thread that writes |
//! | `batch` | what is kept of a delivery until it is written |
//! | `columns` | the columns: names, meaning, values |
//! | `file` | a Parquet file that grows by whole row groups |
//!
//! The columns are those of `docs/guide/export.md`, section *Single messages*; a test compares them.

// Numbers from a file or a packet may have any value, so plain arithmetic could overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects, clippy::disallowed_methods))]

mod batch;
mod columns;
mod file;
mod sampler;

pub use columns::{ColumnDescription, columns};
pub use sampler::{Sampler, WrittenTable};
