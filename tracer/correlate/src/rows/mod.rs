//! Rows: which conversation belongs to which, and what they add up to.

mod accountant;
mod counts;
mod deferred;
mod handed_out;
mod implementation;
mod muting;
mod own_pauses;
mod refusals;
mod row;
mod table;
mod topic_readers;

pub use accountant::Accountant;
pub use counts::Counts;
pub use deferred::{DeferredDelivery, DeferredFigures, nothing};
pub use refusals::{Refusal, Refusals};
pub use row::{PROCESSES, ProcessRole, Row};
pub use table::{RowEnds, Rows, Server};
pub use topic_readers::{LastReader, PassedOn};
