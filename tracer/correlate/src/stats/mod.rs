//! Distributions, rates and history of one row.

mod distribution;
mod history;
mod row;

pub use distribution::Distribution;
pub use history::History;
pub use row::{RowStats, read_at};
