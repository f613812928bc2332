//! Distributions, rates and the last seconds.

mod distribution;
mod figures;
mod history;
mod ring;
mod row;

pub use distribution::Distribution;
pub use figures::{HISTORY_SECONDS, HistoryPoint, Rate, SegmentStat, Summary};
pub use ring::Ring;
pub use row::{RowStats, read_at};
