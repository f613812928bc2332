//! Rows: which conversation belongs to which, and what they add up to.

mod counts;
mod muting;
mod own_pauses;
mod row;
mod table;
mod topic_readers;

pub use counts::Counts;
pub use row::{Role, Row};
pub use table::{PROCESSES, Rows, Server};
