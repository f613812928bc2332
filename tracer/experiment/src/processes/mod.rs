//! Workload processes: hearing and stopping them. A steward starts them.

mod child;
mod group;
mod installation;

pub use group::{ProcessGroup, Trouble};
pub use installation::{Installation, not_started};
